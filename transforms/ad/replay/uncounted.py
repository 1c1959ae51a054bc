"""Replays of loops whose number of iterations is known only when they run, or when they end.

A loop that is counted when it runs stores its states as :mod:`~wengert.transforms.ad.replay.schedule` says, by integer arithmetic in place of tables. One
with a condition stores every state as it comes, and decides which older one to give up (Q. Wang, P. Moin, G. Iaccarino, "Minimal repetition dynamic
checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31, 2009): a state is *dispensable* if a later one has a higher level. A new
state takes the slot of a dispensable one, at level 0; if there is none, it replaces the one before it, one level higher. With s slots no iteration runs
forward more often than by a binomial schedule for s - 1 that knows their number (their count has the first state beside the slots), at most.

Both leave a slot's state with the iteration that follows it. The reversal looks up the last state before an iteration, and runs from there by the binomial
schedule for what lies between, in the slots that have become free.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Block, Region

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64, shape
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.replay.building import INDEX, Step, Values, counted_loop, inlined, row, run_from, with_row
from wengert.transforms.ad.replay.operands import Replay

FIRST = 2**62
"""The level of the state that the loop begins with, which is never given up."""


def no_positions(b: OpBuilder, slots: int) -> Value:
    """The iterations of states where no slot has one."""
    return b.constant(np.full(slots, -1, np.int64))


def run_to(
    b: OpBuilder, step: Step, start: Value, target: Value, end: Value, constants: Values, stacks: Values, positions: Value, carried: Values
) -> tuple[list[Value], Value, list[Value]]:
    """Emits the run from iteration ``start`` to ``target`` in a chain that ends at ``end``; returns stacks, positions and carried values.

    States are stored in the slots whose position is behind ``start`` or empty.
    """
    given = [*constants, target, end]
    moving = [start, *stacks, positions, *carried]
    types = [value.type for value in moving]
    arguments = [*(value.type for value in given), *types]
    condition, body = Block(arg_types=arguments), Block(arg_types=arguments)
    test = OpBuilder(condition, location=b.location, pass_name=b.pass_name)
    going_on = test.compare("LT", condition.args[len(given)], condition.args[len(constants)])
    condition.add_op(hlo.ReturnOp.create(operands=[going_on]))
    inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
    *fixed, goal, last = body.args[: len(given)]
    position, *rest = body.args[len(given) :]
    rows, where, values = rest[: len(stacks)], rest[len(stacks)], rest[len(stacks) + 1 :]
    slot = _slot_for(inner, where, position)
    rows = [with_row(inner, stack, slot, values[i]) for stack, i in zip(rows, step.stored, strict=True)]
    where = with_row(inner, where, slot, position)
    free = inner.subtract(inner.scalar(shape(where)[0], i64), _count(inner, _is_valid(inner, where, position)))
    distance = inner.subtract(goal, position)
    stop = inner.minimum(_first_stop(inner, inner.subtract(last, position), inner.add(free, inner.scalar(1, i64))), distance)
    ahead = inner.select(inner.compare("GT", free, inner.scalar(0, i64)), stop, distance)
    values = run_from(inner, step, position, ahead, fixed, values)
    body.add_op(hlo.ReturnOp.create(operands=[inner.add(position, ahead), *rows, where, *values]))
    drop_dead_ops(body)
    results = b.create(core.WhileOp, [*given, *moving], types, {"constants": int_attr(len(given))}, [Region([condition]), Region([body])])
    _, *rest = results
    return list(rest[: len(stacks)]), rest[len(stacks)], list(rest[len(stacks) + 1 :])


def store_online(b: OpBuilder, position: Value, stacks: Values, positions: Value, levels: Value, state: Values) -> tuple[list[Value], Value, Value]:
    """Emits what an iteration of an uncounted loop does with the state before it; returns stacks, positions and levels."""
    slots = shape(positions)[0]
    empty = b.compare("LT", positions, b.full_like(positions, 0))
    kept = b.compare("EQ", levels, b.full_like(levels, FIRST))
    latest = b.compare("EQ", b.add(positions, b.full_like(positions, 1)), b.broadcast_in_dim(position, [], [slots]))
    rank = b.select(latest, b.full_like(positions, 1), b.full_like(positions, 0))
    rank = b.select(_is_dispensable(b, positions, levels), b.full_like(positions, 2), rank)
    rank = b.select(kept, b.full_like(positions, -1), rank)
    rank = b.select(empty, b.full_like(positions, 4), rank)
    highest, slot = b.argreduce(core.Extreme.max, rank, 0, i64)
    raised = b.add(row(b, levels, slot), b.scalar(1, i64))
    level = b.select(b.compare("EQ", highest, b.scalar(1, i64)), raised, b.scalar(0, i64))
    level = b.select(b.compare("EQ", position, b.scalar(0, i64)), b.scalar(FIRST, i64), level)
    stacks = [with_row(b, stack, slot, value) for stack, value in zip(stacks, state, strict=True)]
    return stacks, with_row(b, positions, slot, position), with_row(b, levels, slot, level)


def reversal(b: OpBuilder, replay: Replay) -> list[Value]:
    """Emits the loop over iterations from the last to the first, each of which runs to its state from the nearest one that is stored."""
    assert replay.positions is not None
    slots, parts = shape(replay.positions)[0], len(replay.stacks)

    def iteration(inner: OpBuilder, n: Value, given: Values, values: Values) -> Values:
        trips, *given = given
        constants, linear_constants = given[: len(replay.constants)], given[len(replay.constants) :]
        stacks, positions, carried = values[:parts], values[parts], values[parts + 1 :]
        after = inner.subtract(trips, n)
        number = inner.subtract(after, inner.scalar(1, i64))
        before = inner.compare("LE", positions, inner.broadcast_in_dim(number, [], [slots]))
        start, top = inner.argreduce(core.Extreme.max, inner.select(before, positions, inner.full_like(positions, -1)), 0, i64)
        state = [row(inner, stack, top) for stack in stacks]
        stacks, positions, state = run_to(inner, replay.step, start, number, after, constants, stacks, positions, state)
        return [*stacks, positions, *inlined(inner, replay.linear, [number, *constants, *state, *linear_constants, *carried])]

    given = [replay.trip_count, *replay.constants, *replay.linear_constants]
    return counted_loop(b, replay.trip_count, given, [*replay.stacks, replay.positions, *replay.carried], iteration)[parts + 1 :]


def _slot_for(b: OpBuilder, positions: Value, position: Value) -> Value:
    """The slot for the state before an iteration: the one that it is in, or else one without a state of an earlier iteration."""
    here = b.compare("EQ", positions, b.broadcast_in_dim(position, [], shape(positions)))
    free = b.not_(_is_valid(b, positions, position))
    rank = b.select(here, b.full_like(positions, 2), b.convert(free, i64))
    return b.argreduce(core.Extreme.max, rank, 0, i64)[1]


def _is_valid(b: OpBuilder, positions: Value, position: Value) -> Value:
    """Which slots hold a state from which this iteration is reached."""
    not_behind = b.compare("LE", positions, b.broadcast_in_dim(position, [], shape(positions)))
    return b.and_(b.compare("GE", positions, b.full_like(positions, 0)), not_behind)


def _count(b: OpBuilder, flags: Value) -> Value:
    return b.reduce_sum(b.convert(flags, i64), [0])


def _is_dispensable(b: OpBuilder, positions: Value, levels: Value) -> Value:
    """Which states have a later one of a higher level."""
    slots = shape(positions)[0]
    later, higher = (b.compare("GT", b.broadcast_in_dim(v, [1], [slots, slots]), b.broadcast_in_dim(v, [0], [slots, slots])) for v in (positions, levels))
    return b.compare("GT", b.reduce_sum(b.convert(b.and_(later, higher), i64), [1]), b.full_like(positions, 0))


def _first_stop(b: OpBuilder, steps: Value, slots: Value) -> Value:
    """:func:`~wengert.transforms.ad.replay.schedule.first_stop` as integer arithmetic, for at least two slots."""
    repetitions, reach = _repetitions(b, steps, slots)
    one, sum_ = b.scalar(1, i64), b.add(slots, repetitions)
    below = b.divide(b.multiply(reach, repetitions), sum_)
    front = b.divide(b.multiply(below, b.subtract(repetitions, one)), b.maximum(b.subtract(sum_, one), one))
    behind = b.divide(b.multiply(reach, slots), sum_)
    return b.maximum(b.maximum(front, one), b.subtract(steps, behind))


def _repetitions(b: OpBuilder, steps: Value, slots: Value) -> tuple[Value, Value]:
    """The least r with ``steps <= C(slots + r, slots)``, and this number."""
    one = b.scalar(1, i64)
    types = [INDEX] * 2
    condition, body = Block(arg_types=[INDEX] * 4), Block(arg_types=[INDEX] * 4)
    test = OpBuilder(condition, location=b.location, pass_name=b.pass_name)
    condition.add_op(hlo.ReturnOp.create(operands=[test.compare("LT", condition.args[3], condition.args[0])]))
    inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
    _, width, r, reach = body.args
    following = inner.add(r, inner.scalar(1, i64))
    body.add_op(hlo.ReturnOp.create(operands=[following, inner.divide(inner.multiply(reach, inner.add(width, following)), following)]))
    operands = [steps, slots, b.scalar(0, i64), one]
    repetitions, reach = b.create(core.WhileOp, operands, types, {"constants": int_attr(2)}, [Region([condition]), Region([body])])
    return repetitions, reach

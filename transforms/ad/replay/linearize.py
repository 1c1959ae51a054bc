"""Linearization of loops of which a few states are kept: the loop stores states in slots as it runs, and ``ad.replay`` is its linear part.

A state is made of those carried values that the linear part of an iteration, or a later state, is computed from. What a loop only adds to or writes rows of is
no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.construction import append
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.replay import counted, uncounted
from wengert.transforms.ad.replay.building import INDEX, Step, Values, empty_stacks, with_row
from wengert.transforms.ad.residuals.plan import Plan, recomputation
from wengert.transforms.ad.residuals.policies import RecomputeAll, Site
from wengert.transforms.ad.rules.control_flow.active_loop import ActiveLoop, create_loop
from wengert.transforms.core.closing import copy_ops
from wengert.transforms.core.counting import constant_integer

LONGEST_TABLE = 65_536
"""Iterations up to which the schedule is made of tables; that of longer loops is computed when they run."""


class Body(Struct, frozen=True):
    """The body of a loop after the sweep over it.

    Attributes:
        block: the primal ops, without a return.
        returned: what they compute for the next iteration.
        linear_args: the tangents of constants, then of carried values.
        linear_ops: the linear ops.
        y_dots: the tangents that they compute.
        residuals: the primal values that the linear ops read.
    """

    block: Block
    returned: list[Value]
    linear_args: Sequence[Value]
    linear_ops: list[Operation]
    y_dots: list[Value]
    residuals: list[SSAValue]


def state_of(loop: ActiveLoop, body: Body) -> list[int] | None:
    """The positions of the carried values that a state is made of; None where iterations cannot run again from tensors alone, or keep nothing."""
    first = loop.first + len(loop.constants)
    available = body.block.args[:first]
    state: set[int] = set()
    pending: list[Sequence[SSAValue]] = [body.residuals]
    while pending:
        for value in _needed(body.block, pending.pop(), available).stored:
            if not isinstance(value, BlockArgument) or not isinstance(value.type, TensorType):
                return None
            position = value.index - first
            if position not in state:
                state.add(position)
                pending.append([body.returned[position]])
    return sorted(state) or None


def _needed(block: Block, values: Sequence[SSAValue], available: Sequence[SSAValue]) -> Plan:
    """What all is kept, and runs again, where arguments are kept and all that may run again does."""
    return RecomputeAll().plan(Site(block, values, available, "loop"))


def linearize_with_slots(sweep: ForwardSweep, loop: ActiveLoop, body: Body, state: list[int], slots: int) -> tuple[list[Value], list[Value]]:
    """Emits a loop that keeps so many states, and its linear part; returns the loop's results and the tangents of the active carried values."""
    iterations = None if loop.trip_count is None else constant_integer(loop.trip_count)
    step = Step(_primal_step(loop, body), state)
    b = sweep.b
    if iterations is not None and iterations <= LONGEST_TABLE:
        stored, results = counted.run_and_store(b, step, iterations, slots, loop.constants, loop.initial)
        count = b.scalar(iterations, i64)
    elif loop.trip_count is not None:
        count, stacks = loop.trip_count, empty_stacks(b, slots, [loop.initial[i] for i in state])
        end, none = b.add(count, b.scalar(1, i64)), uncounted.no_positions(b, slots)
        stacks, positions, results = uncounted.run_to(b, step, b.scalar(0, i64), count, end, loop.constants, stacks, none, loop.initial)
        stored = [*stacks, positions]
    else:
        stored, count, results = _online(b, loop, body, state, slots)
    return results, _linear_part(sweep, loop, body, state, stored, count)


def _primal_step(loop: ActiveLoop, body: Body) -> Any:
    ops = recomputation(body.block, body.returned, set(body.block.args))

    def run(b: OpBuilder, iteration: Value, constants: Values, carried: Values) -> list[Value]:
        given = [*([iteration] if loop.first else []), *constants, *carried]
        env: dict[SSAValue, SSAValue] = dict(zip(body.block.args, given, strict=True))
        copy_ops(b, ops, env)
        return [env[value] for value in body.returned]

    return run


def _online(b: OpBuilder, loop: ActiveLoop, body: Body, state: list[int], slots: int) -> tuple[list[Value], Value, list[Value]]:
    """Emits a loop with a condition, which counts its iterations and stores states as it goes."""
    stacks = empty_stacks(b, slots, [loop.initial[i] for i in state])
    none = uncounted.no_positions(b, slots)
    extra = [*stacks, none, none, b.scalar(0, i64)] if slots > 1 else [b.scalar(0, i64)]
    types: list[Attribute] = [*(v.type for v in loop.constants), *(v.type for v in loop.initial), *(v.type for v in extra)]
    block = Block(arg_types=types)
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    constants, rest = block.args[: len(loop.constants)], block.args[len(loop.constants) :]
    carried, rest = rest[: len(loop.initial)], rest[len(loop.initial) :]
    *stored, count = rest
    if slots > 1:
        *rows, positions, levels = stored
        rows, positions, levels = uncounted.store_online(inner, count, rows, positions, levels, [carried[i] for i in state])
        stored = [*rows, positions, levels]
    following = _primal_step(loop, body)(inner, count, constants, carried)
    block.add_op(hlo.ReturnOp.create(operands=[*following, *stored, inner.add(count, inner.scalar(1, i64))]))
    drop_dead_ops(block)
    results = list(create_loop(b, loop, loop.constants, [*loop.initial, *extra], block))
    n = len(loop.initial)
    if slots > 1:
        return results[n : n + len(stacks) + 1], results[-1], results[:n]
    first = [with_row(b, stack, b.scalar(0, i64), loop.initial[i]) for stack, i in zip(stacks, state, strict=True)]
    return [*first, b.constant(np.zeros(1, np.int64))], results[-1], results[:n]


def _linear_part(sweep: ForwardSweep, loop: ActiveLoop, body: Body, state: list[int], stored: Values, count: Value) -> list[Value]:
    """Emits ``ad.replay``, whose regions take only what they use of the constants."""
    first = loop.first + len(loop.constants)
    arguments, block = body.block.args, body.block
    states = [arguments[first + i] for i in state]
    available = arguments[:first]
    following = [body.returned[i] for i in state]
    step_ops = recomputation(block, following, {*available, *states})
    again = recomputation(block, body.residuals, {*available, *states})
    used = {operand for op in (*step_ops, *again, *body.linear_ops) for operand in op.operands} | {*body.y_dots, *following}
    constants = [(a, v) for a, v in zip(arguments[loop.first : first], loop.constants, strict=True) if a in used]
    dots = [(a, v) for a, v in zip(body.linear_args, loop.constant_dots.values(), strict=False) if a in used]
    carried_args, carried = body.linear_args[len(loop.constant_dots) :], list(loop.carried_dots.values())
    inside = [*arguments[: loop.first], *(a for a, _ in constants), *states]
    step = _region(sweep, inside, bool(loop.first), step_ops, following)
    linear = _region(sweep, [*inside, *(a for a, _ in dots), *carried_args], bool(loop.first), [*again, *body.linear_ops], body.y_dots)
    properties: dict[str, Attribute] = {"constants": int_attr(len(constants)), "stacks": int_attr(len(stored)), "linear_constants": int_attr(len(dots))}
    operands = [count, *(v for _, v in constants), *stored, *(v for _, v in dots), *carried]
    return list(sweep.lb.create(ad.ReplayOp, operands, [v.type for v in carried], properties, [step, linear]))


def _region(sweep: ForwardSweep, arguments: Sequence[Value], has_iteration: bool, ops: Sequence[Operation], results: Sequence[Value]) -> Region:
    """A closed region of copies of ops; its arguments stand for these values, after the iteration."""
    types = [argument.type for argument in arguments]
    block = Block(arg_types=types if has_iteration else [INDEX, *types])
    env: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args[0 if has_iteration else 1 :], strict=True))
    b = OpBuilder(block, location=sweep.lb.location, pass_name=sweep.b.pass_name)
    copy_ops(b, ops, env)
    append(block, hlo.ReturnOp.create(operands=[env[value] for value in results]))
    return Region([block])

"""The transpose of a linear loop, which runs the transposed body backward.

Cotangents of carried values are carried; those of constants are accumulators, to which indexed reads add in
place, so that the cost of an iteration is proportional to what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64, shape, tensor
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import copy_linear, transpose_ops
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, Tangent
from wengert.transforms.core.counting import constant_integer


def _transpose_for(b: OpBuilder, op: core.ForOp, linear: Sequence[bool], y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
    constant_count = int_of(op.constants)
    constant_flags, initial_flags = linear[1 : 1 + constant_count], linear[1 + constant_count :]
    plain = [operand for operand, flag in zip(op.constant_operands, constant_flags, strict=True) if not flag]
    shared = list(dict.fromkeys(operand for operand, flag in zip(op.constant_operands, constant_flags, strict=True) if flag))
    carried_bars = [materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results, strict=True)]
    incoming = [cotangents.take(operand) for operand in shared]
    sums = [materialized(b, total, operand.type) for total, operand in zip(incoming, shared, strict=True)]
    static_trip_count = constant_integer(op.trip_count)
    loop_constants = [*plain, *([] if static_trip_count is not None else [op.trip_count])]
    block = Block(arg_types=[tensor((), i64), *(v.type for v in (*loop_constants, *carried_bars, *sums))])
    arguments = block.args[1:]
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    last = inner.subtract(arguments[len(loop_constants) - 1], inner.scalar(1, i64)) if static_trip_count is None else inner.scalar(static_trip_count - 1, i64)
    iteration = inner.subtract(last, block.args[0])
    given = arguments[: len(plain)], arguments[len(loop_constants) :]
    x_bars, totals = _transpose_body(inner, op, constant_flags, shared, iteration, *given, take=cotangents.owned)
    starts = arguments[len(loop_constants) + len(carried_bars) :]
    for k, (total, start) in enumerate(zip(totals, starts, strict=True)):
        if incoming[k] is None:
            totals[k] = as_write(inner, iteration, static_trip_count, total, start)
    block.add_op(hlo.ReturnOp.create(operands=[*x_bars, *totals]))
    drop_dead_ops(block)
    carried = [*carried_bars, *sums]
    properties = {"constants": int_attr(len(loop_constants))}
    loop_results = b.create(core.ForOp, [op.trip_count, *loop_constants, *carried], [v.type for v in carried], properties, [Region([block])])
    for operand, flag, x_bar in zip(op.initial, initial_flags, loop_results, strict=False):
        if flag:
            cotangents.add(operand, x_bar)
    for operand, total in zip(shared, loop_results[len(carried_bars) :], strict=True):
        cotangents.add(operand, total)


def _transpose_body(
    inner: OpBuilder,
    op: core.ForOp,
    flags: Sequence[bool],
    shared: list[SSAValue],
    iteration: Value,
    plain: Sequence[Value],
    bars: Sequence[Value],
    *,
    take: bool,
) -> tuple[list[Value], list[Value]]:
    """Emits the transposed body; returns cotangents of the carried values before the iteration, and running sums for the constants."""
    old = op.block
    old_constants, old_carried = old.args[1 : 1 + len(flags)], old.args[1 + len(flags) :]
    scratch = Block(arg_types=[v.type for v in (*shared, *old_carried)])
    lb = LinearBuilder(scratch, inner, scratch.args)
    env: dict[SSAValue, SSAValue] = {old.args[0]: iteration}
    rest = iter(plain)
    for argument, operand, flag in zip(old_constants, op.constant_operands, flags, strict=True):
        env[argument] = scratch.args[shared.index(operand)] if flag else next(rest)
    env.update(zip(old_carried, scratch.args[len(shared) :], strict=True))
    ops = list(old.ops)
    copy_linear(ops[:-1], env, lb, take=take)
    cotangents = Cotangents(inner, owned=True)
    for argument, total in zip(scratch.args, bars[len(old_carried) :], strict=False):
        cotangents.add(argument, total)
    for value, y_bar in zip(ops[-1].operands, bars, strict=False):
        if env[value] in lb.linear:
            cotangents.add(env[value], y_bar)
    transpose_ops(inner, reversed(list(scratch.ops)), lb.linear, cotangents)
    bars_out = [materialized(inner, cotangents.take(argument), argument.type) for argument in scratch.args]
    for scratch_op in scratch.ops:
        scratch_op.drop_all_references()
    return bars_out[len(shared) :], bars_out[: len(shared)]


def as_write(b: OpBuilder, iteration: Value, static_trip_count: int | None, total: Value, start: Value) -> Value:
    """Replaces an addition by a write in an accumulator that begins at zero and to which each iteration adds at a position of its own.

    This is the transpose of reading the rows of a constant one after the other: ``total[i] += row`` becomes ``total[i] = row``.
    """
    update = total.owner
    if not isinstance(update, hlo.DynamicUpdateSliceOp) or update.operand is not start or static_trip_count is None:
        return total
    added = update.update.owner
    if not isinstance(added, hlo.AddOp) or not isinstance(added.lhs.owner, hlo.DynamicSliceOp) or added.lhs.owner.operand is not start:
        return total
    read = added.lhs.owner
    users = {use.operation for use in start.uses}
    own_position = any(
        index is iteration and size == 1 and extent >= static_trip_count
        for index, size, extent in zip(update.start_indices, shape(update.update), shape(start), strict=True)
    )
    if users != {update, read} or list(read.start_indices) != list(update.start_indices) or len(list(added.lhs.uses)) != 1 or not own_position:
        return total
    return b.dynamic_update_slice(start, added.rhs, update.start_indices)


TRANSPOSE_STEPS[core.ForOp] = _transpose_for

"""The transpose of ``ad.replay``: the same op on the transposed linear part, with the iterations in the other order.

Cotangents of carried values are carried; those of constants are sums that are carried too, to which each iteration adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import copy_linear, transpose_ops
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, Tangent


def _transpose_replay(b: OpBuilder, op: ad.ReplayOp, linear: Sequence[bool], y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
    moving = len(op.tangents)
    flags = linear[len(linear) - moving :]
    count = int_of(op.linear_constants)
    constants, carried = op.tangents[:count], op.tangents[count:]
    shared = list(dict.fromkeys(operand for operand, flag in zip(constants, flags, strict=False) if flag))
    bars = [materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results, strict=True)]
    sums = [materialized(b, cotangents.take(operand), operand.type) for operand in shared]
    given = [*op.constant_operands, *op.stored]
    operands = [op.trip_count, *given, *bars, *sums]
    types = [value.type for value in (*bars, *sums)]
    properties: dict[str, Attribute] = {"constants": op.constants, "stacks": op.stacks, "linear_constants": int_attr(0)}
    if op.reverse is None:
        properties["reverse"] = UnitAttr()
    results = b.create(ad.ReplayOp, operands, types, properties, [op.step.clone(), _transposed_region(b, op, shared, take=cotangents.owned)])
    for operand, flag, x_bar in zip(carried, flags[count:], results, strict=False):
        if flag:
            cotangents.add(operand, x_bar)
    for operand, total in zip(shared, results[len(bars) :], strict=True):
        cotangents.add(operand, total)


def _transposed_region(b: OpBuilder, op: ad.ReplayOp, shared: Sequence[SSAValue], *, take: bool) -> Region:
    """The linear region, transposed: it takes and returns the cotangents of what was carried and the sums for the constants."""
    old = op.linear.block
    count = int_of(op.linear_constants)
    fixed = len(old.args) - len(op.tangents)
    constants, carried = old.args[fixed : fixed + count], old.args[fixed + count :]
    block = Block(arg_types=[*(a.type for a in old.args[:fixed]), *(a.type for a in carried), *(v.type for v in shared)])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    scratch = Block(arg_types=[*(v.type for v in shared), *(a.type for a in carried)])
    lb = LinearBuilder(scratch, inner, scratch.args)
    env: dict[SSAValue, SSAValue] = dict(zip(old.args[:fixed], block.args, strict=False))
    for argument, operand in zip(constants, op.tangents, strict=False):
        env[argument] = scratch.args[shared.index(operand)] if operand in shared else materialized(inner, None, argument.type)
    env.update(zip(carried, scratch.args[len(shared) :], strict=True))
    copy_linear(list(old.ops)[:-1], env, lb, take=take)
    inside = Cotangents(inner, owned=True)
    bars = block.args[fixed : fixed + len(carried)]
    for argument, total in zip(scratch.args, block.args[fixed + len(carried) :], strict=False):
        inside.add(argument, total)
    for value, y_bar in zip(terminator_operands(old), bars, strict=True):
        if env[value] in lb.linear:
            inside.add(env[value], y_bar)
    transpose_ops(inner, reversed(list(scratch.ops)), lb.linear, inside)
    outputs: list[Value] = [materialized(inner, inside.take(argument), argument.type) for argument in scratch.args]
    for scratch_op in scratch.ops:
        scratch_op.drop_all_references()
    block.add_op(hlo.ReturnOp.create(operands=[*outputs[len(shared) :], *outputs[: len(shared)]]))
    drop_dead_ops(block)
    return Region([block])


TRANSPOSE_STEPS[ad.ReplayOp] = _transpose_replay

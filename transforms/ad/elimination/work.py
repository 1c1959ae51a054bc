"""Counts the multiplications that a map takes for one direction."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.facts import facts_of
from wengert.ir import elements
from wengert.ir.tensor_types import size
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.analysis.opcost import work


def work_of(ops: Sequence[Operation], linear: AbstractSet[SSAValue]) -> int:
    """The multiplications of linear ops for one direction: half of the flops of contractions and convolutions, one for each element that is multiplied or
    divided; a loop as often as its number of iterations is known, else once. Coefficients are not counted, as far as they are in counted loops.

    Args:
        ops: linear ops.
        linear: the linear values, those that the ops take and give included.
    """
    return sum(_work(op, linear) for op in ops)


def _work(op: Operation, linear: AbstractSet[SSAValue]) -> int:
    if isinstance(op, core.ForOp):
        inside = linear_values(op, linear)
        return iterations_of(op) * work_of([inner for inner in ops_in(op.block) if not inside.isdisjoint(operands_of(inner))], inside)
    if op.regions:
        return sum(_work(inner, linear) for region in op.regions for block in region.blocks for inner in block.ops)
    facts = facts_of(type(op))
    if op.name in ("stablehlo.multiply", "stablehlo.divide"):
        return size(op.results[0])
    if facts.elementwise or (not facts.bilinear and not facts.linear):
        return 0
    flops = work(op)[0]
    return int(flops) // 2 if isinstance(flops, int | float) else 0


def linear_values(loop: core.ForOp, linear: AbstractSet[SSAValue]) -> set[SSAValue]:
    """The values of a loop's body that are linear where these values around it are: to a fixed point, for what an iteration gives the next one takes."""
    arguments, end = loop.block.args, loop.block.last_op
    assert end is not None
    carried = arguments[len(arguments) - len(loop.results) :]
    inside: set[SSAValue] = {x for x, outer in zip(arguments[1:], operands_of(loop)[1:], strict=True) if outer in linear}
    size_before = -1
    while len(inside) != size_before:
        size_before = len(inside)
        for op in ops_in(loop.block):
            if not inside.isdisjoint(operands_of(op)):
                inside.update(op.results)
        inside.update(x for x, y in zip(carried, operands_of(end), strict=True) if y in inside)
    return inside


def iterations_of(loop: core.ForOp) -> int:
    """The number of iterations; 1 where it is not known."""
    count = loop.trip_count.owner
    if isinstance(count, Operation) and count.name == "stablehlo.constant":
        return max(0, int(elements.splat_value(count.properties["value"]).real))  # pyright: ignore[reportArgumentType]
    return 1

"""How many multiplications a map takes for one direction."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from wengert.dialects.facts import facts_of
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import size
from wengert.transforms.analysis.opcost import work


def work_of(ops: Sequence[Operation]) -> int:
    """The multiplications of linear ops: half of the flops of contractions and convolutions, one for each element that is multiplied or divided; a loop
    as often as
    its number of iterations is known, else once."""
    return sum(_work(op) for op in ops)


def _work(op: Operation) -> int:
    if op.regions:
        inside = sum(_work(inner) for region in op.regions for block in region.blocks for inner in block.ops)
        return inside * _iterations(op)
    facts = facts_of(type(op))
    if op.name in ("stablehlo.multiply", "stablehlo.divide"):
        return size(op.results[0])
    if facts.elementwise or (not facts.bilinear and not facts.linear):
        return 0
    flops = work(op)[0]
    return int(flops) // 2 if isinstance(flops, int | float) else 0


def _iterations(op: Operation) -> int:
    from wengert.ir import elements

    count = op.operands[0].owner if op.name == "core.for" else None
    if isinstance(count, Operation) and count.name == "stablehlo.constant":
        return int(elements.splat_value(count.properties["value"]).real)  # pyright: ignore[reportArgumentType]
    return int_of(op.properties["trip_count"]) if "trip_count" in op.properties else 1

"""``select_and_scatter``, the derivative of pooling, as an addition at the positions that the windows select.

It is linear in its source: the cotangent of a maximum's window goes to the window's winner. Written as the winners'
positions and a scatter, it has the derivatives of a scatter, to any order; those are what pooling's second derivatives need.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import shape, size
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.rules.windows import winners
from wengert.transforms.core.kinds import combiner_kinds, returned_values
from wengert.transforms.rewriter import Rewriter

_SELECTS = {"GE": Kind.max, "GT": Kind.max, "LE": Kind.min, "LT": Kind.min}
_PLACES = ScatterDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))


def expand_selections(module: ModuleOp) -> None:
    """Writes out every select_and_scatter that adds what it scatters onto the largest or smallest elements, in place."""
    rewriter = Rewriter("expand-selections")
    for op in ops_of(module, hlo.SelectAndScatterOp):
        kind = selected(op.select.block)
        if kind is None or combiner_kinds(op.scatter.block, 1) != [Kind.add]:
            continue
        rewriter.move_to(op)
        rewriter.replace(op, [_scattered(rewriter, op, kind)])


def selected(block: Block) -> Kind | None:
    """Whether a region selects the larger or the smaller of its arguments, the first at a tie or either; else None."""
    found = returned_values(block)[0].owner
    if not isinstance(found, hlo.CompareOp) or list(found.operands) != list(block.args):
        return None
    return _SELECTS.get(found.comparison_direction.data)


def _scattered(b: OpBuilder, op: hlo.SelectAndScatterOp, kind: Kind) -> Value:
    extents = shape(op.operand)
    ones = [1] * len(extents)

    def listed(attribute: Attribute | None) -> list[int]:
        return ones if attribute is None else list(ints(attribute))

    padding: Sequence[Sequence[int]] = [(0, 0)] * len(extents) if op.padding is None else to_numpy(op.padding).reshape(-1, 2).tolist()
    maxima = b.window_reduce(kind, op.operand, listed(op.window_dimensions), listed(op.window_strides), ones, ones, [(lo, hi) for lo, hi in padding])
    assert isinstance(maxima.owner, core.WindowReduceOp)
    places = b.reshape(winners(b, maxima.owner), [size(op.source), 1])
    start = b.broadcast_in_dim(op.init_value, [], [size(op.operand)])
    return b.reshape(b.scatter(Kind.add, start, places, b.reshape(op.source, [size(op.source)]), _PLACES), extents)

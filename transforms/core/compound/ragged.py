"""ragged_dot: a contraction whose dimension m, k or b of lhs is cut into groups of consecutive positions.

=====================  ==================  ====================  ==============  =======================================================
ragged dimension       lhs                 rhs                   result          of each position or group
=====================  ==================  ====================  ==============  =======================================================
free in lhs            [b, m, k]           [g, b, k, n]          [b, m, n]       the row times the matrix of its group; 0 outside of all
summed                 [b, m, k]           [b, k, n]             [g, b, m, n]    the sum over the positions of the group
batch                  [b, m, k]           [b, k, n]             [b, m, n]       the product, whatever its group
=====================  ==================  ====================  ==============  =======================================================

Elements of other groups are taken out of products by selection and not by multiplication with 0, so that infinities do not spread from one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.chlo.attributes import ChloPrecisionAttr, RaggedDotDimensionNumbersAttr
from wengert.dialects.chlo.contraction_typing import group_prefix
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import PrecisionAttr
from wengert.ir.tensor_types import element, i64, rank, shape, tensor


def expand_ragged_dot(b: OpBuilder, op: chlo.RaggedDotOp) -> list[Value]:
    """By the kind of the ragged dimension."""
    numbers = op.ragged_dot_dimension_numbers
    (ragged,) = numbers.dims("lhs_ragged_dimensions")
    if ragged in numbers.dims("lhs_contracting_dimensions"):
        return [_summed(b, op, numbers, ragged)]
    if ragged in numbers.dims("lhs_batching_dimensions"):
        pairs = [numbers.dims(f"{side}_{kind}_dimensions") for kind in ("contracting", "batching") for side in ("lhs", "rhs")]
        return [_dot(b, op, op.lhs, op.rhs, (pairs[0], pairs[1]), (pairs[2], pairs[3]))]
    return [_free(b, op, numbers, ragged)]


def _dot(
    b: OpBuilder, op: chlo.RaggedDotOp, x: Value, y: Value, summed: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]]
) -> Value:
    return b.dot_general(x, y, summed, batch, result_element=element(op.result), precision_config=_precision(op.precision_config))


def _precision(config: Attribute | None) -> Attribute | None:
    """CHLO's words in StableHLO's attributes."""
    if config is None:
        return None
    entries = cast("ArrayAttr[Attribute]", config).data
    return ArrayAttr([PrecisionAttr(entry.data) if isinstance(entry, ChloPrecisionAttr) else entry for entry in entries])


def _membership(b: OpBuilder, op: chlo.RaggedDotOp, numbers: RaggedDotDimensionNumbersAttr, ragged: int) -> tuple[Value, list[int]]:
    """Whether a position is in a group, of shape [prefix..., m, g], and the dimensions of lhs that all but the last one stand for."""
    extents = shape(op.lhs)
    prefix = list(group_prefix(numbers, rank(op.lhs))) if rank(op.group_sizes) > 1 else []
    sizes = b.convert(op.group_sizes, i64)
    ends = b.cumulative(Kind.add, sizes, rank(sizes) - 1)
    places = [*range(len(prefix)), len(prefix) + 1]
    whole = [*(extents[d] for d in prefix), extents[ragged], shape(sizes)[-1]]
    position = b.iota(len(prefix), tensor(whole, i64))
    starts, limits = (b.broadcast_in_dim(v, places, whole) for v in (b.subtract(ends, sizes), ends))
    return b.and_(b.compare("LE", starts, position), b.compare("LT", position, limits)), [*prefix, ragged]


def _free(b: OpBuilder, op: chlo.RaggedDotOp, numbers: RaggedDotDimensionNumbersAttr, ragged: int) -> Value:
    """Every row times the matrix of every group, of which one is selected."""
    left_batch, right_batch = numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions")
    left_sum, right_sum = numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions")
    (group,) = numbers.dims("rhs_group_dimensions")
    products = _dot(b, op, op.lhs, op.rhs, (left_sum, right_sum), (left_batch, right_batch))
    free_x = [d for d in range(rank(op.lhs)) if d not in (*left_batch, *left_sum)]
    free_y = [d for d in range(rank(op.rhs)) if d not in (*right_batch, *right_sum)]
    axes = [*left_batch, *free_x]
    group_axis = len(axes) + free_y.index(group)
    member, dims = _membership(b, op, numbers, ragged)
    placed = [*(axes.index(d) for d in dims), group_axis]
    order = sorted(range(len(placed)), key=placed.__getitem__)
    mask = b.broadcast_in_dim(b.transpose(member, order), sorted(placed), shape(products))
    return b.reduce_sum(b.select(mask, products, b.full_like(products, 0)), [group_axis])


def _summed(b: OpBuilder, op: chlo.RaggedDotOp, numbers: RaggedDotDimensionNumbersAttr, ragged: int) -> Value:
    """Both operands with the other groups' elements replaced by 0, group by group."""
    left_batch, right_batch = numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions")
    left_sum, right_sum = numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions")
    member, dims = _membership(b, op, numbers, ragged)
    partner = dict(zip((*left_batch, *left_sum), (*right_batch, *right_sum), strict=True))

    def grouped(x: Value, places: Sequence[int]) -> Value:
        """x with the groups in front."""
        extents = [shape(member)[-1], *shape(x)]
        placed = [*(d + 1 for d in places), 0]
        order = sorted(range(len(placed)), key=placed.__getitem__)
        mask = b.broadcast_in_dim(b.transpose(member, order), sorted(placed), extents)
        return b.select(mask, b.broadcast_in_dim(x, range(1, len(extents)), extents), b.zeros(tensor(extents, element(x))))

    def behind(values: Sequence[int]) -> list[int]:
        return [d + 1 for d in values]

    x, y = grouped(op.lhs, dims), grouped(op.rhs, [partner[d] for d in dims])
    return _dot(b, op, x, y, (behind(left_sum), behind(right_sum)), ([0, *behind(left_batch)], [0, *behind(right_batch)]))

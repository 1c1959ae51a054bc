"""Batching of contractions: each stays one contraction.

Where both operands are batched the batch is one more batch dimension; where one is, it is one more free dimension of that
one. A convolution has no free dimensions: the batch is merged into its batch dimension, its output features, or, where both
operands are batched, its feature groups.
"""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo import attributes as sa
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import element, shape, tensor
from wengert.transforms.ad.batching.rule import Batching, Operands, Results, batches


@batches(hlo.DotGeneralOp)
def dot_general(batch: Batching, op: hlo.DotGeneralOp, operands: Operands) -> Results:
    numbers = op.dot_dimension_numbers
    lists = [numbers.dims(key) for key in numbers.LISTS]
    both = all(x.batched for x in operands)
    shifted_lists = [[d + x.batched for d in dims] for dims, x in zip(lists, (*operands, *operands), strict=True)]
    if both:
        shifted_lists[:2] = [[0, *shifted_lists[0]], [0, *shifted_lists[1]]]
    where = 0 if both else len(lists[0]) if operands[0].batched else len(shape(op.lhs)) - len(lists[2])
    result = list(shape(op.result))
    result.insert(where, batch.size)
    properties = {**op.properties, "dot_dimension_numbers": sa.DotDimensionNumbersAttr(*(sa.dimensions(dims) for dims in shifted_lists))}
    output = batch.b.create(hlo.DotGeneralOp, [x.value for x in operands], [tensor(result, element(op.result))], properties)[0]
    return [to_front(batch.b, output, where)]


def to_front(b: OpBuilder, x: Value, position: int) -> Value:
    """x with one dimension moved to the front."""
    return b.transpose(x, [position, *(d for d in range(len(shape(x))) if d != position)])


@batches(hlo.ConvolutionOp)
def convolution(batch: Batching, op: hlo.ConvolutionOp, operands: Operands) -> Results:
    lhs, rhs = operands
    (n, f, _), (_, o, _), (out_n, out_f, _) = op.dimension_numbers.roles
    feature_groups, batch_groups = int_of(op.feature_group_count), int_of(op.batch_group_count)
    if batch.size == 0:
        return batch.empty_results(op)  # a convolution has at least one group
    if lhs.batched and rhs.batched:
        image = merged(batch.b, lhs.value, n if batch_groups > 1 else f)
        kernel = merged(batch.b, rhs.value, o)
        if batch_groups > 1:
            output = _convolve(batch.b, op, image, kernel, 1, batch_groups * batch.size)
        else:
            output = _convolve(batch.b, op, image, kernel, feature_groups * batch.size, 1)
        return [split(batch.b, output, out_f, batch.size)]
    if lhs.batched:
        output = _convolve(batch.b, op, merged(batch.b, lhs.value, n, batch_groups), rhs.value, feature_groups, batch_groups)
        return [split(batch.b, output, out_n, batch.size)]
    groups = max(feature_groups, batch_groups)
    output = _convolve(batch.b, op, lhs.value, merged(batch.b, rhs.value, o, groups), feature_groups, batch_groups)
    return [split(batch.b, output, out_f, batch.size, groups)]


def merged(b: OpBuilder, x: Value, d: int, groups: int = 1) -> Value:
    """Merges the batch dimension into dimension d, outermost within each of the groups of d."""
    size, *extents = shape(x)
    grouped = b.reshape(x, [size, *extents[:d], groups, extents[d] // groups, *extents[d + 1 :]])
    rest = [p for p in range(len(shape(grouped))) if p != 0]
    moved = b.transpose(grouped, [*rest[: d + 1], 0, *rest[d + 1 :]])
    return b.reshape(moved, [*extents[:d], size * extents[d], *extents[d + 1 :]])


def split(b: OpBuilder, x: Value, d: int, size: int, groups: int = 1) -> Value:
    """The inverse of :func:`merged`."""
    extents = list(shape(x))
    inner = extents[d] // (size * groups) if size else 0
    parts = b.reshape(x, [*extents[:d], groups, size, inner, *extents[d + 1 :]])
    moved = to_front(b, parts, d + 1)
    return b.reshape(moved, [size, *extents[:d], groups * inner, *extents[d + 1 :]])


def _convolve(b: OpBuilder, op: hlo.ConvolutionOp, lhs: Value, rhs: Value, feature_groups: int, batch_groups: int) -> Value:
    """Emits the convolution on operands with other batch and feature extents, and other group counts."""
    (n, _, _), (_, o, _), (out_n, out_f, _) = op.dimension_numbers.roles
    result = list(shape(op.result))
    result[out_n], result[out_f] = shape(lhs)[n] // batch_groups, shape(rhs)[o]
    properties = {**op.properties, "feature_group_count": int_attr(feature_groups), "batch_group_count": int_attr(batch_groups)}
    return b.create(hlo.ConvolutionOp, [lhs, rhs], [tensor(result, element(op.result))], properties)[0]

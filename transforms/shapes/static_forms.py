"""The static form of each op whose result shape is computed, for when it is known.

Before and after::

    %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
    %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf64>, tensor<2xi32>) -> tensor<?x?xf64>     %0 = stablehlo.reshape %x : (tensor<6xf64>) -> tensor<2x3xf64>

A form is given an op whose operands and result have their final types, and makes the op that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.typing.checks import fail
from wengert.dialects.stablehlo.typing.dynamic import constant_list, constant_value
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_of
from wengert.ir.tensor_types import element, i32, shape, tensor

Form = Callable[[OpBuilder, Any], SSAValue]


def _required(op: Operation, index: int, role: str) -> tuple[int, ...]:
    """The integers of an operand, which must be a constant by now."""
    integers = constant_list(op, index, role)
    return _unknown(role) if integers is None else integers


def _unknown(role: str) -> NoReturn:
    fail(f"{role} is computed from the arguments' elements, so that the shapes of the arguments do not decide it", DATA)


DATA = "a static form needs shapes that follow from the shapes of the arguments"


def _with(b: OpBuilder, cls: type[Operation], op: Operation, count: int, **properties: Attribute) -> SSAValue:
    """An op of this class on the first operands, with properties of the dynamic op that it has too, and others."""
    kept = {name: value for name, value in op.properties.items() if name not in ("known_expanding_dimensions", "known_nonexpanding_dimensions")}
    return b.create(cls, op.operands[:count], [op.results[0].type], {**kept, **properties})[0]


def _extent(b: OpBuilder, op: stablehlo.GetDimensionSizeOp) -> SSAValue:
    return b.scalar(shape(op.operand)[int_of(op.dimension)], i32)


def _shortened(b: OpBuilder, op: stablehlo.SetDimensionSizeOp) -> SSAValue:
    """The first elements along the dimension; the operand where these are all."""
    limits = shape(op.result)
    return op.operand if limits == shape(op.operand) else b.slice(op.operand, [0] * len(limits), limits)


def _broadcast(b: OpBuilder, op: stablehlo.DynamicBroadcastInDimOp) -> SSAValue:
    return _with(b, stablehlo.BroadcastInDimOp, op, 1)


def _iota(b: OpBuilder, op: stablehlo.DynamicIotaOp) -> SSAValue:
    return _with(b, stablehlo.IotaOp, op, 0)


def _reshape(b: OpBuilder, op: stablehlo.DynamicReshapeOp) -> SSAValue:
    return _with(b, stablehlo.ReshapeOp, op, 1)


def _pad(b: OpBuilder, op: stablehlo.DynamicPadOp) -> SSAValue:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return _with(b, stablehlo.PadOp, op, 2, **{name: int_array(_required(op, i, name)) for i, name in enumerate(names, 2)})


def _gather(b: OpBuilder, op: stablehlo.DynamicGatherOp) -> SSAValue:
    return _with(b, stablehlo.GatherOp, op, 2, slice_sizes=int_array(_required(op, 2, "slice_sizes")))


def _convolution(b: OpBuilder, op: stablehlo.DynamicConvOp) -> SSAValue:
    padding = constant_value(op.padding)
    if padding is None:
        _unknown("padding")
    return _with(b, stablehlo.ConvolutionOp, op, 2, padding=elements.from_numpy(padding.astype(np.int64)))


def _slice(b: OpBuilder, op: stablehlo.RealDynamicSliceOp) -> SSAValue:
    """A slice; a dynamic_slice where only its size is known."""
    names = ("start_indices", "limit_indices", "strides")
    if constant_list(op, 1, names[0]) is None and window_of(op) is not None:
        return _dynamic_slice(b, op)
    return _with(b, stablehlo.SliceOp, op, 1, **{name: int_array(_required(op, i, name)) for i, name in enumerate(names, 1)})


def window_of(op: stablehlo.RealDynamicSliceOp) -> tuple[int, ...] | None:
    """The extents of a slice without strides that ends so far from where it starts (``limit = start + extents``), wherever that is."""
    strides, end = constant_list(op, 3, "strides"), op.limit_indices.owner
    if strides is None or any(step != 1 for step in strides) or not isinstance(end, stablehlo.AddOp):
        return None
    for i, j in ((0, 1), (1, 0)):
        if end.operands[i] is op.start_indices:
            return constant_list(end, j, "limit_indices", 0)
    return None


def _dynamic_slice(b: OpBuilder, op: stablehlo.RealDynamicSliceOp) -> SSAValue:
    """The start lies where the slice fits, or the program is undefined; so it does not matter that a dynamic_slice moves it there."""
    starts, sizes = op.start_indices, shape(op.result)
    each = [b.reshape(b.slice(starts, [d], [d + 1]), ()) for d in range(len(sizes))]
    return b.dynamic_slice(op.operand, each, sizes)


STATIC_FORMS: dict[type[Operation], Form] = {
    stablehlo.DynamicBroadcastInDimOp: _broadcast,
    stablehlo.DynamicConvOp: _convolution,
    stablehlo.DynamicGatherOp: _gather,
    stablehlo.DynamicIotaOp: _iota,
    stablehlo.DynamicPadOp: _pad,
    stablehlo.DynamicReshapeOp: _reshape,
    stablehlo.GetDimensionSizeOp: _extent,
    stablehlo.RealDynamicSliceOp: _slice,
    stablehlo.SetDimensionSizeOp: _shortened,
}
"""The static form of each op."""

SHAPE_ROLES: dict[type[Operation], tuple[tuple[int, str], ...]] = {
    stablehlo.DynamicBroadcastInDimOp: ((1, "output_dimensions"),),
    stablehlo.DynamicConvOp: ((2, "padding"),),
    stablehlo.DynamicGatherOp: ((2, "slice_sizes"),),
    stablehlo.DynamicIotaOp: ((0, "output_shape"),),
    stablehlo.DynamicPadOp: ((2, "edge_padding_low"), (3, "edge_padding_high"), (4, "interior_padding")),
    stablehlo.DynamicReshapeOp: ((1, "output_shape"),),
    stablehlo.RealDynamicSliceOp: ((1, "start_indices"), (2, "limit_indices"), (3, "strides")),
    stablehlo.RngOp: ((2, "shape"),),
    stablehlo.SetDimensionSizeOp: ((1, "size"),),
}
"""The operands that say what the result's shape is, for messages."""


def refuse_open(op: Operation) -> NoReturn:
    """Rejects an op whose result type stays open, saying which operand is to blame."""
    for index, role in SHAPE_ROLES.get(type(op), ()):
        if constant_value(op.operands[index]) is None:
            _unknown(role)
    fail(f"the extents of its result {', '.join(str(r.type) for r in op.results)} do not follow from its operands", DATA)


def sliced_type(op: stablehlo.RealDynamicSliceOp) -> Attribute | None:
    """The type of a slice of which only the size is known."""
    sizes = window_of(op)
    return None if sizes is None else tensor(sizes, element(op.operand))

"""The arithmetic of shapes, evaluated: ops on constants that say how large something is become constants.

What is computed here are integers and booleans (and floats of rank 0, by which some exporters count): extents, positions and
conditions on them. The tables are those of ``simplify``; what it leaves to others (numbering, reading a part, sums of a list)
is added.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.typing.dynamic import constant_value
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, is_float, is_integer, shape
from wengert.transforms.optimize.folding import LIMIT, Array, Fold, fold


def evaluate(b: OpBuilder, op: Operation) -> SSAValue | None:
    """The constant that an op gives, where it is about shapes and its operands are constants; else None."""
    if len(op.results) != 1 or not _counts(op.results[0]):
        return None
    function = _COUNTING.get(type(op))
    if function is None:
        return fold(b, op)
    operands = [constant_value(value) for value in op.operands]
    array = None if any(x is None for x in operands) else function(op, [x for x in operands if x is not None])
    return None if array is None else b.constant(np.asarray(array).astype(dtype_of(element(op.results[0])), copy=False))


def _counts(value: SSAValue) -> bool:
    """Whether the value may be an extent or a list of them."""
    if not isinstance(value.type, TensorType):
        return False
    element_type, extents = element(value), shape(value)
    return prod(extents) <= LIMIT if is_integer(element_type) else is_float(element_type) and not extents


def _iota(op: Any, x: list[Array]) -> Array:
    extents, dimension = shape(op.results[0]), int_of(op.iota_dimension)
    return np.broadcast_to(np.arange(extents[dimension]).reshape([-1 if d == dimension else 1 for d in range(len(extents))]), extents)


def _part(op: Any, x: list[Array]) -> Array:
    sizes = ints(op.slice_sizes)
    starts = [min(max(int(start), 0), n - size) for start, n, size in zip(x[1:], x[0].shape, sizes, strict=True)]
    return x[0][tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))]


_SUMS: dict[type[Operation], Any] = {
    stablehlo.AddOp: np.add,
    stablehlo.AndOp: np.bitwise_and,
    stablehlo.MaximumOp: np.maximum,
    stablehlo.MinimumOp: np.minimum,
    stablehlo.MultiplyOp: np.multiply,
    stablehlo.OrOp: np.bitwise_or,
}


def _reduced(op: Any, x: list[Array]) -> Array | None:
    """A reduction of integers by one op."""
    inner: list[Operation] = list(op.regions[0].block.ops)
    function = _SUMS.get(type(inner[0])) if len(inner) == 2 and set(inner[0].operands) == set(op.regions[0].block.args) else None
    if function is None or len(x) != 2 or x[0].dtype.kind not in "iu":
        return None
    with np.errstate(all="ignore"):
        return function.reduce(x[0], axis=ints(op.dimensions), dtype=x[0].dtype, initial=x[1][()])


_COUNTING: dict[type[Operation], Fold] = {
    stablehlo.DynamicSliceOp: _part,
    stablehlo.IotaOp: _iota,
    stablehlo.ReduceOp: _reduced,
}
"""Folds of ops that ``simplify`` does not fold."""

"""Constant folding: ops whose operands are constants are computed here, where every implementation must agree on the result.

That is so for exactly rounded arithmetic, comparisons, integers and moving elements; it is not so for functions such as ``exp``
and for what the specification leaves open (division of integers by zero, conversion out of range, the order of a sum), which are
left alone. A constant filled with one element is folded as that element at any size, others up to ``LIMIT`` elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import ComparisonDirection, ComparisonType
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import DYNAMIC, dtype_of, element, is_complex, is_float, is_integer, shape, size, type_of
from wengert.transforms.optimize.matching import constant_of

LIMIT = 1024
"""Constants of more elements than this are folded only if one element fills them."""

Array = np.ndarray[Any, np.dtype[Any]]
Fold = Callable[[Any, list[Array]], Array | None]
"""Computes an op on arrays (for elementwise ops: of any one shape); None where the result is open."""


def fold(b: OpBuilder, op: Operation) -> SSAValue | None:
    """The constant that an op on constants gives, or None."""
    cls = type(op)
    elementwise = ELEMENTWISE.get(cls)
    function = elementwise or MOVEMENT.get(cls)
    if function is None:
        return None
    constants: list[elements.Elements] = []
    for operand in op.operands:
        constant = constant_of(operand)
        if constant is None:
            return None
        constants.append(constant)
    if not constants or DYNAMIC in shape(op.results[0]):
        return None
    with np.errstate(all="ignore"):
        if elementwise is not None and all(elements.is_splat(c) for c in constants):
            result = elementwise(op, [np.asarray(elements.splat_value(c)) for c in constants])
            return None if result is None else _splat(b, op, result)
        if max(size(op.results[0]), *(size(o) for o in op.operands)) > LIMIT:
            return None
        result = function(op, [elements.to_numpy(c) for c in constants])
    return None if result is None else b.constant(result.astype(dtype_of(element(op.results[0])), copy=False))


def _splat(b: OpBuilder, op: Operation, result: Array) -> SSAValue:
    return b.full(cast(Any, result.astype(dtype_of(element(op.results[0])), copy=False)[()]), type_of(op.results[0]))


# -- elementwise


def _plain(function: Callable[..., Any]) -> Fold:
    """An op on real numbers and integers that NumPy computes exactly as specified."""

    def compute(op: Any, x: list[Array]) -> Array | None:
        return None if x[0].dtype.kind == "c" else np.asarray(function(*x))

    return compute


def _linear(function: Callable[..., Any]) -> Fold:
    """As ``_plain``, and exact on the parts of complex numbers too; booleans are left to their own functions."""
    return lambda op, x: None if x[0].dtype == np.bool_ else np.asarray(function(*x))


def _logical(boolean: Callable[..., Any], number: Callable[..., Any], *, complex_too: bool = False) -> Fold:
    """Arithmetic, which on booleans means a logical op."""

    def compute(op: Any, x: list[Array]) -> Array | None:
        if x[0].dtype.kind == "c" and not complex_too:
            return None
        return np.asarray((boolean if x[0].dtype == np.bool_ else number)(*x))

    return compute


def _extreme(function: Callable[..., Any]) -> Fold:
    """Maximum or minimum, unless zeros of both signs meet."""

    def compute(op: Any, x: list[Array]) -> Array | None:
        if x[0].dtype.kind == "c" or (is_float(element(op.result)) and bool(np.any((x[0] == 0) & (x[1] == 0) & (np.signbit(x[0]) != np.signbit(x[1]))))):
            return None
        return np.asarray(function(*x))

    return compute


def _divide(op: Any, x: list[Array]) -> Array | None:
    if is_complex(element(op.result)) or x[0].dtype == np.bool_:
        return None
    if is_float(element(op.result)):
        return np.asarray(np.divide(*x))
    return np.asarray((x[0] - np.fmod(*x)) // x[1]) if _divides(x) else None


def _remainder(op: Any, x: list[Array]) -> Array | None:
    if is_complex(element(op.result)) or x[0].dtype == np.bool_ or not (is_float(element(op.result)) or _divides(x)):
        return None
    return np.asarray(np.fmod(*x))


def _divides(x: list[Array]) -> bool:
    """Whether an integer division is defined: no zero divides, and the quotient does not overflow."""
    overflows = x[0].dtype.kind == "i" and bool(np.any((x[0] == np.iinfo(x[0].dtype).min) & (x[1] == -1)))
    return not overflows and bool(np.all(x[1] != 0))


def _shift(function: Callable[..., Any], *, logical: bool = False) -> Fold:
    def compute(op: Any, x: list[Array]) -> Array | None:
        width = 8 * x[0].dtype.itemsize
        if x[0].dtype == np.bool_ or not _is_plain(x[0].dtype) or not bool(np.all((x[1] >= 0) & (x[1] < width))):
            return None
        bits_dtype = np.dtype(f"{'u' if logical else 'i'}{x[0].dtype.itemsize}")
        return np.asarray(function(x[0].view(bits_dtype), x[1].view(bits_dtype))).view(x[0].dtype)

    return compute


def _compare(op: Any, x: list[Array]) -> Array | None:
    if op.compare_type is not None and op.compare_type.data is ComparisonType.TOTALORDER:
        return None
    direction = op.comparison_direction.data
    if x[0].dtype.kind == "c" and direction not in (ComparisonDirection.EQ, ComparisonDirection.NE):
        return None
    return np.asarray(_DIRECTIONS[direction](*x))


_DIRECTIONS: dict[ComparisonDirection, Callable[..., Any]] = {
    ComparisonDirection.EQ: np.equal,
    ComparisonDirection.NE: np.not_equal,
    ComparisonDirection.LT: np.less,
    ComparisonDirection.LE: np.less_equal,
    ComparisonDirection.GT: np.greater,
    ComparisonDirection.GE: np.greater_equal,
}


def _convert(op: Any, x: list[Array]) -> Array | None:
    source, target = element(op.operand), element(op.result)
    if source == target:
        return x[0]
    dtype = dtype_of(target)
    if not (_is_plain(x[0].dtype) and _is_plain(dtype)):
        return None
    if dtype == np.bool_:
        return np.asarray(x[0] != 0)
    if is_integer(target) and is_float(source):
        wide = x[0].astype(np.float64)
        inside = np.isfinite(wide) & (np.trunc(wide) >= float(np.iinfo(dtype).min)) & (np.trunc(wide) < float(np.iinfo(dtype).max))
        return np.trunc(wide).astype(dtype) if bool(np.all(inside)) else None
    result = x[0].astype(dtype)
    if is_float(target) and dtype.itemsize == 2 and x[0].dtype != np.float32:
        # Rounding to 16 bits may go through 32: right only where nothing is rounded.
        return result if bool(np.all(result.astype(np.float64) == x[0].astype(np.float64))) else None
    return result


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy converts the type as the op does: real numbers of its own and bf16. Floats of 8 bits and integers below are left to who runs the op."""
    return dtype.kind != "c" and (dtype.isbuiltin == 1 or dtype.itemsize == 2)


def _bitcast(op: Any, x: list[Array]) -> Array | None:
    dtype = dtype_of(element(op.result))
    if dtype.itemsize != x[0].dtype.itemsize or np.bool_ in (dtype, x[0].dtype) or is_complex(element(op.result)):
        return None
    return np.ascontiguousarray(x[0]).view(dtype).reshape(x[0].shape)


def _clamp(op: Any, x: list[Array]) -> Array | None:
    low, value, high = x
    return np.asarray(np.minimum(np.maximum(low, value), high)) if value.dtype.kind in "iu" else None


def _sign(op: Any, x: list[Array]) -> Array | None:
    if x[0].dtype.kind == "c":
        return None
    return np.asarray(np.where(x[0] == 0, x[0], np.sign(x[0])))


ELEMENTWISE: dict[type[Operation], Fold] = {
    stablehlo.AbsOp: lambda op, x: None if x[0].dtype.kind == "c" else np.asarray(np.abs(x[0])),
    stablehlo.AddOp: _logical(np.logical_or, np.add, complex_too=True),
    stablehlo.AndOp: _plain(np.bitwise_and),
    stablehlo.BitcastConvertOp: _bitcast,
    stablehlo.CeilOp: _plain(np.ceil),
    stablehlo.ClampOp: _clamp,
    stablehlo.CompareOp: _compare,
    stablehlo.ConvertOp: _convert,
    stablehlo.DivideOp: _divide,
    stablehlo.FloorOp: _plain(np.floor),
    stablehlo.ImagOp: lambda op, x: np.asarray(np.imag(x[0])) if x[0].dtype.kind == "c" else None,
    stablehlo.IsFiniteOp: _plain(np.isfinite),
    stablehlo.MaximumOp: _extreme(np.maximum),
    stablehlo.MinimumOp: _extreme(np.minimum),
    stablehlo.MultiplyOp: _logical(np.logical_and, np.multiply),
    stablehlo.NegateOp: _linear(np.negative),
    stablehlo.NotOp: _plain(np.invert),
    stablehlo.OrOp: _plain(np.bitwise_or),
    stablehlo.RealOp: lambda op, x: np.asarray(np.real(x[0])),
    stablehlo.RemainderOp: _remainder,
    stablehlo.RoundNearestEvenOp: _plain(np.rint),
    stablehlo.SelectOp: lambda op, x: np.asarray(np.where(x[0], x[1], x[2])),
    stablehlo.ShiftLeftOp: _shift(np.left_shift),
    stablehlo.ShiftRightArithmeticOp: _shift(np.right_shift),
    stablehlo.ShiftRightLogicalOp: _shift(np.right_shift, logical=True),
    stablehlo.SignOp: _sign,
    stablehlo.SqrtOp: _plain(np.sqrt),
    stablehlo.SubtractOp: _linear(np.subtract),
    stablehlo.XorOp: _plain(np.bitwise_xor),
    chlo.ConjOp: lambda op, x: np.asarray(np.conj(x[0])),
    chlo.SquareOp: lambda op, x: None if x[0].dtype.kind == "c" else np.asarray(x[0] * x[0]),
}
"""The function of each elementwise op on arrays of one shape."""


# -- moving elements


def _slices(op: Any, x: list[Array]) -> Array:
    bounds = zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), strict=True)
    return x[0][tuple(slice(*bound) for bound in bounds)]


def _pads(op: Any, x: list[Array]) -> Array:
    if x[0].ndim == 0:
        return x[0]
    low, high, interior = ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding)
    dilated = np.full([max(0, (n - 1) * (mid + 1) + 1) if n else 0 for n, mid in zip(x[0].shape, interior, strict=True)], x[1][()], x[0].dtype)
    dilated[tuple(slice(None, None, mid + 1) for mid in interior)] = x[0]
    edges = [(max(lo, 0), max(hi, 0)) for lo, hi in zip(low, high, strict=True)]
    padded = np.pad(dilated, edges, constant_values=x[1][()])
    return padded[tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, lo, hi in zip(padded.shape, low, high, strict=True))]


def _broadcast(op: Any, x: list[Array]) -> Array | None:
    dims = ints(op.broadcast_dimensions)
    if x[0].size != size(op.result) or list(dims) != sorted(dims):
        return None
    return x[0].reshape(shape(op.result))


MOVEMENT: dict[type[Operation], Fold] = {
    stablehlo.BroadcastInDimOp: _broadcast,
    stablehlo.ConcatenateOp: lambda op, x: np.concatenate(x, int_of(op.dimension)),
    stablehlo.PadOp: _pads,
    stablehlo.ReshapeOp: lambda op, x: x[0].reshape(shape(op.result)),
    stablehlo.ReverseOp: lambda op, x: np.flip(x[0], ints(op.dimensions)),
    stablehlo.SliceOp: _slices,
    stablehlo.TransposeOp: lambda op, x: np.transpose(x[0], ints(op.permutation)),
}
"""The function of each op that moves elements (splats of any size are a rewrite of their own)."""

"""The standard's elementwise questions: comparisons, logic, bits, and the selection by them, ``where``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.frontends.tracing.operands import broadcast, builder, common_shape, convert, is_traced, matched, promoted, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.tensor_types import i1, shape, tensor
from wengert.numpy.dispatch import Array, ArrayLike, concrete_by
from wengert.numpy.elementwise_calls import Emit, Emit2, binary, is_infinite, kind_of

# -- questions


def _question(numpy_function: Callable[..., Any], emit: Emit, x: ArrayLike, otherwise: bool) -> Array:
    """A question about floats, whose answer for integers is always the same; complex numbers are asked part by part."""
    if not isinstance(x, TracedArray):
        return numpy_function(x)
    b, value = builder(), value_of(x)
    if x.dtype.kind in "biu":
        return traced(b.full(otherwise, tensor(x.shape, i1)))
    if x.dtype.kind == "c":
        parts = emit(b, b.real(value)), emit(b, b.imag(value))
        return traced(b.and_(*parts) if otherwise else b.or_(*parts))
    return traced(emit(b, value))


def isfinite(x: ArrayLike, /) -> Array:
    """Whether elements are neither infinite nor NaN."""
    return _question(np.isfinite, lambda b, x: b.one(hlo.IsFiniteOp, (x,), tensor(shape(x), i1)), x, True)


def isinf(x: ArrayLike, /) -> Array:
    """Whether elements are infinite."""
    return _question(np.isinf, is_infinite, x, False)


def isnan(x: ArrayLike, /) -> Array:
    """Whether elements are NaN."""
    return _question(np.isnan, lambda b, x: b.compare("NE", x, x), x, False)


# -- comparisons


def _compared(numpy_function: Callable[..., Any], direction: str, x1: ArrayLike, x2: ArrayLike) -> Array:
    if not is_traced(x1, x2):
        return numpy_function(x1, x2)
    (x, y), _ = matched(x1, x2)
    return traced(builder().compare(direction, x, y))


def equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 == x2``."""
    return _compared(np.equal, "EQ", x1, x2)


def not_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 != x2``."""
    return _compared(np.not_equal, "NE", x1, x2)


def less(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 < x2``."""
    return _compared(np.less, "LT", x1, x2)


def less_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 <= x2``."""
    return _compared(np.less_equal, "LE", x1, x2)


def greater(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 > x2``."""
    return _compared(np.greater, "GT", x1, x2)


def greater_equal(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 >= x2``."""
    return _compared(np.greater_equal, "GE", x1, x2)


# -- logic and bits


def _logical(numpy_function: Callable[..., Any], emit: Emit2, x1: ArrayLike, x2: ArrayLike) -> Array:
    if not is_traced(x1, x2):
        return numpy_function(x1, x2)
    extents = common_shape(x1, x2)
    x, y = (broadcast(convert(value_of(x), np.dtype(np.bool_)), extents) for x in (x1, x2))
    return traced(emit(builder(), x, y))


def logical_and(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether both are not zero."""
    return _logical(np.logical_and, OpBuilder.and_, x1, x2)


def logical_or(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether one of the two is not zero."""
    return _logical(np.logical_or, OpBuilder.or_, x1, x2)


def logical_xor(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether exactly one of the two is not zero."""
    return _logical(np.logical_xor, OpBuilder.xor, x1, x2)


def logical_not(x: ArrayLike, /) -> Array:
    """Whether elements are zero."""
    if not isinstance(x, TracedArray):
        return np.logical_not(x)
    return traced(builder().not_(convert(value_of(x), np.dtype(np.bool_))))


def bitwise_and(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The conjunction bit by bit."""
    return binary(np.bitwise_and, OpBuilder.and_, x1, x2)


def bitwise_or(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The disjunction bit by bit."""
    return binary(np.bitwise_or, OpBuilder.or_, x1, x2)


def bitwise_xor(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The exclusive disjunction bit by bit."""
    return binary(np.bitwise_xor, OpBuilder.xor, x1, x2)


def bitwise_invert(x: ArrayLike, /) -> Array:
    """All bits inverted; of booleans the negation."""
    return traced(builder().not_(value_of(x))) if isinstance(x, TracedArray) else np.bitwise_invert(x)


def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The bits of ``x1`` moved up by ``x2``."""
    return binary(np.bitwise_left_shift, lambda b, x, y: b.like(hlo.ShiftLeftOp, x, y), x1, x2)


def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The bits of ``x1`` moved down by ``x2``, keeping the sign."""
    return binary(np.bitwise_right_shift, lambda b, x, y: b.like(hlo.ShiftRightLogicalOp if kind_of(x) == "u" else hlo.ShiftRightArithmeticOp, x, y), x1, x2)


# -- selection


@concrete_by(np.where)
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1`` where the condition holds, else ``x2``; both are computed, and what is not chosen has derivative 0.

    Under a derivative 0 times infinity is NaN also for what is not chosen; make the argument safe first: ``sqrt(where(x > 0, x, 1))``.
    """
    extents = common_shape(condition, x1, x2)
    (x, y), weak = promoted(x1, x2)
    chosen = broadcast(convert(value_of(condition), np.dtype(np.bool_)), extents)
    return traced(builder().select(chosen, broadcast(x, extents), broadcast(y, extents)), weak)

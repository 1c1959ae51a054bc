"""The standard's elementwise functions: arithmetic, exponentials, trigonometry, rounding, complex numbers.

Operands are broadcast and converted to their common dtype. Functions of floats take integers as NumPy does. Where a function has a kink
or a branch, derivatives follow the primitive operations that it is made of (see "Conventions at kinks" in the documentation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.operands import builder, is_traced, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.numpy.dispatch import Array, ArrayLike, copied
from wengert.numpy.elementwise_calls import Emit, binary, is_infinite, kind_of, sign_bit, single_op, unary

# -- arithmetic


def add(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The sum of two operands; of booleans, their disjunction."""
    return binary(np.add, lambda b, x, y: b.or_(x, y) if kind_of(x) == "b" else b.add(x, y), x1, x2)


def subtract(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The difference of two operands."""
    return binary(np.subtract, lambda b, x, y: b.subtract(x, y), x1, x2)


def multiply(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The product of two operands; of booleans, their conjunction."""
    return binary(np.multiply, lambda b, x, y: b.and_(x, y) if kind_of(x) == "b" else b.multiply(x, y), x1, x2)


def divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The quotient of two operands as floats."""
    return binary(np.divide, lambda b, x, y: b.divide(x, y), x1, x2, floating=True)


def pow(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1`` to the power ``x2``. A Python integer as exponent is multiplied out, so that its derivative is right at 0 too."""
    if isinstance(x1, TracedArray) and type(x2) is int and abs(x2) <= 64 and (x1.dtype.kind != "b") and (x2 >= 0 or x1.dtype.kind not in "iu"):
        return traced(_integer_power(builder(), value_of(x1), x2), x1.weak)
    return binary(np.power, lambda b, x, y: b.power(x, y), x1, x2)


def _integer_power(b: OpBuilder, x: Value, exponent: int) -> Value:
    if exponent < 0:
        return b.divide(b.full_like(x, 1), _integer_power(b, x, -exponent))
    result: Value | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else b.multiply(result, x)
        exponent >>= 1
        if exponent:
            x = b.multiply(x, x)
    return b.full_like(x, 1) if result is None else result


def negative(x: ArrayLike, /) -> Array:
    """``-x``."""
    if not isinstance(x, TracedArray):
        return np.negative(x)
    if x.dtype.kind == "b":
        raise type_error("booleans have no negative", "use ~ for the negation")
    return traced(builder().negate(value_of(x)), x.weak)


def positive(x: ArrayLike, /) -> Array:
    """``+x``, which is ``x``."""
    return copied(x) if isinstance(x, TracedArray) else np.positive(x)


def abs(x: ArrayLike, /) -> Array:
    """The absolute value; of complex numbers the modulus. The derivative at 0 is 0."""
    return _unary_kept(np.abs, x) if isinstance(x, TracedArray) and x.dtype.kind in "bu" else _abs(x)


def _abs(x: ArrayLike) -> Array:
    if not isinstance(x, TracedArray):
        return np.abs(x)
    return traced(builder().abs(value_of(x)), x.weak)


def _unary_kept(numpy_function: Callable[..., Any], x: ArrayLike) -> Array:
    """A function that leaves such elements as they are."""
    return copied(x) if isinstance(x, TracedArray) else numpy_function(x)


def square(x: ArrayLike, /) -> Array:
    """``x * x``."""
    return unary(np.square, lambda b, x: b.multiply(x, x), x)


def reciprocal(x: ArrayLike, /) -> Array:
    """``1 / x``."""
    return unary(np.reciprocal, lambda b, x: b.divide(b.full_like(x, 1), x), x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1; of complex numbers ``x / |x|``. At -0 it is 0, as the standard says."""
    return unary(np.sign, lambda b, x: _unsigned_sign(b, x) if kind_of(x) == "u" else _signed_sign(b, x), x)


def _signed_sign(b: OpBuilder, x: Value) -> Value:
    if kind_of(x) != "c":
        return b.sign(x) if kind_of(x) == "i" else b.add(b.sign(x), b.full_like(x, 0))  # -0 + 0 is 0
    zero = b.full_like(x, 0)
    at_zero = b.compare("EQ", x, zero)
    return b.select(at_zero, zero, b.sign(b.select(at_zero, b.full_like(x, 1), x)))


def _unsigned_sign(b: OpBuilder, x: Value) -> Value:
    return b.minimum(x, b.full_like(x, 1))


def maximum(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The larger of two operands, NaN where one is. At ties each has half the derivative."""
    return binary(np.maximum, lambda b, x, y: b.maximum(x, y), x1, x2)


def minimum(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The smaller of two operands, NaN where one is. At ties each has half the derivative."""
    return binary(np.minimum, lambda b, x, y: b.minimum(x, y), x1, x2)


def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """``x`` kept between bounds: ``minimum(maximum(x, min), max)``; None is no bound."""
    if not is_traced(x, min, max):
        return np.clip(x, min, max)
    if min is not None:
        x = maximum(x, min)
    return copied(x) if max is None else minimum(x, max)


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``sqrt(x1^2 + x2^2)`` without overflow; 0 with derivative 0 where both are 0."""
    return binary(np.hypot, _hypot, x1, x2, floating=True)


def _hypot(b: OpBuilder, x: Value, y: Value) -> Value:
    x, y = b.abs(x), b.abs(y)
    large, small, zero, one = b.maximum(x, y), b.minimum(x, y), b.full_like(x, 0), b.full_like(x, 1)
    is_zero = b.compare("EQ", large, zero)
    infinite = b.or_(is_infinite(b, x), is_infinite(b, y))
    safe = b.select(b.or_(is_zero, infinite), one, large)
    ratio = b.divide(b.select(b.or_(is_zero, infinite), zero, small), safe)
    finite = b.multiply(large, b.sqrt(b.add(one, b.multiply(ratio, ratio))))
    return b.select(infinite, b.full_like(x, float("inf")), b.select(is_zero, b.add(x, y), finite))


# -- exponentials and logarithms


def exp(x: ArrayLike, /) -> Array:
    """The exponential."""
    return unary(np.exp, OpBuilder.exponential, x)


def expm1(x: ArrayLike, /) -> Array:
    """``exp(x) - 1``, exact for small x."""
    return unary(np.expm1, OpBuilder.exponential_minus_one, x)


def log(x: ArrayLike, /) -> Array:
    """The natural logarithm."""
    return unary(np.log, OpBuilder.log, x)


def log1p(x: ArrayLike, /) -> Array:
    """``log(1 + x)``, exact for small x."""
    return unary(np.log1p, OpBuilder.log_plus_one, x)


def log2(x: ArrayLike, /) -> Array:
    """The logarithm of base 2."""
    return unary(np.log2, lambda b, x: _scaled_log(b, x, 2.0), x)


def log10(x: ArrayLike, /) -> Array:
    """The logarithm of base 10."""
    return unary(np.log10, lambda b, x: _scaled_log(b, x, 10.0), x)


def _scaled_log(b: OpBuilder, x: Value, base: float) -> Value:
    """The logarithm of a base; of complex numbers part by part, as a complex quotient makes NaN of infinite parts."""
    logarithm = b.log(x)
    if kind_of(x) != "c":
        return b.divide(logarithm, b.full_like(x, float(np.log(base))))
    scale = b.full_like(b.real(x), float(np.log(base)))
    return b.complex(b.divide(b.real(logarithm), scale), b.divide(b.imag(logarithm), scale))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``log(exp(x1) + exp(x2))`` without overflow."""
    return binary(np.logaddexp, _logaddexp, x1, x2, floating=True)


def _logaddexp(b: OpBuilder, x: Value, y: Value) -> Value:
    difference = b.subtract(x, y)
    finite = b.add(b.maximum(x, y), b.log_plus_one(b.exponential(b.negate(b.abs(difference)))))
    return b.select(b.compare("NE", difference, difference), b.add(x, y), finite)  # equal infinities, and NaN


def sqrt(x: ArrayLike, /) -> Array:
    """The square root."""
    return unary(np.sqrt, OpBuilder.sqrt, x)


# -- trigonometry


def sin(x: ArrayLike, /) -> Array:
    """The sine."""
    return unary(np.sin, OpBuilder.sine, x)


def cos(x: ArrayLike, /) -> Array:
    """The cosine."""
    return unary(np.cos, OpBuilder.cosine, x)


def tan(x: ArrayLike, /) -> Array:
    """The tangent."""
    return unary(np.tan, OpBuilder.tan, x)


def asin(x: ArrayLike, /) -> Array:
    """The inverse sine."""
    return unary(np.arcsin, single_op(chlo.AsinOp), x)


def acos(x: ArrayLike, /) -> Array:
    """The inverse cosine."""
    return unary(np.arccos, single_op(chlo.AcosOp), x)


def atan(x: ArrayLike, /) -> Array:
    """The inverse tangent."""
    return unary(np.arctan, single_op(chlo.AtanOp), x)


def atan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point ``(x2, x1)``."""
    return binary(np.arctan2, lambda b, y, x: b.atan2(y, x), x1, x2, floating=True)


def sinh(x: ArrayLike, /) -> Array:
    """The hyperbolic sine."""
    return unary(np.sinh, single_op(chlo.SinhOp), x)


def cosh(x: ArrayLike, /) -> Array:
    """The hyperbolic cosine."""
    return unary(np.cosh, single_op(chlo.CoshOp), x)


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent."""
    return unary(np.tanh, OpBuilder.tanh, x)


def asinh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic sine."""
    return unary(np.arcsinh, single_op(chlo.AsinhOp), x)


def acosh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic cosine."""
    return unary(np.arccosh, single_op(chlo.AcoshOp), x)


def atanh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic tangent."""
    return unary(np.arctanh, single_op(chlo.AtanhOp), x)


# -- rounding and the parts of numbers


def _rounded(numpy_function: Callable[..., Any], emit: Emit, x: ArrayLike) -> Array:
    """A function that leaves integers and booleans as they are."""
    if isinstance(x, TracedArray) and x.dtype.kind in "biu":
        return copied(x)
    return unary(numpy_function, emit, x)


def ceil(x: ArrayLike, /) -> Array:
    """The least integer that is not smaller."""
    return _rounded(np.ceil, OpBuilder.ceil, x)


def floor(x: ArrayLike, /) -> Array:
    """The greatest integer that is not larger."""
    return _rounded(np.floor, OpBuilder.floor, x)


def trunc(x: ArrayLike, /) -> Array:
    """The nearest integer towards 0."""
    return _rounded(np.trunc, lambda b, x: b.select(b.compare("LT", x, b.full_like(x, 0)), b.ceil(x), b.floor(x)), x)


def round(x: ArrayLike, /) -> Array:
    """The nearest integer, halves to even; of complex numbers part by part."""
    return _rounded(np.round, _round, x)


def _round(b: OpBuilder, x: Value) -> Value:
    if kind_of(x) == "c":
        return b.complex(b.round_nearest_even(b.real(x)), b.round_nearest_even(b.imag(x)))
    return b.round_nearest_even(x)


def real(x: ArrayLike, /) -> Array:
    """The real part."""
    if not isinstance(x, TracedArray):
        return np.real(x)
    return traced(builder().real(value_of(x))).viewing(x) if x.dtype.kind == "c" else x


def imag(x: ArrayLike, /) -> Array:
    """The imaginary part, zeros for real numbers."""
    if not isinstance(x, TracedArray):
        return np.imag(x)
    value = value_of(x)
    return traced(builder().imag(value)).viewing(x) if x.dtype.kind == "c" else traced(builder().full_like(value, 0))


def conj(x: ArrayLike, /) -> Array:
    """The complex conjugate."""
    if not isinstance(x, TracedArray):
        return np.conj(x)
    return traced(builder().conj(value_of(x))) if x.dtype.kind == "c" else copied(x)


def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The magnitude of ``x1`` with the sign of ``x2``, also of -0."""
    return binary(np.copysign, lambda b, x, y: b.select(sign_bit(b, y), b.negate(b.abs(x)), b.abs(x)), x1, x2, floating=True)


def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit is set, also of -0."""
    if not isinstance(x, TracedArray):
        return np.signbit(x)
    return traced(sign_bit(builder(), value_of(x)))


def nextafter(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The next number after ``x1`` in the direction of ``x2``."""
    return binary(np.nextafter, lambda b, x, y: b.like(chlo.NextAfterOp, x, y), x1, x2, floating=True)

"""Functions of one variable, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.eager.operations import elementwise
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.recording.operation import Operation
    from wengert.eager.tensor import Tensor


def _exact(op: Operation, x: Tensor) -> Tensor:
    """An operation that integers stay integers in."""
    return dispatch.unary(op, x) if x.array.dtype.kind == "f" else dispatch.apply(op, (x,))


def _whole(op: Operation, x: Tensor) -> Tensor:
    """An operation that makes whole numbers of floats."""
    return dispatch.unary(op, x) if x.array.dtype.kind == "f" else x.clone()


def exp(x: Tensor) -> Tensor:
    """e to the power of each element."""
    return dispatch.unary(elementwise.EXP, x)


def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1, exact near 0."""
    return dispatch.unary(elementwise.EXPM1, x)


def log(x: Tensor) -> Tensor:
    """The natural logarithm."""
    return dispatch.unary(elementwise.LOG, x)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x), exact near 0."""
    return dispatch.unary(elementwise.LOG1P, x)


def sin(x: Tensor) -> Tensor:
    """The sine."""
    return dispatch.unary(elementwise.SIN, x)


def cos(x: Tensor) -> Tensor:
    """The cosine."""
    return dispatch.unary(elementwise.COS, x)


def tan(x: Tensor) -> Tensor:
    """The tangent."""
    return dispatch.unary(elementwise.TAN, x)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return dispatch.unary(elementwise.TANH, x)


def asin(x: Tensor) -> Tensor:
    """The inverse sine."""
    return dispatch.unary(elementwise.ASIN, x)


def acos(x: Tensor) -> Tensor:
    """The inverse cosine."""
    return dispatch.unary(elementwise.ACOS, x)


def atan(x: Tensor) -> Tensor:
    """The inverse tangent."""
    return dispatch.unary(elementwise.ATAN, x)


def sinh(x: Tensor) -> Tensor:
    """The hyperbolic sine."""
    return dispatch.unary(elementwise.SINH, x)


def cosh(x: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return dispatch.unary(elementwise.COSH, x)


def erf(x: Tensor) -> Tensor:
    """The error function."""
    return dispatch.unary(elementwise.ERF, x)


def sqrt(x: Tensor) -> Tensor:
    """The square root."""
    return dispatch.unary(elementwise.SQRT, x)


def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    return dispatch.unary(elementwise.RSQRT, x)


def reciprocal(x: Tensor) -> Tensor:
    """1 / x."""
    return dispatch.unary(elementwise.RECIPROCAL, x)


def square(x: Tensor) -> Tensor:
    """x squared."""
    return elementwise.power(x, 2)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return dispatch.unary(elementwise.SIGMOID, x)


def relu(x: Tensor) -> Tensor:
    """max(x, 0), with derivative 0 at 0."""
    return _exact(elementwise.RELU, x)


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1."""
    return _exact(elementwise.SIGN, x)


def floor(x: Tensor) -> Tensor:
    """The largest integer that is not larger."""
    return _whole(elementwise.FLOOR, x)


def ceil(x: Tensor) -> Tensor:
    """The smallest integer that is not smaller."""
    return _whole(elementwise.CEIL, x)


def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, ties to even, or the nearest number with so many decimals."""
    if decimals:
        return round(x * 10.0**decimals) / 10.0**decimals if decimals > 0 else round(x / 10.0**-decimals) * 10.0**-decimals
    return _whole(elementwise.ROUND, x)

"""Arithmetic, comparisons and the other operators of tensors; the other operand may be a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.eager.operations import elementwise
from wengert.eager.operations.elementwise import Number
from wengert.eager.operations.promotion import number_dtype
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

# -- arithmetic


def add(x: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """The sum."""
    return dispatch.binary(elementwise.ADD, x, other if alpha == 1 else other * alpha)


def sub(x: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """The difference."""
    return dispatch.binary(elementwise.SUB, x, other if alpha == 1 else other * alpha)


def rsub(x: Tensor, other: Number) -> Tensor:
    """A number minus the tensor."""
    x = x.to(dispatch.default_dtype()) if isinstance(other, float) and not x.is_floating_point() else x
    return dispatch.apply(elementwise.RSUB, (x,), other)


def mul(x: Tensor, other: Tensor | Number) -> Tensor:
    """The product, element by element."""
    return dispatch.binary(elementwise.MUL, x, other)


def rdiv(x: Tensor, other: Number) -> Tensor:
    """A number divided by the tensor."""
    return x.reciprocal() * other


def rpow(x: Tensor, other: Number) -> Tensor:
    """A number to the power of the tensor."""
    if not x.is_floating_point():
        return dispatch.apply(elementwise.POW, (dispatch.operand(other, number_dtype(other)), x), converted=True)
    return dispatch.apply(elementwise.NUMBER_POW, (x,), other)


def neg(x: Tensor) -> Tensor:
    """The elements with the other sign."""
    return dispatch.apply(elementwise.NEG, (x,)) if x.array.dtype.kind in "iu" else dispatch.unary(elementwise.NEG, x)


def pos(x: Tensor) -> Tensor:
    """The tensor itself."""
    return x


def abs(x: Tensor) -> Tensor:
    """The absolute values."""
    return dispatch.apply(elementwise.ABS, (x,)) if x.array.dtype.kind in "iu" else dispatch.unary(elementwise.ABS, x)


def maximum(x: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements."""
    return dispatch.binary(elementwise.MAXIMUM, x, other)


def minimum(x: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements."""
    return dispatch.binary(elementwise.MINIMUM, x, other)


# -- logic


def invert(x: Tensor) -> Tensor:
    """Whether it does not hold."""
    return dispatch.apply(elementwise.NOT, (x,))


def and_(x: Tensor, other: Tensor) -> Tensor:
    """Whether both hold."""
    return dispatch.apply(elementwise.AND, (x, other), converted=True)


def or_(x: Tensor, other: Tensor) -> Tensor:
    """Whether one of both holds."""
    return dispatch.apply(elementwise.OR, (x, other), converted=True)


# -- comparisons


def eq(x: Tensor, other: object) -> Tensor:
    """Whether elements are equal."""
    return dispatch.apply(elementwise.EQ, (x, other), converted=True)


def ne(x: Tensor, other: object) -> Tensor:
    """Whether elements differ."""
    return dispatch.apply(elementwise.NE, (x, other), converted=True)


def lt(x: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements are smaller."""
    return dispatch.apply(elementwise.LT, (x, other), converted=True)


def le(x: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements are not larger."""
    return dispatch.apply(elementwise.LE, (x, other), converted=True)


def gt(x: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements are larger."""
    return dispatch.apply(elementwise.GT, (x, other), converted=True)


def ge(x: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements are not smaller."""
    return dispatch.apply(elementwise.GE, (x, other), converted=True)


# -- selections


def where(x: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """The element where the condition holds, else the other."""
    return elementwise.where(condition, x, other)


def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A number where the mask holds, else the element; both broadcast."""
    if hasattr(value, "array"):
        return elementwise.where(mask, value, x).to(x.array.dtype)
    return dispatch.apply(elementwise.MASKED_FILL, (x, mask), value)

"""The methods that change a tensor in place. How that is done is :mod:`wengert.eager.operations.inplace`'s business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.eager.operations import elementwise, inplace
from wengert.eager.operations.elementwise import Number

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def add_(x: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    """Adds in place."""
    return inplace.change(elementwise.ADD, x, other if alpha == 1 else other * alpha)


def sub_(x: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    """Subtracts in place."""
    return inplace.change(elementwise.SUB, x, other if alpha == 1 else other * alpha)


def mul_(x: Tensor, other: Tensor | Number) -> Tensor:
    """Multiplies in place."""
    return inplace.change(elementwise.MUL, x, other)


def div_(x: Tensor, other: Tensor | Number) -> Tensor:
    """Divides in place."""
    return inplace.change(elementwise.DIV, x, other)


def pow_(x: Tensor, exponent: Number) -> Tensor:
    """To a power in place."""
    return inplace.change(elementwise.POW_NUMBER, x, params=exponent)


def clamp_(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limited in place."""
    return inplace.change(elementwise.CLAMP, x, params=(min, max))


def exp_(x: Tensor) -> Tensor:
    """exp in place."""
    return inplace.change(elementwise.EXP, x)


def sin_(x: Tensor) -> Tensor:
    """sin in place."""
    return inplace.change(elementwise.SIN, x)


def neg_(x: Tensor) -> Tensor:
    """Negated in place."""
    return inplace.change(elementwise.NEG, x)


def sqrt_(x: Tensor) -> Tensor:
    """The square root in place."""
    return inplace.change(elementwise.SQRT, x)


def tanh_(x: Tensor) -> Tensor:
    """tanh in place."""
    return inplace.change(elementwise.TANH, x)


def sigmoid_(x: Tensor) -> Tensor:
    """sigmoid in place."""
    return inplace.change(elementwise.SIGMOID, x)


def relu_(x: Tensor) -> Tensor:
    """relu in place."""
    return inplace.change(elementwise.RELU, x)


def zero_(x: Tensor) -> Tensor:
    """Filled with zeros."""
    return inplace.change(inplace.ZERO, x, params=0)


def fill_(x: Tensor, value: Number) -> Tensor:
    """Filled with a number."""
    return inplace.change(inplace.FILL, x, params=value)


def copy_(x: Tensor, other: Tensor) -> Tensor:
    """The elements of another tensor, which may be broadcast."""
    return inplace.change(inplace.COPY, x, other)

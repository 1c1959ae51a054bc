"""The methods that change a tensor in place. How that is done is :mod:`wengert.eager.operations.memory.inplace`'s business."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from wengert.eager.gradients.hooks import follow_retained
from wengert.eager.operations import elementwise
from wengert.eager.operations.elementwise import Number
from wengert.eager.operations.memory import inplace, views
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE

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


SEEN_OTHERWISE = frozenset(("transpose_", "t_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "as_strided_"))
"""Changes of the shape of a tensor, not of its elements."""


def _stand_behind(x: Tensor) -> None:
    """Makes a tensor that has views a view of what it was, whose views they become: their paths start there."""
    base = dispatch.new(x.array)
    base.storage, base.source, base.tracked, base.is_inference_tensor = dispatch.storage_of(x), x.source, x.tracked, x.is_inference_tensor
    base.viewers, x.viewers = [*(x.viewers or ()), ref(x)], None
    for viewer in base.viewers:
        view = viewer()
        if view is not None and view.view_of is not None:
            view.view_of.base = base
    x.view_of = views.View(base, (), base.storage.version)


def _see(x: Tensor, function: Callable[..., Tensor], *args: Any, **keywords: Any) -> Tensor:
    """What a function sees of x. Where gradients are not recorded the elements are those of the same operation still, whose gradient has the old extents."""
    if STATE.recording or x.is_leaf or x.view_of is not None:
        return function(x, *args, **keywords)
    before = STATE.grad, STATE.inference
    STATE.set(True, False)
    try:
        return function(x, *args, **keywords)
    finally:
        STATE.set(*before)


def see_otherwise(x: Tensor, function: Callable[..., Tensor], *args: Any, **keywords: Any) -> Tensor:
    """Makes a tensor what a function that makes views sees of it: other extents of the same memory.

    Raises:
        LeafModifiedError: it is a leaf that requires a gradient, while gradients are recorded.
        InPlaceError: it is a view that must not be changed, or was made in inference mode.
    """
    inplace.check_allowed(x, STATE.recording and x.tracked)
    if any(viewer() is not None for viewer in x.viewers or ()):
        _stand_behind(x)
    base = x if x.view_of is None else x.view_of.base
    known = list(base.viewers or ())
    made = _see(x, function, *args, **keywords)
    base.viewers = known
    before = x.source
    x.array, x.source = made.array, made.source
    if before is not None:
        follow_retained(x, before, x.source)
    dispatch.storage_of(x).version += 1
    if x.view_of is not None and made.view_of is not None:
        made.view_of.frozen = x.view_of.frozen  # it was made where the view was
        made.view_of.version = dispatch.storage_of(x).version if STATE.recording else -1
        x.view_of = made.view_of
    return x

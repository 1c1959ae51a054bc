"""The older kind of checkpoint, ``use_reentrant=True``: a custom function whose derivative runs the function again, recorded, and a backward pass over that.

It sees gradients only of tensors that are arguments, and of leaves that the function finds by itself; nothing inside is on the outer tape, so ``grad`` with
respect to chosen inputs cannot look inside and is refused. :func:`wengert.eager.checkpoint` without it has none of these limits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.function import Function
from wengert.eager.gradients.gradient import backward
from wengert.eager.operations.creation import drawing_from, random_state
from wengert.eager.recording.modes import STATE, enable_grad
from wengert.eager.tensor import Tensor


class CheckpointFunction(Function):
    """A call that keeps its arguments only."""

    @staticmethod
    def forward(*given: Any) -> Any:
        ctx, function, preserve, *args = given
        ctx.function = function
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.random = random_state() if preserve else None
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        sweep = STATE.sweep
        if sweep is not None and sweep.wanted is not None:
            raise AutogradError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to .backward();"
                " use use_reentrant=False"
            )
        args = list(ctx.others)
        for place, x in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = x.detach().requires_grad_(x.requires_grad)
        with enable_grad(), nullcontext() if ctx.random is None else drawing_from(ctx.random):
            outputs = listed(ctx.function(*args))
        pairs = [(y, c) for y, c in zip(outputs, cotangents, strict=True) if isinstance(y, Tensor) and y.requires_grad]
        if not pairs:
            raise AutogradError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [c for _, c in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) and a.requires_grad else None for a in args))


def reentrant(function: Callable[..., Any], args: tuple[Any, ...], preserve: bool) -> Any:
    """``function(*args)`` as such a checkpoint.

    Args:
        function: takes the arguments by position.
        args: of any kind; gradients flow to tensors among them, not to tensors in containers.
        preserve: gives the second run the random numbers of the first.
    """
    return CheckpointFunction.apply(function, preserve, *args)

"""Hooks on several tensors at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from wengert.eager.gradients.hooks import RemovableHandle, register_hook
from wengert.eager.recording.modes import STATE

if TYPE_CHECKING:
    from wengert.eager.gradients.backward import Sweep
    from wengert.eager.tensor import Tensor


class Handles:
    """The handles of hooks that were registered together."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Takes the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> Handles:
    """Calls a hook once in each backward pass that comes to these tensors.

    Args:
        tensors: those that require gradients.
        fn: for "all", takes a list with the gradient of each tensor, None for those that the pass does not come to, when it has come to all others; for
            "any", takes the first gradient.
        mode: "all" or "any".
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: Expects mode to be one of ('all', 'any') but got {mode}")
    hook = _All(tensors, fn) if mode == "all" else _Any(fn)
    return Handles([register_hook(x, lambda gradient, i=i: hook.arrived(i, gradient)) for i, x in enumerate(tensors)])


class _Any:
    """Calls with the first gradient of each pass."""

    def __init__(self, fn: Callable[[Tensor], Any]):
        self.fn = fn
        self._called: WeakKeyDictionary[Sweep, bool] = WeakKeyDictionary()

    def arrived(self, position: int, gradient: Tensor) -> None:
        sweep = STATE.sweep
        assert sweep is not None
        if sweep not in self._called:
            self._called[sweep] = True
            self.fn(gradient)


class _All:
    """Collects the gradients of each pass until they are all there."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], Any]):
        self.tensors = list(tensors)
        self.fn = fn
        self._gradients: WeakKeyDictionary[Sweep, list[Tensor | None]] = WeakKeyDictionary()
        self._missing: WeakKeyDictionary[Sweep, int] = WeakKeyDictionary()

    def arrived(self, position: int, gradient: Tensor) -> None:
        sweep = STATE.sweep
        assert sweep is not None
        if sweep not in self._missing:
            self._gradients[sweep] = [None] * len(self.tensors)
            self._missing[sweep] = sum(sweep.comes_to(x) for x in self.tensors)
        self._gradients[sweep][position] = gradient
        self._missing[sweep] -= 1
        if not self._missing[sweep]:
            self.fn(self._gradients.pop(sweep))

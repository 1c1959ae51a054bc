"""Functions that run in the middle of a backward pass, and gradients that are kept there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from wengert.eager.errors import NotTrackedError
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.record import Record, Source, edge

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Hook = Callable[["Tensor"], "Tensor | None"]
"""Takes a gradient; returns the one to go on with, or None for the same."""


class RemovableHandle:
    """The handle of a registered hook: :meth:`remove` takes the hook away again."""

    def __init__(self, hooks: list[Any], hook: Any):
        if STATE.tape is not None:
            STATE.tape.only_once("it registers a hook")
        self._hooks = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Takes the hook away."""
        self._hooks[:] = [h for h in self._hooks if h is not self._hook]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _place(x: Tensor) -> tuple[Record, int]:
    node, number = edge(x.source)
    assert isinstance(node, Record)
    return node, number


def register_hook(x: Tensor, hook: Hook) -> RemovableHandle:
    """Calls the hook with the gradient of x, once all that flows into it has been added up."""
    if not x.tracked:
        raise NotTrackedError("cannot register a hook on a tensor that doesn't require gradient: it would never be called")
    if x.grad_fn is None:
        x.leaf_hooks = x.leaf_hooks or []
        return RemovableHandle(x.leaf_hooks, hook)
    record, number = _place(x)
    record.pre_hooks = record.pre_hooks or {}
    return RemovableHandle(record.pre_hooks.setdefault(number, []), hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Calls the hook with the leaf, after its gradient was added to."""
    if x.grad_fn is not None or not x.tracked:
        raise NotTrackedError("post accumulate grad hooks cannot be registered on non-leaf tensors, or on leaves that require no gradient")
    x.accumulate_hooks = x.accumulate_hooks or []
    return RemovableHandle(x.accumulate_hooks, hook)


def retain_grad(x: Tensor) -> None:
    """Keeps the gradient of a tensor that is not a leaf; nothing to do for a leaf, which keeps it anyway."""
    if not x.tracked:
        raise NotTrackedError("can't retain_grad on Tensor that has requires_grad=False")
    if x.grad_fn is None:
        return
    if STATE.tape is not None and not STATE.tape.knows(x):
        STATE.tape.only_once("it calls retain_grad on a tensor from outside")
    record, number = _place(x)
    record.retained = {**(record.retained or {}), number: x}


def follow_retained(x: Tensor, before: Source, now: Source) -> None:
    """A tensor that keeps its gradient and was changed in place keeps that of its new value."""
    old, number = edge(before)
    new, place = edge(now)
    if isinstance(old, Record) and isinstance(new, Record) and old is not new and old.retained is not None and old.retained.get(number) is x:
        rest = {n: kept for n, kept in old.retained.items() if n != number}
        old.retained = rest or None
        new.retained = {**(new.retained or {}), place: x}


def retains_grad(x: Tensor) -> bool:
    """Whether the gradient of a tensor that is not a leaf is kept."""
    if x.grad_fn is None:
        return False
    record, number = _place(x)
    return record.retained is not None and record.retained.get(number) is x

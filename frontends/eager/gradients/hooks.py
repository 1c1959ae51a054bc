"""Functions that run in the middle of a backward pass, and gradients that are kept there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

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
        self._removed = False
        hooks.append(hook)

    def remove(self) -> None:
        """Takes the hook away."""
        for position, hook in enumerate(self._hooks):
            if hook is self._hook and not self._removed:
                self._removed = True
                del self._hooks[position]
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _place(x: Tensor) -> tuple[Record, int]:
    node, number = edge(x.source)
    assert isinstance(node, Record)
    return node, number


class _Watched:
    """Whether there ever was a hook on a leaf: only then it matters when in a pass a leaf gets its gradient."""

    leaves = False


def leaves_are_watched() -> bool:
    """Whether there may be hooks on leaves."""
    return _Watched.leaves


def watch_leaves() -> None:
    """Says that there is a hook on a leaf."""
    _Watched.leaves = True


def register_hook(x: Tensor, hook: Hook) -> RemovableHandle:
    """Calls the hook with the gradient of x, once all that flows into it has been added up."""
    if not x.tracked:
        raise NotTrackedError("cannot register a hook on a tensor that doesn't require gradient: it would never be called")
    if x.grad_fn is None:
        watch_leaves()
        x.leaf_hooks = x.leaf_hooks or []
        return RemovableHandle(x.leaf_hooks, hook)
    record, number = _place(x)
    record.pre_hooks = record.pre_hooks or {}
    return RemovableHandle(record.pre_hooks.setdefault(number, []), hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Calls the hook with the leaf, after its gradient was added to."""
    if x.grad_fn is not None or not x.tracked:
        raise NotTrackedError("post accumulate grad hooks cannot be registered on non-leaf tensors, or on leaves that require no gradient")
    watch_leaves()
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
    record.retained = {**(record.retained or {}), number: ref(x)}


def follow_retained(x: Tensor, before: Source, now: Source) -> None:
    """A tensor that keeps its gradient and was changed in place keeps that of its new value."""
    old, number = edge(before)
    new, place = edge(now)
    if isinstance(old, Record) and isinstance(new, Record) and old is not new and retained(old, number) is x:
        rest = {n: kept for n, kept in (old.retained or {}).items() if n != number}
        old.retained = rest or None
        new.retained = {**(new.retained or {}), place: ref(x)}


def retained(record: Record, number: int) -> Tensor | None:
    """The tensor that keeps the gradient of a result, if it is still there."""
    kept = (record.retained or {}).get(number)
    return None if kept is None else kept()


def retains_grad(x: Tensor) -> bool:
    """Whether the gradient of a tensor that is not a leaf is kept."""
    if x.grad_fn is None:
        return False
    record, number = _place(x)
    return retained(record, number) is x

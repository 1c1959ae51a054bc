"""Changes in place of what a tape keeps: ``allow_mutation_on_saved_tensors``, which copies a kept value before it is written over."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary, ref

import numpy as np

from wengert.eager.checkpoint import Keeper
from wengert.eager.errors import AutogradError
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.program import Array
from wengert.eager.recording.record import Deferred, Record, Storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from wengert.eager.checkpoint import Call, Frame
    from wengert.eager.recording.tape import Tape
    from wengert.eager.tensor import Tensor


class _Watching(Keeper):
    """Knows which records keep which memory."""

    def __init__(self, outer: Keeper | None):
        self.outer = outer
        self.keeping: dict[Storage, list[ref[Record]]] = {}
        self.copies: WeakValueDictionary[int, Array] = WeakValueDictionary()
        self._numbers = count()

    def made(self, record: Record) -> None:
        saved = record.saved
        if saved and not isinstance(saved, Deferred):
            for _, storage, _ in saved:
                self._note(storage, record)
        if self.outer is not None:
            self.outer.made(record)

    def take_tensors(self, record: Record, tensors: list[Tensor | None]) -> Any:
        for x in tensors:
            self._note(None if x is None else dispatch.storage_of(x), record)
        return tensors if self.outer is None else self.outer.take_tensors(record, tensors)

    def take_call(self, frame: Frame, call: Call) -> None:
        if self.outer is not None:
            self.outer.take_call(frame, call)

    def draw(self, tape: Tape, new: Callable[[], int]) -> int:
        return new() if self.outer is None else self.outer.draw(tape, new)

    def _note(self, storage: Storage | None, record: Record) -> None:
        if storage is not None:
            self.keeping.setdefault(storage, []).append(ref(record))

    def changing(self, storage: Storage) -> None:
        """Copies what is kept of memory that is about to be written to."""
        made: dict[int, Array] = {}

        def copy(array: Array) -> Array:
            """A copy, the same for all who keep the array."""
            if id(array) not in made:
                made[id(array)] = self.copies[next(self._numbers)] = np.array(array)
            return made[id(array)]

        for reference in self.keeping.pop(storage, ()):
            record = reference()
            if record is not None:
                record.keep_copies(storage, copy)


class allow_mutation_on_saved_tensors:  # noqa: N801  (the name under which it is known)
    """Until the end of the block, what operations keep may be changed in place: it is copied first, and derivatives use the copy.

    >>> import wengert.eager as eager
    >>> x = eager.tensor([1.0, 2.0], requires_grad=True)
    >>> with eager.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 1
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.sum().backward()
    >>> x.grad
    tensor([2., 4.])

    Attributes:
        cloned: the copies that derivatives still need.
        kept: the memory that operations inside keep, and which do.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self.cloned: WeakValueDictionary[int, Array] = WeakValueDictionary()
        self.kept: dict[Storage, list[ref[Record]]] = {}

    def __enter__(self) -> Self:
        if STATE.mutations is not None:
            raise AutogradError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._before = STATE.keeper, STATE.mutations
        watching = _Watching(STATE.keeper)
        self.cloned, self.kept = watching.copies, watching.keeping
        STATE.keeper = STATE.mutations = watching
        return self

    def __exit__(self, *exception: object) -> None:
        STATE.keeper, STATE.mutations = self._before
        self.cloned.clear()
        self.kept.clear()


def copied(saved: tuple[Any, ...], storage: Storage, copy: Callable[[Array], Array]) -> tuple[Any, ...]:
    """Kept values, those that lie in this memory as copies that nobody writes to."""
    return tuple((copy(value), None, 0) if own is storage else (value, own, version) for value, own, version in saved)

"""Hooks on what a tape keeps: ``saved_tensors_hooks``, which packs every kept value and unpacks it when a derivative asks for it.

A context listens to records as a checkpoint does (:mod:`wengert.eager.checkpoint`). Of hooks and checkpoints inside of each other, the
innermost gets the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.checkpoint import Call, DeferredTensors, Frame, Keeper
from wengert.eager.errors import AutogradError
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE, no_grad
from wengert.eager.recording.places import describe
from wengert.eager.recording.record import Deferred, Record, Storage
from wengert.eager.tensor import Tensor

if TYPE_CHECKING:
    from wengert.eager.recording.tape import Tape

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class Packed:
    """The kept values of one record, as hooks made them.

    Attributes:
        contents: what the hook that packs has returned, and values that are no arrays.
        call: the function that unpacks, and the contents: seen as a call, as a checkpoint has one.
    """

    def __init__(self, unpack: Unpack, contents: list[Any], layout: list[bool], place: str, whole: Callable[[list[Any]], Any]):
        self.unpack = unpack
        self.contents = contents
        self.call: Call = unpack, (contents,), {}
        self._layout = layout
        self._place = place
        self._whole = whole

    def value(self, number: int) -> Any:
        """The values that were kept, unpacked; the number is ignored, as there is one entry."""
        return self._whole([self._unpacked(x) if packed else x for x, packed in zip(self.contents, self._layout, strict=True)])

    def _unpacked(self, content: Any) -> Any:
        with no_grad():
            unpacked: Any = self.unpack(content)
        if not isinstance(unpacked, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(unpacked).__name__}, for what was kept at {self._place}")
        return unpacked.array

    def forget(self) -> None:
        """Nothing was computed again."""


class _Packing(Keeper):
    """Gives what records keep to a hook."""

    def __init__(self, pack: Pack, unpack: Unpack, outer: Keeper | None):
        self.pack = pack
        self.unpack = unpack
        self.outer = outer

    def made(self, record: Record) -> None:
        saved = record.saved
        if not saved or isinstance(saved, Deferred):
            return

        def whole(values: list[Any]) -> Any:
            return tuple((value, None, 0) for value in values)

        record.saved = self._deferred(record, [(value, storage) for value, storage, _ in saved], whole)

    def take_tensors(self, record: Record, tensors: list[Tensor | None]) -> list[Tensor | None] | DeferredTensors:
        sources = [None if x is None else dispatch.source_of(x) for x in tensors]
        return DeferredTensors(sources, self._deferred(record, [(None, None) if x is None else (x.array, dispatch.storage_of(x)) for x in tensors], list))

    def take_call(self, frame: Frame, call: Call) -> None:
        pass  # the arguments of a checkpoint are its own

    def draw(self, tape: Tape, new: Callable[[], int]) -> int:
        return new() if self.outer is None else self.outer.draw(tape, new)

    def _deferred(self, record: Record, values: Sequence[tuple[Any, Storage | None]], whole: Callable[[list[Any]], Any]) -> Deferred:
        layout = [isinstance(value, np.ndarray) for value, _ in values]
        before = STATE.keeper
        STATE.keeper = self.outer
        try:
            contents = [self.packed(value, storage) if packed else value for (value, storage), packed in zip(values, layout, strict=True)]
        finally:
            STATE.keeper = before
        return Deferred(Packed(self.unpack, contents, layout, describe(record.place), whole), 0, ())

    def packed(self, value: Any, storage: Storage | None) -> Any:
        """What the hook makes of a value."""
        made = dispatch.new(value)
        made.storage = storage
        version = None if storage is None else storage.version
        with no_grad():
            content = self.pack(made)
        if storage is not None and storage.version != version:
            raise AutogradError("A saved tensor pack hook is modifying its input in place. Return a new tensor instead")
        return content


def pack_one(record: Record, number: int, pack: Pack, unpack: Unpack) -> None:
    """Keeps what ``pack`` makes of one of the values of a record; the others stay as they are."""
    saved = record.saved
    assert saved is not None
    assert not isinstance(saved, Deferred)
    packing = _Packing(pack, unpack, None)
    layout = [i == number and isinstance(value, np.ndarray) for i, (value, _, _) in enumerate(saved)]
    contents = [packing.packed(value, storage) if packed else value for (value, storage, _), packed in zip(saved, layout, strict=True)]
    marks = tuple((None, None if packed else storage, version) for (_, storage, version), packed in zip(saved, layout, strict=True))
    packed = Packed(unpack, contents, layout, describe(record.place), lambda values: tuple((value, None, 0) for value in values))
    record.saved = Deferred(packed, 0, marks)


class saved_tensors_hooks:  # noqa: N801  (the name under which it is known)
    """Until the end of the block, what operations keep for their derivatives is what ``pack_hook`` makes of it.

    Args:
        pack_hook: called with every kept tensor, off the tape; may return anything.
        unpack_hook: called with that when a derivative asks for the value; returns a tensor of the same shape and dtype.

    >>> import wengert.eager as eager
    >>> x = eager.tensor([1.0, 2.0], requires_grad=True)
    >>> with eager.autograd.graph.saved_tensors_hooks(lambda kept: kept.tolist(), eager.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack):
        self._hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if STATE.no_saved_hooks is not None:
            raise AutogradError(STATE.no_saved_hooks)
        STATE.keeper = _Packing(*self._hooks, STATE.keeper)

    def __exit__(self, *exception: object) -> None:
        if isinstance(STATE.keeper, _Packing):
            STATE.keeper = STATE.keeper.outer


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps values in memory of the CPU, where they are anyway: a copy of each."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda kept: kept.clone(), lambda kept: kept)


class disable_saved_tensors_hooks:  # noqa: N801
    """Until the end of the block, entering :class:`saved_tensors_hooks` is an AutogradError with this message."""

    def __init__(self, error_message: str):
        self._message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        if isinstance(STATE.keeper, _Packing):  # hooks are at work already
            raise AutogradError(self._message)
        self._before.append(STATE.no_saved_hooks)
        STATE.no_saved_hooks = self._message

    def __exit__(self, *exception: object) -> None:
        STATE.no_saved_hooks = self._before.pop()


__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]

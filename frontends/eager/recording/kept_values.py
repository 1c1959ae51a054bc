"""Values that a node of the graph of gradients keeps, by the names that PyTorch gives them: ``grad_fn._saved_self`` and the like.

A node keeps operands and results, as its derivative reads them; ``self`` is the first operand, ``other`` the second, ``result`` the first result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.errors import AutogradError
from wengert.eager.graph import in_place_of
from wengert.eager.recording import dispatch
from wengert.eager.recording.kept_names import NAMES_OF_PARAMETERS, ONE_PARAMETER, PARAMETERS
from wengert.eager.recording.record import Deferred, Output

if TYPE_CHECKING:
    from wengert.eager.recording.record import Record
    from wengert.eager.tensor import Tensor

_OPERANDS = {"self": 0, "other": 1, "exponent": 1, "mat2": 1, "weight": 1}


def _position(record: Record, name: str) -> int:
    """Where among operands and results the value of this name stands."""
    count = len(record.signature.types)
    position = count if name == "result" else _OPERANDS.get(name, -1)
    if position in record.signature.keeps:
        return position
    names = [n for n, p in {**_OPERANDS, "result": count}.items() if p in record.signature.keeps and n in ("self", "other", "result")]
    raise AttributeError(f"{record.name()} keeps no {name!r}" + (f"; it keeps {', '.join(names)}" if names else ""))


def kept_value(record: Record, name: str) -> Any:
    """The value for an attribute ``_saved_NAME``, or what keeps it for ``_raw_saved_NAME``.

    Raises:
        AttributeError: the node keeps nothing of this name.
        FreedTapeError, ModifiedError: it is no longer there, or no longer what it was.
    """
    if name.startswith("_raw_saved_"):
        return SavedTensor(record, _position(record, name.removeprefix("_raw_saved_")))
    plain = name.removeprefix("_saved_")
    if plain in PARAMETERS:
        return _parameter(record, plain)
    return tensor_at(record, _position(record, name.removeprefix("_saved_")))


def _parameter(record: Record, name: str) -> Any:
    """The value of a parameter of the operation, such as the dimension that it works along; an AttributeError where it has none of this name."""
    if name == "self_sym_sizes" and record.signature.types:
        return record.signature.types[0][0]
    operation = record.signature.operation.name
    given: Any = record.signature.params
    if name == "indices" and operation == "index":
        tensors = {d: tensor_at(record, 1 + i) for i, d in enumerate(given)}
        return tuple(tensors.get(d) for d in range(max(tensors) + 1))
    names = NAMES_OF_PARAMETERS.get(operation, ())
    if name not in names:
        raise AttributeError(f"{record.name()} has no {name!r}" + (f"; it has {', '.join(names)}" if names else ""))
    return given if operation in ONE_PARAMETER else given[names.index(name)]


def tensor_at(record: Record, position: int) -> Tensor | float:
    """A kept value as a tensor that stands where it stood on the tape."""
    value, storage, _ = record.kept()[record.signature.keeps.index(position)]
    if not isinstance(value, np.ndarray):
        return value
    made = dispatch.new(value)
    made.storage = storage
    count = len(record.signature.types)
    source = record.inputs[position] if position < count else record if len(record.signature.results) == 1 else Output(record, position - count)
    if source is not None and not isinstance(source, int | float) and hasattr(source, "array"):
        if value is source.array:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            return source  # pyright: ignore[reportReturnType]  (a leaf is itself, unless hooks made something else of it)
        return in_place_of(source, value)  # pyright: ignore[reportArgumentType]
    if source is not None and not isinstance(source, int | float) and made.array.dtype.kind in "fVc":
        made.source, made.tracked = source, True  # pyright: ignore[reportAttributeAccessIssue]
    return made


class SavedTensor:
    """A value that a node keeps, for hooks of its own: ``grad_fn._raw_saved_self.register_hooks(pack, unpack)``."""

    def __init__(self, record: Record | None = None, position: int = 0):
        if record is None:
            raise AutogradError("Trying to create a SavedTensor object from Python is forbidden: nodes have them, as grad_fn._raw_saved_self")
        self._record = record
        self._position = position

    def register_hooks(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        """Keeps what ``pack`` makes of the value in its place; ``unpack`` makes the value of it again.

        Raises:
            AutogradError: there are hooks already, the value was given up, or ``pack`` changes it in place.
        """
        from wengert.eager.recording.saved_hooks import pack_one

        record = self._record
        if not callable(pack) or not callable(unpack):
            raise TypeError("register_hooks: incompatible function arguments: expected two functions")
        if record.saved is None:
            raise AutogradError("register_hooks: the saved value cannot be given hooks after it has been freed")
        if isinstance(record.saved, Deferred):
            raise AutogradError("register_hooks: hooks have already been set on what this node keeps, or a checkpoint computes it again")
        pack_one(record, record.signature.keeps.index(self._position), pack, unpack)

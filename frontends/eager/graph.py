"""Tapes that were seen before: the whole backward pass, or a piece of it, as one compiled program.

The structure of a tape (which operations, on which types, connected how, which leaves are asked for) is the key; the kept values are
the program's arguments. A structure is compiled when it is seen for the third time: what is built anew every time, as in recursion
over data, would never repay it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.program import Array, Prepared, Type, inline
from wengert.eager.recording.record import Output, Record, Saved, Source
from wengert.ir.pipeline.stages import LOCK, stage

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

COMPILE_AFTER = 2
"""The number of walks of a structure before it is compiled."""
LARGEST = 1500
"""Tapes of more records than this are walked: compiling them takes longer than is likely to be won back."""
MOST_GRAPHS = 1024
"""The most structures that are remembered; the oldest goes first."""


class Entry:
    """The cached facts about one structure."""

    __slots__ = ("_operation", "arguments", "program", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.program: Prepared | None = None
        self.arguments: list[tuple[int, int, np.dtype[Any]]] = []
        """For every argument: which record kept it, as which of what it kept, and its dtype."""
        self._operation: Operation | None = None

    def run(self, records: Sequence[Record], cotangents: Sequence[Array]) -> Sequence[Array]:
        """The cotangents that are asked for, from what these records keep and the cotangents of the roots."""
        assert self.program is not None
        return self.program(*kept_arrays(self, records), *cotangents)

    def record(self, records: Sequence[Record], cotangents: Sequence[Tensor]) -> Sequence[Tensor]:
        """The same as one operation on the tape, which can be differentiated again."""
        assert self.program is not None
        if self._operation is None:
            module = self.program.module
            self._operation = Operation("piece_backward", "PieceBackward", lambda b, operands, _: inline(b, module, operands), compile_after=0)
        kept = _kept(records)
        operands = [on_tape(records[i], records[i].signature.keeps[j], kept[i][j][0]) for i, j, _ in self.arguments]
        return dispatch.apply_many(self._operation, (*operands, *cotangents))


def _kept(records: Sequence[Record]) -> list[tuple[Saved, ...]]:
    return [record.kept() if record.saved is None or record.saved else () for record in records]


def kept_arrays(entry: Entry, records: Sequence[Record]) -> list[Array]:
    """What the program of a structure takes of these records, in front of cotangents."""
    kept = _kept(records)
    return [_array(kept[i], j, dtype) for i, j, dtype in entry.arguments]


GRAPHS: dict[Any, Entry] = {}


@dataclass(frozen=True)
class Piece:
    """Records in a row, to be run backwards as one program.

    Attributes:
        records: in the order in which they ran.
        roots: the values whose cotangents are given: results of these records, or leaves.
        leaves: the leaves that cotangents are asked for, by identity; None for all.
        beyond: whether the cotangent of an operand is asked for that comes from a record outside.
        observed: results of these records whose cotangents are asked for too.
    """

    records: Sequence[Record]
    roots: Sequence[Source]
    leaves: set[int] | None
    beyond: Callable[[Record, int], bool] | None = None
    observed: Sequence[tuple[Record, int]] = ()


def compiled(piece: Piece) -> tuple[Entry, list[Any]] | None:
    """The program for a piece, and whose cotangents it gives: leaves, places on the tape outside of the piece, observed results.

    None if the structure has not been seen often enough, so that it has to be walked.
    """
    if not piece.records or len(piece.records) > LARGEST:
        return None
    key, ends = structure(piece)
    entry = remembered(key)
    entry.seen += 1
    if entry.seen <= COMPILE_AFTER or not (ends or piece.observed):
        return None
    if entry.program is None:
        compile_piece(entry, piece, ends)
    return entry, [*ends, *(place(record, number) for record, number in piece.observed)]


def remembered(key: Any) -> Entry:
    """The entry of a structure, which is made if it was not seen before."""
    known = GRAPHS.get(key)
    if known is not None:
        return known
    with LOCK:
        if len(GRAPHS) >= MOST_GRAPHS:
            GRAPHS.pop(next(iter(GRAPHS)))
        return GRAPHS.setdefault(key, Entry())


def place(record: Record, number: int) -> Record | Output:
    """A result of a record as a place on the tape."""
    return record if number == 0 and len(record.result_types) == 1 else Output(record, number)


def _array(kept: Any, position: int, dtype: np.dtype[Any]) -> Array:
    """A kept value, which may be a Python number, as an array."""
    value = kept[position][0]
    return value if type(value) is np.ndarray else np.asarray(value, dtype)


def on_tape(record: Record, position: int, value: Any) -> Tensor:
    """A kept value as a tensor that stands where the value stands on the tape."""
    signature = record.signature
    count = len(signature.types)
    dtype = (*signature.types, *signature.results)[position][1]
    source = record.inputs[position] if position < count else record if len(signature.results) == 1 else Output(record, position - count)
    if not isinstance(value, np.ndarray):
        return dispatch.constant(np.asarray(value, dtype))
    if source is not None and not isinstance(source, int | float | Record | Output):
        return source if value is source.array else in_place_of(source, cast(Array, value))
    made = dispatch.new(value)
    if STATE.tape is not None:
        STATE.tape.rewrapped(made)
    if isinstance(source, Record | Output) and np.issubdtype(dtype, np.inexact):
        made.source, made.tracked = source, True
    return made


def in_place_of(leaf: Tensor, value: Array) -> Tensor:
    """What hooks made of a leaf that was kept: other elements, whose gradient is the leaf's."""
    from wengert.eager.operations.elementwise import CLONE

    made = dispatch.new(value)
    signature = CLONE.signature(((value.shape, value.dtype),), None, 1)
    made.source, made.tracked = Record(signature, (leaf,), (), None), True
    return made


def _outside(source: Source) -> tuple[Record, int] | int | None:
    """The key of a source: a record and the number of its result, or the identity of a leaf; None for what is not tracked."""
    if isinstance(source, Record):
        return source, 0
    if type(source) is Output:
        return source.record, source.number
    return None if source is None or isinstance(source, int | float) else id(source)


def structure(piece: Piece) -> tuple[tuple[Any, ...], list[Any]]:
    """The structure, and what cotangents are asked for, in the order in which it is met: leaves, and places on the tape outside."""
    positions: dict[Record, int] = {}
    numbers: dict[Any, int] = {}
    ends: list[Any] = []
    key: list[Any] = []
    leaves, beyond = piece.leaves, piece.beyond

    def place(source: Any) -> Any:
        if source is None or isinstance(source, int | float):
            return None
        where = _outside(source)
        if isinstance(where, tuple):
            if where[0] in positions:
                return positions[where[0]], where[1]
            if beyond is None or not beyond(*where):
                return None
        elif leaves is not None and where not in leaves:
            return None
        number = numbers.get(where)
        if number is None:
            number = numbers[where] = -1 - len(ends)
            ends.append(source)
        return number

    for number, record in enumerate(piece.records):
        key.append(record.signature)
        for source in record.inputs:
            position = positions.get(source)  # pyright: ignore[reportArgumentType, reportCallIssue]
            key.append(place(source) if position is None else position)
        positions[record] = number
    for source in piece.roots:
        position = positions.get(source)  # pyright: ignore[reportArgumentType, reportCallIssue]
        key.append(place(source) if position is None else position)
    key += [(positions[record], number) for record, number in piece.observed]
    return tuple(key), ends


@stage()
def compile_piece(entry: Entry, piece: Piece, ends: Sequence[Any]) -> None:
    """Derives and compiles the reverse of the whole piece."""
    from wengert.eager.gradients.derive import backward_module

    if entry.program is not None:  # another thread was first
        return
    segment, origins = _segment(piece, ends)
    module, kept = backward_module(segment)
    types = {value: dtype for value, (_, dtype) in _types(piece.records, origins).items()}
    entry.arguments = [(*origins[value], types[value]) for value in kept]
    entry.program = Prepared(module, f"backward of {len(piece.records)} records", 0)


def _types(records: Sequence[Record], origins: dict[int, tuple[int, int]]) -> dict[int, Type]:
    types: dict[int, Type] = {}
    for value, (i, j) in origins.items():
        signature = records[i].signature
        types[value] = (*signature.types, *signature.results)[signature.keeps[j]]
    return types


def _segment(piece: Piece, ends: Sequence[Any]) -> tuple[Any, dict[int, tuple[int, int]]]:
    """The piece as a segment whose values are numbered, and for each value that was kept, by which record and as which."""
    from wengert.eager.gradients.derive import Segment, Step

    numbers: dict[Any, int] = {_outside(end): i for i, end in enumerate(ends)}
    inputs: dict[int, Type] = {i: _type_of(end) for i, end in enumerate(ends)}
    first: dict[Record, int] = {}
    count = len(ends)
    steps: list[Step] = []
    origins: dict[int, tuple[int, int]] = {}

    def value_of(source: Source, type: Type) -> int:
        nonlocal count
        where = _outside(source)
        if isinstance(where, tuple) and where[0] in first:
            return first[where[0]] + where[1]
        known = None if where is None else numbers.get(where)
        if known is None:
            known = count
            inputs[known] = type
            count += 1
        return known

    for i, record in enumerate(piece.records):
        signature = record.signature
        operands = tuple(value_of(s, t) for s, t in zip(record.inputs, signature.types, strict=True))
        results = tuple(range(count, count + len(signature.results)))
        first[record] = count
        count += len(results)
        steps.append(Step(signature.operation, signature.params, operands, results, record.place))
        for j, position in enumerate(signature.keeps):
            origins.setdefault((*operands, *results)[position], (i, j))
    roots = [value_of(s, ((), np.dtype(np.float32))) for s in piece.roots]
    observed: dict[int, int] = {}
    for record, number in piece.observed:
        observed[first[record] + number] = count
        inputs[count] = record.result_types[number]
        count += 1
    return Segment(inputs, steps, roots, [*range(len(ends)), *observed.values()], list(origins), observed), origins


def _type_of(end: Any) -> Type:
    where = _outside(end)
    return where[0].result_types[where[1]] if isinstance(where, tuple) else (end.array.shape, end.array.dtype)

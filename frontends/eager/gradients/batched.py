"""Gradients for many cotangents at once (``is_grads_batched``, Jacobians): the reverse of the tape, batched.

The tape between what is asked for and the outputs is one piece (:mod:`wengert.eager.graph`), whose reverse takes what was kept and one cotangent for every
output. The pass ``batch`` gives the cotangents one more dimension and leaves what was kept as it is, so that a product with one vector becomes one with a
matrix. Where Python has to run on the way (hooks, custom functions, checkpoints) there is no such program, and the caller runs a pass for every cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wengert.eager.gradients.backward import Sweep
from wengert.eager.gradients.derive import UnkeptValueError, optimized
from wengert.eager.graph import LARGEST, Entry, Piece, compile_piece, kept_arrays, on_tape, place, remembered, structure
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation
from wengert.eager.recording.program import Prepared, inline
from wengert.eager.recording.record import Deferred, Output, Record
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.stages import LOCK
from wengert.transforms.ad.batching.passes import batch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

FEWEST = 3
"""The number of cotangents from which on a structure that was not seen before is batched: a pass for each would be compiled at the third, too."""
MOST_ELEMENTS = 1 << 24
"""The most elements that the widest batched value may have; more cotangents are taken in parts."""


class BatchedEntry:
    """The batched reverse of one structure: a program, and an operation that is recorded where the pass is."""

    def __init__(self, entry: Entry, cotangents: int, size: int):
        assert entry.program is not None
        module = entry.program.module.clone()
        kept = len(entry.arguments)
        batch(module, size, in_axes=[*([None] * kept), *([0] * cotangents)])
        module = optimized(module, 0)
        self.program = Prepared(module, f"batched {entry.program.name}", 1)
        self.operation = Operation("piece_backward", "PieceBackward", lambda b, operands, _: inline(b, module, operands), compile_after=0)


BATCHED: dict[Hashable, BatchedEntry | None] = {}
"""By structure, number of cotangents and size of the batch; None for what cannot be batched."""
MOST_PROGRAMS = 256
"""The most that are remembered; the oldest goes first."""


@dataclass(frozen=True)
class _Tape:
    """The part of a tape that a pass goes over, as one piece: the tensors asked for are among its ends and observed results."""

    piece: Piece
    needed: set[Record]
    key: tuple[Any, ...]
    ends: Sequence[Any]


def batched_gradients(
    outputs: Sequence[Tensor], wanted: Sequence[Tensor], cotangents: Sequence[Tensor], retain: bool, create: bool
) -> list[Tensor | None] | None:
    """The gradients of outputs for a batch of cotangents, with the batch as first dimension; None for tensors that do not matter.

    Args:
        outputs: tensors that require gradients.
        wanted: tensors whose gradients are asked for.
        cotangents: one for each output, of its shape behind a first dimension that all share.
        retain: whether what the tape keeps stays.
        create: whether the pass is recorded.

    Returns:
        None in place of a list if the tape has no such program.
    """
    count = cotangents[0].array.shape[0]
    sweep = Sweep([(y, y) for y in outputs], wanted, retain, create)
    tape = _tape_of(sweep, wanted)
    if tape is None:
        return None
    if not tape.ends and not tape.piece.observed:
        return [None for _ in wanted]
    entry = remembered(tape.key)
    if count < FEWEST and entry.program is None:
        return None
    given = [c if c.array.dtype == y.array.dtype else c.to(y.array.dtype) for y, c in zip(outputs, cotangents, strict=True)]
    rows = min(count, max(1, MOST_ELEMENTS // _widest(tape.piece.records)))
    parts: list[Sequence[Tensor]] = []
    for first in range(0, count, rows):
        part = sweep.running(lambda first=first: _run(tape, entry, [c if rows == count else c[first : first + rows] for c in given], create))
        if part is None:
            return None
        parts.append(part)
    if not retain:
        for record in tape.needed:
            record.free()
    columns = [column[0] if len(column) == 1 else _joined(column) for column in zip(*parts, strict=True)]
    observed = [place(record, number) for record, number in tape.piece.observed]
    by_place = {_place_key(end): g for end, g in zip([*tape.ends, *observed], columns, strict=True)}
    return [by_place.get(_place_key(dispatch.source_of(x))) for x in wanted]


def _joined(parts: Sequence[Tensor]) -> Tensor:
    from wengert.eager.operations.joining import cat

    return cat(parts, 0)


def _place_key(source: Any) -> Hashable:
    if isinstance(source, Record):
        return source.number, 0
    return (source.record.number, source.number) if isinstance(source, Output) else id(source)


def _widest(records: Sequence[Record]) -> int:
    sizes = [1]
    for record in records:
        for shape, _ in (*record.signature.types, *record.result_types):
            size = 1
            for extent in shape:
                size *= extent
            sizes.append(size)
    return max(sizes)


def _tape_of(sweep: Sweep, wanted: Sequence[Tensor]) -> _Tape | None:
    """The records of a pass as one piece, if nothing in it is Python."""
    if STATE.tape is not None or STATE.anomaly or STATE.keeper is not None:
        return None
    if not all(isinstance(s, Record | Output) for s in sweep.sources) or any(x.leaf_hooks and dispatch.source_of(x) is x for x in wanted):
        return None
    records, needed, inside = sweep.plan()
    through = [r for r in records if r in needed]
    if not through or len(through) > LARGEST or any(r.is_special or hasattr(r, "pull") or type(r.saved) is Deferred for r in records):
        return None
    numbers = {r.number for r in through}
    if any(_place_key(s) in inside for s in sweep.sources) or any(_place_key(s)[0] not in numbers for s in sweep.sources):  # pyright: ignore[reportIndexIssue]
        return None

    def beyond(record: Record, number: int) -> bool:
        return record in needed or (record.number, number) in inside

    observed = [(r, number) for r in through for number in range(len(r.result_types)) if (r.number, number) in inside]
    piece = Piece(through, sweep.sources, {id(x) for x in wanted}, beyond, observed)
    key, ends = structure(piece)
    return _Tape(piece, needed, key, ends)


def _run(tape: _Tape, entry: Entry, cotangents: Sequence[Tensor], create: bool) -> Sequence[Tensor] | None:
    """The gradients for one batch, in the order of ends and observed results."""
    size = cotangents[0].array.shape[0]
    key = (tape.key, len(cotangents), size)
    if key not in BATCHED and not _make(key, lambda: _compiled(tape, entry, len(cotangents), size)):
        return None
    batched = BATCHED.get(key)
    if batched is None:
        return None
    records = tape.piece.records
    if create:
        kept = [record.kept() for record in records]
        operands = [on_tape(records[i], records[i].signature.keeps[j], kept[i][j][0]) for i, j, _ in entry.arguments]
        return dispatch.apply_many(batched.operation, (*operands, *cotangents))
    return [dispatch.new(array) for array in batched.program(*kept_arrays(entry, records), *(c.array for c in cotangents))]


def _compiled(tape: _Tape, entry: Entry, cotangents: int, size: int) -> BatchedEntry:
    if entry.program is None:
        compile_piece(entry, tape.piece, tape.ends)
    return BatchedEntry(entry, cotangents, size)


def _make(key: Hashable, make: Callable[[], BatchedEntry]) -> bool:
    """Remembers a program under this key; False where there is none, which is remembered too."""
    made: BatchedEntry | None
    try:
        made = make()
    except (DiagnosticError, UnkeptValueError):  # an op without a rule for batches
        made = None
    with LOCK:
        if len(BATCHED) >= MOST_PROGRAMS:
            BATCHED.pop(next(iter(BATCHED)))
        BATCHED[key] = made
    return made is not None

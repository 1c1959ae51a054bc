"""Cuts a tape into pieces, so that Python can run in the middle of a backward pass whose pieces are compiled.

A hook on a result has to run when all that uses the result has been run backwards and what made it has not: the record that made
it is the last of its piece. A hook on a node sees both sides, and a custom function is Python altogether: such a record is a piece of
its own. What a checkpoint holds is computed again when its piece comes and given up after it, so no piece holds records of two.
Gradients of values inside, kept by ``retain_grad`` or asked for, cut nothing: they are further results of the piece's program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wengert.eager.recording.record import Deferred, Record

SMALLEST = 3
"""Pieces of fewer records than this are walked."""


@dataclass(frozen=True)
class Cut:
    """Records in a row; ``walked`` says that Python has to run at each of them."""

    records: list[Record]
    walked: bool


def cuts(records: Sequence[Record], needed: set[Record]) -> list[Cut]:
    """The records in pieces, in order; those that are not needed, where gradients only end, are pieces of their own too."""
    pieces: list[Cut] = []
    current: list[Record] = []
    frame = None

    def close(walked: bool = False) -> None:
        nonlocal current
        if current:
            pieces.append(Cut(current, walked or len(current) < SMALLEST))
            current = []

    for record in records:
        alone = record not in needed or record.has_node_hooks or hasattr(record, "pull")
        call_frame = record.saved.frame if isinstance(record.saved, Deferred) else None
        if alone or (record.saved and call_frame is not frame):
            close()
        if record.saved:
            frame = call_frame
        current.append(record)
        if alone or record.has_pre_hooks:
            close(walked=alone)
    close()
    return pieces

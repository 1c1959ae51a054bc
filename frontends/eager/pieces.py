"""Where a tape is cut, so that Python can run in the middle of a backward pass whose pieces are compiled.

A hook on a result has to run when all that uses the result has been run backwards and what made it has not: the record that made
it is the last of its piece. A hook on a node sees both sides, and a custom function is Python altogether: such a record is a piece of
its own. What a checkpoint holds is computed again when its piece comes and given up after it, so no piece holds records of two.
Gradients of values inside, kept by ``retain_grad`` or asked for, cut nothing: they are further results of the piece's program.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.eager.record import Held, Record

SMALLEST = 3
"""Pieces of fewer records than this are walked."""


def cuts(records: Sequence[Record], needed: set[Record]) -> list[list[Record]]:
    """The records in pieces, in order; those that are not needed are pieces of their own, where gradients only end."""
    found: list[list[Record]] = [[]]
    frame = None
    for record in records:
        alone = record not in needed or bool(record.node_hooks) or hasattr(record, "pull")
        held = record.saved.frame if isinstance(record.saved, Held) else None
        if found[-1] and (alone or (record.saved and held is not frame)):
            found.append([])
        if record.saved:
            frame = held
        found[-1].append(record)
        if alone or record.has_pre_hooks:
            found.append([])
    return [cut for cut in found if cut]

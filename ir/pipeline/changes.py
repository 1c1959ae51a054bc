"""Records what passes do to ops: those that are made, rewritten, merged and removed, and why.

Nothing is recorded unless somebody asks. Then whatever makes, merges or removes an op tells the recorder, which otherwise costs a comparison with None::

    with recorded() as changes:
        pipeline.run(module, observer=changes)
    for change in changes.of(op):
        print(change)          # simplify: rewritten from stablehlo.divide at f.mlir:3:5 (divide-by-constant)

Locations say what an op came from (:mod:`wengert.ir.location.locations`), also when nothing is recorded. This says what became of ops that are gone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from wengert.ir.location.locations import written_op
from wengert.ir.location.places import describe
from wengert.ir.pipeline.stages import LOCK
from wengert.ir.traversal import all_ops


class Kind(StrEnum):
    """Kinds of changes to an op."""

    MADE = "made"
    REWRITTEN = "rewritten"
    MERGED = "merged"
    REMOVED = "removed"


class Change(Struct, frozen=True):
    """One change by a pass.

    Attributes:
        pass_name: the pass.
        kind: what happened.
        op_name: the op that it happened to, as it was before.
        location: the location of this op.
        why: the name of the rewrite, or the reason.
        into_name: the op that stands for it now; empty if there is none.
        into: the location of that op.
    """

    pass_name: str
    kind: Kind
    op_name: str
    location: LocationAttr
    why: str = ""
    into_name: str = ""
    into: LocationAttr = UNKNOWN_LOC

    def __str__(self) -> str:
        became = f", now {self.into_name} at {describe(self.into)}" if self.into_name else ""
        return f"{self.pass_name}: {self.op_name} at {describe(self.location)} was {self.kind}{became}{f' ({self.why})' if self.why else ''}"


UNUSED = "nothing uses it"


class Recorder:
    """Changes in the order in which they happened. It is an observer of pipelines, several of which may follow one another."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.why = ""
        """The name of the rewrite that is being applied."""
        self._of: dict[Operation, list[int]] = {}
        self._dated = 0
        self._present: set[Operation] = set()
        self._unused_since: dict[Operation, str] = {}

    # -- told by what changes ops

    def shared(self, location: LocationAttr, made: Operation) -> None:
        """An op that was asked for at a location is one that was made before."""
        self._note(Change("", Kind.MERGED, made.name, location, "the same was made before", made.name, made.location), made)

    def merged(self, op: Operation, into: Operation) -> None:
        """An op is replaced by an equal one."""
        self._with_inner(Change("", Kind.MERGED, written_op(op), op.location, "equal to one before it", into.name, into.location), op, into)

    def rewritten(self, op: Operation, values: Sequence[SSAValue], made: Sequence[Operation]) -> None:
        """An op is replaced by values; ``made`` are the ops that were made for it."""
        owner = values[0].owner if values else None
        into = owner if isinstance(owner, Operation) else None
        name, location = (into.name, into.location) if into is not None else ("an argument", UNKNOWN_LOC) if values else ("", UNKNOWN_LOC)
        change = Change("", Kind.REWRITTEN, written_op(op), op.location, self.why, name, location)
        self._with_inner(change, op, *(made if made else (into,) if into is not None else ()))
        self.why = ""

    def unused(self, op: Operation, since: str) -> None:
        """Nothing uses an op any more since something was done, for :meth:`removed` to say so."""
        self._unused_since.setdefault(op, since)

    def removed(self, op: Operation, why: str = UNUSED) -> None:
        """An op is removed, with all that is in it."""
        for operand in op.operands:
            if isinstance(operand.owner, Operation):
                self._unused_since.setdefault(operand.owner, f"{op.name} at {describe(op.location)} was removed, which used it")
        since = self._unused_since.get(op) if why == UNUSED else None
        self._with_inner(Change("", Kind.REMOVED, written_op(op), op.location, f"{why}, since {since}" if since else why), op)

    def _with_inner(self, change: Change, op: Operation, *into: Operation) -> None:
        self._note(change, *into)
        known = [index for index in self._of.get(op, ()) if index != len(self.changes) - 1]
        for one in into:
            self._of[one] = sorted({*known, *self._of[one]})
        for inner in all_ops(op)[1:] if op.regions else ():
            why = f"in {op.name} at {describe(op.location)}, which was {change.kind}"
            self.changes.append(Change("", Kind.REMOVED, written_op(inner), inner.location, why))

    def _note(self, change: Change, *into: Operation) -> None:
        for op in into:
            self._of.setdefault(op, []).append(len(self.changes))
        self.changes.append(change)

    # -- observing pipelines

    def begin(self, pipeline: object, module: ModuleOp) -> None:
        """Notes the ops that there are."""
        self._present = set(all_ops(module))

    def after(self, run: Any, pipeline: object, module: ModuleOp) -> None:
        """Gives the changes since the pass before the name of this one, and adds the ops that it made and said nothing of."""
        name: str = run.pass_.name
        now = all_ops(module)
        for op in now:
            if op not in self._present and op not in self._of:
                self._note(Change("", Kind.MADE, op.name, op.location), op)
        self._present = set(now)
        for index in range(self._dated, len(self.changes)):
            change = self.changes[index]
            self.changes[index] = Change(name, change.kind, change.op_name, change.location, change.why, change.into_name, change.into)
        self._dated = len(self.changes)

    def translated(self, run: object, pipeline: object, text: str) -> None:
        """Translations change no ops."""

    # -- reading

    def of(self, op: Operation) -> list[Change]:
        """The changes that led to an op, in order."""
        return [self.changes[index] for index in self._of.get(op, ())]


RECORDER: Recorder | None = None
"""Who is told of changes, if anybody."""


@contextmanager
def recorded() -> Generator[Recorder]:
    """Records what passes do inside, by this thread alone."""
    global RECORDER  # noqa: PLW0603  (looked at where every op is made, so it is a global of this module)
    with LOCK:
        before, recorder = RECORDER, Recorder()
        RECORDER = recorder  # pyright: ignore[reportConstantRedefinition]
        try:
            yield recorder
        finally:
            RECORDER = before  # pyright: ignore[reportConstantRedefinition]

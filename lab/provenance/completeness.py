"""The check that provenance is complete and true: every op of a program is a source of something in its derivative, or a pass says why it is gone.

Two things are looked at. *Complete*: each op that was written is named by the location of some op of the derivative, or a change was recorded that
says which pass removed or merged it and why. *True*: each op that a location names was written at the place that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from wengert.ir.location.locations import Certainty, Source, sources
from wengert.ir.location.places import describe, origin
from wengert.ir.pipeline.changes import Change
from wengert.ir.traversal import all_ops
from wengert.lab.inspection.subject import Request
from wengert.lab.provenance.recording import Recording, record
from wengert.runtime.program import Program


@dataclass(frozen=True)
class Removed:
    """An op of the program that nothing in the derivative came from, and why: what was recorded of it, the last first; empty if nothing was."""

    place: str
    op_name: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: {self.op_name}: {self.reasons[0] if self.reasons else 'lost without a reason'}"


@dataclass(frozen=True)
class Wrong:
    """A source that is not what its location says: the op that has it, what it names, and what was written there."""

    op_name: str
    claim: str
    written: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.op_name} says that it is {self.claim}, where {' and '.join(self.written) or 'nothing'} was written"


@dataclass(frozen=True)
class Completeness:
    """The fates of the ops of one program.

    Attributes:
        ops: how many ops were written.
        traced: how many of them are sources of ops of the derivative.
        removed: the others.
        derived: the number of ops of the derivative.
        exact, inferred, unknown: how the sources of these are known.
        wrong: sources that are not true.
    """

    ops: int
    traced: int
    removed: tuple[Removed, ...]
    derived: int
    exact: int
    inferred: int
    unknown: int
    wrong: tuple[Wrong, ...]

    @property
    def lost(self) -> tuple[Removed, ...]:
        """Ops that are gone without a reason."""
        return tuple(each for each in self.removed if not each.reasons)

    @property
    def is_good(self) -> bool:
        """Whether nothing is lost and nothing is wrong."""
        return not self.lost and not self.wrong and not self.unknown

    def __str__(self) -> str:
        summary = f"{self.ops} ops: {self.traced} traced, {len(self.removed) - len(self.lost)} removed with a reason, {len(self.lost)} lost"
        return f"{summary}; {self.derived} ops made: {self.exact} sources exact, {self.inferred} inferred, {self.unknown} unknown, {len(self.wrong)} wrong"

    def to_json(self) -> dict[str, Any]:
        """Everything, for JSON."""
        counts = {name: getattr(self, name) for name in ("ops", "traced", "derived", "exact", "inferred", "unknown")}
        removed = [{"place": each.place, "op": each.op_name, "reasons": list(each.reasons)} for each in self.removed]
        return {**counts, "removed": removed, "wrong": [str(each) for each in self.wrong]}


def check_provenance(program: Program, request: Request | None = None) -> Completeness:
    """Traces every op of a program in a derivative (the VJP if none is asked for). Raises what the derivative raises."""
    return completeness(record(program, request or Request("vjp")))


def completeness(recording: Recording) -> Completeness:
    """The same of what was recorded."""
    written = {op: origin(op.location) for op in computing_ops(recording.written)}
    named: dict[LocationAttr, set[str]] = {}
    for op in all_ops(recording.written):
        named.setdefault(origin(op.location), set()).add(op.name)
        if isinstance(op, FuncOp) and op.body.blocks:
            for number, argument in enumerate(op.args):
                place = op.location if isinstance(argument.location, UnknownLoc) else argument.location
                named.setdefault(origin(place), set()).add(f"argument#{number}")
    derived = list(computing_ops(recording.module))
    known = [(op, source) for op in derived for source in sources(op.location, op.name)]
    reached = {place for _, source in known for place in (source.place, *map(origin, source.callers))}
    gone = [(op, place) for op, place in written.items() if place not in reached]
    reasons = _reasons(recording.changes.changes, {place for _, place in gone})
    removed = tuple(Removed(describe(place), op.name, tuple(reasons.get(place, ()))) for op, place in gone)
    exact, inferred, unknown = (sum(source.certainty is certainty for _, source in known) for certainty in Certainty)
    wrong = tuple(Wrong(op.name, str(source), tuple(sorted(named.get(source.place, ())))) for op, source in known if not _is_true(source, named))
    return Completeness(len(written), len(written) - len(removed), removed, len(derived), exact, inferred, unknown, wrong)


def computing_ops(module: ModuleOp) -> Iterator[Operation]:
    """The ops of a module that compute something: all but modules, functions, and the terminators of blocks."""
    for op in all_ops(module):
        if not isinstance(op, ModuleOp | FuncOp) and not (op.has_trait(IsTerminator, value_if_unregistered=False) and op.next_op is None):
            yield op


def _is_true(source: Source, named: dict[LocationAttr, set[str]]) -> bool:
    if not isinstance(source.place, FileLineColLoc):
        return True  # nothing is claimed
    there = named.get(source.place, set())
    return source.op_name in there or (source.op_name.startswith("result") and "func.func" in there)


def _reasons(changes: Iterable[Change], places: set[LocationAttr]) -> dict[LocationAttr, list[str]]:
    """What was recorded of ops that came from these places, the last first."""
    reasons: dict[LocationAttr, list[str]] = {}
    for change in changes:
        for source in sources(change.location):
            for place in (source.place, *map(origin, source.callers)):
                if place in places:
                    reasons.setdefault(place, []).insert(0, str(change))
    return reasons

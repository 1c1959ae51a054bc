"""Runs a record again, and says what differs: the environment, counts, results, and the time, by the verdict of comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.lab.plain import plain
from wengert.lab.records.comparison import Comparison, compare
from wengert.lab.records.database import Database, now
from wengert.lab.records.environment import environment, load
from wengert.lab.records.execution import Effort, run_works
from wengert.lab.records.record import Record
from wengert.lab.records.verdict import quartile
from wengert.lab.records.work import Point, modes
from wengert.lab.tables import seconds, table
from wengert.runtime.errors import InputError

LARGEST_DIFFERENCE = {"f4": 1e-3, "f8": 1e-6}


@dataclass(frozen=True)
class Replay:
    """A record, and what came of running it again.

    Attributes:
        before, after: the records.
        comparison: the one with the other.
        tolerance: the largest relative difference of the norms of results that is the same result.
    """

    before: Record
    after: Record
    comparison: Comparison
    tolerance: float

    @property
    def difference(self) -> float | None:
        """The largest relative difference of the norms of results; None where one side has none."""
        a, b = self.before.result.norms, self.after.result.norms
        if not a or not b:
            return None
        return math.inf if len(a) != len(b) else max(map(_relative, a, b))

    @property
    def is_wrong(self) -> bool:
        """Whether the results are others than they were."""
        return self.difference is not None and not self.difference <= self.tolerance

    @property
    def regressed(self) -> bool:
        """Whether something has become worse."""
        return bool(self.comparison.regressions)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {
            "record": self.before.to_json(),
            "replayed": self.after.to_json(),
            "differs": {name: list(values) for name, values in self.differing.items()},
            "results": {"difference": plain(self.difference), "tolerance": self.tolerance, "wrong": self.is_wrong},
            "comparison": self.comparison.to_json(),
        }

    @property
    def differing(self) -> dict[str, tuple[str, str]]:
        """What is not as it was, besides times."""
        pair = self.comparison.pairs[0]
        facts = {
            "status": pair.status,
            "reason": (self.before.result.reason, self.after.result.reason),
            "IR that is run": (self.before.result.derived[:12], self.after.result.derived[:12]),
            **{name: (str(a), str(b)) for name, (a, b) in pair.counts.items()},
        }
        known = self.before.result.derived and self.after.result.derived
        return {name: values for name, values in facts.items() if values[0] != values[1] and (known or name != "IR that is run")}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        before, after = self.before, self.after
        yield f"{before.name}, record {before.id[:12]}, taken {before.taken[:19].replace('T', ' ')} UTC"
        yield ""
        notes = self.comparison.notes
        yield from notes or ["environment: the same (machine, versions, commit, variables)"]
        yield from (f"{name}: {a or 'none'} then, {b or 'none'} now" for name, (a, b) in self.differing.items())
        if not self.differing:
            yield "IR that is run, counts and memory: the same"
        yield self._results()
        pair = self.comparison.pairs[0]
        if pair.verdict is None:
            return
        rows = [[name, *_times(record)] for name, record in (("then", before), ("now", after))]
        yield from ["", *table(["", "samples", "least", "lower quartile", "median", "load"], rows), "", f"now is {_said(str(pair.verdict))}"]

    def _results(self) -> str:
        if self.difference is None:
            return "results: not compared"
        if self.is_wrong:
            return f"results: WRONG, their norms differ by {self.difference:.1e}"
        return "results: the same norms" if self.difference == 0 else f"results: norms within {self.difference:.1e}"


def _said(verdict: str) -> str:
    return verdict.replace("no difference seen", "not seen to differ").replace("too few samples", "not compared: too few samples")


def replay(database: Database, id: str, *, rounds: int = 25, effect: float = 0.05) -> Replay:
    """Runs a record again.

    Args:
        database: where it is.
        id: the beginning of its id.
        rounds: the most samples.
        effect: the least difference of times that counts, as a part.

    Raises:
        DatabaseError: there is no such record, or its inputs were too large to be kept.
        DiagnosticError, InputError: its program is not valid any more.
    """
    before = database.record(id)
    _check_plugins(before)
    program, given = database.program(before.work.program), database.given(before.work.given)
    point = Point(before.label, program, dict(before.sizes), given)
    effort = Effort(measure=bool(before.result.samples) or before.result.compile_seconds is not None, rounds=rounds)
    [(work, result)] = run_works(point, [before.work], effort)
    result = replace(result, error=before.result.error, tolerance=before.result.tolerance) if before.result.status == "ok" else result
    after = Record(work, before.label, dict(before.sizes), result, environment(), load(), now(), "").named()
    return Replay(before, after, compare([before], [after], ("then", "now"), effect, ("then", "now")), _tolerance(program.signature.results))


def _check_plugins(record: Record) -> None:
    """Refuses a record of a mode that only a plug-in knows which is not loaded: what a file of records names is not run by itself."""
    sources = record.environment.plugins
    if record.work.mode not in modes() and sources:
        loads = " ".join(f"--load {source}" for source in sources)
        raise InputError(f"the record is of {record.work.mode!r}, which came from a plug-in: replay it with {loads}")


def _tolerance(results: Sequence[Any]) -> float:
    """Below which norms are the same: results may differ from processor to processor."""
    small = [np.dtype(result.dtype).itemsize for result in results if result.differentiable]
    return LARGEST_DIFFERENCE["f8" if min(small, default=8) >= 8 else "f4"]


def _relative(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    scale = max(abs(a), abs(b))
    return abs(a - b) / scale if math.isfinite(a) and math.isfinite(b) else math.inf


def _times(record: Record) -> list[str]:
    result = record.result
    typical = quartile(result.samples) if result.samples else None
    shown = [seconds(time) if time is not None else "-" for time in (result.minimum, typical, result.median)]
    return [str(len(result.samples)), *shown, "-" if math.isnan(record.load) else f"{record.load:.2g}"]

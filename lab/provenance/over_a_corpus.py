"""The check of provenance over a corpus: ``wengert conformance DIR --provenance``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.corpus import CorpusProgram
from wengert.lab.inspection.subject import Mode, Request
from wengert.lab.provenance.completeness import Completeness, check_provenance
from wengert.runtime.errors import InputError
from wengert.runtime.loading import load

MODES: tuple[Mode, ...] = ("jvp", "vjp", "hvp")
_SHOWN = 5


@dataclass(frozen=True)
class ProvenanceTask:
    """One program of a corpus in one precision, with the derivatives to look at."""

    program: CorpusProgram
    precision: str
    modes: tuple[Mode, ...]
    strategy: str = "transpose"
    generic: bool = False

    @property
    def label(self) -> str:
        return f"{self.program.name} {self.precision}"


@dataclass(frozen=True)
class ProvenanceOutcome:
    """The fates of a program's ops in one derivative; ``result`` is None where there is no derivative, for the reason."""

    program: str
    precision: str
    mode: str
    result: Completeness | None
    reason: str = ""

    @property
    def is_good(self) -> bool:
        """Whether nothing is lost and nothing wrong, or the program is refused."""
        return self.result is None or self.result.is_good

    def __str__(self) -> str:
        head = f"{self.program} {self.precision} {self.mode}: "
        if self.result is None:
            return f"{head}refused: {self.reason}"
        worst = [str(each) for each in (*self.result.lost, *self.result.wrong)]
        more = [f"and {len(worst) - _SHOWN} more"] if len(worst) > _SHOWN else []
        return "\n  ".join([f"{head}{self.result}", *worst[:_SHOWN], *more])

    def to_json(self) -> dict[str, Any]:
        """Everything, for JSON."""
        result = None if self.result is None else self.result.to_json()
        return {"program": self.program, "precision": self.precision, "mode": self.mode, "reason": self.reason, "result": result}


def run_provenance_task(task: ProvenanceTask) -> Iterator[ProvenanceOutcome]:
    """The outcomes of a task, one derivative after the other."""
    for mode in task.modes:
        try:
            program = load(task.program.path(task.precision, generic=task.generic))
            result = check_provenance(program, Request(mode, strategy=task.strategy))
            yield ProvenanceOutcome(task.program.name, task.precision, mode, result)
        except (DiagnosticError, InputError) as error:
            yield ProvenanceOutcome(task.program.name, task.precision, mode, None, str(error).splitlines()[0])


def provenance_summary(outcomes: Sequence[ProvenanceOutcome]) -> list[str]:
    """A line for each kind of derivative: what became of ops, and how sources are known."""
    lines: list[str] = []
    for mode in dict.fromkeys(outcome.mode for outcome in outcomes):
        results = [o.result for o in outcomes if o.mode == mode and o.result is not None]
        refused = sum(o.mode == mode and o.result is None for o in outcomes)
        ops, traced, lost = sum(r.ops for r in results), sum(r.traced for r in results), sum(len(r.lost) for r in results)
        also = f"; {refused} refused" if refused else ""
        lines.append(f"{mode}: {ops} ops written: {traced} traced, {ops - traced - lost} gone with a reason, {lost} lost{also}")
        known = [sum(getattr(r, name) for r in results) for name in ("derived", "exact", "inferred", "unknown")]
        wrong = sum(len(r.wrong) for r in results)
        lines.append(f"     {known[0]} ops made: {known[1]} sources exact, {known[2]} inferred, {known[3]} unknown, {wrong} wrong")
    return lines

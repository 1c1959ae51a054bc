"""Measures how often the choice is right: over a corpus, batched plans are compiled, checked and timed in turns.

A batched plan is one call that computes the whole Jacobian; others are slower but for single directions. A program counts as right if the chosen plan's time is
at most 1.05 times the smallest one. Jacobians of more than 40,000 elements or more than 1,500 rows or columns are left out, and so are complex
ones. Threads: one. The times of a program are minima over rounds in which every plan runs once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.plugins import load_plugin
from wengert.lab.corpus import CorpusProgram, Reference, array_error
from wengert.lab.strategies.choice import UNDECIDED, choose
from wengert.lab.strategies.measuring import measured, near, with_values
from wengert.lab.strategies.plans import plans
from wengert.lab.strategies.row import PlanCosts, Row
from wengert.lab.tables import seconds
from wengert.runtime.errors import ExecutionError, InputError
from wengert.runtime.loading import load
from wengert.runtime.program import Array, Program
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

NEAR = 1.05
MOST_ELEMENTS, MOST_DIRECTIONS = 40_000, 1500


@dataclass(frozen=True)
class Task:
    """One program of a corpus in one precision."""

    program: CorpusProgram
    precision: str
    plugins: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """For messages."""
        return f"{self.program.name} {self.precision}"


@dataclass(frozen=True)
class Chosen:
    """The choice for a program.

    Attributes:
        program, precision: what was differentiated.
        chosen: the row that the prediction chooses, by name; None where it chooses none.
        settled: the row that was the fastest in a first series of rounds among those that are predicted within 50 % of the chosen one: the choice that is made
            by default.
        measured: the row that was the fastest in a first series of rounds: the choice of ``measure=True``.
        fastest: the row that was the fastest in a second series, by which all choices are judged.
        times: seconds of every row in the second series.
        predicted: predicted seconds.
        error: the largest difference of a row from the reference Jacobian of the corpus where it has one, else from the interpreter.
        skipped: why the program does not count, if it does not.
    """

    program: str
    precision: str
    chosen: str | None = None
    settled: str | None = None
    measured: str = ""
    fastest: str = ""
    times: dict[str, float] | None = None
    predicted: dict[str, float] | None = None
    error: float = 0.0
    skipped: str = ""

    def ratio(self, row: str | None) -> float:
        """How many times the fastest row's time another one takes; infinite for none."""
        return float("inf") if row is None or not self.times else self.times[row] / self.times[self.fastest]

    @property
    def is_right(self) -> bool:
        """Whether the row that is chosen by default is the fastest, or as good as that, and the predicted one too."""
        return max(self.ratio(self.chosen), self.ratio(self.settled)) <= NEAR

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.program} {self.precision}: left out: {self.skipped}"
        times = ", ".join(f"{name} {seconds(time)} ({seconds((self.predicted or {}).get(name, 0.0))} predicted)" for name, time in (self.times or {}).items())
        choices = f"{self.chosen or 'nothing'} is predicted, {self.settled or 'nothing'} chosen when ties are measured, {self.fastest} is the fastest"
        return f"{self.program} {self.precision}: {choices}: {times}"


def run_task(task: Task) -> Iterator[Chosen]:
    """The choice for one program."""
    for source in task.plugins:
        load_plugin(source)
    name, precision = task.program.name, task.precision
    try:
        yield _choice(task, task.program.reference(precision))
    except (DiagnosticError, InputError, ExecutionError) as error:
        yield Chosen(name, precision, skipped=str(error).strip().splitlines()[0])


def _choice(task: Task, reference: Reference) -> Chosen:
    wrt, of = tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents))
    program = load(task.program.path(task.precision))
    return choice_for(task.program.name, task.precision, program, reference.inputs, wrt, of, reference.jac)


def choice_for(
    name: str,
    precision: str,
    program: Program,
    inputs: Sequence[Array],
    wrt: Sequence[int],
    of: Sequence[int],
    jacobian: Mapping[tuple[int, int], Array] | None = None,
) -> Chosen:
    """The choice for a program at a point, whose Jacobian is known by blocks (result, argument), or that of the interpreter is taken."""
    batched = [plan for plan in plans(program, "jacobian", wrt, of) if plan.at_once is None]
    columns, rows = batched[0].blocks.columns, batched[0].blocks.rows
    if columns * rows > MOST_ELEMENTS or max(columns, rows) > MOST_DIRECTIONS:
        return Chosen(name, precision, skipped=f"a Jacobian of {rows} by {columns}")
    unknowns = Unknowns()
    table = [with_values(Row(PlanCosts(plan, unknowns)), inputs) for plan in batched]
    usable = [row for row in table if not row.problem]
    choice = choose(usable)
    timed, _ = measured(usable, inputs)
    first, times = _times(timed), _times(measured(usable, inputs)[0])
    predicted = {row.name: float(row.predicted.seconds.constant or 0) for row in usable if row.predicted is not None}
    errors = [row.measured.error for row in timed.values() if row.measured is not None]
    if jacobian:
        errors += [_error(row.compile()(*inputs), jacobian, wrt, of) for row in usable]
    by_prediction = choice.row.name if choice.row is not None and choice.verdict != "conditional" else None
    tied = {row.name: first[row.name] for row in near(usable, UNDECIDED) if row.name in first}
    settled = _least(tied) if by_prediction is not None and len(tied) > 1 else by_prediction
    return Chosen(name, precision, by_prediction, settled, _least(first), _least(times), times, predicted, max(errors))


def _times(rows: Mapping[str, Row]) -> dict[str, float]:
    return {row.name: row.measured.times.minimum for row in rows.values() if row.measured is not None}


def _least(times: Mapping[str, float]) -> str:
    return min(times, key=lambda name: times[name])


def _error(blocks: Sequence[Any], jacobian: Mapping[tuple[int, int], Array], wrt: Sequence[int], of: Sequence[int]) -> float:
    keys = [(j, i) for j in of for i in wrt]
    return max(array_error(block, jacobian[key]) for key, block in zip(keys, blocks, strict=True) if key in jacobian)


def summary(choices: Sequence[Chosen]) -> list[str]:
    """The figure, the worst choice, and the largest error."""
    counted = [choice for choice in choices if not choice.skipped]
    lines: list[str] = []
    ways = (
        ("choice by default, ties measured,", [choice.settled for choice in counted]),
        ("choice by prediction alone", [choice.chosen for choice in counted]),
        ("choice with all rows measured", [choice.measured for choice in counted]),
    )
    for how, rows in ways:
        ratios = [choice.ratio(row) for choice, row in zip(counted, rows, strict=True)]
        right = sum(ratio <= NEAR for ratio in ratios)
        share = f" ({100 * right / len(counted):.0f} %)" if counted else ""
        worst = max(ratios, default=1.0)
        lines.append(f"strategies: the {how} is the fastest, or within 5 % of it, on {right} of {len(counted)} programs{share}; worst {worst:.3g} times")
    return [*lines, f"left out: {len(choices) - len(counted)}; largest error of a row: {max((choice.error for choice in counted), default=0.0):.1e}"]

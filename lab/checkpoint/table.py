"""The plans for computing values of a reverse derivative again: memory, flops and predicted time of each, and the one for a budget."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wengert.ir.byte_counts import byte_count
from wengert.lab.checkpoint.plot import svg
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.rows import amount, figure
from wengert.lab.costs.time_model import Prediction, predicted
from wengert.lab.inspection.html import fragment, html_table, paragraph
from wengert.lab.inspection.subject import Request
from wengert.lab.tables import size, table
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program, own_program
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import ProgramCost, program_cost
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.checkpoint.loops import UNCOUNTED
from wengert.transforms.checkpoint.search import Plan

_WIDEST = 48
_HEADER = ("plan", "arena", "ratio", "peak", "flops", "ratio", "ops again", "predicted")


@dataclass(frozen=True)
class CheckpointRow:
    """A plan of the frontier.

    Attributes:
        plan: what runs when.
        program: the derivative by this plan, as a program.
        cost: what it counts before fusion.
        compiled: its kernels and memory, read off the IR on buffers.
        predicted: its time by the machine model.
        again: how many ops run more than once.
    """

    plan: Plan
    program: Program
    cost: ProgramCost
    compiled: CompiledCost
    predicted: Prediction
    again: int

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        memory = self.compiled.memory
        return {
            "plan": self.plan.name,
            "arena_bytes": memory.arena,
            "peak_bytes": memory.total,
            "flops": figure(self.cost.flops),
            "transcendentals": figure(self.cost.transcendentals),
            "added_work": self.plan.work,
            "ops_again": self.again,
            "tapes_grow": self.plan.grows,
            "predicted": self.predicted.to_json(),
        }


@dataclass(frozen=True)
class CheckpointTable:
    """The frontier of a derivative: the rows from the fewest flops to the smallest arena.

    Attributes:
        title: what was planned.
        rows: the plans that no other one beats in both flops and arena.
        evaluated: how many plans were lowered to find them.
        total: the flops of the derivative as it is.
        budget: the largest arena that is wanted, in bytes, if one is.
        bounded: whether there are plans without tapes that grow as loops run.
        assumed: whether the flops of plans rest on assumed iterations of loops that nobody counts.
    """

    title: str
    rows: tuple[CheckpointRow, ...]
    evaluated: int
    total: int
    budget: int | None = None
    bounded: bool = True
    assumed: bool = False

    @cached_property
    def chosen(self) -> CheckpointRow | None:
        """The row for the budget: that with the fewest flops that fits. None without a budget, and where none fits."""
        return None if self.budget is None else next((row for row in self.rows if row.plan.arena <= self.budget and not self._grows(row)), None)

    def _grows(self, row: CheckpointRow) -> bool:
        """Whether a row takes more memory than the others in any case, for tapes of loops that nobody counts."""
        return row.plan.grows and self.bounded

    @property
    def decision(self) -> str:
        """The line that says what the budget leads to."""
        first, least = self.rows[0], self.rows[-1]
        if self.budget is None and self._grows(first):
            return f"The least budget that can be met is {least.plan.arena} bytes ({size(least.plan.arena)}); '{first.plan.name}' records as long as loops run."
        if self.budget is None:
            return (
                f"The least budget that can be met is {least.plan.arena} bytes ({size(least.plan.arena)}); with {first.plan.arena} nothing is computed again."
            )
        row = self.chosen
        if row is None:
            return f"No plan has an arena of at most {self.budget} bytes: the least budget that can be met is {least.plan.arena} ({size(least.plan.arena)})."
        if row is first:
            return f"{self.budget} bytes are enough: nothing is computed again."
        if self._grows(first):
            return (
                f"Use '{row.plan.name}': {size(row.plan.arena)} however long loops run, for about {_times(row.plan.work, first, self.total)} times the flops."
            )
        share, more = 100 * row.plan.arena / max(1, first.plan.arena), 100 * (row.plan.work - first.plan.work) / max(1, self.total)
        return f"Use '{row.plan.name}': {share:.3g} % of the arena for {more:.3g} % more flops."

    def __str__(self) -> str:
        return "\n".join(
            [
                self.title,
                "",
                *table(_HEADER, [self._cells(row) for row in self.rows]),
                "",
                f"{self.evaluated} plans were lowered to buffers.",
                *([f"Ratios of flops are for {UNCOUNTED} iterations of each loop that nobody counts."] if self.assumed else []),
                self.decision,
            ]
        )

    def _cells(self, row: CheckpointRow) -> list[str]:
        first, memory = self.rows[0], row.compiled.memory
        mark = "*" if row is self.chosen else " "
        work = 1 + (row.plan.work - first.plan.work) / max(1, self.total)
        share = "" if self._grows(first) else f"{memory.arena / max(1, first.plan.arena):.3f}"
        arena, peak = (f"{size(figure)} + tapes" if row.plan.grows else size(figure) for figure in (memory.arena, memory.total))
        return [
            f"{mark} {row.plan.name}", arena, share, peak, _short(amount(row.cost.flops)), f"{work:.3f}", str(row.again), _short(str(row.predicted))
        ]  # fmt: skip

    def svg(self) -> str:
        """The frontier as a picture: arenas over flops, each relative to the derivative that keeps everything."""
        first = self.rows[0].plan
        drawn = [row.plan for row in self.rows if not self._grows(row)]
        points = [(1 + (plan.work - first.work) / max(1, self.total), plan.arena, plan.name) for plan in drawn]
        return svg(points, self.title, self.budget)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        chosen = self.chosen
        return {
            "title": self.title,
            "budget": self.budget,
            "evaluated": self.evaluated,
            "plans": [row.to_json() for row in self.rows],
            "chosen": chosen.plan.name if chosen is not None else None,
            "least_budget": self.rows[-1].plan.arena,
            "decision": self.decision,
        }

    def _repr_html_(self) -> str:
        """For notebooks."""
        return fragment(
            paragraph(self.title), html_table(_HEADER, [self._cells(row) for row in self.rows], right=range(1, len(_HEADER))), paragraph(self.decision)
        )


def checkpoints(
    program: Any,
    wrt: Positions = None,
    of: Positions = None,
    *,
    strategy: str = "transpose",
    residuals: str = "auto",
    budget: int | str | None = None,
) -> CheckpointTable:
    """Plans the memory that the reverse derivative of a program can do with, and what that costs.

    Args:
        program: a :class:`wengert.Program`, or what has one.
        wrt: as for :meth:`wengert.Program.vjp`.
        of: as for :meth:`wengert.Program.vjp`.
        strategy: as for :meth:`wengert.Program.vjp`.
        residuals: as for :meth:`wengert.Program.vjp`: what is asked to be computed again stays so.
        budget: the largest arena, in bytes or as "64MB"; the arena is all memory of the compiled program beside inputs, results and constants.

    Raises:
        InputError: what is given is no program, or no number of bytes.
        DiagnosticError: what :meth:`wengert.Program.vjp` raises, or the derivative cannot be compiled.
    """
    program = own_program(program)
    if not isinstance(program, Program):
        raise InputError(f"checkpoints takes a program, found {type(program).__name__}: wg.load, wg.parse, wg.from_jax and wg.jit(f).program(x) make them")
    request = Request("vjp", wrt, of, strategy, residuals)
    return checkpoints_of(request.derivative(program), f"plans for {request} of {program.name}", budget)


def checkpoints_of(derivative: Program, title: str, budget: int | str | None = None) -> CheckpointTable:
    """The plans for a reverse derivative. Raises as :func:`checkpoints`."""
    try:
        bytes_given = None if budget is None else byte_count(budget)
    except ValueError as error:
        raise InputError(f"budget: {error}") from None
    frontier, unknowns = derivative.frontier, Unknowns()
    rows: list[CheckpointRow] = []
    for plan in frontier.best:
        program = derivative.planned(plan)
        cost = compiled(program, unknowns)
        again = len(plan.order) - len(set(plan.order))
        rows.append(CheckpointRow(plan, program, program_cost(program.counted_module, unknowns=unknowns), cost, predicted(program, cost), again))
    return CheckpointTable(title, tuple(rows), len(frontier.plans), frontier.total, bytes_given, frontier.bounded, frontier.is_assumed)


def _times(work: int, first: CheckpointRow, total: int) -> str:
    return f"{1 + (work - first.plan.work) / max(1, total):.3g}"


def _short(text: str) -> str:
    """A figure, or that it depends on too much to be shown."""
    return text if len(text) <= _WIDEST else "only a run tells"

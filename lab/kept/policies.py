"""Compares residual policies by what they keep: bytes, the flops that recomputation adds, the arena and the predicted time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.rows import amount, amount_of_bytes, figure
from wengert.lab.costs.time_model import Prediction, predicted
from wengert.lab.inspection.html import fragment, html_table
from wengert.lab.inspection.subject import Request
from wengert.lab.kept.parts import parts_of
from wengert.lab.kept.residuals import Residuals
from wengert.lab.tables import size, table
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.residuals.policies import policies_for
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import program_cost
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

_HEADER = ("residuals", "kept", "flop", "arena", "peak", "predicted time")


@dataclass(frozen=True)
class PolicyRow:
    """The kept bytes and the costs of a derivative by one policy."""

    name: str
    kept: Polynomial
    flops: Polynomial
    compiled: CompiledCost | None
    predicted: Prediction | None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as cells of a table."""
        memory = self.compiled.memory if self.compiled is not None else None
        figures = (size(memory.arena), size(memory.total)) if memory is not None else ("", "")
        return self.name, amount_of_bytes(self.kept), amount(self.flops), *figures, str(self.predicted or "")

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        memory = self.compiled.memory if self.compiled is not None else None
        figures = {"arena_bytes": memory.arena, "peak_bytes": memory.total} if memory is not None else {}
        predicted = self.predicted.to_json() if self.predicted is not None else None
        return {"residuals": self.name, "kept_bytes": figure(self.kept), "flops": figure(self.flops), **figures, "predicted": predicted}


@dataclass(frozen=True)
class PolicyTable:
    """The policies, each with what it keeps."""

    title: str
    rows: tuple[PolicyRow, ...]

    def __str__(self) -> str:
        return "\n".join([self.title, *table(_HEADER, [row.cells for row in self.rows])])

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {"title": self.title, "policies": [row.to_json() for row in self.rows]}

    def _repr_html_(self) -> str:
        """For notebooks."""
        return fragment(html_table(_HEADER, [row.cells for row in self.rows], right=range(1, len(_HEADER))))


def compare_policies(program: Program, request: Request) -> PolicyTable:
    """Compares what every residual policy keeps for a derivative of a program, those of plug-ins too. Raises what the derivative raises."""
    unknowns = Unknowns()
    rows = [_row(program, replace(request, residuals=name), unknowns) for name in policies_for(program.optimized_module)]
    return PolicyTable(f"{replace(request, residuals='auto')} of {program.name} by residual policy", tuple(rows))


def _row(program: Program, request: Request, unknowns: Unknowns) -> PolicyRow:
    derivative = request.derivative(program)
    flops = program_cost(derivative.counted_module, unknowns=unknowns).flops
    kept = Residuals(parts_of(derivative, program), unknowns).bytes
    try:
        cost = compiled(derivative, unknowns)
    except (DiagnosticError, InputError):
        return PolicyRow(request.residuals, kept, flops, None, None)
    return PolicyRow(request.residuals, kept, flops, cost, predicted(derivative, cost))

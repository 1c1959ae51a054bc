"""A row of the table: a plan with its costs, counted and predicted, and what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.rows import figure
from wengert.lab.costs.time_model import Prediction, predicted
from wengert.lab.measure import Times
from wengert.lab.plain import plain
from wengert.lab.strategies.plan import JacobianFunction, Plan
from wengert.runtime.errors import InputError, UnsupportedOpError
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import ProgramCost, program_cost
from wengert.transforms.analysis.symbolic.polynomial import Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

CALL = Fraction(3, 10**6)
"""Seconds that Python takes for one call of a plan's program: the seeds are passed, and the columns put in their places. A rough figure from a loaded
machine, not a fit."""


@dataclass(frozen=True)
class Measured:
    """The measurements of a plan.

    Attributes:
        times: seconds of the whole plan, interleaved with the other rows.
        compile_seconds: what compiling took.
        error: the largest difference from the reference, relative to its largest number.
    """

    times: Times
    compile_seconds: float
    error: float


class PlanCosts:
    """The costs of a plan's program for each call, computed when they are asked for; symbols are what only a run tells."""

    def __init__(self, plan: Plan, unknowns: Unknowns):
        self.plan = plan
        self.unknowns = unknowns

    @cached_property
    def problem(self) -> str:
        """Why there is no such program; empty if there is."""
        try:
            assert self.counted
            return ""
        except (DiagnosticError, InputError, UnsupportedOpError) as error:
            return str(error).strip().splitlines()[0]

    @cached_property
    def counted(self) -> ProgramCost:
        """Ops, flops and bytes, counted before fusion."""
        return program_cost(self.plan.program.counted_module, unknowns=self.unknowns)

    @cached_property
    def compiled(self) -> CompiledCost | None:
        """The costs of the compiled program, read off the IR on buffers; None if it cannot be compiled."""
        try:
            return compiled(self.plan.program, self.unknowns)
        except DiagnosticError:
            return None

    @cached_property
    def predicted(self) -> Prediction | None:
        """The time by the machine model."""
        return predicted(self.plan.program, self.compiled) if self.compiled is not None else None


@dataclass(frozen=True)
class Row:
    """A plan and its figures, those of all calls together."""

    costs: PlanCosts
    values: Mapping[str, Number] = field(default_factory=dict[str, Number])
    """Values of symbols."""
    measured: Measured | None = None
    refused: str = ""
    """Why the plan could not be compiled or run, where that was found when it was measured."""

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.costs.plan

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.plan.name

    @property
    def problem(self) -> str:
        """Why there is no such plan for the program; empty if there is."""
        return self.costs.problem or self.refused

    @cached_property
    def counted(self) -> ProgramCost:
        """Ops, flops and bytes of one call, counted before fusion."""
        return self.costs.counted.at(self.values)

    @property
    def ops(self) -> Polynomial:
        """Ops that are executed."""
        return self.counted.count * self.plan.calls

    @property
    def flops(self) -> Polynomial:
        """Floating point operations."""
        return self.counted.flops * self.plan.calls

    @property
    def compiled(self) -> CompiledCost | None:
        """The costs of one call of the compiled program; None if it cannot be compiled."""
        return self.costs.compiled

    @property
    def arena(self) -> int | None:
        """The bytes of the arena: memory beside inputs, results and constants."""
        return self.compiled.memory.arena if self.compiled is not None else None

    @cached_property
    def predicted(self) -> Prediction | None:
        """The time of all calls by the machine model."""
        one = self.costs.predicted
        if one is None:
            return None
        calls = one.at(self.values) * self.plan.calls
        handling = CALL * self.plan.calls if self.plan.at_once is not None else Fraction(0)
        return Prediction(calls.seconds + Polynomial.of(handling), calls.factor, calls.calibrated)

    @property
    def unmeasured(self) -> Row:
        """The row without what was measured of it."""
        return replace(self, measured=None)

    @property
    def seconds(self) -> Polynomial | None:
        """The time that decides: measured if it was, else predicted."""
        if self.measured is not None:
            return Polynomial.of(Fraction(self.measured.times.minimum))
        return self.predicted.seconds if self.predicted is not None else None

    def compile(self, backend: str = "cpu") -> JacobianFunction:
        """The plan as a function: the program's inputs in, the blocks of the derivative out."""
        return self.plan.compile(backend)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        head = {"name": self.name, "how": self.plan.how, "calls": self.plan.calls, "directions": self.plan.directions, "off": self.plan.off}
        if self.problem:
            return {**head, "refused": self.problem}
        memory = self.compiled.memory if self.compiled is not None else None
        return {
            **head,
            "ops": figure(self.ops),
            "flops": figure(self.flops),
            "arena_bytes": self.arena,
            "peak_bytes": memory.total if memory is not None else None,
            "predicted": self.predicted.to_json() if self.predicted is not None else None,
            "measured": plain(self.measured),
        }

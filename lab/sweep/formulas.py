"""Flops of each mode as exact polynomials in the swept size, from instances of the program at a few small sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.records.work import derived
from wengert.lab.sweep.axes import Sizes
from wengert.lab.sweep.subject import Subject
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost
from wengert.transforms.analysis.symbolic.instances import InstanceExtents, sample_points
from wengert.transforms.analysis.symbolic.instances import Point as InstancePoint
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


@dataclass(frozen=True)
class Formula:
    """The flops of one run of a mode; ``problem`` says why there is no formula."""

    flops: Polynomial | None
    problem: str = ""

    def degree(self, name: str) -> int | None:
        """The power of the size that they grow with in the end; None where that is not a polynomial."""
        if self.flops is None or self.flops.atoms:
            return None
        return self.flops.degree(name)


def flops_formulas(
    subject: Subject, name: str, others: Sizes, modes: Sequence[str], wrt: tuple[int, ...] | None, of: tuple[int, ...] | None
) -> dict[str, Formula]:
    """The formulas of the modes in one size, with values for the others. What cannot be found says why."""
    try:
        points = sample_points([name])
        programs = [subject.at({**others, **point}).program for point in points]
    except (DiagnosticError, InputError) as error:
        return {mode: Formula(None, _first_line(error)) for mode in modes}
    except Exception as error:  # the user's function, at a size that it was not asked for
        return {mode: Formula(None, f"{type(error).__name__}: {error}") for mode in modes}
    return {mode: _formula(programs, points, mode, wrt, of) for mode in modes}


def _formula(programs: Sequence[Program], points: Sequence[InstancePoint], mode: str, wrt: tuple[int, ...] | None, of: tuple[int, ...] | None) -> Formula:
    try:
        modules = [derived(program, mode, *program.resolve(wrt=wrt, of=of)).optimized_module for program in programs]
        return Formula(program_cost(modules[0], extents=InstanceExtents(modules, points), unknowns=Unknowns()).flops)
    except (DiagnosticError, InputError) as error:
        return Formula(None, _first_line(error))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]

"""The results of a sweep: cells by sizes and mode, the growth of their figures, and where modes cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from wengert.lab.draw.escaping import markup
from wengert.lab.plain import plain
from wengert.lab.records.execution import is_reverse
from wengert.lab.records.record import Result
from wengert.lab.sweep.axes import Axis, Sizes, main_axis
from wengert.lab.sweep.crossover import Crossover, crossover
from wengert.lab.sweep.fit import Growth, growth
from wengert.lab.sweep.formulas import Formula

if TYPE_CHECKING:
    from wengert.lab.sweep.plot import Plot

FIGURES = ("time", "predicted", "flops", "bytes", "peak")
"""What growth is fitted of: the measured time, the predicted one, and counts."""
WHOLE = ("jacfwd", "jacrev")
"""Modes that compute the whole first derivative at once."""


@dataclass(frozen=True)
class Cell:
    """One mode at certain sizes. ``record`` is its id, where it was recorded; ``again`` says that it had been before."""

    sizes: Sizes
    mode: str
    result: Result
    record: str = ""
    again: bool = False

    def figure(self, name: str) -> float | None:
        """One of FIGURES, for one run; None where it is not known."""
        if name == "time":
            return self.result.minimum
        if name == "predicted":
            return self.result.predicted
        return self.result.counts.get(name)

    def total(self, name: str) -> float | None:
        """The same for a full first derivative."""
        one = self.figure(name)
        return None if one is None else one * self.result.directions


@dataclass(frozen=True)
class Series:
    """One mode along the main axis, at fixed values of the others."""

    mode: str
    others: Sizes
    cells: dict[int, Cell]

    @property
    def name(self) -> str:
        """The mode, with the values of the other axes."""
        return " ".join([self.mode, *(f"{name}={value}" for name, value in self.others.items())])

    def values(self, figure: str, *, total: bool = False) -> dict[float, float]:
        """A figure by size, where it is known."""
        known = {float(size): cell.total(figure) if total else cell.figure(figure) for size, cell in self.cells.items() if cell.result.status == "ok"}
        return {size: value for size, value in known.items() if value is not None}

    @cached_property
    def growths(self) -> dict[str, Growth]:
        """The growth of each figure."""
        fitted = {name: growth(list(values), list(values.values())) for name in FIGURES if (values := self.values(name))}
        return {name: one for name, one in fitted.items() if one is not None}


@dataclass(frozen=True)
class SweepReport:
    """The results of a sweep.

    Attributes:
        program: what was swept.
        axes: what it went over, without the modes.
        modes: the modes.
        cells: the results, in the order of the sizes.
        measured: whether times were measured.
        formulas: the flops of modes as polynomials in the main size, by the name of the series.
        pipeline: the passes in place of the optimisation; None for the usual ones.
    """

    program: str
    axes: tuple[Axis, ...]
    modes: tuple[str, ...]
    cells: tuple[Cell, ...]
    measured: bool
    formulas: Mapping[str, Formula] = field(default_factory=dict[str, Formula])
    pipeline: str | None = None

    @cached_property
    def main(self) -> Axis | None:
        """The axis that growth is measured along."""
        return main_axis(self.axes)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """A series for each mode and choice of the other axes."""
        if self.main is None:
            return ()
        name, grouped = self.main.name, dict[tuple[Any, ...], dict[int, Cell]]()
        for cell in self.cells:
            others = tuple((key, value) for key, value in cell.sizes.items() if key != name)
            grouped.setdefault((cell.mode, others), {})[int(cell.sizes[name])] = cell
        made = [Series(mode, dict(others), dict(sorted(cells.items()))) for (mode, others), cells in grouped.items()]
        return tuple(sorted(made, key=lambda one: self.modes.index(one.mode)))

    @property
    def bases(self) -> tuple[str, ...]:
        """What modes are compared by: measured times where there are any, predicted times, flops."""
        return ("time", "predicted", "flops") if self.measured else ("predicted", "flops")

    def crossovers(self) -> dict[str, dict[str, Crossover]]:
        """How the modes that give first derivatives compare for a full one, by pair and basis; of more than three modes, each with the first."""
        by_pair: dict[str, dict[str, Crossover]] = {}
        for a, b in self._pairs():
            others = "".join(f" {name}={value}" for name, value in a.others.items())
            names = (a.mode, b.mode)
            by_pair[f"{a.mode} and {b.mode}{others}"] = {
                basis: crossover(names, a.values(basis, total=True), b.values(basis, total=True)) for basis in self.bases
            }
        return by_pair

    def _pairs(self) -> Sequence[tuple[Series, Series]]:
        candidates = [one for one in self.series if one.mode == "forward" or one.mode in WHOLE or is_reverse(one.mode)]
        pairs: list[tuple[Series, Series]] = []
        for others in {tuple(one.others.items()): one.others for one in candidates}.values():
            same = [one for one in candidates if one.others == others]
            pairs += list(combinations(same, 2)) if len(same) <= 3 else [(same[0], other) for other in same[1:]]
        return pairs

    def plot(self, *figures: str) -> Plot:
        """A plot with a panel for each of ``time``, ``full``, ``flops``, ``bytes`` and ``peak`` that is named: by default ``time``, and ``full`` where several
        modes give first derivatives. Notebooks show it, ``save(path)`` writes it. Raises InputError where matplotlib is not installed."""
        from wengert.lab.sweep.plot import Plot, check_panels, default_panels, draw

        return Plot(draw(self, check_panels(figures) if figures else default_panels(self.modes)))

    def __str__(self) -> str:
        from wengert.lab.sweep.report import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{markup(str(self))}</pre>"

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {
            "program": self.program,
            "pipeline": self.pipeline,
            "over": {axis.name: list(axis.values) for axis in self.axes},
            "modes": list(self.modes),
            "measured": self.measured,
            "cells": [
                {"sizes": dict(cell.sizes), "mode": cell.mode, "record": cell.record or None, "again": cell.again, "result": cell.result.to_json()}
                for cell in self.cells
            ],
            "growth": [
                {
                    "series": one.name,
                    "mode": one.mode,
                    "others": dict(one.others),
                    "exponents": plain(one.growths),
                    "flops": _formula_json(self.formulas.get(one.name)),
                }
                for one in self.series
            ],
            "crossovers": {pair: {basis: plain(one) for basis, one in by.items()} for pair, by in self.crossovers().items()},
        }


def _formula_json(formula: Formula | None) -> Any:
    if formula is None:
        return None
    return {"formula": None if formula.flops is None else str(formula.flops), "problem": formula.problem or None}

"""Bounds on costs, so that one that has grown fails a run: ``flops=1e6``, ``reverse.peak=64MB``, ``time=3ms``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from wengert.ir.byte_counts import UNITS
from wengert.ir.diagnostics import did_you_mean
from wengert.lab.costs.cost_report import CostReport
from wengert.lab.costs.rows import Row, amount, amount_of_bytes
from wengert.lab.tables import seconds
from wengert.runtime.errors import InputError
from wengert.transforms.analysis.symbolic.polynomial import Polynomial

FIGURES = ("ops", "flops", "transcendentals", "bytes", "launches", "moved", "peak", "time")
_SECONDS = {"": Fraction(1), "s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)}
_TEXT = re.compile(r"(?:(\w+)\.)?(\w+)=(\d+(?:\.\d+)?(?:e\d+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True)
class Bound:
    """The largest value that a figure of one run may have; ``row`` is None for all rows."""

    row: str | None
    figure: str
    most: Fraction
    text: str


def read_bound(text: str) -> Bound:
    """The bound that is written so; an InputError says what is wrong."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InputError(f"expected figure=number or row.figure=number, as in reverse.peak=64MB, found {text!r}")
    row, figure, number, unit = match.groups()
    if figure not in FIGURES:
        raise InputError(f"there is no figure {figure!r}; {did_you_mean(figure, FIGURES) or 'there are: ' + ', '.join(FIGURES)}")
    units = _SECONDS if figure == "time" else UNITS
    if unit not in units:
        raise InputError(f"{text!r}: there is no unit {unit!r} of {figure}; there are: {', '.join(filter(None, units))}")
    return Bound(row, figure, Fraction(number) * units[unit], text)


def excesses(costs: CostReport, bound: Bound) -> Iterator[str]:
    """A line for each row above the bound. A figure that depends on what is not known, or is not there, cannot be compared: an InputError."""
    rows = dict(zip(costs.row_names, costs.rows, strict=True))
    if bound.row is not None and bound.row not in rows:
        raise InputError(f"{bound.text}: there is no row {bound.row!r}; {did_you_mean(bound.row, rows) or 'there are: ' + ', '.join(rows)}")
    for name, row in rows.items():
        if bound.row not in (None, name):
            continue
        value = _figure(row, bound.figure)
        if value is None:
            raise InputError(f"{bound.text}: the {name} program cannot be compiled, so its {bound.figure} is not known")
        value = value.at(row.values)
        number = value.constant
        if number is None:
            raise InputError(f"{bound.text}: the {bound.figure} of the {name} program is {value}: give values with --sizes")
        if number > bound.most:
            yield f"{bound.figure} of the {name} program is {_written(bound.figure, value)}, above {bound.text}"


def _figure(row: Row, figure: str) -> Polynomial | None:
    if figure in ("flops", "transcendentals", "bytes"):
        return getattr(row.cost, figure)
    if figure == "ops":
        return row.cost.count
    if figure == "time":
        measured = row.measured
        return Polynomial.of(Fraction(measured.minimum)) if measured is not None else row.predicted.seconds if row.predicted is not None else None
    if row.compiled is None:
        return None
    return {"launches": row.compiled.launches, "moved": row.compiled.total("bytes"), "peak": Polynomial.of(row.compiled.memory.total)}[figure]


def _written(figure: str, value: Polynomial) -> str:
    if figure == "time":
        return seconds(float(value.constant or 0))
    return amount_of_bytes(value) if figure in ("bytes", "moved", "peak") else amount(value)

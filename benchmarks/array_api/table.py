"""The table of the namespace: function by function, how many calls agree at once, traced and with gradients, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.array_api import array_entries, elementwise_entries, linear_entries, searching_entries
from benchmarks.array_api.checks import Tally, at_once, gradient, traced
from benchmarks.array_api.entries import Entry
from benchmarks.array_api.operands import dtypes_of

SECTIONS: dict[str, list[Entry]] = {
    "Elementwise": elementwise_entries.FUNCTIONS,
    "Operators and subscripts": [*elementwise_entries.OPERATORS, *searching_entries.INDEXING],
    "Creation": array_entries.CREATION,
    "Data types": array_entries.DATA_TYPES,
    "Manipulation": array_entries.MANIPULATION,
    "Statistics and utilities": searching_entries.REDUCTIONS,
    "Searching, sorting and sets": searching_entries.SEARCHING,
    "Products": linear_entries.PRODUCTS,
    "Linear algebra": linear_entries.LINALG,
    "Fourier transforms": linear_entries.FFT,
}
ENTRIES = [entry for entries in SECTIONS.values() for entry in entries]


@dataclass(frozen=True)
class Row:
    """What came of one function."""

    entry: Entry
    at_once: Tally
    traced: Tally
    gradients: Tally

    @property
    def failures(self) -> list[str]:
        """What went wrong, in words."""
        return [*self.at_once.failures, *self.traced.failures, *self.gradients.failures]

    @property
    def remarks(self) -> list[str]:
        """What a reader should know: refusals and why, differences that are known."""
        refused = {re.sub(r"result of \w+ ", "result ", _reason(line)) for tally in (self.traced, self.gradients) for line in tally.refused}
        complex_specials = (
            [f"complex numbers with a part that is 0, infinite or NaN: {self.entry.complex_specials}"] if self.at_once.known or self.traced.known else []
        )
        return [*([self.entry.remark] if self.entry.remark else []), *complex_specials, *sorted(refused)]

    def cells(self) -> list[str]:
        """The cells of the table."""
        return [f"`{self.entry.name}`", _count(self.at_once), _count(self.traced), _count(self.gradients), "; ".join(self.remarks)]

    def record(self) -> dict[str, Any]:
        """The row for ``--json``."""
        tallies = {"at_once": self.at_once, "traced": self.traced, "gradients": self.gradients}
        counts = {name: {"passed": t.passed, "calls": t.total, "differ": len(t.known), "refused": len(t.refused)} for name, t in tallies.items()}
        return {"function": self.entry.name, **counts, "failures": self.failures, "remarks": self.remarks}


def _reason(line: str) -> str:
    return line.rsplit("): ", 1)[-1]


def _count(tally: Tally) -> str:
    if not tally.total:
        return ""
    if len(tally.refused) == tally.total:
        return "refused"
    return str(tally.passed) if tally.passed == tally.total else f"{tally.passed} of {tally.total}"


def row(entry: Entry, backend: str, strict: Any) -> Row:
    """Runs all calls of a function: with each dtype at once and traced, with gradients in double precision."""
    result = Row(entry, Tally(), Tally(), Tally())
    for dtype in dtypes_of(entry.kinds):
        result.at_once.add(at_once(entry, dtype, strict))
        result.traced.add(traced(entry, dtype, backend))
        if dtype in (np.float64, np.complex128):
            result.gradients.add(gradient(entry, dtype))
    return result


def markdown(rows: dict[str, list[Row]]) -> Iterator[str]:
    """The tables of a page, a section after the other."""
    for section, of_section in rows.items():
        if of_section:
            yield f"### {section}\n"
            yield "| function | at once | traced | gradients | remarks |"
            yield "|---|---:|---:|---:|---|"
            yield from (f"| {' | '.join(r.cells())} |" for r in of_section)
            yield ""

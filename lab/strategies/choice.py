"""Chooses a row: the one that takes the least time, with its margin over the next one; a tie, a condition, or no answer where that is the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wengert.lab.costs.decision import Alternatives, Decision, decide
from wengert.lab.strategies.row import Row

UNDECIDED = 1.5
"""Predicted times of two rows of one program whose ratio is less are closer than the model tells: of 96 reference programs the fastest row was predicted
so near the best on all, and within 1.25 times on 94."""

Verdict = Literal["faster", "tie", "conditional", "withheld", "only", "none"]


@dataclass(frozen=True)
class Choice:
    """The choice among rows.

    Attributes:
        verdict: ``faster`` than all others, in a ``tie`` with some, the best one is ``conditional``, ``withheld``, the ``only`` one, or there is ``none``.
        row: the row to use; None where that is not known.
        others: the rows that it is compared with in the line: the next one, those it ties with, or those that it depends on.
        ratio: how many times the next one takes as long.
        condition: when ``row`` is the faster one of two.
    """

    verdict: Verdict
    row: Row | None = None
    others: tuple[Row, ...] = ()
    ratio: float | None = None
    condition: str = ""

    def line(self) -> str:
        """The decision in one line."""
        if self.verdict == "none":
            return "No row can be used."
        if self.row is None:
            return f"No recommendation: which of {_listed(self.others)} is the fastest depends on what only a run tells; give inputs, or values."
        if self.verdict == "only":
            return f"Use {self.row.name} ({self.row.plan.how}): the only row that can be used."
        how = "measured" if self.row.measured is not None else "predicted"
        if self.verdict == "tie":
            return f"A tie within 5 %, {how}: {_listed((self.row, *self.others))}. {self.row.name} ({self.row.plan.how}) is chosen."
        if self.verdict == "conditional":
            return f"Use {self.row.name} if {self.condition}, else {_listed(self.others)}, {how}."
        margin = f"{self.ratio:.3g} times faster than" if self.ratio is not None else "faster, whatever is not known, than"
        return f"Use {self.row.name} ({self.row.plan.how}): {margin} {_listed(self.others)}, {how}."

    def outcome(self) -> str:
        """Which row it is, and its margin, as the end of a sentence."""
        if self.row is None:
            return "nothing"
        if self.verdict == "tie":
            return f"a tie of {_listed((self.row, *self.others))}"
        return f"{self.row.name}, {self.ratio:.3g} times faster than {_listed(self.others)}" if self.ratio is not None else self.row.name

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        row = self.row.name if self.row is not None else None
        others = [other.name for other in self.others]
        return {"verdict": self.verdict, "row": row, "others": others, "ratio": self.ratio, "condition": self.condition or None, "line": self.line()}


def choose(rows: Sequence[Row]) -> Choice:
    """The choice among rows that can be used. If some were measured, it is one of these; where a point is known, one of those with a number for it."""
    measured = [row for row in rows if row.measured is not None]
    timed = [row for row in measured or rows if row.seconds is not None and not row.counted.uncounted]
    known = [row for row in timed if row.seconds is not None and row.seconds.constant is not None]
    timed = known if known and any(row.values for row in rows) else timed
    if not timed:
        return Choice("none") if not rows else Choice("only", rows[0]) if len(rows) == 1 else Choice("withheld", others=tuple(rows))
    if len(timed) == 1:
        return Choice("only", timed[0])
    if all(row.seconds is not None and row.seconds.constant is not None for row in timed):
        return _of_numbers(timed)
    return _of_formulas(timed)


def _of_numbers(rows: Sequence[Row]) -> Choice:
    """Of rows with the same time that with the smallest arena is chosen."""
    ranked = sorted(rows, key=lambda row: (_number(row), row.arena or 0))
    best, *rest = ranked
    tied = [row for row in rest if _compared(best, row).verdict == "tie"]
    if not tied:
        return Choice("faster", best, (rest[0],), _compared(best, rest[0]).ratio)
    return Choice("tie", best, tuple(tied))


def _of_formulas(rows: Sequence[Row]) -> Choice:
    """The rows of which none is shown to be slower than another one, whatever is not known: one is the answer, two are a condition."""
    left = list(rows)
    for row in rows:
        if any(other is not row and _compared(other, row).verdict in ("forward", "tie") for other in left):
            left.remove(row)
    if len(left) == 1:
        return Choice("faster", left[0], tuple(row for row in rows if row is not left[0])[:1])
    if len(left) == 2:
        return Choice("conditional", left[0], (left[1],), condition=_compared(left[0], left[1]).condition)
    return Choice("withheld", others=tuple(left))


def _compared(a: Row, b: Row) -> Decision:
    """The decision between two rows, the first of which is in the place of forward mode."""
    assert a.seconds is not None
    assert b.seconds is not None
    alternatives: Alternatives = list({**a.counted.alternatives, **b.counted.alternatives}.items())
    return decide(a.seconds, b.seconds, alternatives)


def _number(row: Row) -> float:
    assert row.seconds is not None
    assert row.seconds.constant is not None
    return float(row.seconds.constant)


def _listed(rows: Sequence[Row]) -> str:
    return " and ".join(filter(None, [", ".join(row.name for row in rows[:-1]), rows[-1].name])) if rows else "none"

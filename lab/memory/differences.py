"""The difference of two peaks: pieces are matched by what they hold, and what is left is in one and not in the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wengert.lab.inspection.html import fragment, html_table, paragraph
from wengert.lab.inspection.naming import line_text
from wengert.lab.inspection.terminal import WIDTH, fitted_table
from wengert.lab.memory.timeline import ROLES, Piece, Timeline
from wengert.lab.tables import size

_HEADER = ("", "bytes", "role", "value", "at")


@dataclass(frozen=True)
class MemoryDifference:
    """Two peaks, and what tells them apart.

    Attributes:
        before, after: what was looked at.
        first, second: their timelines.
    """

    before: str
    after: str
    first: Timeline
    second: Timeline

    @cached_property
    def only_before(self) -> tuple[Piece, ...]:
        """What is in the first peak and not in the second, largest first."""
        return _without(self.first, self.second)

    @cached_property
    def only_after(self) -> tuple[Piece, ...]:
        """What is in the second peak and not in the first, largest first."""
        return _without(self.second, self.first)

    @property
    def change(self) -> int:
        """The bytes by which the second peak is larger."""
        return self.second.peak - self.first.peak

    def __bool__(self) -> bool:
        return bool(self.only_before or self.only_after or self.change)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH, limit: int | None = 30) -> str:
        """The difference as text of at most so many columns."""
        return "\n".join([*self._head(), "", *self._roles(), *self._rows(width, limit)])

    def _head(self) -> list[str]:
        share = f" ({100 * self.change / self.first.peak:+.1f} %)" if self.first.peak else ""
        alike = len(self.first.at_peak) - len(self.only_before)
        return [
            f"A: {self.before}",
            f"B: {self.after}",
            f"peak: {size(self.first.peak)} -> {size(self.second.peak)}, {signed(self.change)}{share}; {alike} pieces are in both",
        ]

    def _roles(self) -> list[str]:
        first, second = self.first.by_role(), self.second.by_role()
        rows = [
            [role, size(first.get(role, 0)), size(second.get(role, 0)), signed(second.get(role, 0) - first.get(role, 0))]
            for role in ROLES
            if role in first or role in second
        ]
        return fitted_table(["at the peak", "A", "B", "change"], rows, WIDTH, right=(1, 2, 3))

    def rows(self) -> list[tuple[str, ...]]:
        """The pieces that are in one peak only, largest first, each with the side that it is on."""
        both = [("- only A", piece) for piece in self.only_before] + [("+ only B", piece) for piece in self.only_after]
        both.sort(key=lambda pair: -pair[1].bytes)
        return [(side, size(piece.bytes), piece.role, piece.title, line_text(piece.line)) for side, piece in both]

    def _rows(self, width: int, limit: int | None) -> list[str]:
        rows = self.rows()
        if not rows:
            return ["", "the same pieces are in both peaks"]
        shown = rows if limit is None else rows[:limit]
        lines = ["", *fitted_table(_HEADER, shown, width, right=(1,), elastic=(3,))]
        return [*lines, f"and {len(rows) - len(shown)} more; --all shows them"] if len(shown) < len(rows) else lines

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        from wengert.lab.memory.memory import piece_json

        return {
            "before": self.before,
            "after": self.after,
            "peak_before": self.first.peak,
            "peak_after": self.second.peak,
            "change": self.change,
            "only_before": [piece_json(piece) for piece in self.only_before],
            "only_after": [piece_json(piece) for piece in self.only_after],
        }

    def _repr_html_(self) -> str:
        """For notebooks."""
        return fragment(*map(paragraph, self._head()), html_table(_HEADER, self.rows(), right=(1,)))


def signed(change: int) -> str:
    """A difference of bytes with its sign."""
    return "0 B" if not change else f"{'+' if change > 0 else '-'}{size(abs(change))}"


def _key(piece: Piece) -> tuple[Any, ...]:
    """What makes two pieces the same: what they hold and for what, not where it lies or when."""
    return piece.role, piece.name, piece.op, piece.type, piece.bytes


def _without(one: Timeline, other: Timeline) -> tuple[Piece, ...]:
    there = Counter(map(_key, other.at_peak))
    left: list[Piece] = []
    for piece in one.at_peak:
        if there[_key(piece)]:
            there[_key(piece)] -= 1
        else:
            left.append(piece)
    return tuple(sorted(left, key=lambda piece: -piece.bytes))

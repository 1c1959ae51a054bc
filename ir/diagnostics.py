"""Diagnostics: what is wrong, where, and what to do about it.

A :class:`Diagnostic` holds a place in a source text and the line found there, so that it renders with a caret wherever it
travels::

    model.mlir:3:28: error: use of undefined value '%argo'
        %0 = stablehlo.sine %argo : tensor<f64>
                            ^
    hint: did you mean '%arg0'?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

_COLORS = {"error": "\x1b[1;31m", "warning": "\x1b[1;35m", "note": "\x1b[1;36m", "hint": "\x1b[1;32m"}
_RESET = "\x1b[0m"
_CONTEXT = 160
"""The number of characters of a source line shown around the caret; lines that hold constants can be megabytes long."""


class Diagnostic(Struct, frozen=True):
    """One finding at one place. Lines and columns count from 1; 0 means that the place is unknown."""

    message: str
    file: str = "<unknown>"
    line: int = 0
    column: int = 0
    severity: str = "error"
    source_line: str = ""
    length: int = 1
    hint: str = ""
    notes: tuple[Diagnostic, ...] = field(default=())

    @property
    def place(self) -> str:
        """``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def render(self, color: bool = False) -> str:
        """The finding as text: place, message, source line with a caret, hint and notes."""

        def paint(kind: str, text: str) -> str:
            return f"{_COLORS.get(kind, '')}{text}{_RESET}" if color else text

        lines = [f"{self.place}: {paint(self.severity, self.severity + ':')} {self.message}"]
        if self.source_line.strip() and self.line:
            lines += self._excerpt(paint)
        if self.hint:
            lines.append(f"{paint('hint', 'hint:')} {self.hint}")
        lines += [note.render(color) for note in self.notes]
        return "\n".join(lines)

    def _excerpt(self, paint: Any) -> list[str]:
        text = "".join(c if c.isprintable() else " " for c in self.source_line)
        start = max(0, self.column - 1 - _CONTEXT // 2)
        shown = text[start : start + _CONTEXT]
        caret = min(self.column - 1 - start, len(shown))
        length = max(1, min(self.length, len(shown) - caret))
        return [f"  {shown}", f"  {' ' * caret}{paint(self.severity, '^' + '~' * (length - 1))}"]

    def to_json(self) -> dict[str, Any]:
        """The finding as a dictionary that the ``json`` module can write."""
        entries: dict[str, Any] = {"severity": self.severity, "file": self.file, "line": self.line, "column": self.column, "message": self.message}
        if self.hint:
            entries["hint"] = self.hint
        if self.source_line:
            entries["source_line"] = self.source_line[: 4 * _CONTEXT]
        if self.notes:
            entries["notes"] = [note.to_json() for note in self.notes]
        return entries

    def __str__(self) -> str:
        return self.render()


class DiagnosticError(Exception):
    """A user's error. ``diagnostics`` lists what was found; the first one is ``diagnostic``."""

    def __init__(self, *diagnostics: Diagnostic):
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    @property
    def diagnostic(self) -> Diagnostic:
        """The first finding."""
        return self.diagnostics[0]

    def render(self, color: bool = False) -> str:
        """All findings as text."""
        return "\n".join(d.render(color) for d in self.diagnostics)

    def to_json(self) -> list[dict[str, Any]]:
        """All findings as dictionaries."""
        return [d.to_json() for d in self.diagnostics]

    def __str__(self) -> str:
        return self.render()


def did_you_mean(word: str, known: Iterable[str], quote: str = "'") -> str:
    """``did you mean 'x'?`` for the known word nearest to ``word``, or an empty string if none is near."""
    near = nearest(word, known)
    return f"did you mean {quote}{near}{quote}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like ``word`` (of equally near ones, that which begins alike), or an empty string."""
    near = difflib.get_close_matches(word, list(known), 3, 0.6)
    return max(near, key=lambda n: (_shared(word, n), -near.index(n)) if _similar(word, n, near[0]) else (-1, 0), default="")


def _shared(one: str, other: str) -> int:
    """The length of the common prefix of two words."""
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _similar(word: str, candidate: str, best: str) -> bool:
    ratio = [difflib.SequenceMatcher(None, word, w).ratio() for w in (candidate, best)]
    return ratio[0] >= ratio[1] - 0.05


def one_of(words: Sequence[str]) -> str:
    """The words as they are listed in a message: ``'a', 'b' or 'c'``."""
    quoted = [f"'{w}'" for w in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

"""Places in the texts that programs were read from, and the lines there."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.ir.location.source_lines import lines_of

Place = tuple[str, int, int]
"""File, line and column; an empty name and zeros where unknown."""
NOWHERE: Place = ("", 0, 0)


class Sources:
    """The texts that programs were read from, by the names that locations give them; other files are read when they are asked for, unless these are all."""

    def __init__(self, texts: Mapping[str, str] | None = None, *, others: bool = True):
        self._others = others
        self._lines: dict[str, list[str]] = {name: text.splitlines() for name, text in (texts or {}).items()}

    def lines(self, file: str) -> list[str]:
        """The lines of a file; none where it cannot be read."""
        if file not in self._lines:
            self._lines[file] = [line.rstrip("\n") for line in lines_of(file)] if self._others else []
        return self._lines[file]

    def line(self, place: Place) -> str:
        """The text of a line; empty where it is not known."""
        lines = self.lines(place[0]) if place[0] else []
        return lines[place[1] - 1] if 0 < place[1] <= len(lines) else ""

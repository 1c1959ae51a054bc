"""The texts that a program was written in, and the places in them that ops come from.

A location of an op names files. Of these a report shows the program's own file, and of a Python function that was traced here its files. A text that somebody
else has written may name any file in its locations: a report that copied it would give it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc

from wengert.lab.inspection.subject import Subject

MOST_FILES = 20
"""Python files that are shown."""
Language = Literal["mlir", "python"]


@dataclass(frozen=True)
class SourceText:
    """A file that ops come from."""

    name: str
    language: Language
    text: str

    def to_json(self) -> dict[str, Any]:
        """The name, the text, and of Python the kinds of its words."""
        entry: dict[str, Any] = {"name": self.name, "language": self.language, "text": self.text}
        return entry | ({"words": python_words(self.text)} if self.language == "python" else {})


def places_of(location: LocationAttr) -> tuple[tuple[str, int, int], ...]:
    """All places in files that a location names: file, line and column from 1. Of a call chain those of the callee come first."""
    if isinstance(location, FileLineColLoc):
        return ((location.filename.data, location.line.data, location.column.data),)
    if isinstance(location, NameLoc):
        return places_of(cast(LocationAttr, location.location))
    if isinstance(location, CallSiteLoc):
        return (*places_of(cast(LocationAttr, location.callee)), *places_of(cast(LocationAttr, location.caller)))
    if isinstance(location, FusedLoc):
        parts = cast("ArrayAttr[LocationAttr]", location.locations)
        return tuple(dict.fromkeys(place for part in parts for place in places_of(part)))
    return ()


@dataclass
class Places:
    """Numbers the places that occur, so that every op holds small integers."""

    sources: Mapping[str, int]
    """The position of a source text by its file's name."""
    listed: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """Source (-1 for a file that is not shown), line and column."""
    files: list[str] = field(default_factory=list[str])
    """The name of the file of each place."""
    _numbers: dict[tuple[str, int, int], int] = field(default_factory=dict[tuple[str, int, int], int])
    _known: dict[LocationAttr, list[int]] = field(default_factory=dict[LocationAttr, list[int]])

    def of(self, location: LocationAttr) -> list[int]:
        """The numbers of a location's places."""
        known = self._known.get(location)
        if known is None:
            known = self._known[location] = [self._number(place) for place in places_of(location)]
        return known

    def _number(self, place: tuple[str, int, int]) -> int:
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self.listed)
            file, line, column = place
            self.listed.append((self.sources.get(file, -1), line, column))
            self.files.append(file)
        return number


def python_words(text: str) -> list[list[tuple[int, str]]]:
    """For each line of Python the words in it: how many characters, and the short name of their kind by Pygments (empty for plain text)."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import STANDARD_TYPES

    lines: list[list[tuple[int, str]]] = [[]]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        short = STANDARD_TYPES.get(kind, "")
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((len(part), short))
    return lines


def sources_of(subject: Subject) -> list[SourceText]:
    """The texts that a subject was written in: its own, and of a traced Python function the files of its ops."""
    if subject.source:
        return [SourceText(subject.name, "mlir", subject.source)]
    assert subject.primal is not None
    files = dict.fromkeys(file for op in subject.primal.module.walk() for file, _, _ in places_of(op.location))
    read = [(file, Path(file)) for file in files if file.endswith(".py")]
    return [SourceText(file, "python", path.read_text(encoding="utf-8", errors="replace")) for file, path in read if path.is_file()][:MOST_FILES]

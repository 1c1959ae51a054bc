"""The texts that a program was written in, and the places in them that ops come from.

A location of an op names files. Of these a report shows the program's own file, and of a Python function that was traced here its files. A text that somebody
else has written may name any file in its locations: a report that copied it would give it away.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from wengert.ir.location.locations import Certainty, Source, sources
from wengert.ir.location.places import origin
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


@dataclass(frozen=True)
class Origin:
    """The contents of a location, by numbers.

    Attributes:
        places: the numbers of the places that ops came from, those of the calls around them last.
        calls: how many of them are those of calls.
        inferred: those of them that rewrites looked through on the way.
        derivation: how the op was derived from the first of its sources, the last derivative first, and which passes rewrote it.
    """

    places: list[int]
    calls: int
    inferred: list[int]
    derivation: str


@dataclass
class Places:
    """Numbers the places that occur, so that every op holds small integers."""

    sources: Mapping[str, int]
    """The position of a source text by its file's name."""
    listed: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """Source (-1 for a file that is not shown), line and column."""
    files: list[str] = field(default_factory=list[str])
    """The name of the file of each place."""
    _numbers: dict[LocationAttr, int] = field(default_factory=dict[LocationAttr, int])
    _known: dict[int, tuple[LocationAttr, Origin]] = field(default_factory=dict[int, tuple[LocationAttr, Origin]])
    """By ``id``, as ops that come from one share their location, and hashing one takes longer; the location is kept so that the number stays its own."""

    def of(self, location: LocationAttr) -> Origin:
        """The origin that a location names."""
        known = self._known.get(id(location))
        if known is None:
            known = self._known[id(location)] = (location, self._origin(location))
        return known[1]

    def _origin(self, location: LocationAttr) -> Origin:
        named = sources(location)
        exact = {n for source in named if source.certainty is Certainty.EXACT and (n := self._number(source.place)) is not None}
        written = dict.fromkeys(self._number(source.place) for source in named)
        called = dict.fromkeys(self._number(origin(caller)) for source in named for caller in source.callers)
        calls = [n for n in called if n is not None and n not in written]
        places = [n for n in written if n is not None] + calls
        inferred = [n for source in named if source.certainty is not Certainty.EXACT and (n := self._number(source.place)) is not None and n not in exact]
        return Origin(places, len(calls), list(dict.fromkeys(inferred)), " < ".join(_steps(named[0])))

    def _number(self, place: LocationAttr) -> int | None:
        if not isinstance(place, FileLineColLoc):
            return None
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self.listed)
            file = place.filename.data
            self.listed.append((self.sources.get(file, -1), place.line.data, place.column.data))
            self.files.append(file)
        return number


def _steps(source: Source) -> Iterator[str]:
    """``vjp/cotangent/stablehlo.sine`` for each derivative, and ``simplify`` for each pass that rewrote what was derived."""
    for step in source.derived:
        yield f"{step.pass_name}/{step.role}/{step.op_name}"
    yield from dict.fromkeys(source.passes)


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
    """The texts that a subject was written in: its own, and of a traced Python function the files of its ops, but not those of wengert."""
    if subject.source:
        return [SourceText(subject.name, "mlir", subject.source)]
    assert subject.primal is not None
    named = Places({})
    for op in subject.primal.module.walk():
        named.of(op.location)
    files = dict.fromkeys(named.files)
    ours = {getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if name.startswith("wengert.")}
    read = [(file, Path(file)) for file in files if file.endswith(".py") and file not in ours]
    return [SourceText(file, "python", path.read_text(encoding="utf-8", errors="replace")) for file, path in read if path.is_file()][:MOST_FILES]

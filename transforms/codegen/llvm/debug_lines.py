"""Debug lines: LLVM's metadata that says from which line of the user's program an instruction comes, for debuggers and profilers.

While text is written, a line ``;@ <line> <column> <file>`` (:func:`mark`) says where the instructions behind it come from. :func:`with_debug_lines`
makes metadata of these marks in a program that is finished: a subprogram for every function that has one, and a location for each of its instructions.
A mark is a comment, so whatever reads the text in between sees nothing of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from wengert.ir.location.locations import sources
from wengert.ir.location.places import origin

_MARK = re.compile(r";@ (\d+) (\d+) (.+)")
_DEFINE = re.compile(r"define .*@([\w.$-]+)\(.*\{")
_METADATA = re.compile(r"!(\d+)\b")
Place = tuple[str, int, int]
"""File, line and column."""


def mark(location: LocationAttr) -> str | None:
    """The line that marks the instructions of an op; None for an op without a place."""
    place = origin(location)
    if not isinstance(place, FileLineColLoc):
        return None
    return f";@ {place.line.data} {place.column.data} {place.filename.data}"


def described(location: LocationAttr) -> str:
    """A description of a location for a function's symbol: ``.multiply.block.mlir.118``; empty for one without a place."""
    place = origin(location)
    if not isinstance(place, FileLineColLoc):
        return ""
    op_name = sources(location)[0].op_name.partition(".")[2]
    parts = [part for part in (op_name, os.path.basename(place.filename.data), str(place.line.data)) if part]
    return "." + re.sub(r"[^\w.]", "_", ".".join(parts), flags=re.ASCII)


def marked(text: str, location: LocationAttr) -> str:
    """The text of a function (the first of a text that defines one) that begins with the mark of a location."""
    line = mark(location)
    head, brace, body = text.partition("{\n")
    return text if line is None or not brace else f"{head}{brace}{line}\n{body}"


def with_debug_lines(text: str) -> str:
    """The text of a program with metadata for its marks; the text itself if it has none."""
    if ";@ " not in text:
        return text
    metadata = _Metadata(1 + max((int(number) for number in _METADATA.findall(text)), default=-1))
    lines = list(_annotated(text.split("\n"), metadata))
    return "\n".join([*lines, *metadata.lines()])


def _annotated(lines: list[str], metadata: _Metadata) -> Iterator[str]:
    """The lines with metadata, the marks left out."""
    scope: tuple[int, Place] | None = None
    here: Place | None = None
    in_switch = False
    for number, line in enumerate(lines):
        if (define := _DEFINE.match(line)) is not None:
            here = _first_mark(lines, number + 1)
            scope = None if here is None else (metadata.subprogram(define[1], here), here)
            yield line if scope is None else f"{line[: line.rindex('{')]}!dbg !{scope[0]} {{"
        elif (place := _MARK.fullmatch(line)) is not None:
            here = (place[3], int(place[1]), int(place[2]))
        elif line == "}":
            scope = None
            yield line
        else:
            if scope is not None and here is not None and not in_switch and _is_instruction(line):
                line = f"{line}, !dbg !{metadata.location(here, *scope)}"
            in_switch = (line.lstrip().startswith("switch ") and "]" not in line) or (in_switch and not line.lstrip().startswith("]"))
            yield line


def _first_mark(lines: list[str], start: int) -> Place | None:
    for number in range(start, len(lines)):
        line = lines[number]
        if (place := _MARK.fullmatch(line)) is not None:
            return place[3], int(place[1]), int(place[2])
        if line == "}":
            return None
    return None


def _is_instruction(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.endswith((":", "[")) and not stripped.startswith((";", "switch ", "]")) and "!dbg" not in stripped


class _Metadata:
    """Metadata by number: a compile unit, files, subprograms and locations."""

    def __init__(self, first: int):
        self._next = first
        self._text: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._unit: int | None = None

    def lines(self) -> list[str]:
        """All definitions."""
        version, dwarf = self._node('!{i32 2, !"Debug Info Version", i32 3}'), self._node('!{i32 2, !"Dwarf Version", i32 4}')
        named = [f"!llvm.dbg.cu = !{{!{self._unit}}}", f"!llvm.module.flags = !{{!{version}, !{dwarf}}}"]
        return [*named, *(f"!{number} = {text}" for text, number in self._text.items()), ""]

    def _node(self, text: str) -> int:
        number = self._text.get(text)
        if number is None:
            number = self._text[text] = self._next
            self._next += 1
        return number

    def _file(self, path: str) -> int:
        number = self._files.get(path)
        if number is None:
            folder, name = os.path.split(os.path.abspath(path))
            number = self._files[path] = self._node(f'!DIFile(filename: "{_escaped(name)}", directory: "{_escaped(folder)}")')
        return number

    def subprogram(self, name: str, place: Place) -> int:
        """The subprogram of a function that begins at a place."""
        file = self._file(place[0])
        if self._unit is None:
            made_by = 'producer: "wengert", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug'
            self._unit = self._node(f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, {made_by})")
        kind = self._node(f"!DISubroutineType(types: !{self._node('!{null}')})")
        head = f'distinct !DISubprogram(name: "{name}", linkageName: "{name}", scope: !{file}, file: !{file}, line: {place[1]}, type: !{kind}'
        return self._node(f"{head}, scopeLine: {place[1]}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{self._unit})")

    def location(self, place: Place, scope: int, begins: Place) -> int:
        """The location of an instruction of a subprogram, which may be in another file than its beginning."""
        if place[0] != begins[0]:
            scope = self._node(f"!DILexicalBlockFile(scope: !{scope}, file: !{self._file(place[0])}, discriminator: 0)")
        return self._node(f"!DILocation(line: {place[1]}, column: {place[2]}, scope: !{scope})")


def _escaped(text: str) -> str:
    """A text within quotes of LLVM."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))

"""Places of a picture's ops: the part of a derivative, the line of the source, and the stretch of lines around it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from wengert.ir.location.locations import Role, provenance, sources
from wengert.ir.location.places import origin

STRETCHES = 12
"""Stretches of lines that a program is cut into at most."""


class Part(StrEnum):
    """A part of a derivative; a program that is none has one part without a name."""

    WHOLE = ""
    FORWARD = "forward"
    TANGENT = "tangent"
    REVERSE = "reverse"


_PARTS = {
    Role.PRIMAL: Part.FORWARD,
    Role.COEFFICIENT: Part.FORWARD,
    Role.TANGENT: Part.TANGENT,
    Role.COTANGENT: Part.REVERSE,
    Role.ACCUMULATION: Part.REVERSE,
}


class Line(NamedTuple):
    """A line of a source text; lines are ordered as they are in it."""

    file: str
    number: int


def is_derived(function: FuncOp) -> bool:
    """Whether a function holds ops that were derived."""
    return any(provenance(op.location) is not None for op in function.walk())


def part_of(op: Operation) -> Part:
    """The part of a derivative that an op belongs to. All in a region of the reverse part belongs to it, whatever it was derived as."""
    part = Part.FORWARD
    around: Operation | None = op
    while around is not None and not isinstance(around, FuncOp):
        known = provenance(around.location)
        of_role = Part.FORWARD if known is None else _PARTS[known.role]
        if of_role is Part.REVERSE:
            return of_role
        part = of_role if part is Part.FORWARD else part
        around = around.parent_op()
    return part


def lines_of(location: LocationAttr) -> tuple[Line, ...]:
    """The line that an op came from, behind the lines of the calls around it; empty where no line is known. Of several sources it is that of the first."""
    source = sources(location)[0]
    places = [origin(place) for place in (*reversed(source.callers), source.place)]
    return tuple(Line(place.filename.data, place.line.data) for place in places if isinstance(place, FileLineColLoc))


@dataclass(frozen=True)
class Stretches:
    """The lines that a program came from, cut into at most :data:`STRETCHES` stretches of as many lines each."""

    lines: tuple[Line, ...]

    @property
    def width(self) -> int:
        """Lines of a stretch."""
        return max(1, -(-len(self.lines) // STRETCHES))

    def of(self, line: Line) -> str:
        """The stretch around a line in words, ``lines 12–20``; that before it, of a line that is in none."""
        first = max(0, bisect_right(self.lines, line) - 1) // self.width * self.width
        start, end = self.lines[first], self.lines[min(len(self.lines), first + self.width) - 1]
        if start.file != end.file:
            return f"{start.file}:{start.number}–{end.file}:{end.number}"
        return f"line {start.number}" if start == end else f"lines {start.number}–{end.number}"


def stretches_of(ops: Iterable[Operation]) -> Stretches:
    """The stretches of the lines, or the outermost calls, that ops came from."""
    return Stretches(tuple(sorted({places[0] for op in ops if (places := lines_of(op.location))})))

"""Each op of a module with the line that it prints as, and the names of its values there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from wengert.ir.printing.printer import Writer


@dataclass(frozen=True)
class Printed:
    """The text of a module, by op.

    Attributes:
        text: all of it.
        starts: where each op begins in it.
        names: the name of each value, with its ``%``.
    """

    text: str
    starts: dict[Operation, int]
    names: dict[int, str]
    _lines: tuple[int, ...]

    def line_of(self, op: Operation) -> str:
        """The first line of an op: all of it, unless it has regions."""
        start = self.starts[op]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None]

    def number_of(self, op: Operation) -> int:
        """The number of this line, from 1."""
        return bisect_right(self._lines, self.starts[op])

    def name_of(self, value: SSAValue) -> str:
        """``%name``, as it is printed."""
        return self.names.get(id(value), "%?")


class _NotingWriter(Writer):
    """A writer that notes where each op begins."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[Operation, int] = {}

    def operation(self, op: Operation) -> None:
        self.marks[op] = len(self.out)
        super().operation(op)


def printed(module: Operation) -> Printed:
    """The module as it is printed, without locations."""
    writer = _NotingWriter()
    writer.operation(module)
    offsets = [0]
    for part in writer.out:
        offsets.append(offsets[-1] + len(part))
    text = "".join(writer.out)
    lines = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    return Printed(text, {op: offsets[mark] for op, mark in writer.marks.items()}, writer.names.of, tuple(lines))

"""The text of a module, and the line on which each of its ops is written."""

from __future__ import annotations

from itertools import accumulate

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from wengert.ir.printing.printer import Writer


class WrittenModule(Struct, frozen=True):
    """A module's text, with the lines of its ops (from 0) and the names of its values as they are written."""

    text: str
    lines: dict[int, int]
    """By ``id`` of the op: an op that the syntax of another one implies has no line."""
    names: dict[int, str]

    def line(self, op: Operation) -> int | None:
        """The line on which an op begins."""
        return self.lines.get(id(op))

    def name(self, value: SSAValue) -> str:
        """A value's name, such as ``%12#1``."""
        return self.names.get(id(value), "")


class _LineWriter(Writer):
    """Notes for every op where its text begins among the pieces that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[int, int] = {}

    def operation(self, op: Operation) -> None:
        self.starts[id(op)] = len(self.out)
        super().operation(op)


def write_module(module: ModuleOp) -> WrittenModule:
    """Writes a module as :func:`wengert.ir.printing.printer.print_module` does, and notes where its ops are."""
    writer = _LineWriter()
    writer.operation(module)
    breaks = [0, *accumulate(piece.count("\n") for piece in writer.out)]
    lines = {op: breaks[start] for op, start in writer.starts.items() if start < len(breaks)}
    return WrittenModule(writer.finish(), lines, writer.names.of)

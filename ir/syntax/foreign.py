"""The bridge between our parser and printer and those of xDSL.

Stock xDSL (``xdsl-opt`` with our dialects loaded) reads and writes the pretty form of our ops through :func:`read_operation` and
:func:`print_operation`; our printer writes the ops of xDSL's dialects through :class:`ForeignPrinter`.
"""

from __future__ import annotations

from io import StringIO
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.printing.printer import Writer

Op = TypeVar("Op", bound=Operation)


def read_operation(cls: type[Op], parser: Parser) -> Op:
    """Reads an op of a class with a declared syntax where xDSL's parser stands."""
    from wengert.ir.parsing.operations import OpState
    from wengert.ir.parsing.parser import ModuleParser

    syntax = _syntax_of(cls)
    reader = parser if isinstance(parser, ModuleParser) else ModuleParser.adopt(parser)
    try:
        state = OpState(cls, reader.here)
        syntax.read(reader, state)
        op = cast(Op, reader.build(state))
    except DiagnosticError as error:
        parser.raise_error(error.diagnostic.message, _position(parser.lexer.input.content, error.diagnostic, reader.here))
    parser._resume_from(reader.here)  # pyright: ignore[reportPrivateUsage]
    return op


def _position(text: str, diagnostic: Diagnostic, default: int) -> int:
    """Where in a text a diagnostic points."""
    if not diagnostic.line:
        return default
    start = 0
    for _ in range(diagnostic.line - 1):
        start = text.find("\n", start) + 1
    return start + diagnostic.column - 1


def _syntax_of(cls: type[Operation]) -> Any:
    """The declared syntax of an op class (``wengert.ir.syntax.parts.Syntax``, whose parts know the parser that this module is known to)."""
    return getattr(cls, "SYNTAX", None)


def print_operation(op: Operation, printer: Printer) -> None:
    """Writes what follows the name of an op of a class with a declared syntax."""
    writer = _StockWriter(printer)
    _syntax_of(type(op)).write(op, writer)
    writer.flush()


class _StockWriter(Writer):
    """Writes to xDSL's printer, with the names that it gives."""

    def __init__(self, printer: Printer):
        super().__init__()
        self.printer = printer

    def flush(self) -> None:
        """Hands what was written to the printer."""
        self.printer.print_string("".join(self.out))
        self.out.clear()

    def value(self, value: SSAValue) -> str:
        printer = self.printer
        stream, column = printer.stream, printer._current_column  # pyright: ignore[reportPrivateUsage]
        printer.stream = StringIO()
        try:
            return f"%{printer.print_ssa_value(value)}"
        finally:
            printer.stream, printer._current_column = stream, column  # pyright: ignore[reportPrivateUsage]

    def name_argument(self, value: BlockArgument, hint: str) -> str:
        return self.value(value)

    def share_name(self, value: SSAValue, name: str) -> None:
        self.printer._ssa_values[value] = name[1:]  # pyright: ignore[reportPrivateUsage]

    def block_argument(self, value: BlockArgument, attributes: DictionaryAttr | None = None) -> str:
        return f"{self.value(value)}: {self.attribute_text(value.type)}{self.dictionary_text(attributes)}"

    def newline(self, text: str, region: Region | None) -> None:
        self.write(text)
        if region is not None:
            self.region(region, arguments=False)

    def region(self, region: Region, arguments: bool = True, space: str = " ", terminators: bool = True) -> None:
        self.write(space)
        self.flush()
        self.printer.print_region(region, print_entry_block_args=arguments, print_block_terminators=terminators)


class _Sink(StringIO):
    """A stream into the text of a writer."""

    def __init__(self, writer: Writer):
        super().__init__()
        self._writer = writer

    def write(self, text: str, /) -> int:
        self._writer.write(text)
        return len(text)


class ForeignPrinter(Printer):
    """The printer that ops of xDSL's dialects print themselves with: names, attributes, types and regions are written by ours."""

    def __init__(self, writer: Writer):
        super().__init__(_Sink(writer))
        self._writer = writer

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._writer.value(value)
        self.print_string(name)
        return name[1:]

    def print_attribute(self, attribute: Attribute) -> None:
        self.print_string(self._writer.attribute_text(attribute))

    def print_block_name(self, block: Block) -> str:
        name = self._writer.block_name(block)
        self.print_string(name)
        return name[1:]

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        self.print_string(self._writer.block_argument(arg) if print_type else self._writer.name_argument(arg, "arg"))

    def print_op(self, op: Operation) -> None:
        self._writer.operation(op)

    def print_region(self, region: Region, print_entry_block_args: bool = True, print_empty_block: bool = True, print_block_terminators: bool = True) -> None:
        self._writer.region(region, print_entry_block_args, "", print_block_terminators)

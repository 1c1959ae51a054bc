"""Stock xDSL reads and prints our ops: its parser and printer hand over to ours for one op."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from wengert.ir.diagnostics import DiagnosticError

Op = TypeVar("Op", bound=Operation)


def read_operation(cls: type[Op], parser: Parser) -> Op:
    """Reads an op of a class with a declared syntax where xDSL's parser stands."""
    from wengert.ir.parser import ModuleParser
    from wengert.ir.parser_operations import OpState

    syntax: Any = getattr(cls, "SYNTAX", None)
    if syntax is None:
        parser.raise_error(f"{cls.name} has no pretty form; write it in the generic form")
    reader = parser if isinstance(parser, ModuleParser) else ModuleParser.adopt(parser)
    try:
        state = OpState(cls, reader.here)
        syntax.read(reader, state)
        op = cast(Op, reader.build(state))
    except DiagnosticError as error:
        parser.raise_error(error.diagnostic.message, reader.here)
    parser._resume_from(reader.here)  # pyright: ignore[reportPrivateUsage]
    return op


def print_operation(op: Operation, printer: Printer) -> None:
    """Writes an op of a class with a declared syntax (its name is already there), or completes the generic form."""
    from wengert.ir.printer import StockWriter

    StockWriter(printer).tail(op)

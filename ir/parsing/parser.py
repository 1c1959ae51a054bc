"""The parser: module text in, operations with places out.

It reads the pretty form that JAX prints, MLIR's generic form, and any mixture of the two, several times faster than xDSL's own
parser and with errors that point at the place (see :mod:`wengert.ir.parsing.cursor` for how)::

    module = parse_module(open("f.mlir").read(), "f.mlir")

The parser is a stack of classes, one per file: cursor, types, constants, attributes and locations, operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from wengert.ir.bytecode.cursor import MAGIC
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.parsing.dialect_names import DialectText
from wengert.ir.parsing.operations import Reader
from wengert.ir.parsing.sources import decoded
from wengert.ir.pipeline.stages import stage
from wengert.ir.syntax.functions import SYNTAXES


class ModuleParser(Reader):
    """Reads a module. ``closed_dialects`` are those in which an unknown op is an error, ``refused_dialects`` those of which every op is.
    Those in ``own_texts`` read their own attributes and types."""

    def __init__(
        self,
        context: Context,
        text: str,
        filename: str,
        closed_dialects: frozenset[str] = frozenset(),
        opaque: frozenset[str] = frozenset(),
        refused_dialects: Mapping[str, str] | None = None,
        own_texts: Mapping[str, Callable[[Any], DialectText]] | None = None,
    ):
        super().__init__(context, text, filename)
        self.closed_dialects, self.opaque, self.refused_dialects = closed_dialects, opaque, refused_dialects or {}
        self.own_texts = own_texts or {}
        self._types, self._functions, self._dictionaries = {}, {}, {}
        self._syntaxes, self._defined_at, self._scope, self._used_at = {}, {}, [], {}
        self._references, self.enclosing = [], []
        self.find_late_locations()

    @classmethod
    def adopt(cls, parser: Parser) -> ModuleParser:
        """A parser that goes on where xDSL's parser stands, with its values and aliases."""
        source = parser.lexer.input
        own = cls(parser.ctx, source.content, source.name)
        own.here = parser._current_token.span.start  # pyright: ignore[reportPrivateUsage]
        own.ssa_values, own.attribute_aliases = parser.ssa_values, parser.attribute_aliases
        own.forward_ssa_references = parser.forward_ssa_references
        return own

    def extra_syntax(self, name: str) -> Any:
        return SYNTAXES.get(name)

    def module(self) -> ModuleOp:
        """Reads the whole text: a module, or the ops of one that is not written."""
        ops: list[Operation] = []
        while self.skip() < len(self.text):
            mark = self.peek()
            if mark in "#!":
                self._alias()
            elif self.text.startswith("{-#", self.here):
                self.metadata()
            else:
                ops.append(self.operation())
        self.check_defined()
        if not ops:
            self.fail("the text holds no operation", 0)
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        module = ModuleOp(ops)
        module.location = self.place(0)
        return module

    def _alias(self) -> None:
        start = self.skip()
        mark = self.text[start]
        self.here = start + 1
        name = self.word("the name of an alias")
        if self._late_locations.pop(name, None) is None and mark + name in self.attribute_aliases:
            location = self.attribute_aliases[mark + name]
            self.need("=")
            again = self.location()
            if again != location:
                self.fail(f"alias '{mark}{name}' is defined twice", start)
            return
        self.need("=")
        self.attribute_aliases[mark + name] = self.type() if mark == "!" else self.location() or self.attribute()


def parse_module(text: str | bytes, filename: str = "<string>", context: Context | None = None) -> ModuleOp:
    """The module that a text means, or MLIR bytecode (:mod:`wengert.ir.bytecode.reader`).

    Every op and block argument carries the place where it was written, or what its ``loc(...)`` says. Without a context, all
    of our dialects and those of xDSL are known, and ops of other dialects are kept as they are.

    Raises:
        DiagnosticError: the text is not a module; the diagnostic says what is wrong and where.
    """
    from wengert.dialects.registry import CLOSED, OPAQUE, context_for, own_texts

    if isinstance(text, bytes) and text.startswith(MAGIC):
        from wengert.dialects.registry import vocabulary_for
        from wengert.ir.bytecode.reader import read_module

        return read_module(text, filename, lambda names: vocabulary_for(context, names))
    decoded_text = _decoded(text, filename)
    parser = ModuleParser(context or context_for(decoded_text), decoded_text, filename, frozenset(CLOSED), OPAQUE, own_texts=own_texts(decoded_text))
    try:
        return _parsed(parser)
    except RecursionError:
        raise DiagnosticError(parser.diagnostic("the text nests too deeply", min(parser.here, len(parser.text)))) from None
    except DiagnosticError:
        raise
    except MemoryError:
        raise DiagnosticError(parser.diagnostic("there is not enough memory to read this", min(parser.here, len(parser.text)))) from None
    except Exception as error:  # whatever an attribute or an op of a dialect may raise on what nobody foresaw
        raise DiagnosticError(parser.diagnostic(f"cannot read this: {error}", min(parser.here, len(parser.text)))) from error


@stage()
def _parsed(parser: ModuleParser) -> ModuleOp:
    return parser.module()


def _decoded(text: str | bytes, filename: str) -> str:
    if isinstance(text, bytes):
        return decoded(text, filename)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            before = text[: error.start]
            line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
            raise DiagnosticError(Diagnostic(f"{text[error.start]!r} is half of a character, which no text holds", filename, line, column)) from None
    return text

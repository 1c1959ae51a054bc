"""The sections of attributes and types: each entry is decoded when it is first asked for.

An entry is encoded by its dialect (:mod:`wengert.ir.bytecode.fields`) or is text in MLIR's assembly format, which our parser reads. Entries refer to each
other by number; a damaged file may have them refer to themselves, or to so many others so often that to hash one would take forever, which is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from msgspec import Struct, field
from xdsl.context import Context
from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.fields import Encoding, Layout
from wengert.ir.bytecode.names import read_group
from wengert.ir.bytecode.resources import Resources
from wengert.ir.bytecode.strings import Strings
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import ModuleParser

DEPTH = 128
"""The deepest nesting of attributes and types."""

_REFUSALS = (VerifyException, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What may be raised by making an attribute of parts that do not belong together."""

MOST_PARTS = 1 << 20
"""The most parts that an attribute may have, with all parts of its parts."""


class Vocabulary(Struct, frozen=True):
    """The dialects that are known, and their encodings.

    Attributes:
        context: the classes of ops, attributes and types.
        closed, opaque, refused: as the parser of text has them.
        encoding: the encoding of a dialect by its name, or None.
        properties: the properties of an op by its name, in the order of bytecode, or None for an op of which they are not known.
        defaults: the values of properties of an op by its name that text leaves out.
    """

    context: Context
    encoding: Callable[[str], Encoding | None]
    properties: Callable[[str], tuple[str, ...] | None]
    defaults: Callable[[str], Mapping[str, Attribute]]
    closed: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

    def parser(self, text: str, filename: str) -> ModuleParser:
        """A parser of text by the same vocabulary."""
        return ModuleParser(self.context, text, filename, self.closed, self.opaque, self.refused)


class _Entry:
    """A place in the section, and the attribute once it is decoded with the number of all its parts."""

    __slots__ = ("coded", "dialect", "end", "is_type", "parts", "start", "value")

    def __init__(self, dialect: str, start: int, end: int, coded: bool, is_type: bool):
        self.dialect, self.start, self.end, self.coded, self.is_type = dialect, start, end, coded, is_type
        self.value: Attribute | None = None
        self.parts = 0


class EntryCursor(Cursor):
    """Reads the fields of one entry."""

    __slots__ = ("parts", "table")

    def __init__(self, table: Entries, start: int, end: int):
        super().__init__(table.section.data, table.section.filename, start, end)
        self.table, self.parts = table, 1

    def string(self) -> str:
        """Reads a string."""
        return self.table.strings.read(self)

    def attribute(self) -> Attribute:
        """Reads an attribute."""
        return self._taken(self.table.attributes, "attribute")

    def type(self) -> Attribute:
        """Reads a type."""
        return self._taken(self.table.types, "type")

    def written(self, text: str) -> Attribute:
        """The attribute that a text in MLIR's assembly format means."""
        return self.table.parsed(text, False, self.here)

    def attribute_at(self, number: int) -> Attribute:
        """The attribute of a number that was read here."""
        return self._numbered(self.table.attributes, "attribute", number)

    def _taken(self, entries: list[_Entry], what: str) -> Attribute:
        return self._numbered(entries, what, self.varint())

    def _numbered(self, entries: list[_Entry], what: str, number: int) -> Attribute:
        if number >= len(entries):
            self.fail(f"the bytecode is damaged: there is no {what} {number} among {len(entries)}")
        entry = entries[number]
        value = self.table.decode(entry) if entry.value is None else entry.value
        self.parts += entry.parts
        if self.parts > MOST_PARTS:
            self.fail(f"an attribute of more than {MOST_PARTS} parts is not supported")
        return value

    def resource(self) -> tuple[str, bytes | None]:
        """Reads a resource."""
        return self.table.resources.read(self)


class Entries:
    """The attributes and types of a file by number."""

    def __init__(self, section: Cursor, offsets: Cursor, dialects: list[str], strings: Strings, resources: Resources, vocabulary: Vocabulary):
        self.section, self.strings, self.resources, self.vocabulary = section, strings, resources, vocabulary
        self._depth = 0
        self._layouts: dict[tuple[str, bool], dict[int, Layout]] = {}
        attributes, types = offsets.count("attributes"), offsets.count("types")
        self.attributes: list[_Entry] = []
        self.types: list[_Entry] = []
        for entries, count in ((self.attributes, attributes), (self.types, types)):

            def one(dialect: str, entries: list[_Entry] = entries) -> None:
                size = offsets.varint()
                start = section.here
                section.take(size >> 1)
                entries.append(_Entry(dialect, start, section.here, bool(size & 1), entries is self.types))

            while len(entries) < count:
                before = len(entries)
                read_group(offsets, dialects, one)
                if not before < len(entries) <= count:
                    offsets.fail("the bytecode is damaged: the groups of attributes and types do not fit their number")
        offsets.finish("the places of attributes and types")

    def attribute(self, number: int, cursor: Cursor) -> Attribute:
        """The attribute of a number that was read at the cursor."""
        if number >= len(self.attributes):
            cursor.fail(f"the bytecode is damaged: there is no attribute {number} among {len(self.attributes)}")
        entry = self.attributes[number]
        return self.decode(entry) if entry.value is None else entry.value

    def type(self, number: int, cursor: Cursor) -> Attribute:
        """The type of a number that was read at the cursor."""
        if number >= len(self.types):
            cursor.fail(f"the bytecode is damaged: there is no type {number} among {len(self.types)}")
        entry = self.types[number]
        return self.decode(entry) if entry.value is None else entry.value

    def decode(self, entry: _Entry) -> Attribute:
        """Decodes an entry."""
        self._depth += 1
        cursor = EntryCursor(self, entry.start, entry.end)
        if self._depth > DEPTH:
            cursor.fail(f"attributes that nest deeper than {DEPTH} levels are not supported (or one that is part of itself)")
        if entry.coded:
            value = self._coded(entry, cursor)
        else:
            value = self._written(cursor, entry.is_type)
        cursor.finish("an attribute or type")
        entry.value, entry.parts = value, cursor.parts
        self._depth -= 1
        return value

    def _coded(self, entry: _Entry, cursor: EntryCursor) -> Attribute:
        is_type = entry.is_type
        layouts = self._layouts.get((entry.dialect, is_type))
        if layouts is None:
            layouts = self._layouts[entry.dialect, is_type] = self._find_layouts(entry.dialect, is_type, cursor)
        code = cursor.varint()
        layout = layouts.get(code)
        kind = "type" if is_type else "attribute"
        if layout is None:
            cursor.fail(
                f"{kind} {code} of the dialect '{entry.dialect}' is not known: the bytecode is damaged, or of a later version of the dialect", entry.start
            )
        try:
            value = layout.make(*[part.read(cursor) for part in layout.fields])
        except _REFUSALS as error:
            self._refused(error, kind, entry.start)
        if is_type and not isinstance(value, TypeAttribute):
            cursor.fail("the bytecode is damaged: this is no type", entry.start)
        return value

    def _refused(self, error: Exception, kind: str, position: int) -> NoReturn:
        said = " ".join(str(error).split())
        self.section.fail(f"cannot read {'an' if kind == 'attribute' else 'a'} {kind}: {said}", position)

    def _find_layouts(self, dialect: str, is_type: bool, cursor: Cursor) -> dict[int, Layout]:
        if dialect in self.vocabulary.refused:
            cursor.fail(f"the dialect '{dialect}' is not supported", hint=self.vocabulary.refused[dialect])
        encoding = self.vocabulary.encoding(dialect)
        if encoding is None:
            cursor.fail(
                f"how the dialect '{dialect}' encodes attributes and types is not known", hint="write the program as text: mlir-opt without --emit-bytecode"
            )
        return {layout.code: layout for layout in (encoding.types if is_type else encoding.attributes)}

    def _written(self, cursor: EntryCursor, is_type: bool) -> Attribute:
        """Reads an entry in MLIR's assembly format."""
        start = cursor.here
        return self.parsed(cursor.text(), is_type, start)

    def parsed(self, text: str, is_type: bool, position: int) -> Attribute:
        """The attribute or type that a text means."""
        parser = self.vocabulary.parser(text, self.section.filename)
        try:
            value = parser.type() if is_type else parser.attribute()
            if parser.skip() < len(text):
                self.section.fail(f"the bytecode is damaged: '{text[:80]}' goes on behind the {'type' if is_type else 'attribute'}", position)
        except DiagnosticError as error:
            if error.diagnostic.line:
                self.section.fail(error.diagnostic.message + f", in '{text[:80]}'", position, hint=error.diagnostic.hint)
            raise
        except _REFUSALS as error:
            self._refused(error, "type" if is_type else "attribute", position)
        return value

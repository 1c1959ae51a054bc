"""Text syntax of ops, declared once per op class and followed by the reader, the printer and stock xDSL.

A :class:`Syntax` is a sequence of parts, each of which can read its piece of text into an :class:`OpState` and write it from
an op::

    SYNTAX = Syntax(Operands(), Keys(Key("dims", "permutation", INTS)), FunctionType())      # %x, dims = [1, 0] : (T) -> U

Parts read from a :class:`Reader` (the parser's cursor) and write to a :class:`Writer` (the printer). A part that no other op
needs is a class of its own beside the op.
"""

from __future__ import annotations

from typing import Protocol, cast

from msgspec import Struct
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from wengert.ir.attributes import bool_attr
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax.properties import ATTRIBUTE, BOOL, INT, INT32, INTS, STRING, Codec, Word, Words
from wengert.ir.syntax.types import (
    ArrowTypes,
    ComplexTypes,
    FunctionType,
    OneType,
    OptionalOperandTypes,
    ResultTypes,
    SameType,
    SelectType,
    TupleTypes,
)

__all__ = [
    "ATTRIBUTE",
    "BOOL",
    "INT",
    "INT32",
    "INTS",
    "STRING",
    "ArrowTypes",
    "AttributeDictionary",
    "Codec",
    "ComplexTypes",
    "Flag",
    "FunctionType",
    "Key",
    "KeyPart",
    "Keys",
    "Mark",
    "OneType",
    "Operands",
    "OptionalOperandTypes",
    "ParenthesizedOperands",
    "Part",
    "Phrase",
    "ResultTypes",
    "SameType",
    "SelectType",
    "SymbolName",
    "Syntax",
    "TupleTypes",
    "Value",
    "Word",
    "Words",
    "elementwise",
    "keyed",
    "plain",
]


class Part(Protocol):
    """A piece of an op's text."""

    def read(self, reader: Reader, state: OpState) -> None:
        """Reads the piece into the state."""
        ...

    def write(self, op: Operation, writer: Writer) -> None:
        """Writes the piece."""
        ...

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties that this piece holds (all others go to the attribute dictionary)."""
        ...


class Syntax:
    """An op's text after its name."""

    def __init__(self, *parts: Part):
        self.parts = parts
        self.properties = frozenset(name for part in parts for name in part.properties)
        self._readers = tuple(part.read for part in parts)
        self._writers = tuple(part.write for part in parts)

    def read(self, reader: Reader, state: OpState) -> None:
        """Reads what follows the op's name."""
        for read in self._readers:
            read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        """Writes what follows the op's name."""
        for write in self._writers:
            write(op, writer)


class Mark(Struct, frozen=True):
    """A punctuation mark or word that is always there."""

    text: str
    written: str = ""
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need(self.text)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(self.written or self.text)


class Operands(Struct, frozen=True):
    """All operands: ``%a, %b``. With ``optional`` there may be none; ``count`` is how many there have to be, if fixed."""

    optional: bool = False
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        if not self.optional or reader.peek() == "%":
            reader.operands(state)

    def write(self, op: Operation, writer: Writer) -> None:
        if op.operands:
            writer.write(f" {writer.values(op.operands)}")
        elif not self.optional:
            raise Unwritable


class ParenthesizedOperands(Struct, frozen=True):
    """All operands in parentheses: ``(%a, %b)``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need("(")
        if not reader.accept(")"):
            reader.operands(state)
            reader.need(")")

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f"({writer.values(op.operands)})")


class _OneProperty:
    """A part that holds one property."""

    property_name: str

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property_name,)


class Value(_OneProperty, Struct, frozen=True):
    """A property without a key, such as the direction of a comparison."""

    property_name: str
    codec: Codec
    before: str = ""
    """A mark that comes before it; if the property is optional, the mark says whether it is there."""
    optional: bool = False

    def read(self, reader: Reader, state: OpState) -> None:
        if self.before:
            if self.optional and not reader.accept(self.before):
                return
            if not self.optional:
                reader.need(self.before)
        state.properties[self.property_name] = self.codec.read(reader)

    def write(self, op: Operation, writer: Writer) -> None:
        value = op.properties.get(self.property_name)
        if value is None and not self.optional:
            raise Unwritable
        if value is not None:
            writer.write(f"{self.before} {self.codec.text(value, writer)}")


class Phrase(_OneProperty, Struct, frozen=True):
    """``word value`` for a property, such as ``along 1``."""

    word: str
    property_name: str
    codec: Codec

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need_word(self.word)
        state.properties[self.property_name] = self.codec.read(reader)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {self.word} {self.codec.text(op.properties[self.property_name], writer)}")


class Flag(_OneProperty, Struct, frozen=True):
    """A word that is there if a boolean property holds."""

    word: str
    property_name: str

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property_name] = bool_attr(reader.accept_word(self.word))

    def write(self, op: Operation, writer: Writer) -> None:
        if BOOL.text(op.properties[self.property_name], writer) == "true":
            writer.write(f" {self.word}")


class SymbolName(_OneProperty, Struct, frozen=True):
    """``@name`` for a property that holds the name as a string."""

    property_name: str

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property_name] = StringAttr(reader.symbol())

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.symbol(cast(StringAttr, op.properties[self.property_name]).data)}")


class Key(_OneProperty, Struct, frozen=True):
    """``key = value`` for one property."""

    key: str
    property_name: str
    codec: Codec
    optional: bool = False

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property_name] = self.codec.read(reader)

    def text(self, op: Operation, writer: Writer) -> str | None:
        """The value as text, or None if it is absent."""
        value = op.properties.get(self.property_name)
        return None if value is None else self.codec.text(value, writer)


class KeyPart(Protocol):
    """An entry of :class:`Keys`: a :class:`Key`, or a class of its own where one key stands for several properties."""

    @property
    def key(self) -> str: ...

    @property
    def optional(self) -> bool: ...

    @property
    def properties(self) -> tuple[str, ...]: ...

    def read(self, reader: Reader, state: OpState) -> None: ...

    def text(self, op: Operation, writer: Writer) -> str | None: ...


class Keys:
    """``, key = value, key = value`` in this order. With ``leading=False`` the first one has no comma before it."""

    def __init__(self, *keys: KeyPart, leading: bool = True):
        self.keys = {key.key: key for key in keys}
        self.leading = leading
        self.properties = tuple(name for key in keys for name in key.properties)
        self._order = {key.key: place for place, key in enumerate(keys)}
        self._required = [key.key for key in keys if not key.optional]

    def read(self, reader: Reader, state: OpState) -> None:
        seen: list[str] = []
        more = reader.accept(",") if self.leading else reader.next_word() != ""
        while more:
            position = reader.here
            key = reader.accept_key()
            part = self.keys.get(key)
            if part is None or key in seen:
                reader.here = position
                self._bad_key(reader, key)
            if seen and self._order[key] < self._order[seen[-1]]:
                reader.fail(f"'{key}' must come before '{seen[-1]}'", position)
            seen.append(key)
            self.keys[key].read(reader, state)
            more = reader.accept(",")
        if len(seen) != len(self.keys):
            for key in self._required:
                if key not in seen:
                    reader.fail(f"'{state.name}' needs '{key} = ...'")

    def _bad_key(self, reader: Reader, key: str) -> None:
        if key in self.keys:
            reader.fail(f"'{key}' is given twice")
        reader.word_in(self.keys, "keyword")
        reader.need("=")

    def write(self, op: Operation, writer: Writer) -> None:
        texts = {key: part.text(op, writer) for key, part in self.keys.items()}
        if any(texts[key] is None for key in self._required):
            raise Unwritable
        parts = [f"{key} = {text}" for key, text in texts.items() if text is not None]
        if parts:
            writer.write((", " if self.leading else " ") + ", ".join(parts))


class AttributeDictionary(Struct, frozen=True):
    """``{a = 1}``: attributes, and the properties that no other part holds."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())

    def write(self, op: Operation, writer: Writer) -> None:
        writer.attribute_dictionary(op)


def elementwise() -> Syntax:
    """``%a, %b : T``."""
    return Syntax(Operands(), SameType())


def plain() -> Syntax:
    """``%a, %b : (T, U) -> V``."""
    return Syntax(Operands(), FunctionType())


def keyed(*keys: KeyPart) -> Syntax:
    """``%a, %b, key = value : (T, U) -> V``."""
    return Syntax(Operands(), Keys(*keys), FunctionType())

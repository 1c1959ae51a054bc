"""Fields: what attributes and types of a dialect consist of in bytecode, each read and written by one declaration.

A dialect declares a :class:`Layout` for every attribute and type that it encodes: the number that begins it, and its fields in order. Reading gives the
values of the fields to ``make``; writing asks ``parts`` for them::

    Layout(14, NameLoc, (ATTRIBUTE, ATTRIBUTE), NameLoc, lambda a: (a.desc, a.location))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct
from xdsl.ir import Attribute

Parts = Callable[[Any], "Sequence[Any] | None"]


class EntryReader(Protocol):
    """Reads the fields of an attribute or type."""

    def varint(self) -> int:
        """Reads an unsigned integer."""
        ...

    def signed(self) -> int:
        """Reads a signed integer."""
        ...

    def count(self, what: str) -> int:
        """Reads how many things follow."""
        ...

    def byte(self) -> int:
        """Reads a byte."""
        ...

    def take(self, size: int) -> bytes:
        """Reads so many bytes."""
        ...

    def string(self) -> str:
        """Reads a string of the table of strings."""
        ...

    def attribute(self) -> Attribute:
        """Reads an attribute of the table of attributes."""
        ...

    def type(self) -> Attribute:
        """Reads a type of the table of types."""
        ...

    def resource(self) -> tuple[str, bytes | None]:
        """Reads a resource: its name, and its bytes if they are in the file."""
        ...

    def fail(self, message: str) -> Any:
        """Raises what is wrong here."""
        ...


class EntryWriter(Protocol):
    """Writes the fields of an attribute or type."""

    def varint(self, value: int) -> None:
        """Writes an unsigned integer."""
        ...

    def signed(self, value: int) -> None:
        """Writes a signed integer."""
        ...

    def byte(self, value: int) -> None:
        """Writes a byte."""
        ...

    def put(self, data: bytes) -> None:
        """Writes bytes."""
        ...

    def string(self, text: str) -> None:
        """Writes the number of a string."""
        ...

    def attribute(self, attribute: Attribute) -> None:
        """Writes the number of an attribute."""
        ...

    def type(self, type: Attribute) -> None:
        """Writes the number of a type."""
        ...

    def resource(self, name: str) -> None:
        """Writes the number of a resource of MLIR's own dialect whose bytes are not in the file."""
        ...


class Field(Struct, frozen=True):
    """One part of an attribute or type, and how it is read and written."""

    read: Callable[[EntryReader], Any]
    write: Callable[[EntryWriter, Any], None]


class Layout(Struct, frozen=True):
    """The encoding of a class of attributes or types.

    Attributes:
        code: the number that begins it.
        cls: the class.
        fields: its fields in order.
        make: the attribute from the values of the fields.
        parts: the values of the fields of an attribute, or None for one that this layout does not fit.
    """

    code: int
    cls: type[Attribute]
    fields: tuple[Field, ...]
    make: Callable[..., Attribute]
    parts: Parts


class Encoding(Struct, frozen=True):
    """The encodings of a dialect: its layouts for attributes and for types."""

    attributes: tuple[Layout, ...] = ()
    types: tuple[Layout, ...] = ()


def list_of(field: Field, what: str = "elements") -> Field:
    """A list: how many, then each."""
    read_one, write_one = field.read, field.write

    def read(reader: EntryReader) -> list[Any]:
        return [read_one(reader) for _ in range(reader.count(what))]

    def write(writer: EntryWriter, values: Sequence[Any]) -> None:
        writer.varint(len(values))
        for value in values:
            write_one(writer, value)

    return Field(read, write)


def pair_of(first: Field, second: Field) -> Field:
    """Two fields as a pair."""

    def write(writer: EntryWriter, value: tuple[Any, Any]) -> None:
        first.write(writer, value[0])
        second.write(writer, value[1])

    return Field(lambda reader: (first.read(reader), second.read(reader)), write)


def _write_blob(writer: EntryWriter, data: bytes) -> None:
    writer.varint(len(data))
    writer.put(data)


VARINT = Field(lambda reader: reader.varint(), lambda writer, value: writer.varint(value))
SIGNED = Field(lambda reader: reader.signed(), lambda writer, value: writer.signed(value))
STRING = Field(lambda reader: reader.string(), lambda writer, value: writer.string(value))
ATTRIBUTE = Field(lambda reader: reader.attribute(), lambda writer, value: writer.attribute(value))
TYPE = Field(lambda reader: reader.type(), lambda writer, value: writer.type(value))
BLOB = Field(lambda reader: reader.take(reader.count("bytes")), _write_blob)
RESOURCE = Field(lambda reader: reader.resource(), lambda writer, value: writer.resource(value[0]))
SIGNEDS = list_of(SIGNED, "integers")
ATTRIBUTES = list_of(ATTRIBUTE, "attributes")
TYPES = list_of(TYPE, "types")


def read_integer(reader: EntryReader, width: int) -> int:
    """Reads an integer of a known number of bits, as a number with a sign."""
    if width <= 8:
        value = reader.byte() & (1 << width) - 1
    elif width <= 64:
        value = reader.signed() & (1 << width) - 1
    else:
        words = [reader.signed() & (1 << 64) - 1 for _ in range(reader.count("words"))]
        value = sum(word << 64 * place for place, word in enumerate(words)) & (1 << width) - 1
    return value - (1 << width) if width and value >> width - 1 else value


def write_integer(writer: EntryWriter, value: int, width: int) -> None:
    """Writes an integer of a known number of bits."""
    value &= (1 << width) - 1
    signed = value - (1 << width) if width and value >> width - 1 else value
    if width <= 8:
        writer.byte(value)
    elif width <= 64:
        writer.signed(signed)
    else:
        words = -(-width // 64)
        writer.varint(words)
        for place in range(words):
            word = value >> 64 * place & (1 << 64) - 1
            writer.signed(word - (1 << 64) if word >> 63 else word)

"""Codecs of the values of properties in an op's text: a codec reads it where the parser stands, and gives it as text."""

from __future__ import annotations

from typing import Any, Protocol, cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute

from wengert.ir.attributes import bool_attr, int_array, int_attr, int_of, ints
from wengert.ir.parsing.operations import Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import i1, i64


class Codec(Protocol):
    """Reads and writes the value of a property after its key."""

    def read(self, reader: Reader) -> Attribute:
        """Reads a value."""
        ...

    def text(self, value: Attribute, writer: Writer) -> str:
        """The value as text."""
        ...


class Ints(Struct, frozen=True):
    """``[1, 2]`` for ``array<i64: 1, 2>``."""

    def read(self, reader: Reader) -> Attribute:
        return int_array(reader.integers())

    def text(self, value: Attribute, writer: Writer) -> str:
        if getattr(value, "elt_type", None) != i64:
            raise Unwritable
        return f"[{', '.join(map(str, ints(value)))}]"


class Int(Struct, frozen=True):
    """``3`` for ``3 : i64``."""

    width: int = 64

    def read(self, reader: Reader) -> Attribute:
        return int_attr(reader.integer(self.width), self.width)

    def text(self, value: Attribute, writer: Writer) -> str:
        if getattr(value, "type", None) != IntegerType(self.width):
            raise Unwritable
        return str(cast("IntegerAttr[IntegerType]", value).value.data)


class Bool(Struct, frozen=True):
    """``true`` or ``false``."""

    def read(self, reader: Reader) -> Attribute:
        return bool_attr(reader.word_in(("true", "false"), "boolean") == "true")

    def text(self, value: Attribute, writer: Writer) -> str:
        if getattr(value, "type", None) != i1:
            raise Unwritable
        return "true" if int_of(value) else "false"


class Word(Struct, frozen=True):
    """One of an enumeration's words."""

    attribute: type[EnumAttribute[Any]]

    def read(self, reader: Reader) -> Attribute:
        enum = self.attribute.enum_type
        return self.attribute(enum(reader.word_in([str(e) for e in enum], self.attribute.name.partition(".")[2].replace("_", " "))))

    def text(self, value: Attribute, writer: Writer) -> str:
        if not isinstance(value, self.attribute):
            raise Unwritable
        return str(cast("EnumAttribute[Any]", value).data)


class Words(Struct, frozen=True):
    """``[A, B]``, an array of words of an enumeration."""

    attribute: type[EnumAttribute[Any]]

    def read(self, reader: Reader) -> Attribute:
        word = Word(self.attribute)
        return ArrayAttr(reader.listed("[", "]", lambda: word.read(reader)))

    def text(self, value: Attribute, writer: Writer) -> str:
        word = Word(self.attribute)
        return f"[{', '.join(word.text(v, writer) for v in cast('ArrayAttr[Attribute]', value))}]"


class String(Struct, frozen=True):
    """``"text"`` for a string."""

    def read(self, reader: Reader) -> Attribute:
        return StringAttr(reader.string())

    def text(self, value: Attribute, writer: Writer) -> str:
        return writer.attribute_text(value)


class AnyAttribute(Struct, frozen=True):
    """Any attribute as it stands."""

    def read(self, reader: Reader) -> Attribute:
        return reader.attribute()

    def text(self, value: Attribute, writer: Writer) -> str:
        return writer.attribute_text(value)


INTS, INT, INT32, BOOL, STRING, ATTRIBUTE = Ints(), Int(), Int(32), Bool(), String(), AnyAttribute()

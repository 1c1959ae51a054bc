"""Text syntax of ops, declared once per op class and followed by the reader, the printer and stock xDSL.

A :class:`Syntax` is a sequence of parts, each of which can read its piece of text into an :class:`OpState` and write it from
an op::

    SYNTAX = Syntax(Operands(), Keys(Key("dims", "permutation", INTS)), FunctionType())      # %x, dims = [1, 0] : (T) -> U

Parts read from a :class:`Reader` (the parser's cursor) and write to a :class:`Writer` (the printer). A part that no other op
needs is a class of its own beside the op.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, ComplexType, IntegerAttr, IntegerType, StringAttr, TensorType, TupleType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation

from wengert.ir.attributes import bool_attr, int_array, int_attr, int_of, ints
from wengert.ir.parser_operations import OpState, Reader
from wengert.ir.printer import Unwritable, Writer
from wengert.ir.tensor_types import i1, i64, tensor


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


# -- how properties are written


class Codec(Protocol):
    """How the value of a property is written after its key."""

    def read(self, reader: Reader) -> Attribute:
        """Reads a value."""
        ...

    def text(self, value: Attribute, writer: Writer) -> str:
        """The value as text."""
        ...


@dataclass(frozen=True)
class Ints:
    """``[1, 2]`` for ``array<i64: 1, 2>``."""

    def read(self, reader: Reader) -> Attribute:
        return int_array(reader.integers())

    def text(self, value: Attribute, writer: Writer) -> str:
        if getattr(value, "elt_type", None) != i64:
            raise Unwritable
        return f"[{', '.join(map(str, ints(value)))}]"


@dataclass(frozen=True)
class Int:
    """``3`` for ``3 : i64``."""

    width: int = 64

    def read(self, reader: Reader) -> Attribute:
        return int_attr(reader.integer(self.width), self.width)

    def text(self, value: Attribute, writer: Writer) -> str:
        held = cast("IntegerAttr[Any]", value)
        if held.type != IntegerType(self.width):
            raise Unwritable
        return str(held.value.data)


@dataclass(frozen=True)
class Bool:
    """``true`` or ``false``."""

    def read(self, reader: Reader) -> Attribute:
        return bool_attr(reader.word_in(("true", "false"), "boolean") == "true")

    def text(self, value: Attribute, writer: Writer) -> str:
        if getattr(value, "type", None) != i1:
            raise Unwritable
        return "true" if int_of(value) else "false"


@dataclass(frozen=True)
class Word:
    """One of an enumeration's words."""

    attribute: type[EnumAttribute[Any]]

    def read(self, reader: Reader) -> Attribute:
        enum = self.attribute.enum_type
        return self.attribute(enum(reader.word_in([str(e) for e in enum], self.attribute.name.partition(".")[2].replace("_", " "))))

    def text(self, value: Attribute, writer: Writer) -> str:
        if not isinstance(value, self.attribute):
            raise Unwritable
        return str(value.data)


@dataclass(frozen=True)
class Words:
    """``[A, B]``, an array of words of an enumeration."""

    attribute: type[EnumAttribute[Any]]

    def read(self, reader: Reader) -> Attribute:
        word = Word(self.attribute)
        return ArrayAttr(reader.listed("[", "]", lambda: word.read(reader)))

    def text(self, value: Attribute, writer: Writer) -> str:
        word = Word(self.attribute)
        return f"[{', '.join(word.text(v, writer) for v in cast('ArrayAttr[Attribute]', value))}]"


@dataclass(frozen=True)
class String:
    """``"text"`` for a string."""

    def read(self, reader: Reader) -> Attribute:
        return StringAttr(reader.string())

    def text(self, value: Attribute, writer: Writer) -> str:
        return writer.attribute_text(value)


@dataclass(frozen=True)
class AnyAttribute:
    """Any attribute as it stands."""

    def read(self, reader: Reader) -> Attribute:
        return reader.attribute()

    def text(self, value: Attribute, writer: Writer) -> str:
        return writer.attribute_text(value)


INTS, INT, INT32, BOOL, STRING, ATTRIBUTE = Ints(), Int(), Int(32), Bool(), String(), AnyAttribute()


# -- parts


@dataclass(frozen=True)
class Mark:
    """A punctuation mark or word that is always there."""

    text: str
    written: str = ""
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need(self.text)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(self.written or self.text)


@dataclass(frozen=True)
class Operands:
    """All operands: ``%a, %b``. With ``optional`` there may be none; ``count`` is how many there have to be, if fixed."""

    optional: bool = False
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        if not self.optional or reader.peek() == "%":
            reader.operands(state)

    def write(self, op: Operation, writer: Writer) -> None:
        if op.operands:
            writer.write(f" {writer.values(op.operands)}")


@dataclass(frozen=True)
class ParenthesizedOperands:
    """All operands in parentheses: ``(%a, %b)``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need("(")
        if not reader.accept(")"):
            reader.operands(state)
            reader.need(")")

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f"({writer.values(op.operands)})")


@dataclass(frozen=True)
class Value:
    """A property without a key, such as the direction of a comparison."""

    property: str
    codec: Codec
    before: str = ""
    """A mark that comes before it; if the property is optional, the mark says whether it is there."""
    optional: bool = False

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def read(self, reader: Reader, state: OpState) -> None:
        if self.before:
            if self.optional and not reader.accept(self.before):
                return
            if not self.optional:
                reader.need(self.before)
        state.properties[self.property] = self.codec.read(reader)

    def write(self, op: Operation, writer: Writer) -> None:
        value = op.properties.get(self.property)
        if value is None and not self.optional:
            raise Unwritable
        if value is not None:
            writer.write(f"{self.before} {self.codec.text(value, writer)}")


@dataclass(frozen=True)
class Phrase:
    """``word value`` for a property, such as ``along 1``."""

    word: str
    property: str
    codec: Codec

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need_word(self.word)
        state.properties[self.property] = self.codec.read(reader)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {self.word} {self.codec.text(op.properties[self.property], writer)}")


@dataclass(frozen=True)
class Flag:
    """A word that is there if a boolean property holds."""

    word: str
    property: str

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property] = bool_attr(reader.accept_word(self.word))

    def write(self, op: Operation, writer: Writer) -> None:
        if BOOL.text(op.properties[self.property], writer) == "true":
            writer.write(f" {self.word}")


@dataclass(frozen=True)
class SymbolName:
    """``@name`` for a property that holds the name as a string."""

    property: str

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property] = StringAttr(reader.symbol())

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.symbol(cast(StringAttr, op.properties[self.property]).data)}")


@dataclass(frozen=True)
class Key:
    """``key = value`` for one property."""

    key: str
    property: str
    codec: Codec
    optional: bool = False

    @property
    def properties(self) -> tuple[str, ...]:
        return (self.property,)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties[self.property] = self.codec.read(reader)

    def text(self, op: Operation, writer: Writer) -> str | None:
        """The value as text, or None if it is absent."""
        value = op.properties.get(self.property)
        return None if value is None else self.codec.text(value, writer)


class KeyPart(Protocol):
    """What :class:`Keys` lists: a :class:`Key`, or a class of its own where one key stands for several properties."""

    @property
    def key(self) -> str: ...

    @property
    def optional(self) -> bool: ...

    @property
    def properties(self) -> tuple[str, ...]: ...

    def read(self, reader: Reader, state: OpState) -> None: ...

    def text(self, op: Operation, writer: Writer) -> str | None: ...


class Keys:
    """``, key = value, key = value``, in any order when read. With ``leading=False`` the first one has no comma before it."""

    def __init__(self, *keys: KeyPart, leading: bool = True):
        self.keys = {key.key: key for key in keys}
        self.leading = leading
        self.properties = tuple(name for key in keys for name in key.properties)
        self._required = [key.key for key in keys if not key.optional]

    def read(self, reader: Reader, state: OpState) -> None:
        seen: set[str] = set()
        more = reader.accept(",") if self.leading else reader.next_word() != ""
        while more:
            position = reader.here
            key = reader.accept_key()
            part = self.keys.get(key)
            if part is None or key in seen:
                reader.here = position
                self._bad_key(reader, key)
            seen.add(key)
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


@dataclass(frozen=True)
class AttributeDictionary:
    """``{a = 1}``: attributes, and the properties that no other part holds."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())

    def write(self, op: Operation, writer: Writer) -> None:
        writer.attribute_dictionary(op)


class _Types:
    """The attribute dictionary, a colon, and types in some form."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        if not reader.colon():
            state.set_attributes(reader.dictionary())
            if not reader.colon():
                reader.need(":")
        state.types_at = reader.here
        self.read_types(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.attribute_dictionary(op)
        writer.write(f" : {self.types(op, writer)}")

    def read_types(self, reader: Reader, state: OpState) -> None:
        """Reads the types after the colon."""
        raise NotImplementedError

    def types(self, op: Operation, writer: Writer) -> str:
        """The types as text."""
        raise NotImplementedError


class FunctionType(_Types):
    """``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.operand_types, state.result_types = reader.function_type()

    def types(self, op: Operation, writer: Writer) -> str:
        return writer.function_type(op.operand_types, op.result_types)


class SameType(FunctionType):
    """``T`` where all operands and the result have type T, else ``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        type = reader.type_if_tensor()
        if type is None:
            if reader.peek() == "(":
                super().read_types(reader, state)
                return
            type = reader.type()
        state.operand_types, state.result_types = (type,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        results = op.result_types
        if len(results) == 1 and all(type == results[0] for type in op.operand_types):
            return writer.type_text(results[0])
        return super().types(op, writer)


class SelectType(FunctionType):
    """``P, T`` for a predicate of type P and values of type T, else ``(P, T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        pred = reader.type()
        reader.need(",")
        type = reader.type()
        state.operand_types, state.result_types = (pred, type, type), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        if len(op.operands) == 3 and op.operands[1].type == op.operands[2].type == op.results[0].type:
            return f"{writer.type_text(op.operands[0].type)}, {writer.type_text(op.results[0].type)}"
        return super().types(op, writer)


class ComplexTypes(FunctionType):
    """The complex result's type, from which those of the real operands follow, else ``(T, T) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        position = reader.skip()
        type = reader.type()
        part = _real_part(type)
        if part is None:
            reader.fail(f"expected a tensor of complex numbers, found {type}", position)
        state.operand_types, state.result_types = (part,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        part = _real_part(op.results[0].type)
        if part is not None and all(type == part for type in op.operand_types):
            return writer.type_text(op.results[0].type)
        return super().types(op, writer)


def _real_part(type: Attribute) -> Attribute | None:
    if isinstance(type, TensorType):
        held = cast("TensorType[Any]", type)
        if isinstance(held.element_type, ComplexType):
            return tensor(held.get_shape(), cast("ComplexType[Any]", held.element_type).element_type)
    return None


class ArrowTypes(_Types):
    """``T, U -> V`` or ``T -> (V, W)``: a function type without parentheses around the operands."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.operand_types = reader.types()
        reader.need("->")
        state.result_types = reader.listed("(", ")", reader.type) if reader.peek() == "(" else (reader.type(),)

    def types(self, op: Operation, writer: Writer) -> str:
        results = writer.types(op.result_types)
        return f"{writer.types(op.operand_types)} -> {results if len(op.results) == 1 else f'({results})'}"


class ResultTypes(_Types):
    """The types of the results, of an op without operands."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.result_types = reader.types()

    def types(self, op: Operation, writer: Writer) -> str:
        if op.operands or not op.results:
            raise Unwritable
        return writer.types(op.result_types)


class OneType(_Types):
    """``T``: of every operand and of the single result, of which there is always one."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        type = reader.type()
        state.operand_types, state.result_types = (type,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        if len(op.results) != 1 or any(type != op.results[0].type for type in op.operand_types):
            raise Unwritable
        return writer.type_text(op.results[0].type)


class TupleTypes(_Types):
    """``tuple<T, U>``, from which the operands' types follow."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        position = reader.skip()
        type = reader.type()
        if not isinstance(type, TupleType):
            reader.fail(f"expected a tuple type, found {type}", position)
        state.operand_types, state.result_types = type.types.data, (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        type = op.results[0].type
        if not isinstance(type, TupleType) or tuple(op.operand_types) != type.types.data:
            raise Unwritable
        return writer.type_text(type)


@dataclass(frozen=True)
class OptionalOperandTypes:
    """``%a, %b : T, U``, or nothing where there are no operands (``return``); with ``results`` they have the same types."""

    results: bool = False
    empty: str = ""
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())
        if reader.peek() == "%":
            reader.operands(state)
            state.set_attributes(reader.dictionary())
            reader.need(":")
            state.types_at = reader.skip()
            state.operand_types = reader.types()
        else:
            for mark in self.empty:
                reader.need(mark)
        if self.results:
            state.result_types = state.operand_types

    def write(self, op: Operation, writer: Writer) -> None:
        if op.regions or tuple(op.result_types) != (tuple(op.operand_types) if self.results else ()):
            raise Unwritable
        writer.attribute_dictionary(op)
        if op.operands:
            writer.write(f" {writer.values(op.operands)} : {writer.types(op.operand_types)}")
        elif self.empty:
            writer.write(f" {self.empty}")


def elementwise() -> Syntax:
    """``%a, %b : T``."""
    return Syntax(Operands(), SameType())


def plain() -> Syntax:
    """``%a, %b : (T, U) -> V``."""
    return Syntax(Operands(), FunctionType())


def keyed(*keys: KeyPart) -> Syntax:
    """``%a, %b, key = value : (T, U) -> V``."""
    return Syntax(Operands(), Keys(*keys), FunctionType())

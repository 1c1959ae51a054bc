"""Reading the attributes that MLIR itself defines: numbers, strings, lists, dictionaries, symbols, arrays, resources.

What a literal may be is what MLIR's parser takes: a decimal integer is no floating-point number, a hexadecimal one is its bit pattern;
an integer fits its type as a signed or, for types without a sign, as an unsigned number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeGuard, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    FloatData,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f64,
)
from xdsl.ir import Attribute

from wengert.ir.attributes import bool_attr
from wengert.ir.construction import unverified
from wengert.ir.float_formats import bits_of, format_of, value_of
from wengert.ir.parsing.constants import ConstantReader
from wengert.ir.parsing.cursor import DEPTH, SPACE
from wengert.ir.tensor_types import i1, i64, is_integer

_NUMBER = re.compile(SPACE + r"(-?)" + SPACE + r"(?:(0x[0-9a-fA-F]+)|([0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?)|([0-9]+))")
_SYMBOL = re.compile(SPACE + r"@(?:([A-Za-z_][\w$.]*)|(?=\"))", re.ASCII)

_NO_ATTRIBUTE = frozenset(("", "}", "]", ")", ">", ",", "=", ":"))
_FOREIGN = ("affine_map", "affine_set", "opaque", "strided")
_DIGITS = 4000
"""Longer integers are refused: no type is so wide that a program could use them."""
UNIT = UnitAttr()
Attributes = dict[str, Attribute]


def _is_integral(type: Attribute) -> TypeGuard[IntegerType | IndexType]:
    return is_integer(type) or isinstance(type, IndexType)


class BuiltinReader(ConstantReader):
    """Reads attributes by what they begin with; types, affine maps and what dialects define are read elsewhere."""

    _outermost: int = 0
    _nesting = 0

    def attribute(self) -> Attribute:
        """Reads an attribute."""
        mark = self.peek()
        if mark == "[" or mark == "{":
            return self._nested(mark)
        if mark == "d" and self.accept_dense():
            return self.dense()
        if mark == '"':
            return self._typed_string()
        if mark.isdigit() or mark == "-":
            return self.number()
        if mark == "@":
            return self.symbol_reference()
        if mark in _NO_ATTRIBUTE:
            self.unexpected("an attribute")
        if mark == "#":
            if (own := self.own_text()) is not None:
                return own.attribute()
            self.check_dialect_name(mark)
            return self._foreign_attribute()
        word = self.next_word()
        if (read := self._WORDS.get(word)) is not None:
            return read(self)
        return self._foreign_attribute() if word in _FOREIGN else self.type()

    def _nested(self, mark: str) -> Attribute:
        if not self._nesting:
            self._outermost = self.here
        self._nesting += 1
        if self._nesting > DEPTH:
            self.too_deep(self._outermost)
        attribute = ArrayAttr(self.listed("[", "]", self.attribute)) if mark == "[" else DictionaryAttr(self.entries())
        self._nesting -= 1
        return attribute

    def _foreign_attribute(self) -> Attribute:
        with self.foreign("attribute"):
            start = self.here
            attribute = super().parse_optional_attribute()
        if attribute is None:
            self.unexpected("an attribute")
        self.check_depth(start)
        return attribute

    def parse_optional_attribute(self) -> Attribute | None:
        """Reads an attribute inside of what xDSL reads (called by xDSL)."""
        self.from_tokens()
        if self.peek() in _NO_ATTRIBUTE:
            return None
        attribute = self.attribute()
        self.to_tokens()
        return attribute

    def entries(self) -> Attributes:
        """Reads ``{a = 1, b}``."""
        entries: Attributes = {}

        def entry() -> None:
            position = self.skip()
            key = self.string() if self.peek() == '"' else self.word("an attribute name")
            if key in entries:
                self.fail(f"attribute '{key}' is given twice", position)
            if not key:
                self.fail("the name of an attribute must not be empty", position)
            entries[key] = self.attribute() if self.accept("=") else UNIT

        self.listed("{", "}", entry)
        return entries

    # -- words

    def _word_attribute(self, value: Attribute) -> Attribute:
        self.word()
        return value

    def _sparse(self) -> Attribute:
        self.word()
        return self.sparse()

    def _refused(self) -> Attribute:
        self.fail(f"'{self.next_word()}' attributes are not supported", hint="constants are written dense<...>")

    def location_attribute(self) -> Attribute:
        """A location as an attribute."""
        raise NotImplementedError

    # -- strings and symbols

    def _typed_string(self) -> Attribute:
        text = StringAttr(self.string())
        if self.peek() == ":" and not self.text.startswith("::", self.here):
            self.fail("strings with a type are not supported")
        return text

    def symbol(self) -> str:
        """Reads ``@name``."""
        match = _SYMBOL.match(self.text, self.here)
        if match is None:
            self.unexpected("a name with '@'")
        self.here = match.end()
        if match.group(1) is not None:
            return match.group(1)
        return self.string()

    def symbol_reference(self) -> SymbolRefAttr:
        """Reads ``@name`` or ``@module::@name``."""
        root, nested = self.symbol(), list[str]()
        while self.accept("::"):
            nested.append(self.symbol())
        return SymbolRefAttr(root, nested)

    # -- numbers

    def number(self) -> Attribute:
        """Reads an integer or a floating-point number with its type; without one it is an i64 or an f64."""
        match, start = self._literal()
        written = self.accept(":")
        if not written:
            return self._value(match, f64 if match.group(3) else i64, start)
        type_at = self.skip()
        type = self.type()
        if not _is_integral(type) and format_of(type) is None:
            self.fail(f"a number cannot be of type {type}", type_at)
        return self._value(match, type, start)

    def _literal(self) -> tuple[re.Match[str], int]:
        start = self.skip()
        match = _NUMBER.match(self.text, self.here)
        if match is None:
            self.unexpected("a number")
        self.here = match.end()
        return match, start

    def _value(self, match: re.Match[str], type: Attribute, start: int) -> Attribute:
        if _is_integral(type):
            value = self._integer_value(match, type, start)
            return bool_attr(bool(value)) if type == i1 else IntegerAttr(value, type)
        return unverified(FloatAttr, value=FloatData(self._float_value(match, type, start)), type=type)

    def _integer_value(self, match: re.Match[str], type: IntegerType | IndexType, start: int) -> int:
        minus, hexadecimal, fraction, decimal = match.groups()
        if fraction:
            self.fail(f"'{match.group().strip()}' is not an integer, which {type} needs", start)
        digits = hexadecimal or decimal
        width = 64 if isinstance(type, IndexType) else type.width.data
        value = (int(hexadecimal, 16) if hexadecimal else int(decimal)) if len(digits) < _DIGITS else 1 << width
        signedness = Signedness.SIGNED if isinstance(type, IndexType) else type.signedness.data
        if minus and (signedness is Signedness.UNSIGNED or not 0 < value <= 1 << max(width - 1, 0) or not width):
            self._does_not_fit(match, type, start)
        if value >= 1 << (width - (signedness is Signedness.SIGNED and not minus)):
            self._does_not_fit(match, type, start)
        if minus:
            return -value
        return value - (1 << width) if signedness is Signedness.SIGNLESS and width > 1 and value >> width - 1 else value

    def _does_not_fit(self, match: re.Match[str], type: Attribute, start: int) -> None:
        digits = match.group().strip()
        self.fail(f"{digits if len(digits) < 40 else digits[:20] + '...'} does not fit {type}", start)

    def _float_value(self, match: re.Match[str], type: Attribute, start: int) -> float:
        format = format_of(type)
        assert format is not None
        minus, hexadecimal, fraction, decimal = match.groups()
        if decimal:
            self.fail(f"'{match.group().strip()[:40]}' is an integer, but {type} is a floating-point type", start, hint="add a point: 1.0")
        if fraction:
            value = value_of(bits_of(float(fraction), format), format)
            assert value is not None
            return -value if minus else value
        if minus:
            self.fail("a bit pattern has no sign", start)
        bits = int(hexadecimal, 16)
        if bits >> format.width:
            self.fail(f"the bit pattern {hexadecimal[:40]} has more bits than {type}", start)
        value = value_of(bits, format)
        if value is None:
            self.fail(f"numbers of {type} beyond the digits or the range of f64 are not supported", start)
        return value

    # -- arrays and resources

    def _array(self) -> Attribute:
        start = self.skip()
        self.word()
        self.need("<")
        type_at = self.skip()
        type = self.type()
        width = type.width.data if is_integer(type) else format.width if (format := format_of(type)) else 0
        if not width or (width % 8 and type != i1):
            self.fail(f"an array<...> holds integers or floats of whole bytes, found {type}", type_at)

        def element() -> Any:
            if type == i1:
                return int(self.word_in(("true", "false"), "boolean") == "true")
            match, at = self._literal()
            return self._integer_value(match, type, at) if is_integer(type) else self._float_value(match, type, at)

        values: list[Any] = []
        if self.accept(":"):
            values.append(element())
            while self.accept(","):
                values.append(element())
        self.need(">")
        if is_integer(type) and width not in (1, 8, 16, 32, 64):
            self.fail(f"arrays of {type} are not supported", start)
        return self._packed(type, values, width, start)

    def _packed(self, type: Attribute, values: list[Any], width: int, start: int) -> Attribute:
        size = max(width // 8, 1)
        if is_integer(type):
            return DenseArrayBase.from_list(type, values)
        format = format_of(type)
        assert format is not None
        if size not in (1, 2, 4, 8):
            self.fail(f"arrays of {type} are not supported", start)
        data = b"".join([bits_of(value, format).to_bytes(size, "little") for value in values])
        return unverified(DenseArrayBase, elt_type=type, data=BytesAttr(data))

    def _resource(self) -> Attribute:
        """Reads ``dense_resource<name> : type``: the constant whose bytes stand at the end of the text, or its name where they do not."""
        start = self.skip()
        self.word()
        self.need("<")
        name = self.string() if self.peek() == '"' else self.word("the name of a resource")
        self.need(">")
        self.need(":")
        type_at = self.skip()
        type = self.type()
        blob = self.resource_bytes(name)
        if blob is not None:
            self.check_type(type, type_at)
            return self.constant_of_bytes(type, blob, start)
        if not isinstance(type, TensorType):
            self.fail(f"a resource is a tensor, found {type}", type_at)
        return DenseResourceAttr.from_params(name, cast("TensorType[Any]", type))

    def resource_bytes(self, name: str) -> bytes | None:
        """The bytes that the end of the text gives to a resource."""
        raise NotImplementedError

    # -- what dialects define

    def unregistered(self, name: str, body: str, opaque: bool = False) -> Attribute:
        """An attribute of which only the name is known, with its raw text."""
        cls: Any = self.ctx.get_optional_attr(name)
        return cls(name, False, opaque, body)

    _WORDS: ClassVar[dict[str, Callable[[BuiltinReader], Attribute]]] = {
        "true": lambda reader: reader._word_attribute(bool_attr(True)),
        "false": lambda reader: reader._word_attribute(bool_attr(False)),
        "unit": lambda reader: reader._word_attribute(UNIT),
        "array": lambda reader: reader._array(),
        "dense_resource": lambda reader: reader._resource(),
        "loc": lambda reader: reader.location_attribute(),
        "sparse": lambda reader: reader._sparse(),
        "distinct": lambda reader: reader._refused(),
    }

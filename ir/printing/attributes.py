"""Attributes and types as text, in the spelling that MLIR's own printer uses.

Floating-point numbers are written with the digits that read back to the same bits: seven significant ones where those are
enough, else as many as are needed; infinities and NaNs are written as bit patterns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from io import StringIO
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NameLoc,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer

from wengert.ir import elements
from wengert.ir.float_formats import Format, bits_of, format_of
from wengert.ir.tensor_types import dtype_of, i1, i64, is_boolean, is_complex, is_integer, real_element

_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)

HEX_LIMIT = 100
"""Constants of more elements than this (all but splats) are written as the bytes of their elements in hexadecimal, as MLIR does."""


def float_text(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as MLIR writes it: shortest decimal that reads back to the same bits, or its bit pattern."""
    number = float(value)
    if number - number != 0:  # infinite or NaN
        return _bits(value, dtype)
    text = f"{number:.6e}"
    if float(text) == number if dtype.itemsize == 8 else dtype.type(float(text)) == value:
        return text
    if dtype.itemsize < 8:
        return f"{number:.8e}" if dtype.itemsize == 4 else _bits(value, dtype)
    text = repr(number)
    mantissa, mark, exponent = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{mark}{exponent}"


def number_text(value: float, format: Format) -> str:
    """The same for a number of any format, also one that NumPy does not have."""
    bits, text = bits_of(value, format), f"{value:.6e}"
    if math.isfinite(value):
        if bits_of(float(text), format) == bits:
            return text
        text = repr(value) if format.width >= 64 else f"{value:.8e}"
        if (format.width == 32 or format.width >= 64) and bits_of(float(text), format) == bits:
            mantissa, mark, exponent = text.partition("e")
            return text if "." in mantissa else f"{mantissa}.0{mark}{exponent}"
    return f"0x{bits:0{-(-format.width // 4)}X}"


def _bits(value: Any, dtype: np.dtype[Any]) -> str:
    return f"0x{int.from_bytes(np.asarray(value, dtype).tobytes(), 'little'):0{2 * dtype.itemsize}X}"


def escaped(text: str) -> str:
    """A string literal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    parts = [chr(b) if 32 <= b < 127 and b not in (34, 92) else "\\\\" if b == 92 else f"\\{b:02X}" for b in text.encode("utf-8", "surrogateescape")]
    return f'"{"".join(parts)}"'


def _bare_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else escaped(key)


def symbol(name: str) -> str:
    """``@name``, quoted where it has to be."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{escaped(name)}"


def _scalar_texts(array: np.ndarray[Any, np.dtype[Any]], element: Attribute) -> list[str]:
    if is_complex(element):
        part_type = real_element(element)
        parts = _scalar_texts(array.view(dtype_of(part_type)), part_type)
        return [f"({re}, {im})" for re, im in zip(parts[::2], parts[1::2])]
    if array.dtype == np.bool_:
        return ["true" if v else "false" for v in array.tolist()]
    if isinstance(element, IntegerType | IndexType):
        return [str(int(v)) for v in array]
    return [float_text(v, array.dtype) for v in array]


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    for extent in reversed(shape):
        texts = [f"[{', '.join(texts[i : i + extent])}]" for i in range(0, len(texts), extent)]
    return texts[0]


def dense_text(attribute: DenseIntOrFPElementsAttr[Any], type_text: str) -> str:
    """``dense<...> : type``."""
    element = attribute.type.get_element_type()
    shape = tuple(attribute.type.get_shape())
    dtype = dtype_of(element)
    data = attribute.data.data
    if not data:
        return f"dense<> : {type_text}"
    array = np.frombuffer(data, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(data, dtype)
    if array.size == 1 or elements.is_splat(attribute):
        return f"dense<{_scalar_texts(array[:1], element)[0]}> : {type_text}"
    if array.size > HEX_LIMIT:
        data = array.tobytes()
        if is_integer(element) and element.width.data in (2, 4):
            data = (np.frombuffer(data, np.uint8) & ((1 << element.width.data) - 1)).tobytes()
        return f'dense<"0x{data.hex().upper()}"> : {type_text}'
    return f"dense<{_nested(_scalar_texts(array, element), shape)}> : {type_text}"


class _NestedPrinter(Printer):
    """xDSL's printer for the attributes that only it knows; what is inside them is written by us where we can."""

    def __init__(self, writer: AttributeWriter, stream: StringIO):
        super().__init__(stream)
        self._writer = writer

    def print_attribute(self, attribute: Attribute) -> None:
        if type(attribute) in _WRITERS or hasattr(attribute, "own_text"):
            self.print_string(self._writer.attribute_text(attribute))
        else:
            super().print_attribute(attribute)


class AttributeWriter:
    """Attributes and types as text, each made once."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Attribute, str]] = {}
        self._aliases: dict[Attribute, str] = {}

    def attribute_text(self, attribute: Attribute) -> str:
        """An attribute or a type."""
        attribute_and_text = self._texts.get(id(attribute))
        if attribute_and_text is None:
            write = _WRITERS.get(type(attribute))
            text = write(self, attribute) if write is not None else self._other(attribute)
            self._texts[id(attribute)] = attribute_and_text = (attribute, text)
        return attribute_and_text[1]

    type_text = attribute_text

    def dictionary_body(self, entries: Iterable[tuple[str, Attribute]]) -> str:
        """``{a = 1, b}``."""
        named = sorted((_bare_key(key), value) for key, value in entries)
        parts = [key if isinstance(value, UnitAttr) else f"{key} = {self.attribute_text(value)}" for key, value in named]
        return f"{{{', '.join(parts)}}}"

    def dictionary_text(self, attribute: DictionaryAttr | None) -> str:
        """A dictionary after a space, or nothing if it is empty."""
        return f" {self.dictionary_body(attribute.data.items())}" if attribute is not None and attribute.data else ""

    def _other(self, attribute: Attribute) -> str:
        own: Callable[[], str] | None = getattr(attribute, "own_text", None)
        if own is not None:  # it is not written by the name of its class
            return own()
        stream = StringIO()
        _NestedPrinter(self, stream).print_attribute(attribute)
        return stream.getvalue()

    def _dense(self, attribute: DenseIntOrFPElementsAttr[Any]) -> str:
        return dense_text(attribute, self.attribute_text(cast(Attribute, attribute.type)))

    def _tensor(self, type: TensorType[Any]) -> str:
        extents = "".join("?x" if e < 0 else f"{e}x" for e in type.get_shape())
        encoding = "" if isinstance(type.encoding, NoneAttr) else f", {self.attribute_text(type.encoding)}"
        return f"tensor<{extents}{self.attribute_text(type.element_type)}{encoding}>"

    def _memref(self, type: MemRefType[Any]) -> str:
        extents = "".join("?x" if e < 0 else f"{e}x" for e in type.get_shape())
        layout = "" if isinstance(type.layout, NoneAttr) else f", {self.attribute_text(type.layout)}"
        return f"memref<{extents}{self.attribute_text(type.element_type)}{layout}{self._space(type.memory_space)}>"

    def _space(self, space: Attribute) -> str:
        """A memory space; a number has no type there."""
        if isinstance(space, NoneAttr):
            return ""
        if isinstance(space, IntegerAttr) and (number := cast("IntegerAttr[Any]", space)).type == i64:
            return f", {number.value.data}"
        return f", {self.attribute_text(cast(Attribute, space))}"

    def _integer(self, attribute: IntegerAttr[Any]) -> str:
        type, value = attribute.type, attribute.value.data
        if type == i1:
            return "true" if value else "false"
        return f"{value} : {self.attribute_text(type)}"

    def _float(self, attribute: FloatAttr[Any]) -> str:
        format = format_of(attribute.type)
        assert format is not None
        return f"{number_text(attribute.value.data, format)} : {self.attribute_text(attribute.type)}"

    def _dense_array(self, attribute: DenseArrayBase[Any]) -> str:
        element_type = attribute.elt_type
        values = attribute.get_values()
        if is_boolean(element_type):
            shown = ["true" if v else "false" for v in values]
        elif is_integer(element_type):
            shown = [str(v) for v in values]
        else:
            shown = [float_text(v, dtype_of(element_type)) for v in values]
        return f"array<{self.attribute_text(element_type)}{': ' if shown else ''}{', '.join(shown)}>"

    def _array(self, attribute: ArrayAttr[Attribute]) -> str:
        return f"[{', '.join(self.attribute_text(a) for a in attribute)}]"

    def _symbol(self, attribute: SymbolRefAttr) -> str:
        return "::".join(symbol(s.data) for s in (attribute.root_reference, *attribute.nested_references))

    # -- locations

    def location(self, location: Attribute) -> str:
        """The text between the parentheses of ``loc(...)``."""
        if isinstance(location, UnknownLoc):
            return "unknown"
        if isinstance(location, FileLineColLoc):
            return f"{escaped(location.filename.data)}:{location.line.data}:{location.column.data}"
        if isinstance(location, NameLoc):
            inner = location.location
            return escaped(location.desc.data) + (f"({self.reference(inner)})" if isinstance(inner, LocationAttr) else "")
        if isinstance(location, CallSiteLoc):
            return f"callsite({self.reference(location.callee)} at {self.reference(location.caller)})"
        if isinstance(location, FusedLoc):
            metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{self.attribute_text(location.metadata)}>"
            parts = cast("ArrayAttr[Attribute]", location.locations)
            return f"fused{metadata}[{', '.join(map(self.reference, parts))}]"
        return self._other(location)

    def reference(self, location: Attribute) -> str:
        """A location inside another one, or after ``loc``: by its alias if it has one."""
        return self._aliases.get(location) or self.location(location)


_WRITERS: dict[type[Attribute], Callable[[AttributeWriter, Any], str]] = {
    DenseIntOrFPElementsAttr: AttributeWriter._dense,  # pyright: ignore[reportPrivateUsage]
    MemRefType: AttributeWriter._memref,  # pyright: ignore[reportPrivateUsage]
    TensorType: AttributeWriter._tensor,  # pyright: ignore[reportPrivateUsage]
    IntegerAttr: AttributeWriter._integer,  # pyright: ignore[reportPrivateUsage]
    FloatAttr: AttributeWriter._float,  # pyright: ignore[reportPrivateUsage]
    DenseArrayBase: AttributeWriter._dense_array,  # pyright: ignore[reportPrivateUsage]
    ArrayAttr: AttributeWriter._array,  # pyright: ignore[reportPrivateUsage]
    SymbolRefAttr: AttributeWriter._symbol,  # pyright: ignore[reportPrivateUsage]
    DictionaryAttr: lambda writer, a: writer.dictionary_body(a.data.items()),
    StringAttr: lambda writer, a: escaped(a.data),
    UnitAttr: lambda writer, a: "unit",
}

"""Bytecode encodings of the attributes and locations that MLIR itself defines.

A type that is used as an attribute is one here; MLIR wraps it. What has no layout (affine maps, strided layouts) is written in MLIR's assembly format.
"""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    BytesAttr,
    CallSiteLoc,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FloatData,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    NoneAttr,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
    VectorType,
)
from xdsl.ir import Attribute, TypeAttribute

from wengert.ir.attributes import bool_array, bool_attr
from wengert.ir.bytecode.builtin_types import BUILTIN_TYPES
from wengert.ir.bytecode.dense import constant, elements_of, stored
from wengert.ir.bytecode.fields import (
    ATTRIBUTE,
    ATTRIBUTES,
    BLOB,
    RESOURCE,
    STRING,
    TYPE,
    VARINT,
    Encoding,
    EntryReader,
    EntryWriter,
    Field,
    Layout,
    list_of,
    pair_of,
    read_integer,
    write_integer,
)
from wengert.ir.construction import unverified
from wengert.ir.float_formats import bits_of, format_of, value_of
from wengert.ir.location.locations import text_of
from wengert.ir.tensor_types import UnsupportedElementError, dtype_of, i1

_UNIT = UnitAttr()
_NONE = NoneAttr()
_WIDTHS = (1, 8, 16, 32, 64)


def _width(type: Attribute, reader: Any = None) -> int:
    """The bits of an integer type."""
    if isinstance(type, IndexType):
        return 64
    if not isinstance(type, IntegerType):
        raise ValueError(f"an integer cannot be of type {type}")
    return type.width.data


def integer_of(type: Attribute, value: int) -> Attribute:
    """The integer attribute of a number that was read with a sign."""
    if type == i1:
        return bool_attr(bool(value))
    if isinstance(type, IntegerType) and (type.signedness.data is Signedness.UNSIGNED or type.width.data == 1):
        value &= (1 << type.width.data) - 1
    return IntegerAttr(value, cast("Any", type))


# An integer or a float is read in as many bits as its type has, so that these fields read the type too.


def _read_integer(reader: EntryReader) -> Attribute:
    type = reader.type()
    return integer_of(type, read_integer(reader, _width(type)))


def _write_integer(writer: EntryWriter, attribute: Any) -> None:
    writer.type(attribute.type)
    write_integer(writer, attribute.value.data, _width(attribute.type))


def read_float(reader: EntryReader, type: Attribute) -> float:
    """Reads a number of a floating-point type by its bit pattern."""
    format = format_of(type)
    if format is None:
        raise ValueError(f"a floating-point number cannot be of type {type}")
    value = value_of(read_integer(reader, format.width) & (1 << format.width) - 1, format)
    if value is None:
        raise ValueError(f"numbers of {type} beyond the digits or the range of f64 are not supported")
    return value


def write_float(writer: EntryWriter, value: float, type: Attribute) -> None:
    """Writes a number of a floating-point type by its bit pattern."""
    format = format_of(type)
    assert format is not None
    write_integer(writer, bits_of(value, format), format.width)


def _read_float(reader: EntryReader) -> Attribute:
    type = reader.type()
    return unverified(FloatAttr, value=FloatData(read_float(reader, type)), type=type)


def _write_float(writer: EntryWriter, attribute: Any) -> None:
    writer.type(attribute.type)
    write_float(writer, attribute.value.data, attribute.type)


def _read_range(reader: EntryReader) -> tuple[int, int]:
    numbers = [reader.varint() for _ in range(reader.count("numbers"))]
    return (*numbers, 0, 0)[:2]  # pyright: ignore[reportReturnType]


_INTEGER = Field(_read_integer, _write_integer)
_FLOAT = Field(_read_float, _write_float)
_RANGE = Field(_read_range, lambda writer, value: None)


def check_constant(type: Attribute) -> tuple[tuple[int, ...], Attribute]:
    """The shape and the element type of a constant's type; ValueError for a type of which there are no constants here."""
    if not isinstance(type, TensorType | VectorType):
        raise ValueError(f"a dense constant needs a tensor or vector type, found {type}")
    shaped = cast("Any", type)
    shape, element = tuple(shaped.get_shape()), shaped.get_element_type()
    if any(extent < 0 for extent in shape):
        raise ValueError(f"a dense constant needs a static shape, found {type}")
    try:
        dtype_of(element)
    except UnsupportedElementError:
        raise ValueError(f"constants of element type {element} are not supported") from None
    return shape, element


def dense_of(type: Attribute, data: bytes) -> Attribute:
    """The constant of a type with the elements that MLIR stores in these bytes."""
    shape, element = check_constant(type)
    elements = elements_of(data, shape, element)
    if elements is None:
        raise ValueError(f"{len(data)} bytes are not the elements of {type}")
    return constant(type, elements)


def _resource_of(type: Attribute, resource: tuple[str, bytes | None]) -> Attribute:
    name, data = resource
    if data is not None:
        return dense_of(type, data)
    if not isinstance(type, TensorType):
        raise ValueError(f"a resource is a tensor, found {type}")
    return DenseResourceAttr.from_params(name, cast("TensorType[Any]", type))


def _dense_array(type: Attribute, size: int, data: bytes) -> Attribute:
    if type == i1:
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes are not {size} booleans")
        return bool_array([byte != 0 for byte in data])
    width = type.width.data if isinstance(type, IntegerType) else format.width if (format := format_of(type)) else 0
    if width not in _WIDTHS or len(data) != size * width // 8:
        raise ValueError(f"{len(data)} bytes are not an array of {size} elements of {type}")
    return unverified(DenseArrayBase, elt_type=type, data=BytesAttr(data))


def _array_parts(array: Any) -> tuple[Attribute, int, bytes]:
    if array.elt_type == i1:
        values = [bool(value) for value in array.get_values()]
        return array.elt_type, len(values), bytes(values)
    data = array.data.data
    width = array.elt_type.width.data if isinstance(array.elt_type, IntegerType) else cast("Any", format_of(array.elt_type)).width
    return array.elt_type, len(data) * 8 // width, data


def _location(attribute: Attribute) -> LocationAttr:
    if not isinstance(attribute, LocationAttr):
        raise ValueError("a location was expected")
    return attribute


def _text(attribute: Attribute) -> StringAttr:
    if not isinstance(attribute, StringAttr):
        raise ValueError("a string was expected")
    return attribute


def _file(name: Attribute, line: int, column: int) -> Attribute:
    if max(line, column) >= 1 << 32:
        raise ValueError(f"{max(line, column)} is not the number of a line or a column")
    return unverified(FileLineColLoc, filename=_text(name), line=IntAttr(line), column=IntAttr(column))


def _fused(locations: list[Attribute], metadata: Attribute = _NONE) -> Attribute:
    return unverified(FusedLoc, locations=unverified(ArrayAttr, data=tuple(map(_location, locations))), metadata=metadata)


def _named(name: Attribute, inner: Attribute) -> Attribute:
    return unverified(NameLoc, desc=_text(name), location=_NONE if isinstance(inner, UnknownLoc) else _location(inner))


def _dictionary(entries: list[tuple[Attribute, Attribute]]) -> Attribute:
    return DictionaryAttr({_text(name).data: value for name, value in entries})


def _symbol(name: Attribute, nested: list[Attribute] | None = None) -> Attribute:
    return SymbolRefAttr(_text(name), [_text(part.root_reference).data for part in cast("list[SymbolRefAttr]", nested or [])])


def _refused(what: str) -> Any:
    def make(*_: Any) -> NoReturn:
        raise ValueError(f"{what} are not supported")

    return make


def _never(_: Any) -> None:
    return None


def _nested_parts(symbol: SymbolRefAttr) -> tuple[Attribute, list[Attribute]]:
    return symbol.root_reference, [SymbolRefAttr(name) for name in symbol.nested_references.data]


def _is_flat(symbol: SymbolRefAttr) -> bool:
    return not symbol.nested_references.data


def _dictionary_parts(attribute: DictionaryAttr) -> tuple[list[tuple[Attribute, Attribute]]]:
    return ([(text_of(name), value) for name, value in sorted(attribute.data.items())],)


def _fused_parts(location: FusedLoc) -> tuple[Any, Any]:
    return cast("ArrayAttr[Attribute]", location.locations).data, location.metadata


_ENTRIES = list_of(pair_of(ATTRIBUTE, ATTRIBUTE), "entries")

BUILTIN_ATTRIBUTES = (
    Layout(0, ArrayAttr, (ATTRIBUTES,), ArrayAttr, lambda a: (a.data,)),
    Layout(1, DictionaryAttr, (_ENTRIES,), _dictionary, _dictionary_parts),
    Layout(2, StringAttr, (STRING,), text_of, lambda a: (a.data,)),
    Layout(3, StringAttr, (STRING, TYPE), _refused("strings with a type"), _never),
    Layout(4, SymbolRefAttr, (ATTRIBUTE,), _symbol, lambda a: (a.root_reference,) if _is_flat(a) else None),
    Layout(5, SymbolRefAttr, (ATTRIBUTE, ATTRIBUTES), _symbol, _nested_parts),
    Layout(6, TypeAttribute, (TYPE,), lambda type: type, lambda a: (a,)),
    Layout(7, UnitAttr, (), lambda: _UNIT, lambda _: ()),
    Layout(8, IntegerAttr, (_INTEGER,), lambda attribute: attribute, lambda a: (a,)),
    Layout(9, FloatAttr, (_FLOAT,), lambda attribute: attribute, lambda a: (a,)),
    Layout(
        10, CallSiteLoc, (ATTRIBUTE, ATTRIBUTE), lambda a, b: unverified(CallSiteLoc, callee=_location(a), caller=_location(b)), lambda a: (a.callee, a.caller)
    ),
    Layout(11, FileLineColLoc, (ATTRIBUTE, VARINT, VARINT), _file, lambda a: (a.filename, a.line.data, a.column.data)),
    Layout(12, FusedLoc, (ATTRIBUTES,), _fused, lambda a: (a.locations.data,) if a.metadata == _NONE else None),
    Layout(13, FusedLoc, (ATTRIBUTES, ATTRIBUTE), _fused, _fused_parts),
    Layout(14, NameLoc, (ATTRIBUTE, ATTRIBUTE), _named, lambda a: (a.desc, UNKNOWN_LOC if a.location == _NONE else a.location)),
    Layout(15, UnknownLoc, (), lambda: UNKNOWN_LOC, lambda _: ()),
    Layout(16, DenseResourceAttr, (TYPE, RESOURCE), _resource_of, lambda a: (a.type, (a.resource_handle.data, None))),
    Layout(17, DenseArrayBase, (TYPE, VARINT, BLOB), _dense_array, _array_parts),
    Layout(18, DenseIntOrFPElementsAttr, (TYPE, BLOB), dense_of, lambda a: (a.type, stored(a))),
    Layout(19, Attribute, (), _refused("constants of strings"), _never),
    Layout(20, Attribute, (), _refused("'sparse' attributes"), _never),
    Layout(21, Attribute, (), _refused("'distinct' attributes"), _never),
    Layout(22, FileLineColLoc, (ATTRIBUTE, _RANGE), lambda name, place: _file(name, *place), _never),
)
"""The layouts of builtin attributes and locations."""

BUILTIN = Encoding(BUILTIN_ATTRIBUTES, BUILTIN_TYPES)

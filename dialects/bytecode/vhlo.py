"""Bytecode encodings of VHLO's attributes and types (the numbers are those of StableHLO's VhloBytecode.cpp).

An attribute of VHLO is held as what it stands for, and so is all that is inside of it; in a file the inside is of VHLO too, but for what is of another dialect
in a program that mixes them (since version 1.11).
"""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FloatData,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    NoneType,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
    UnregisteredAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, TypeAttribute

from wengert.dialects.bytecode.records import integers
from wengert.dialects.bytecode.stablehlo import DOUBLE
from wengert.dialects.quant import UniformQuantizedType
from wengert.dialects.stablehlo import attributes as a
from wengert.dialects.stablehlo.annotations import OutputOperandAliasAttr, ResultAccuracyAttr, ResultAccuracyModeAttr
from wengert.dialects.stablehlo.bounds import BoundsAttr
from wengert.dialects.vhlo.attributes import CustomCallApiVersionAttr, VhloAttribute, VhloType, vhlo_type
from wengert.ir.attributes import bool_attr, int_attr, int_of
from wengert.ir.bytecode.builtin_attributes import check_constant, dense_of, integer_of, read_float, write_float
from wengert.ir.bytecode.builtin_types import SHAPE
from wengert.ir.bytecode.dense import constant, stored
from wengert.ir.bytecode.fields import (
    BLOB,
    SIGNED,
    STRING,
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
from wengert.ir.location.locations import text_of
from wengert.ir.tensor_types import bf16, f16, f32, f64, i1, tensor

_WHOLE = -1


def _read_type(reader: EntryReader) -> Attribute:
    type = reader.type()
    return type.of if isinstance(type, VhloType) else type


def _read_attribute(reader: EntryReader) -> Attribute:
    attribute = reader.attribute()
    return attribute.of if isinstance(attribute, VhloAttribute) else attribute


TYPE = Field(_read_type, lambda writer, value: writer.type(vhlo_type(value)))
ATTRIBUTE = Field(_read_attribute, lambda writer, value: writer.attribute(value if isinstance(value, UnregisteredAttr) else VhloAttribute(value)))
TYPES, ATTRIBUTES = list_of(TYPE, "types"), list_of(ATTRIBUTE, "attributes")

Parts = Callable[[Any], Sequence[Any]]


def _attribute(code: int, cls: type[Attribute], fields: tuple[Field, ...], make: Callable[..., Attribute], parts: Parts) -> Layout:
    """The layout of the attributes of VHLO that stand for those of a class."""
    return Layout(code, VhloAttribute, fields, lambda *values: VhloAttribute(make(*values)), lambda v: parts(v.of) if isinstance(v.of, cls) else None)


def _type(code: int, cls: type[Attribute], fields: tuple[Field, ...], make: Callable[..., Attribute], parts: Parts) -> Layout:
    """The layout of the types of VHLO that stand for those of a class; ``parts`` may say None of one that this layout does not fit."""
    return Layout(code, VhloType, fields, lambda *values: VhloType(make(*values)), lambda v: parts(v.of) if isinstance(v.of, cls) else None)


def _only(code: int, of: Attribute) -> Layout:
    """The layout of the type that stands for one type alone."""
    made = VhloType(of)
    return Layout(code, VhloType, (), lambda: made, lambda v: () if v.of == of else None)


def _words(code: int, cls: type[EnumAttribute[Any]]) -> Layout:
    members = list(cls.enum_type)

    def make(number: int) -> Attribute:
        if number >= len(members):
            raise ValueError(f"there is no word {number} in {cls.name}")
        return cls(members[number])

    return _attribute(code, cls, (VARINT,), make, lambda of: (members.index(of.data),))


def _integer(reader: EntryReader) -> Attribute:
    type = _read_type(reader)
    width = 64 if isinstance(type, IndexType) else type.width.data if isinstance(type, IntegerType) else 0
    if not width:
        raise ValueError(f"an integer cannot be of type {type}")
    return integer_of(type, read_integer(reader, width))


def _write_integer(writer: EntryWriter, value: Any) -> None:
    writer.type(vhlo_type(value.type))
    write_integer(writer, value.value.data, 64 if isinstance(value.type, IndexType) else value.type.width.data)


def _float(reader: EntryReader) -> Attribute:
    type = _read_type(reader)
    return unverified(FloatAttr, value=FloatData(read_float(reader, type)), type=type)


def _write_float(writer: EntryWriter, value: Any) -> None:
    writer.type(vhlo_type(value.type))
    write_float(writer, value.value.data, value.type)


def _constant(type: Attribute, data: bytes) -> Attribute:
    shape, element = check_constant(type)
    if element == i1 and len(data) > 1 and data.strip(b"\0\1") == b"":
        count = 1
        for extent in shape:
            count *= extent
        if len(data) == count:  # as some versions wrote them: a byte each
            return constant(type, data[:1] if data == data[:1] * count else data)
    return dense_of(type, data)


def _boolean(number: int) -> Attribute:
    if number > 1:
        raise ValueError(f"{number} is no boolean")
    return bool_attr(bool(number))


def _dictionary(entries: list[tuple[Attribute, Attribute]]) -> Attribute:
    for key, _ in entries:
        if not isinstance(key, StringAttr):
            raise ValueError("a string was expected")
    return DictionaryAttr({cast(StringAttr, key).data: value for key, value in entries})


def _accuracy(atol: float, rtol: float, ulps: int, mode: Attribute) -> Attribute:
    if not isinstance(mode, ResultAccuracyModeAttr):
        raise ValueError("the mode of an accuracy is none")
    return ResultAccuracyAttr.new([FloatAttr(atol, f64), FloatAttr(rtol, f64), int_attr(ulps), mode])


def _record(code: int, layout: Layout) -> Layout:
    """The layout of what VHLO encodes as StableHLO does."""
    return _attribute(code, layout.cls, layout.fields, layout.make, cast("Parts", layout.parts))


def _booleans_apart(layout: Layout) -> Layout:
    """Integers but for booleans, which have a layout of their own."""
    return Layout(layout.code, layout.cls, layout.fields, layout.make, lambda v: None if isinstance(v.of, IntegerAttr) and v.of.type == i1 else layout.parts(v))


def _unsigned(storage: IntegerType) -> bool:
    return storage.signedness.data is Signedness.UNSIGNED


def _quantized(flags: int, storage: Attribute, expressed: Attribute, scale: float, zero: int, least: int, greatest: int) -> Attribute:
    return _quantized_type(storage, expressed, _WHOLE, [scale], [zero], least, greatest)


def _per_axis(flags: int, storage: Attribute, expressed: Attribute, axis: int, least: int, greatest: int, scales: list[float], zeros: list[int]) -> Attribute:
    return _quantized_type(storage, expressed, axis, scales, zeros, least, greatest)


def _quantized_type(storage: Attribute, expressed: Attribute, axis: int, scales: list[float], zeros: list[int], least: int, greatest: int) -> Attribute:
    if not isinstance(storage, IntegerType):
        raise ValueError(f"quantized elements are stored as integers, not as {storage}")
    kept = ArrayAttr([FloatAttr(scale, f64) for scale in scales]), ArrayAttr([IntAttr(zero) for zero in zeros])
    return UniformQuantizedType(storage, IntAttr(least), IntAttr(greatest), expressed, IntAttr(axis), *kept)


def _quantized_parts(of: UniformQuantizedType) -> Sequence[Any] | None:
    if of.axis is not None:
        return None
    return int(not _unsigned(of.storage)), of.storage, of.expressed, of.scales[0], of.zero_points[0], *of.bounds


def _per_axis_parts(of: UniformQuantizedType) -> Sequence[Any] | None:
    return int(not _unsigned(of.storage)), of.storage, of.expressed, of.axis, *of.bounds, of.scales, of.zero_points


def _is_boolean(v: Any) -> Sequence[Any] | None:
    return (int_of(v.of),) if isinstance(v.of, IntegerAttr) and v.of.type == i1 else None


_INTEGER, _FLOAT = Field(_integer, _write_integer), Field(_float, _write_float)
_ENTRIES = list_of(pair_of(ATTRIBUTE, ATTRIBUTE), "entries")

_ATTRIBUTES = (
    _attribute(1, ArrayAttr, (ATTRIBUTES,), ArrayAttr, lambda of: (of.data,)),
    Layout(2, VhloAttribute, (VARINT,), lambda number: VhloAttribute(_boolean(number)), _is_boolean),
    _words(3, a.ComparisonDirectionAttr),
    _words(4, a.ComparisonTypeAttr),
    _words(5, CustomCallApiVersionAttr),
    _attribute(6, DictionaryAttr, (_ENTRIES,), _dictionary, lambda of: ([(text_of(key), value) for key, value in sorted(of.data.items())],)),
    _words(7, a.FftTypeAttr),
    _attribute(8, FloatAttr, (_FLOAT,), lambda value: value, lambda of: (of,)),
    _booleans_apart(_attribute(9, IntegerAttr, (_INTEGER,), lambda value: value, lambda of: (of,))),
    _record(10, integers(10, OutputOperandAliasAttr, "lil")),
    _words(11, a.PrecisionAttr),
    _words(12, a.RngAlgorithmAttr),
    _words(13, a.RngDistributionAttr),
    _attribute(14, StringAttr, (STRING,), text_of, lambda of: (of.data,)),
    _attribute(15, DenseIntOrFPElementsAttr, (TYPE, BLOB), _constant, lambda of: (of.type, stored(of))),
    _words(16, a.TransposeAttr),
    _attribute(17, TypeAttribute, (TYPE,), lambda type: type, lambda of: (of,)),
    _record(18, integers(18, BoundsAttr, "l")),
    _words(19, ResultAccuracyModeAttr),
    _attribute(
        20,
        ResultAccuracyAttr,
        (DOUBLE, DOUBLE, SIGNED, ATTRIBUTE),
        _accuracy,
        lambda of: (of.atol.value.data, of.rtol.value.data, int_of(of.ulps), of.mode),
    ),
)


def _plain_tensor(of: Any) -> Sequence[Any] | None:
    return (tuple(of.get_shape()), of.element_type) if isinstance(of.encoding, NoneAttr) else None


def _bounded(encoding: Attribute, shape: tuple[int, ...], element: Attribute) -> Attribute:
    return TensorType(cast("Any", element), shape, encoding)


_UNSIGNED = {width: IntegerType(width, Signedness.UNSIGNED) for width in (2, 4, 8, 16, 32, 64)}
_SINGLE: tuple[tuple[int, Attribute], ...] = (
    (0, i1),
    (2, bf16),
    (3, f16),
    (4, f32),
    (5, f64),
    (6, builtin.Float8E4M3FNType()),
    (7, builtin.Float8E5M2Type()),
    (9, IndexType()),
    *((code, IntegerType(width)) for code, width in ((10, 4), (11, 8), (12, 16), (13, 32), (14, 64), (31, 2))),
    *((code, _UNSIGNED[width]) for code, width in ((15, 4), (16, 8), (17, 16), (18, 32), (19, 64), (32, 2))),
    (22, a.TokenType()),
    (27, builtin.Float8E4M3FNUZType()),
    (28, builtin.Float8E5M2FNUZType()),
    (29, builtin.Float8E4M3B11FNUZType()),
    (33, NoneType()),
    (34, builtin.FloatTF32Type()),
    (35, builtin.Float8E4M3Type()),
    (36, builtin.Float8E3M4Type()),
    (37, builtin.Float4E2M1FNType()),
    (38, builtin.Float6E2M3FNType()),
    (39, builtin.Float6E3M2FNType()),
    (40, builtin.Float8E8M0FNUType()),
)

_TYPES = (
    _type(20, TensorType, (SHAPE, TYPE), tensor, cast("Parts", _plain_tensor)),
    _type(21, TensorType, (ATTRIBUTE, SHAPE, TYPE), _bounded, lambda of: (of.encoding, tuple(of.get_shape()), of.element_type)),
    *(_only(code, of) for code, of in _SINGLE),
    _type(1, ComplexType, (TYPE,), ComplexType, lambda of: (of.element_type,)),
    _type(8, FunctionType, (TYPES, TYPES), FunctionType.from_lists, lambda of: (of.inputs.data, of.outputs.data)),
    _type(23, TupleType, (TYPES,), lambda types: TupleType(ArrayAttr(types)), lambda of: (of.types.data,)),
    _type(24, UniformQuantizedType, (VARINT, TYPE, TYPE, DOUBLE, SIGNED, SIGNED, SIGNED), _quantized, cast("Parts", _quantized_parts)),
    _type(25, UnrankedTensorType, (TYPE,), UnrankedTensorType, lambda of: (of.element_type,)),
    _type(
        30,
        UniformQuantizedType,
        (VARINT, TYPE, TYPE, VARINT, SIGNED, SIGNED, list_of(DOUBLE, "scales"), list_of(SIGNED, "zero points")),
        _per_axis,
        cast("Parts", _per_axis_parts),
    ),
)

ENCODING = Encoding(_ATTRIBUTES, _TYPES)

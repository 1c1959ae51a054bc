"""Bytecode encodings of the types that MLIR itself defines.

A type without a layout here is written in MLIR's assembly format, which every reader takes. So are the floats of eight bits and fewer on writing, for MLIR's
readers know their numbers only since version 22.
"""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    ComplexType,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    NoneType,
    Signedness,
    TensorType,
    TupleType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from wengert.ir.bytecode.fields import ATTRIBUTE, BLOB, SIGNEDS, TYPE, TYPES, VARINT, Field, Layout
from wengert.ir.tensor_types import DYNAMIC, checked_encoding, tensor

_NONE = NoneAttr()
_DYNAMIC = -(1 << 63)
_SIGNS = (Signedness.SIGNLESS, Signedness.SIGNED, Signedness.UNSIGNED)
_WIDEST = (1 << 24) - 1
HIGHEST_RANK = 256


def _read_shape(reader: Any) -> tuple[int, ...]:
    extents = SIGNEDS.read(reader)
    if len(extents) > HIGHEST_RANK:
        reader.fail(f"a type of {len(extents)} dimensions is not supported, at most {HIGHEST_RANK} are")
    if any(extent < 0 and extent != _DYNAMIC for extent in extents):
        reader.fail("the bytecode is damaged: a dimension of a type is negative")
    return tuple(DYNAMIC if extent == _DYNAMIC else extent for extent in extents)


def _write_shape(writer: Any, shape: tuple[int, ...]) -> None:
    SIGNEDS.write(writer, [_DYNAMIC if extent == DYNAMIC else extent for extent in shape])


SHAPE = Field(_read_shape, _write_shape)
"""The extents of a type."""


def _integer(coded: int) -> Attribute:
    width, sign = coded >> 2, coded & 3
    if width > _WIDEST or sign > 2:
        raise ValueError("there is no such integer type")
    return IntegerType(width, _SIGNS[sign])


def _encoded_tensor(encoding: Attribute, shape: tuple[int, ...], element: Attribute) -> Attribute:
    problem, kept = checked_encoding(encoding, shape)
    if problem:
        raise ValueError(problem)
    return TensorType(element, shape, kept)  # pyright: ignore[reportUnknownVariableType, reportArgumentType]


def _layout(layout: Attribute) -> Attribute:
    """A layout as it is held here: none for the usual one."""
    return _NONE if isinstance(layout, AffineMapAttr) and layout.data == AffineMap.identity(layout.data.num_dims) else layout


def _written_layout(type: Any) -> Attribute:
    rank = len(type.get_shape())
    return AffineMapAttr(AffineMap.identity(rank)) if type.layout == _NONE else type.layout


def _memref(shape: tuple[int, ...], element: Attribute, layout: Attribute) -> Attribute:
    return MemRefType(element, shape, _layout(layout))  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _memref_in(space: Attribute, shape: tuple[int, ...], element: Attribute, layout: Attribute) -> Attribute:
    return MemRefType(element, shape, _layout(layout), space)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _vector(shape: tuple[int, ...], element: Attribute) -> Attribute:
    return VectorType(element, shape)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _scalable(flags: bytes, shape: tuple[int, ...], element: Attribute) -> Attribute:
    scalable = ArrayAttr([_scalable_flag(flag) for flag in flags])
    return VectorType(element, shape, scalable)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _scalable_flag(flag: int) -> Any:
    """Whether a dimension is scalable, as xDSL holds it."""
    return builtin.BoolAttr.from_bool(bool(flag))


def _flags(type: Any) -> list[bool]:
    return [bool(flag.value.data) for flag in type.scalable_dims]


def _checked_complex(element: Attribute) -> Attribute:
    return ComplexType(cast("Any", element))


def _extents(type: Any) -> tuple[int, ...]:
    return tuple(type.get_shape())


def _plain(code: int, cls: Any) -> Layout:
    only = cls()
    return Layout(code, cls, (), lambda: only, lambda _: ())


_LATER = (
    (21, builtin.FloatTF32Type),
    (22, builtin.Float8E5M2Type),
    (23, builtin.Float8E4M3Type),
    (24, builtin.Float8E4M3FNType),
    (25, builtin.Float8E5M2FNUZType),
    (26, builtin.Float8E4M3FNUZType),
    (27, builtin.Float8E4M3B11FNUZType),
    (28, builtin.Float8E3M4Type),
    (29, builtin.Float4E2M1FNType),
    (30, builtin.Float6E2M3FNType),
    (31, builtin.Float6E3M2FNType),
    (32, builtin.Float8E8M0FNUType),
)


def _later(code: int, cls: Any) -> Layout:
    """A type that is read by a number, and written in the assembly format."""
    only = cls()
    return Layout(code, cls, (), lambda: only, lambda _: None)


BUILTIN_TYPES = (
    Layout(0, IntegerType, (VARINT,), _integer, lambda t: (t.width.data << 2 | _SIGNS.index(t.signedness.data),)),
    _plain(1, IndexType),
    Layout(2, FunctionType, (TYPES, TYPES), FunctionType.from_lists, lambda t: (t.inputs.data, t.outputs.data)),
    _plain(3, builtin.BFloat16Type),
    _plain(4, builtin.Float16Type),
    _plain(5, builtin.Float32Type),
    _plain(6, builtin.Float64Type),
    _plain(7, builtin.Float80Type),
    _plain(8, builtin.Float128Type),
    Layout(9, ComplexType, (TYPE,), _checked_complex, lambda t: (t.element_type,)),
    Layout(10, MemRefType, (SHAPE, TYPE, ATTRIBUTE), _memref, lambda t: (_extents(t), t.element_type, _written_layout(t)) if t.memory_space == _NONE else None),
    Layout(11, MemRefType, (ATTRIBUTE, SHAPE, TYPE, ATTRIBUTE), _memref_in, lambda t: (t.memory_space, _extents(t), t.element_type, _written_layout(t))),
    _plain(12, NoneType),
    Layout(13, TensorType, (SHAPE, TYPE), tensor, lambda t: (_extents(t), t.element_type) if t.encoding == _NONE else None),
    Layout(14, TensorType, (ATTRIBUTE, SHAPE, TYPE), _encoded_tensor, lambda t: (t.encoding, _extents(t), t.element_type)),
    Layout(15, TupleType, (TYPES,), lambda types: TupleType(ArrayAttr(types)), lambda t: (t.types.data,)),
    Layout(16, UnrankedMemRefType, (TYPE,), UnrankedMemRefType.from_type, lambda t: (t.element_type,) if t.memory_space == _NONE else None),
    Layout(17, UnrankedMemRefType, (ATTRIBUTE, TYPE), lambda space, t: UnrankedMemRefType.from_type(t, space), lambda t: (t.memory_space, t.element_type)),
    Layout(18, UnrankedTensorType, (TYPE,), UnrankedTensorType, lambda t: (t.element_type,)),
    Layout(19, VectorType, (SHAPE, TYPE), _vector, lambda t: (_extents(t), t.element_type) if not any(_flags(t)) else None),
    Layout(20, VectorType, (BLOB, SHAPE, TYPE), _scalable, lambda t: (bytes(_flags(t)), _extents(t), t.element_type)),
    *(_later(code, cls) for code, cls in _LATER),
)
"""The layouts of builtin types."""

"""Tensor types: construction with sharing, and questions about shape and element type.

Types are immutable, and comparing shared objects with ``is`` is ten times cheaper than ``==``; so every type that the
compiler makes comes from :func:`tensor`, which returns one object per (shape, element type).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    RankedStructure,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue

f64 = Float64Type()
f32 = Float32Type()
f16 = Float16Type()
bf16 = BFloat16Type()
c64 = ComplexType(f32)
c128 = ComplexType(f64)
i1, i4, i8, i16, i32, i64 = (IntegerType(width) for width in (1, 4, 8, 16, 32, 64))
ui4, ui8, ui16, ui32, ui64 = (IntegerType(width, Signedness.UNSIGNED) for width in (4, 8, 16, 32, 64))
EIGHT_BITS = (
    Float8E3M4Type(),
    Float8E4M3Type(),
    Float8E4M3FNType(),
    Float8E4M3FNUZType(),
    Float8E4M3B11FNUZType(),
    Float8E5M2Type(),
    Float8E5M2FNUZType(),
)
"""Floats of eight bits with a sign and a mantissa."""

DYNAMIC = DYNAMIC_INDEX
"""The extent that stands for ``?`` in a shape (xDSL's, so that its parser and printer agree)."""

_DTYPES: dict[Attribute, np.dtype[Any]] = {
    f64: np.dtype(np.float64),
    f32: np.dtype(np.float32),
    f16: np.dtype(np.float16),
    c64: np.dtype(np.complex64),
    c128: np.dtype(np.complex128),
    i1: np.dtype(np.bool_),
    i8: np.dtype(np.int8),
    i16: np.dtype(np.int16),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    ui8: np.dtype(np.uint8),
    ui16: np.dtype(np.uint16),
    ui32: np.dtype(np.uint32),
    ui64: np.dtype(np.uint64),
}
_ELEMENTS = {dtype: element for element, dtype in _DTYPES.items()}
_DTYPES[IndexType()] = np.dtype(np.int64)
_DTYPES.update({IntegerType(width, Signedness.SIGNED): np.dtype(f"int{width}") for width in (8, 16, 32, 64)})


@lru_cache(maxsize=1)
def _narrow_dtypes() -> dict[Attribute, np.dtype[Any]]:
    """The dtypes that NumPy lacks."""
    import ml_dtypes  # here, because most programs do without

    return {
        bf16: np.dtype(ml_dtypes.bfloat16),
        IntegerType(2): np.dtype(ml_dtypes.int2),
        i4: np.dtype(ml_dtypes.int4),
        IntegerType(2, Signedness.UNSIGNED): np.dtype(ml_dtypes.uint2),
        ui4: np.dtype(ml_dtypes.uint4),
        Float8E3M4Type(): np.dtype(ml_dtypes.float8_e3m4),
        Float8E4M3Type(): np.dtype(ml_dtypes.float8_e4m3),
        Float8E4M3FNType(): np.dtype(ml_dtypes.float8_e4m3fn),
        Float8E4M3FNUZType(): np.dtype(ml_dtypes.float8_e4m3fnuz),
        Float8E4M3B11FNUZType(): np.dtype(ml_dtypes.float8_e4m3b11fnuz),
        Float8E5M2Type(): np.dtype(ml_dtypes.float8_e5m2),
        Float8E5M2FNUZType(): np.dtype(ml_dtypes.float8_e5m2fnuz),
        Float8E8M0FNUType(): np.dtype(ml_dtypes.float8_e8m0fnu),
        Float6E2M3FNType(): np.dtype(ml_dtypes.float6_e2m3fn),
        Float6E3M2FNType(): np.dtype(ml_dtypes.float6_e3m2fn),
        Float4E2M1FNType(): np.dtype(ml_dtypes.float4_e2m1fn),
    }


@lru_cache(maxsize=1)
def _narrow_elements() -> dict[np.dtype[Any], Attribute]:
    return {dtype: element for element, dtype in _narrow_dtypes().items()}


@lru_cache(maxsize=4096)
def _tensor(shape: tuple[int, ...], element: Attribute) -> TensorType[Any]:
    return TensorType(element, shape)


def tensor(shape: Sequence[int], element: Attribute) -> TensorType[Any]:
    """The shared tensor type of this shape and element type."""
    return _tensor(tuple(shape), element)


EncodingCheck = Callable[[Attribute, Sequence[int]], tuple[str, Attribute]]
_ENCODING_CHECKS: dict[type[Attribute], EncodingCheck] = {}


def encoding_check(*classes: type[Attribute]) -> Callable[[EncodingCheck], EncodingCheck]:
    """Registers what is asked of encodings of these classes: what is wrong with one for a shape, and how it is to be kept."""

    def register(check: EncodingCheck) -> EncodingCheck:
        _ENCODING_CHECKS.update(dict.fromkeys(classes, check))
        return check

    return register


def checked_encoding(encoding: Attribute, shape: Sequence[int]) -> tuple[str, Attribute]:
    """Checks the encoding of a tensor of this shape: what is wrong with it (nothing of an unknown one), and the encoding to keep."""
    check = _ENCODING_CHECKS.get(type(encoding))
    return ("", encoding) if check is None else check(encoding, shape)


def type_of(value: SSAValue) -> TensorType[Any]:
    """The value's type, which must be a ranked tensor (else a TypeError)."""
    type: Any = value.type
    if type.__class__ is TensorType or issubclass(type.__class__, TensorType):
        return type
    raise TypeError(f"expected a ranked tensor, found {type}")


def shape_of_type(type: TensorType[Any]) -> tuple[int, ...]:
    """The extents of a tensor type as Python integers.

    They are kept on the type: this is asked so often that even hashing the type for a table would be seen.
    """
    extents = type.__dict__.get("_extents")
    if extents is None:
        extents = tuple(type.get_shape())
        object.__setattr__(type, "_extents", extents)
    return extents


def shape(value: SSAValue) -> tuple[int, ...]:
    """The extents of a tensor value."""
    extents = value.type.__dict__.get("_extents")
    return shape_of_type(type_of(value)) if extents is None else extents


def rank(value: SSAValue) -> int:
    """The number of dimensions of a tensor value."""
    return len(shape(value))


def size(value: SSAValue) -> int:
    """The number of elements of a statically shaped tensor value."""
    return prod(shape(value))


def element(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return type_of(value).element_type


def is_float(element: Attribute) -> bool:
    """Real floating point of any width."""
    return _float_class(type(element))


@lru_cache(maxsize=64)
def _float_class(cls: type[Attribute]) -> bool:
    return hasattr(cls, "bitwidth") and not issubclass(cls, IntegerType | ComplexType)


def is_complex(element: Attribute) -> TypeGuard[ComplexType[Any]]:
    """Complex floating point."""
    return type(element) is ComplexType


def is_integer(element: Attribute) -> TypeGuard[IntegerType]:
    """Signed, unsigned or boolean integers."""
    return type(element) is IntegerType


def is_boolean(element: Attribute) -> bool:
    """The one-bit integer, StableHLO's predicate type."""
    return is_integer(element) and element.width.data == 1


def is_unsigned(element: Attribute) -> bool:
    """Integers that StableHLO treats as unsigned (``ui*``; booleans are not among them)."""
    return is_integer(element) and element.signedness.data is Signedness.UNSIGNED


def index_element(extent: int) -> IntegerType:
    """The integers that positions in a dimension are counted in: of 32 bits where they suffice."""
    return i32 if extent <= 1 << 31 else i64


def largest_integer(element: Attribute) -> int:
    """The largest number of an integer type."""
    assert is_integer(element)
    return (1 << element.width.data - (not is_unsigned(element) and element.width.data > 1)) - 1


def is_differentiable(type: Attribute) -> bool:
    """Whether values of this type have tangents: tensors of real or complex floating point."""
    if not isinstance(type, TensorType):
        return False
    element_type = cast("TensorType[Any]", type).element_type
    return is_float(element_type) or is_complex(element_type)


def real_element(element: Attribute) -> Attribute:
    """The real element type under a complex one; a real type is returned as it is."""
    return element.element_type if is_complex(element) else element


class UnsupportedElementError(KeyError):
    """There are no numbers of an element type here, so that nothing can be computed with them."""

    def __init__(self, element: Attribute):
        super().__init__(element)
        self.element = element


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """The NumPy dtype (ml_dtypes for bf16) of an element type, kept on it as extents are; UnsupportedElementError if there is none."""
    dtype = element.__dict__.get("_dtype")
    if dtype is None:
        dtype = _DTYPES[element] if element in _DTYPES else _narrow_dtypes().get(element)
        if dtype is None:
            raise UnsupportedElementError(element)
        object.__setattr__(element, "_dtype", dtype)
    return dtype


@lru_cache(maxsize=1)
def elements_by_name() -> dict[str, Attribute]:
    """The element types that most programs compute with, by how they are written."""
    return {str(element): element for element in (*_DTYPES, bf16)}


def has_dtype(element: Attribute) -> bool:
    """Whether there are numbers of an element type."""
    return element in _DTYPES or element in _narrow_dtypes()


def float_limits(dtype: np.dtype[Any]) -> Any:
    """The limits of a float dtype, as ``np.finfo`` has them, also of those that NumPy lacks."""
    if dtype in _ELEMENTS:
        return np.finfo(dtype)
    import ml_dtypes  # here, because most programs do without

    return cast(Any, ml_dtypes).finfo(dtype)


def wider(a: Attribute, b: Attribute) -> Attribute:
    """The narrowest of the element types that holds the floating-point numbers of two: one of both, or f32 for the two of 16 bits."""
    if a == b or dtype_of(a).itemsize > dtype_of(b).itemsize:
        return a
    return b if dtype_of(a).itemsize < dtype_of(b).itemsize else f32


def bytes_of_type(type: TensorType[Any]) -> int:
    """The bytes that the elements of a statically shaped tensor take."""
    return prod(shape_of_type(type)) * dtype_of(type.element_type).itemsize


def extent_in_bytes(type: RankedStructure[Any]) -> int:
    """The bytes that an array of a statically shaped type extends over, with one in place of extents of zero: what NumPy limits, of empty arrays, too."""
    return prod([extent or 1 for extent in type.get_shape()]) * dtype_of(type.get_element_type()).itemsize


ADDRESSABLE = 1 << 48
"""More bytes than any processor of today addresses: no program can hold them, not even in pieces that are computed one after another."""


def element_of(dtype: np.dtype[Any]) -> Attribute:
    """The element type of a NumPy dtype; KeyError if there is none."""
    dtype = np.dtype(dtype)
    return _ELEMENTS[dtype] if dtype in _ELEMENTS else _narrow_elements()[dtype]

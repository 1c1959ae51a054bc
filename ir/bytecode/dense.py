"""The elements of dense constants: as MLIR stores them, and as they are held here.

MLIR stores an element in whole bytes, one of two or four bits without its sign; booleans are packed, eight to a byte. A constant of equal elements has one
element, of equal booleans one byte. Here every boolean is a byte, and integers of two and four bits have their sign.
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Attribute

from wengert.ir.tensor_types import dtype_of, is_integer, is_unsigned


def packed(element: Attribute) -> bool:
    """Whether elements are stored eight to a byte."""
    return is_integer(element) and element.width.data == 1


def elements_of(data: bytes, shape: tuple[int, ...], element: Attribute) -> bytes | None:
    """The elements as they are held here, one where all are equal; None where the bytes are not those of a constant of this shape."""
    count = prod(shape)
    if packed(element):
        return _booleans(data, count)
    width = dtype_of(element).itemsize
    if len(data) not in (width, width * count):
        return None
    if not count:
        return b""
    if _is_narrow(element):
        data = _with_sign(data, element)
    return data[:width] if count > 1 and data == data[:width] * (len(data) // width) else data


def _booleans(data: bytes, count: int) -> bytes | None:
    if not count:
        return b""
    if data in (b"\0", b"\xff"):
        return b"\1" if data[0] else b"\0"
    if len(data) != -(-count // 8):
        return None
    values = np.unpackbits(np.frombuffer(data, np.uint8), count=count, bitorder="little").tobytes()
    return values[:1] if values == values[:1] * count else values


def stored(constant: DenseIntOrFPElementsAttr[Any]) -> bytes:
    """The bytes that MLIR stores for a constant."""
    element = constant.type.get_element_type()
    data, count = constant.data.data, prod(constant.type.get_shape())
    if packed(element):
        values = np.frombuffer(data, np.uint8) != 0
        if values.size == 1 or values.all() or not values.any():
            return (b"\xff" if values.size and values[0] else b"\0") if count else b""
        return np.packbits(values, bitorder="little").tobytes()
    if _is_narrow(element):
        return (np.frombuffer(data, np.uint8) & (1 << element.width.data) - 1).tobytes()
    return data


def _is_narrow(element: Attribute) -> TypeGuard[IntegerType]:
    return is_integer(element) and element.width.data in (2, 4)


def _with_sign(data: bytes, element: IntegerType) -> bytes:
    low = np.frombuffer(data, np.uint8) & (1 << element.width.data) - 1
    if is_unsigned(element):
        return low.tobytes()
    half = 1 << element.width.data - 1
    return ((low.astype(np.int8) ^ half) - half).astype(dtype_of(element)).tobytes()


def constant(type: Attribute, data: bytes) -> DenseIntOrFPElementsAttr[Any]:
    """The attribute, made without the checks of its constructor."""
    made: DenseIntOrFPElementsAttr[Any] = object.__new__(DenseIntOrFPElementsAttr)
    vars(made).update(type=type, data=BytesAttr(data))
    return made

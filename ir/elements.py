"""Dense constants as NumPy arrays and back.

A constant whose elements are all equal is a *splat*: one element stands for all of them, however large the tensor is.
xDSL stores elements as bytes; a splat is stored here as the bytes of one element.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute

from wengert.ir.construction import unverified
from wengert.ir.tensor_types import dtype_of, element_of, shape_of_type, tensor

Elements = DenseIntOrFPElementsAttr[Any]


def _scalars(attribute: Elements) -> np.ndarray[Any, np.dtype[Any]]:
    dtype = dtype_of(attribute.type.get_element_type())
    if dtype == np.bool_:
        return np.frombuffer(attribute.data.data, np.uint8) != 0
    return np.frombuffer(attribute.data.data, dtype)


def is_splat(attribute: Elements) -> bool:
    """Whether one element stands for all (decided on stored bytes, so NaN equals itself and -0 differs from 0)."""
    data = attribute.data.data
    width = dtype_of(attribute.type.get_element_type()).itemsize
    return len(data) == width or (len(data) > 0 and data == data[:width] * (len(data) // width))


def to_numpy(attribute: Elements) -> np.ndarray[Any, np.dtype[Any]]:
    """The constant as a read-only array of its full shape (a splat is a broadcast view of one element)."""
    shape = shape_of_type(cast("TensorType[Any]", attribute.type))
    scalars = _scalars(attribute)
    if scalars.size == 1:
        scalars.flags.writeable = False
        return np.ndarray(shape, scalars.dtype, scalars, strides=(0,) * len(shape))  # as np.broadcast_to, in a tenth of the time
    return scalars.reshape(shape)


def splat_value(attribute: Elements) -> Any:
    """The NumPy scalar that fills a splat, or None if the constant is not a splat (or is empty); kept on the attribute."""
    kept = attribute.__dict__.get("_splat_value", attribute)
    if kept is attribute:
        kept = _scalars(attribute)[0] if is_splat(attribute) else None
        object.__setattr__(attribute, "_splat_value", kept)
    return kept


def from_numpy(array: np.ndarray[Any, np.dtype[Any]]) -> Elements:
    """A dense constant with the array's shape, dtype and elements (stored as a splat where all bytes agree)."""
    array = np.asarray(array)
    element_type = element_of(array.dtype)
    type = tensor(array.shape, element_type)
    data = np.ascontiguousarray(array).tobytes()
    width = array.dtype.itemsize
    if array.size > 1 and data == data[:width] * array.size:
        data = data[:width]
    return _dense(type, data)


def _dense(type: TensorType[Any], data: bytes) -> Elements:
    return unverified(DenseIntOrFPElementsAttr, type=type, data=unverified(BytesAttr, data=data))


def splat(value: Any, type: TensorType[Any]) -> Elements:
    """A dense constant of this type filled with one value."""
    element_type: Attribute = type.element_type
    scalar = np.asarray(value).astype(dtype_of(element_type))
    return _dense(type, scalar.tobytes() if 0 not in shape_of_type(type) else b"")

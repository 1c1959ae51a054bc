"""Complex numbers as pairs of real ones and back, in the same memory; real and imaginary parts are positions of such pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.errors import ShapeError
from wengert.eager.operations.memory import views
from wengert.eager.recording.operation import register
from wengert.eager.recording.program import Array
from wengert.ir.tensor_types import shape

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def _pairs(b: OpBuilder, z: Value) -> Value:
    wide = [*shape(z), 1]
    return b.concatenate([b.reshape(b.real(z), wide), b.reshape(b.imag(z), wide)], len(shape(z)))


def _numbers(b: OpBuilder, x: Value) -> Value:
    extents = shape(x)[:-1]
    ends = [([0] * len(extents) + [i], [*extents, i + 1]) for i in range(2)]
    re, im = (b.reshape(b.slice(x, starts, stops), extents) for starts, stops in ends)
    return b.complex(re, im)


def _as_pairs(_: Any, z: Array) -> Array:
    numbers: Any = z
    parts: Any = numbers.real
    return np.lib.stride_tricks.as_strided(parts, (*z.shape, 2), (*z.strides, parts.dtype.itemsize), writeable=z.flags.writeable)


def _as_numbers(_: Any, x: Array) -> Array:
    return x.view(np.result_type(x.dtype, np.complex64))[..., 0]


def _emit_pairs(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    return [_pairs(b, x[0])]


def _emit_numbers(b: OpBuilder, x: Sequence[Value], _: Any) -> list[Value]:
    return [_numbers(b, x[0])]


def _put_numbers(b: OpBuilder, base: Value, value: Value, _: Any) -> Value:
    return _numbers(b, value)


def _put_pairs(b: OpBuilder, base: Value, value: Value, _: Any) -> Value:
    return _pairs(b, value)


VIEW_AS_REAL = register(views.OPERATIONS, "view_as_real", "ViewAsRealBackward0", _emit_pairs, kernel=_as_pairs, view=True, put=_put_numbers)
VIEW_AS_COMPLEX = register(views.OPERATIONS, "view_as_complex", "ViewAsComplexBackward0", _emit_numbers, kernel=_as_numbers, view=True, put=_put_pairs)


def view_as_real(x: Tensor) -> Tensor:
    """The real and imaginary parts along a new last dimension, in the same memory; a ShapeError if the tensor is real."""
    if x.array.dtype.kind != "c":
        raise ShapeError(f"view_as_real is only supported for complex tensors, found {x.array.dtype.name}")
    return views.see(VIEW_AS_REAL, x, None)


def view_as_complex(x: Tensor) -> Tensor:
    """A complex number for each pair along the last dimension, in the same memory; a ShapeError if there are no pairs, or they do not lie together."""
    a = x.array
    if a.dtype.name not in ("float32", "float64") or not a.ndim or a.shape[-1] != 2:
        raise ShapeError(
            f"view_as_complex: Tensor must have a last dimension of size 2 and elements of float32 or float64, found {a.dtype.name}{list(a.shape)}"
        )
    if a.strides[-1] != a.itemsize or any(s % (2 * a.itemsize) for s, n in zip(a.strides[:-1], a.shape[:-1], strict=True) if n > 1):
        raise ShapeError("view_as_complex: the pairs do not lie together in memory; use contiguous()")
    return views.see(VIEW_AS_COMPLEX, x, None)


def real(x: Tensor) -> Tensor:
    """The real part, in the same memory; a real tensor itself."""
    return views.select(view_as_real(x), -1, 0) if x.array.dtype.kind == "c" else x


def imag(x: Tensor) -> Tensor:
    """The imaginary part, in the same memory; a ShapeError if the tensor is real."""
    if x.array.dtype.kind != "c":
        raise ShapeError(f"imag is not implemented for tensors with non-complex dtypes, found {x.array.dtype.name}")
    return views.select(view_as_real(x), -1, 1)


def write_real(x: Tensor, value: Tensor) -> None:
    """Writes the real part."""
    real(x).copy_(value)


def write_imag(x: Tensor, value: Tensor) -> None:
    """Writes the imaginary part."""
    imag(x).copy_(value)

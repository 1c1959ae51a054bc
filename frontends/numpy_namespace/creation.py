"""The standard's creation functions. What they make of concrete arguments are NumPy arrays, constants of what is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.operands import broadcast, builder, convert, is_traced, shape_argument, shape_of, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.tensor_types import element, i64, tensor
from wengert.numpy.devices import on_device
from wengert.numpy.dispatch import NUMPY, Array, ArrayLike, copied
from wengert.numpy.dtypes import astype, finfo, result_type


def _static(function: str, *operands: Any) -> None:
    if is_traced(*operands):
        raise type_error(
            f"{function} decides the shape of its result by its arguments, so they cannot be traced", "make them static: wg.jit(f, static_argnums=...)"
        )


@on_device
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Array:
    """An array of an array, a number or nested lists (of traced values too)."""
    if isinstance(obj, TracedArray):
        same = not obj.weak and dtype in (None, obj.dtype)
        if same:
            return copied(obj) if copy else obj
        return copied(traced(convert(value_of(obj), obj.dtype if dtype is None else np.dtype(dtype))))
    if isinstance(obj, list | tuple) and is_traced(*obj):  # pyright: ignore[reportUnknownArgumentType]
        from wengert.numpy.manipulation import stack

        return asarray(stack([asarray(item) for item in obj]), dtype=dtype)  # pyright: ignore[reportUnknownVariableType]
    return NUMPY.asarray(obj, dtype=dtype, copy=copy)


array = asarray


@on_device
def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """Numbers from start (or 0) up to stop, by steps. The arguments must be concrete: they decide the shape."""
    _static("arange", start, stop, step)
    return NUMPY.arange(0, start, step, dtype=dtype) if stop is None else NUMPY.arange(start, stop, step, dtype=dtype)


@on_device
def linspace(start: ArrayLike, stop: ArrayLike, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Array:
    """``num`` numbers at equal distances from start to stop, which is among them if ``endpoint``."""
    _static("linspace", num)
    if not is_traced(start, stop):
        return NUMPY.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    from wengert.numpy.elementwise import add, multiply, subtract

    steps = num - 1 if endpoint else num
    # start (1 - t) + stop t meets both ends exactly
    t = np.arange(num, dtype=np.float64) / max(steps, 1)
    t = t.reshape((num,) + (1,) * len(np.broadcast_shapes(shape_of(start), shape_of(stop))))
    ends = result_type(start, stop, float(num))  # as in NumPy, at least a float
    start, stop, t = astype(asarray(start), ends), astype(asarray(stop), ends), t.astype(finfo(ends).dtype)
    points = asarray(add(multiply(start, subtract(1.0, t)), multiply(stop, t)))
    return points if dtype is None else asarray(points, dtype=dtype)


@on_device
def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of one value, which may be traced."""
    extents = shape_argument(shape)
    if not isinstance(fill_value, TracedArray):
        return np.full(extents, fill_value, dtype=dtype)
    return traced(broadcast(value_of(fill_value, None if dtype is None else np.dtype(dtype)), extents))


@on_device
def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros."""
    return np.zeros(shape_argument(shape), dtype=dtype)


@on_device
def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Ones."""
    return np.ones(shape_argument(shape), dtype=dtype)


@on_device
def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros: an array of values that nobody may rely on."""
    return np.zeros(shape_argument(shape), dtype=dtype)


def _like(function: Callable[..., Any], x: ArrayLike, dtype: Any) -> Array:
    return function(shape_of(x), dtype=getattr(x, "dtype", None) if dtype is None else dtype)


@on_device
def zeros_like(x: ArrayLike, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros of the shape and dtype of an array."""
    return _like(np.zeros, x, dtype) if isinstance(x, TracedArray) else np.zeros_like(x, dtype=dtype)


@on_device
def ones_like(x: ArrayLike, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Ones of the shape and dtype of an array."""
    return _like(np.ones, x, dtype) if isinstance(x, TracedArray) else np.ones_like(x, dtype=dtype)


@on_device
def empty_like(x: ArrayLike, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Zeros of the shape and dtype of an array."""
    return zeros_like(x, dtype=dtype)


@on_device
def full_like(x: ArrayLike, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """One value in the shape and dtype of an array."""
    if not is_traced(x, fill_value):
        return np.full_like(x, fill_value, dtype=dtype)
    return full(shape_of(x), fill_value, dtype=np.asarray(x).dtype if not isinstance(x, TracedArray) and dtype is None else x.dtype if dtype is None else dtype)


@on_device
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Ones on the diagonal that lies ``k`` above the main one, zeros elsewhere."""
    _static("eye", n_rows, n_cols, k)
    return np.eye(n_rows, n_cols, k=k, dtype=np.float64 if dtype is None else dtype)


def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> list[Array]:
    """Coordinates of the points of a grid, a list of one array for each axis."""
    if not is_traced(*arrays):
        return list(NUMPY.meshgrid(*arrays, indexing=indexing))
    from wengert.numpy.manipulation import broadcast_to, reshape

    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    extents = [1] * len(arrays)
    for axis, x in zip(order, arrays, strict=True):
        extents[axis] = int(np.prod(shape_of(x)))
    rows = [reshape(x, tuple(-1 if d == axis else 1 for d in range(len(arrays)))) for axis, x in zip(order, arrays, strict=True)]
    return [copied(broadcast_to(row, tuple(extents))) for row in rows]


def _triangle(x: TracedArray, k: int, lower: bool) -> Array:
    b, value = builder(), value_of(x)
    if x.ndim < 2:
        raise type_error(f"a triangle needs two dimensions, found {x!r}")
    kind = tensor(x.shape[-2:], i64)
    rows, columns = b.add(b.iota(0, kind), b.full(k, kind)), b.iota(1, kind)
    inside = broadcast(b.compare("GE" if lower else "LE", rows, columns), x.shape)
    return traced(b.select(inside, value, b.full(0, tensor(x.shape, element(value)))))


def tril(x: ArrayLike, /, *, k: int = 0) -> Array:
    """The lower triangle of matrices, zeros above the diagonal that lies ``k`` above the main one."""
    return _triangle(x, k, True) if isinstance(x, TracedArray) else np.tril(x, k)


def triu(x: ArrayLike, /, *, k: int = 0) -> Array:
    """The upper triangle of matrices, zeros below the diagonal that lies ``k`` above the main one."""
    return _triangle(x, k, False) if isinstance(x, TracedArray) else np.triu(x, k)


@on_device
def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """The array of another library as a NumPy array, where possible without a copy."""
    return np.from_dlpack(x, copy=copy)

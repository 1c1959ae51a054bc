"""Kernels that NumPy has no single function for: operations on arrays, given their parameters first where they have any."""

from __future__ import annotations

from typing import Any

import numpy

from wengert.eager.errors import PositionError

np: Any = numpy  # what these take and give is of any dtype and shape, which NumPy's stubs cannot say


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


def relu(x: Any) -> Any:
    """0 for what is not positive; NaN stays."""
    return np.where(x <= 0, x.dtype.type(0), x)


def number_of(value: Any, dtype: Any) -> Any:
    """A Python number in a dtype; integers that are out of its range wrap around."""
    try:
        return dtype.type(value)
    except OverflowError:
        return np.asarray(value).astype(dtype)[()]


def powers(x: Any, y: Any) -> Any:
    """x to the power y; of integers the negative powers are 0 but for those of 1 and -1."""
    if x.dtype.kind != "i" or not np.any(np.less(y, 0)):
        return np.power(x, y)
    units = np.where((x == -1) & (y % 2 != 0), -1, (x == 1) | (x == -1)).astype(x.dtype)
    return np.where(y < 0, units, np.power(x, np.maximum(y, 0)))


def rsub(number: float, x: Any) -> Any:
    """number - x."""
    return np.subtract(number_of(number, x.dtype), x)


def power(exponent: float, x: Any) -> Any:
    """x to a fixed power, in the dtype of x."""
    if exponent in (0.5, -0.5) and x.dtype.kind == "f":
        return np.sqrt(x) if exponent > 0 else 1 / np.sqrt(x)
    return powers(x, number_of(exponent, x.dtype))


def power_of(number: float, x: Any) -> Any:
    """A number to the power x, in the dtype of x."""
    return np.power(x.dtype.type(number), x)


def sign(x: Any) -> Any:
    """1, -1 or 0, for NaN too."""
    return np.subtract(x > 0, x < 0, dtype=x.dtype) if x.dtype.kind != "b" else x.copy()


def remainder(x: Any, y: Any) -> Any:
    """x modulo y, with the sign of y; a zero keeps the sign of x."""
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def floor_quotient(x: Any, y: Any) -> Any:
    """The largest whole number that is not larger than x / y; x / y itself where y is 0."""
    whole = np.floor_divide(x, y)
    if whole.dtype.kind != "f":
        if np.any(np.equal(y, 0)):
            raise ZeroDivisionError("an integer is divided by zero")
        return whole
    return np.where(np.equal(y, 0), np.divide(x, y), whole)


def truncated_quotient(x: Any, y: Any) -> Any:
    """x / y without what is behind the point."""
    if np.result_type(x, y).kind == "f":
        return np.trunc(np.divide(x, y))
    if np.any(np.equal(y, 0)):
        raise ZeroDivisionError("an integer is divided by zero")
    whole = np.floor_divide(x, y)
    return whole + ((whole < 0) & (whole * y != x)).astype(whole.dtype)


def remainder_of(number: float, x: Any) -> Any:
    """x modulo a number, with the sign of the number."""
    return remainder(x, number_of(number, x.dtype))


def clamp(bounds: tuple[float | None, float | None], x: Any) -> Any:
    """x limited to an interval."""
    return np.clip(x, *(bound if bound is None else number_of(bound, x.dtype) for bound in bounds))


def clamp_by(given: tuple[bool, bool, Any], x: Any, *bounds: Any) -> Any:
    """x limited by arrays."""
    x, *edges = (a.astype(given[2], copy=False) for a in (x, *bounds))
    x = np.maximum(x, edges[0]) if given[0] else x
    return np.minimum(x, edges[-1]) if given[1] else x


def where(dtype: Any, condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y."""
    return np.where(condition, x.astype(dtype, copy=False), y.astype(dtype, copy=False))


def masked_fill(value: float, x: Any, mask: Any) -> Any:
    """A number where the mask holds."""
    return np.where(mask, x.dtype.type(value), x)


def convert(dtype: Any, x: Any) -> Any:
    """x in another dtype."""
    return x.astype(dtype)


def product(x: Any, y: Any) -> Any:
    """The product of matrices, in row-major order whatever the order of the operands is."""
    matrices = np.matmul(x, y)
    return matrices if matrices.flags.c_contiguous else np.ascontiguousarray(matrices)


def addmm(c: Any, x: Any, y: Any) -> Any:
    """c + x y."""
    return np.add(product(x, y), c)


def cat(given: tuple[int, Any], *parts: Any) -> Any:
    """Arrays side by side."""
    return np.concatenate(parts, given[0], dtype=given[1])


def stack(given: tuple[int, Any], *parts: Any) -> Any:
    """Arrays side by side along a new dimension."""
    return np.stack(parts, given[0], dtype=given[1])


def flip(dims: tuple[int, ...], x: Any) -> Any:
    """Dimensions in reverse, as a copy."""
    return np.flip(x, dims).copy()


def cumsum(dim: int, x: Any) -> Any:
    """Running sums."""
    return np.cumsum(x, dim, dtype=x.dtype)


def mean(along: tuple[tuple[int, ...], bool], x: Any) -> Any:
    """The mean along dimensions."""
    return np.mean(x, axis=along[0], keepdims=along[1], dtype=x.dtype)


def amax(along: tuple[tuple[int, ...], bool], x: Any) -> Any:
    """The largest element along dimensions."""
    return np.max(x, axis=along[0], keepdims=along[1])


def amin(along: tuple[tuple[int, ...], bool], x: Any) -> Any:
    """The smallest element along dimensions."""
    return np.min(x, axis=along[0], keepdims=along[1])


def in_order(x: Any) -> Any:
    """A copy whose elements lie in row-major order."""
    return np.array(x, order="C")


def expand(extents: tuple[int, ...], x: Any) -> Any:
    """x repeated without copying: to be read only, unless it is repeated nowhere and has new dimensions of extent 1 at most."""
    new = len(extents) - x.ndim
    return x[(*(None,) * new, ...)] if extents == (*(1,) * new, *x.shape) else np.broadcast_to(x, extents)


def unsqueeze(dim: int, x: Any) -> Any:
    """x with a new dimension."""
    return np.expand_dims(x, dim)


def index(dims: tuple[int, ...], x: Any, *indices: Any) -> Any:
    """x at positions along some dimensions."""
    return np.ascontiguousarray(x[key(x, indices, dims)])


def key(x: Any, indices: tuple[Any, ...], dims: tuple[int, ...]) -> tuple[Any, ...]:
    """The index that NumPy takes."""
    index: list[Any] = [slice(None)] * x.ndim
    for chosen, dim in zip(indices, dims, strict=True):
        index[dim] = chosen
    return tuple(index)


def index_put(dims: tuple[int, ...], x: Any, value: Any, *indices: Any) -> Any:
    """x with other values at positions along some dimensions."""
    made = x.copy()
    made[key(x, indices, dims)] = value
    return made


def within(chosen: Any, extent: int) -> Any:
    """Positions, none of which counts from the end or is out of range."""
    if chosen.size and (chosen.min() < 0 or chosen.max() >= extent):
        wrong = chosen[(chosen < 0) | (chosen >= extent)].flat[0]
        raise PositionError(f"position {wrong} is not one of the {extent} along this dimension; none is counted from the end here")
    return chosen


def index_select(dims: tuple[int, ...], x: Any, chosen: Any) -> Any:
    """x at positions along one dimension."""
    return np.take(x, within(chosen, x.shape[dims[0]]), dims[0])


def gather(dim: int, x: Any, chosen: Any) -> Any:
    """x at one position along a dimension for every element of the index, which may be smaller than x along the others."""
    return np.take_along_axis(x[_part(chosen, dim)], within(chosen, x.shape[dim]), dim)


def _part(chosen: Any, dim: int) -> Any:
    """The part of an array that an index along a dimension can reach."""
    return tuple(slice(n if d != dim else None) for d, n in enumerate(chosen.shape))


def scatter(dim: int, x: Any, source: Any, chosen: Any) -> Any:
    """x with the elements of a source at one position along a dimension for every element of the index."""
    made = x.copy()
    np.put_along_axis(made[_part(chosen, dim)], within(chosen, x.shape[dim]), source[tuple(map(slice, chosen.shape))], dim)
    return made


def scatter_number(given: tuple[int, float], x: Any, chosen: Any) -> Any:
    """The same with one number."""
    return scatter(given[0], x, np.full(chosen.shape, given[1], x.dtype), chosen)


def scatter_add(dim: int, x: Any, source: Any, chosen: Any) -> Any:
    """The same, added."""
    made = x.copy()
    places = tuple(within(chosen, x.shape[dim]) if d == dim else i for d, i in enumerate(np.indices(chosen.shape, sparse=True)))
    np.add.at(made, places, source[tuple(map(slice, chosen.shape))])
    return made


def index_add(given: tuple[int, float], x: Any, source: Any, chosen: Any) -> Any:
    """x with slices of a multiple of a source added at positions along one dimension."""
    made = x.copy()
    np.add.at(made, key(x, (within(chosen, x.shape[given[0]]),), given[:1]), source * x.dtype.type(given[1]))
    return made


def index_copy(dims: tuple[int, ...], x: Any, source: Any, chosen: Any) -> Any:
    """x with slices of a source at positions along one dimension."""
    return index_put(dims, x, source, within(chosen, x.shape[dims[0]]))


def index_fill(given: tuple[int, float], x: Any, chosen: Any) -> Any:
    """One number at positions along one dimension, which may count from the end."""
    return index_put(given[:1], x, x.dtype.type(given[1]), chosen)


def fill(value: float, x: Any) -> Any:
    """One number everywhere."""
    return np.full_like(x, value)


def copy(x: Any, y: Any) -> Any:
    """y in the shape and dtype of x."""
    return np.broadcast_to(y, x.shape).astype(x.dtype)


def same(x: Any) -> Any:
    """x itself."""
    return x

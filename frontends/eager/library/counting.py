"""Operations whose results are counts, positions, or elements that occur, and random numbers written in place."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy

from wengert.eager.containers import ValuesAndIndices, listed
from wengert.eager.errors import ShapeError
from wengert.eager.library.by_hand import arrays, made
from wengert.eager.library.calling import Function, aten
from wengert.eager.operations import creation
from wengert.eager.operations.reading import seen
from wengert.eager.recording import dispatch


def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element, the smallest of several, and the last position at which it stands."""
    if x.array.ndim == 0:
        return ValuesAndIndices(x.clone(), dispatch.new(numpy.zeros((), numpy.int64)))
    rows = numpy.moveaxis(seen(x), dim, -1)
    places = numpy.empty(rows.shape[:-1], numpy.int64)
    for at in numpy.ndindex(places.shape):
        _, kinds, counts = numpy.unique(rows[at], return_inverse=True, return_counts=True, equal_nan=False)
        places[at] = numpy.flatnonzero(kinds.reshape(-1) == counts.argmax())[-1]
    index = dispatch.new(numpy.expand_dims(places, dim % x.array.ndim))
    values = x.gather(dim, index)
    return ValuesAndIndices(values, index) if keepdim else ValuesAndIndices(values.squeeze(dim), index.squeeze(dim))


def _unique_consecutive(x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    a = seen(x)
    rows = a.reshape(-1) if dim is None else numpy.moveaxis(a, dim, 0)
    flat = rows.reshape(rows.shape[0], -1)
    first = numpy.concatenate([[True], (flat[1:] != flat[:-1]).any(1)]) if len(flat) else numpy.zeros(0, bool)
    inverse = numpy.cumsum(first) - 1
    counts = numpy.diff(numpy.append(numpy.flatnonzero(first), len(flat)))
    chosen = dispatch.new(numpy.flatnonzero(first))  # the first of every run, which gets the gradient
    kept = x.reshape(-1)[chosen] if dim is None else x.index_select(dim, chosen)
    others = [*([inverse.reshape(a.shape) if dim is None else inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return (kept, *(dispatch.new(numpy.asarray(p)) for p in others)) if others else kept


def _histogram(x: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    a, edges, weights = arrays("histogram", x, bins, weight)
    counts, places = numpy.histogram(a, edges, tuple(range) if range else None, weights=weights, density=density)
    return made((counts.astype(a.dtype), places.astype(a.dtype)))


def _histogramdd(x: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    a, weights = arrays("histogramdd", x, weight)
    edges = [seen(v) if hasattr(v, "array") else v for v in listed(bins)] if isinstance(bins, list | tuple) else bins
    pairs = None if range is None else [tuple(range[2 * i : 2 * i + 2]) for i in numpy.arange(len(range) // 2)]
    flat = a.reshape(-1, a.shape[-1])
    counts, places = numpy.histogramdd(flat, edges, pairs, density=density, weights=None if weights is None else weights.reshape(-1))
    return dispatch.new(counts.astype(a.dtype)), tuple(dispatch.new(p.astype(a.dtype)) for p in places)


def _nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    a = seen(x)
    rows = numpy.full((size, a.ndim), fill_value, numpy.int64)
    chosen = numpy.argwhere(a)[:size]
    rows[: len(chosen)] = chosen
    return dispatch.new(rows)


def _unravel_index(indices: Any, shape: Any) -> Any:
    extents = shape if isinstance(shape, tuple | list) else (int(shape),)
    return made(tuple(numpy.asarray(p, numpy.int64) for p in numpy.unravel_index(seen(indices), tuple(extents))))


def _frexp(x: Any) -> Any:
    """A mantissa of [0.5, 1) and an exponent; the exponent is a constant to derivatives."""
    exponent = numpy.frexp(seen(x))[1]
    return x * dispatch.new(numpy.ldexp(numpy.ones((), x.array.dtype), -exponent)), dispatch.new(exponent.astype(numpy.int32))


def _drawn(draw: Any) -> Function:
    """A tensor like another, of random numbers that its generator draws."""

    def run(x: Any, *args: Any, generator: Any = None, **options: Any) -> Any:
        source = creation.generator() if generator is None else generator.numbers
        return creation.tensor(numpy.asarray(draw(source, x.array.shape, *args, **options)).astype(x.array.dtype))

    return run


def _cauchy(source: Any, shape: Any, median: float = 0.0, sigma: float = 1.0) -> Any:
    return median + sigma * source.standard_cauchy(shape)


def _uniform(source: Any, shape: Any, *bounds: float, **options: float) -> Any:
    low, high = (bounds[i] if len(bounds) > i else options.get(name, float(i)) for i, name in enumerate(("from", "to")))
    if low > high:
        raise ShapeError(f"uniform_: expected bounds in order, found {low} and {high}")
    return source.uniform(low, high, shape)


def _geometric(source: Any, shape: Any, p: float) -> Any:
    return source.geometric(p, shape)


def _log_normal(source: Any, shape: Any, mean: float = 1.0, std: float = 2.0) -> Any:
    return source.lognormal(mean, std, shape)


def _exponential(source: Any, shape: Any, lambd: float = 1.0) -> Any:
    return source.exponential(1 / lambd, shape)


COUNTING: dict[str, Function] = {
    "mode": mode,
    "histc": lambda x, bins=100, min=0, max=0: aten("histc.default")(x, bins, min, max),
    "histogram": _histogram,
    "histogramdd": _histogramdd,
    "nonzero_static": _nonzero_static,
    "unique_consecutive": _unique_consecutive,
    "unravel_index": _unravel_index,
    "frexp": _frexp,
    "cauchy": _drawn(_cauchy),
    "uniform": _drawn(_uniform),
    "geometric": _drawn(_geometric),
    "log_normal": _drawn(_log_normal),
    "exponential": _drawn(_exponential),
}

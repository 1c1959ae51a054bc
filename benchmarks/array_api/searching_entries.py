"""The standard's functions that reduce, search, sort and take subscripts."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.array_api.array_entries import nothing, row, x23, x232
from benchmarks.array_api.elementwise_entries import ALL, FLOATS, NUMERIC, REAL
from benchmarks.array_api.entries import Call, DType, Entry, Static, reduced, reduced_of_nothing
from benchmarks.array_api.operands import random, special


def distinct(dtype: DType, shape: tuple[int, ...]) -> Any:
    """Numbers that lie apart from each other, in no order."""
    values = np.random.default_rng(5).permutation(int(np.prod(shape)))
    return (values.reshape(shape) * 0.5 - 1).astype(dtype) if dtype.kind in "fc" else values.reshape(shape).astype(dtype)


def _running(d: DType) -> list[Call]:
    rows = [np.concatenate([row(d), special(d)[i : i + 1], row(d, 2)]) for i in range(0, len(special(d)), 4)] if d.kind in "fc" else [special(d)]
    return [
        *(Call((r,)) for r in rows),
        Call((x23(d),), {"axis": 1}),
        Call((x232(d),), {"axis": 0, "include_initial": True}),
        Call((x232(d),), {"axis": -2}),
        Call((random(d, (0,), 1),)),
        Call((random(d, (0,), 1),), {"include_initial": True}),
        Call((nothing(d),), {"axis": 1}),
        Call((row(d),), {"dtype": np.dtype(np.complex128 if d.kind == "c" else np.float64)}),
    ]


def _smooth_reduction(d: DType) -> list[Call]:
    x = distinct(d, (2, 3, 2)) + (0.3j if d.kind == "c" else 0.25)
    return [Call((x,)), Call((x,), {"axis": 1}), Call((x,), {"axis": (0, 2), "keepdims": True})]


def _spread(**options: Any) -> Any:
    return lambda d: [
        Call((x,), o)
        for x, o in [(x232(d), options), (x232(d), {"axis": 1, **options}), (x232(d), {"axis": (0, 2), "keepdims": True, **options}), (special(d)[:5], options)]
    ]


def _diff(d: DType) -> list[Call]:
    return [
        Call((x23(d),)),
        Call((x232(d),), {"axis": 1, "n": 2}),
        Call((x23(d),), {"prepend": random(d, (2, 1), 2), "append": random(d, (2, 2), 3)}),
        Call((row(d),), {"n": 0}),
        Call((nothing(d),)),
    ]


def _running_smooth(d: DType) -> list[Call]:
    return [Call((row(d),)), Call((x23(d),), {"axis": 1, "include_initial": True})]


REDUCTIONS = [
    *(Entry(name, NUMERIC, reduced_of_nothing(reduced()), _smooth_reduction) for name in ("sum", "prod")),
    Entry("mean", FLOATS, reduced(), _smooth_reduction, complex_specials="a quotient, see divide"),
    *(Entry(name, REAL, reduced(), _smooth_reduction, exact=True, signs=False) for name in ("max", "min")),
    *(Entry(name, "f", lambda d: _spread()(d) + _spread(correction=1)(d), _smooth_reduction) for name in ("std", "var")),
    *(Entry(name, NUMERIC, _running, _running_smooth) for name in ("cumulative_sum", "cumulative_prod")),
    *(Entry(name, ALL, reduced_of_nothing(reduced()), exact=True) for name in ("all", "any")),
    Entry("count_nonzero", ALL, reduced_of_nothing(lambda d: [c for c in reduced()(d) if not isinstance(c.options.get("axis"), tuple)]), exact=True),
    Entry("diff", NUMERIC, _diff, lambda d: _diff(d)[:3], exact=True),
]


def _extreme_position(d: DType) -> list[Call]:
    return [
        Call((special(d),)),
        Call((x23(d),)),
        Call((x232(d),), {"axis": 1}),
        Call((x23(d),), {"axis": -1, "keepdims": True}),
        Call((x23(d),), {"keepdims": True}),
        Call((random(d, (), 1),)),
    ]


def _ordered(d: DType) -> list[Call]:
    rows = [x23(d), x232(d), random(d, (0, 2), 1)] + (
        [special(d)] if d.kind in "iu" else [special(d)[np.isfinite(special(d))], np.array([3, np.nan, -0.0, 1, 0.0, -np.inf, np.nan, 1], d)]
    )
    return [Call((x,), o) for x in rows for o in ({}, {"axis": 0}, {"descending": True}, {"descending": True, "axis": 0, "stable": True})]


def _indices(n: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(3).integers(0, n, shape)


def _searched(d: DType) -> list[Call]:
    x = np.sort(distinct(d, (5,)))
    return [Call((x, y), o) for y in (x23(d), x, random(d, (), 2), random(d, (0,), 2)) for o in ({}, {"side": "right"})] + [
        Call((distinct(d, (5,)), x23(d)), {"sorter": np.argsort(distinct(d, (5,)))})
    ]


SEARCHING = [
    *(Entry(name, REAL, _extreme_position, exact=True) for name in ("argmax", "argmin")),
    *(Entry(name, ALL, lambda d: [Call((x23(d),)), Call((special(d),))], exact=True) for name in ("nonzero", "unique_all", "unique_counts", "unique_inverse")),
    Entry("unique_values", ALL, lambda d: [Call((x23(d),)), Call((special(d),))], result=lambda x: np.sort(np.asarray(x)), exact=True, signs=False),
    Entry("searchsorted", REAL, _searched, exact=True),
    Entry("sort", REAL, _ordered, lambda d: [Call((distinct(d, (3, 4)),)), Call((distinct(d, (3, 4)),), {"axis": 0, "descending": True})], exact=True),
    Entry("argsort", REAL, _ordered, exact=True),
    Entry(
        "take",
        ALL,
        lambda d: [Call((x23(d), _indices(3, (4,))), {"axis": 1}), Call((row(d), _indices(4, (3,)))), Call((x232(d), _indices(2, (0,))), {"axis": 0})],
        lambda d: [Call((x23(d), Static(_indices(3, (4,)))), {"axis": 1})],
        exact=True,
    ),
    Entry(
        "take_along_axis",
        ALL,
        lambda d: [Call((x23(d), _indices(3, (2, 4))), {"axis": 1}), Call((x23(d), _indices(2, (1, 3))), {"axis": 0}), Call((x23(d), _indices(3, (2, 1))))],
        lambda d: [Call((x23(d), Static(_indices(3, (2, 4)))), {"axis": 1})],
        exact=True,
    ),
]

_KEYS: list[Any] = [
    (0, ...),
    (-1, ...),
    (slice(1, None), ...),
    (slice(None, None, -1), ...),
    ...,
    (None, ...),
    (0, 1, ...),
    (slice(None), 1, 0),
    (..., 0),
    (None, 1, slice(0, 2), ...),
    (slice(2, 0, -1), ..., None),
    (slice(1, 1), ...),
]
_ARRAY_KEYS: list[Any] = [(_indices(2, (3,)), _indices(3, (3,)), _indices(2, (3,))), (_indices(2, (2, 1)), 1, _indices(2, (3,)))]


def _indexed(d: DType) -> list[Call]:
    return [*(Call((x232(d), key)) for key in _KEYS + _ARRAY_KEYS), Call((random(d, (), 1), ())), Call((nothing(d), (slice(None), -1)))]


INDEXING = [
    Entry(
        "__getitem__",
        ALL,
        _indexed,
        lambda d: [Call((x232(d), key)) for key in [*_KEYS, tuple(Static(i) if isinstance(i, np.ndarray) else i for i in _ARRAY_KEYS[0])]],
        exact=True,
    )
]

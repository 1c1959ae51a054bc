"""The standard's functions that create arrays, tell of dtypes, and arrange elements otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.array_api.elementwise_entries import ALL, FLOATS, REAL
from benchmarks.array_api.entries import Call, DType, Entry, Static
from benchmarks.array_api.operands import dtypes_of, random, special


def x23(dtype: DType, seed: int = 21) -> Any:
    return random(dtype, (2, 3), seed)


def x232(dtype: DType, seed: int = 22) -> Any:
    return random(dtype, (2, 3, 2), seed)


def row(dtype: DType, seed: int = 23) -> Any:
    return random(dtype, (4,), seed)


def nothing(dtype: DType) -> Any:
    return random(dtype, (0, 3), 1)


def _like(*extra: Any) -> Any:
    return lambda d: [Call((x, *extra)) for x in (x23(d), random(d, (), 1), nothing(d))]


def _full(d: DType) -> list[Call]:
    number = random(d, (), 1).item()
    return [Call(((2, 3), number), {"dtype": d}), Call((3, 1), {"dtype": d}), Call(((), number)), Call(((0, 2), number))]


def _linspace(d: DType) -> list[Call]:
    start, stop = random(d, (2,), 1).tolist()
    return [Call((start, stop, 5), {"dtype": d}), Call((start, stop), {"num": 4, "endpoint": False}), Call((start, stop, 1)), Call((0, 3, 0), {"dtype": d})]


CREATION = [
    Entry("arange", REAL, lambda d: [Call((3,), {"dtype": d}), Call((1, 7, 2), {"dtype": d}), Call((5, 0), {"dtype": d})], exact=True),
    Entry(
        "asarray",
        ALL,
        lambda d: [Call((x23(d),)), Call((x23(d),), {"dtype": d}), Call((random(d, (), 1),)), Call((x23(d),), {"copy": True})],
        lambda d: [Call((x23(d),))],
        exact=True,
    ),
    Entry("empty", ALL, lambda d: [Call(((2, 3),), {"dtype": d})], result=np.shape),
    Entry("empty_like", ALL, _like(), result=np.shape),
    Entry("eye", ALL, lambda d: [Call((3,), {"dtype": d}), Call((2, 3), {"dtype": d, "k": 1}), Call((0, 2), {"dtype": d, "k": -1})], exact=True),
    Entry("full", ALL, _full, lambda d: [Call(((2, 3), random(d, (), 1)))], exact=True),
    Entry(
        "full_like",
        ALL,
        lambda d: [Call((x, random(d, (), 4).item())) for x in (x23(d), random(d, (), 1), nothing(d))],
        lambda d: [Call((x23(d), random(d, (), 1)))],
        exact=True,
    ),
    Entry("linspace", FLOATS, _linspace, lambda d: [Call((random(d, (), 1), random(d, (), 2), 5))]),
    Entry(
        "meshgrid",
        ALL,
        lambda d: [Call((row(d), random(d, (2,), 3))), Call((row(d), random(d, (2,), 3), random(d, (3,), 2)), {"indexing": "ij"}), Call((row(d),))],
        lambda d: [Call((row(d), random(d, (2,), 3)))],
        exact=True,
    ),
    Entry("ones", ALL, lambda d: [Call(((2, 3),), {"dtype": d}), Call((3,), {"dtype": d})], exact=True),
    Entry("ones_like", ALL, _like(), exact=True),
    Entry(
        "tril",
        ALL,
        lambda d: [Call((x23(d),)), Call((x232(d),), {"k": -1}), Call((x23(d),), {"k": 1}), Call((random(d, (0, 2), 1),))],
        lambda d: [Call((x23(d),))],
        exact=True,
    ),
    Entry(
        "triu",
        ALL,
        lambda d: [Call((x23(d),)), Call((x232(d),), {"k": -1}), Call((x23(d),), {"k": 1}), Call((random(d, (0, 2), 1),))],
        lambda d: [Call((x23(d),))],
        exact=True,
    ),
    Entry("zeros", ALL, lambda d: [Call(((2, 3),), {"dtype": d}), Call(((),), {"dtype": d})], exact=True),
    Entry("zeros_like", ALL, _like(), exact=True),
]


def _astype(d: DType) -> list[Call]:
    targets = [t for t in dtypes_of("biufc") if d.kind != "c" or t.kind == "c"]
    fits = random(d, (2, 3), 31, 0.0, 2.0)  # what a dtype cannot hold the standard leaves open
    return [Call((fits, t)) for t in targets] + [Call((special(d), t)) for t in targets if t.kind in "bfc" or (d.kind in "iub" and t.kind in "iu")]


DATA_TYPES = [
    Entry("astype", ALL, _astype, lambda d: [Call((x23(d), np.dtype(np.complex128 if d.kind == "c" else np.float64)))], exact=True),
    Entry(
        "can_cast", ALL, lambda d: [Call((x23(d), t)) for t in dtypes_of("biufc") if (t.kind == d.kind or (d.kind, t.kind) in ("ui", "fi")) and d.kind != "b"]
    ),
    Entry("finfo", FLOATS, lambda d: [Call((d,)), Call((x23(d),))], result=lambda f: [f.bits, f.eps, f.max, f.min, f.smallest_normal]),
    Entry("iinfo", "iu", lambda d: [Call((d,)), Call((x23(d),))], result=lambda f: [f.bits, f.max, f.min]),
    Entry(
        "isdtype",
        ALL,
        lambda d: [Call((d, kind)) for kind in ("bool", "signed integer", "integral", "real floating", "numeric", ("bool", "complex floating"), d)],
    ),
    Entry(
        "result_type",
        ALL,
        lambda d: [Call((x23(d), d)), Call((d, x23(d), True if d.kind == "b" else 1))],
        result=lambda t: str(getattr(t, "name", t)).removeprefix("array_api_strict."),
    ),
]

MANIPULATION = [
    Entry(
        "broadcast_arrays",
        ALL,
        lambda d: [Call((x23(d), random(d, (3,), 2))), Call((random(d, (), 1), x232(d))), Call((nothing(d), random(d, (1,), 2)))],
        lambda d: [Call((x23(d), random(d, (3,), 2)))],
        exact=True,
    ),
    Entry(
        "broadcast_to",
        ALL,
        lambda d: [Call((x23(d), (4, 2, 3))), Call((random(d, (), 1), (2, 2))), Call((random(d, (2, 1), 1), (2, 0)))],
        lambda d: [Call((x23(d), (4, 2, 3)))],
        exact=True,
    ),
    Entry(
        "concat",
        ALL,
        lambda d: [
            Call(([x23(d), x23(d, 1)],)),
            Call(([x23(d), random(d, (2, 1), 1)],), {"axis": -1}),
            Call(([x23(d), row(d)],), {"axis": None}),
            Call(([x23(d), nothing(d)],)),
        ],
        lambda d: [Call(([x23(d), random(d, (2, 1), 1)],), {"axis": 1})],
        exact=True,
    ),
    Entry(
        "expand_dims",
        ALL,
        lambda d: [Call((x23(d),), {"axis": a}) for a in (0, 1, -1)] + [Call((random(d, (), 1),), {"axis": 0})],
        lambda d: [Call((x23(d),), {"axis": 1})],
        exact=True,
    ),
    Entry(
        "flip",
        ALL,
        lambda d: [Call((x23(d),)), Call((x232(d),), {"axis": (0, -1)}), Call((random(d, (), 1),)), Call((nothing(d),), {"axis": 1})],
        lambda d: [Call((x23(d),))],
        exact=True,
    ),
    Entry("moveaxis", ALL, lambda d: [Call((x232(d), 0, -1)), Call((x232(d), (0, 2), (1, 0)))], lambda d: [Call((x232(d), 0, -1))], exact=True),
    Entry(
        "permute_dims",
        ALL,
        lambda d: [Call((x232(d), (2, 0, 1))), Call((random(d, (), 1), ())), Call((nothing(d), (1, 0)))],
        lambda d: [Call((x232(d), (2, 0, 1)))],
        exact=True,
    ),
    Entry(
        "repeat",
        ALL,
        lambda d: [
            Call((x23(d), 2)),
            Call((x23(d), 2), {"axis": 1}),
            Call((x23(d), Static(np.array([1, 0, 3]))), {"axis": 1}),
            Call((nothing(d), 2), {"axis": 0}),
            Call((x23(d), 0)),
        ],
        lambda d: [Call((x23(d), Static(np.array([1, 0, 3]))), {"axis": 1})],
        exact=True,
    ),
    Entry(
        "reshape",
        ALL,
        lambda d: [
            Call((x23(d), (3, 2))),
            Call((x23(d), (-1,))),
            Call((random(d, (), 1), (1, 1))),
            Call((nothing(d), (3, 0))),
            Call((x23(d),), {"shape": (6,), "copy": True}),
        ],
        lambda d: [Call((x23(d), (3, 2)))],
        exact=True,
    ),
    Entry(
        "roll",
        ALL,
        lambda d: [
            Call((x23(d), 1)),
            Call((x23(d), -4), {"axis": 1}),
            Call((x232(d), (1, 2)), {"axis": (0, 1)}),
            Call((nothing(d), 1), {"axis": 0}),
            Call((random(d, (), 1), 3)),
        ],
        lambda d: [Call((x23(d), 1))],
        exact=True,
    ),
    Entry(
        "squeeze",
        ALL,
        lambda d: [Call((random(d, (1, 2, 1), 1), 0)), Call((random(d, (1, 2, 1), 1),), {"axis": (0, -1)})],
        lambda d: [Call((random(d, (1, 2, 1), 1), 0))],
        exact=True,
    ),
    Entry(
        "stack",
        ALL,
        lambda d: [Call(([x23(d), x23(d, 1)],), {"axis": a}) for a in (0, 1, -1)] + [Call(([random(d, (), 1), random(d, (), 2)],))],
        lambda d: [Call(([x23(d), x23(d, 1)],), {"axis": 1})],
        exact=True,
    ),
    Entry(
        "tile",
        ALL,
        lambda d: [Call((x23(d), (2,))), Call((x23(d), (2, 1, 2))), Call((random(d, (), 1), (3,))), Call((x23(d), ())), Call((x23(d), (0, 1)))],
        lambda d: [Call((x23(d), (2, 2)))],
        exact=True,
    ),
    Entry(
        "unstack", ALL, lambda d: [Call((x23(d),)), Call((x232(d),), {"axis": -1}), Call((nothing(d),))], lambda d: [Call((x23(d),), {"axis": 1})], exact=True
    ),
]

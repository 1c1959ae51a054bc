"""The standard's products, and its extensions for linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.array_api.elementwise_entries import ALL, FLOATS, NUMERIC
from benchmarks.array_api.entries import Call, DType, Entry
from benchmarks.array_api.operands import random

import wengert.numpy as wnp


def _m(d: DType, *shape: int, seed: int = 41) -> Any:
    return random(d, shape, seed)


def definite(d: DType, *shape: int) -> Any:
    """Hermitian positive definite matrices with eigenvalues apart from each other."""
    a = random(d, shape, 42)
    n = shape[-1]
    return (np.matmul(a, np.conj(np.swapaxes(a, -1, -2))) + np.diag(np.arange(1.0, n + 1))).astype(d)


def hermitian(x: Any) -> Any:
    """The mean of matrices and their adjoints: NumPy reads one triangle only, and a derivative is that of symmetric matrices."""
    return (x + wnp.conj(wnp.matrix_transpose(x))) / 2


def regular(d: DType, *shape: int) -> Any:
    """Square matrices far from singular ones."""
    return (random(d, shape, 43) + 4 * np.eye(shape[-1])).astype(d)


_PAIRS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((2, 1, 2, 3), (4, 3, 2)),
    ((2, 3), (4, 3, 2)),
    ((2, 2, 3), (3,)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
]


def _matmul(d: DType) -> list[Call]:
    return [Call((_m(d, *a), _m(d, *b, seed=2))) for a, b in _PAIRS]


def _tensordot(d: DType) -> list[Call]:
    return [
        Call((_m(d, 2, 3), _m(d, 3, 2)), {"axes": 1}),
        Call((_m(d, 2, 3), _m(d, 2, 3, seed=1))),
        Call((_m(d, 2, 3, 2), _m(d, 3, 2)), {"axes": ((1, 2), (0, 1))}),
        Call((_m(d, 2), _m(d, 3)), {"axes": 0}),
        Call((_m(d, 2, 3, 2), _m(d, 3, 4)), {"axes": ((-2,), (0,))}),
    ]


def _vecdot(d: DType) -> list[Call]:
    return [
        Call((_m(d, 3), _m(d, 3, seed=2))),
        Call((_m(d, 2, 3), _m(d, 3, seed=2))),
        Call((_m(d, 3, 2), _m(d, 3, 2, seed=2)), {"axis": -2}),
        Call((_m(d, 2, 0), _m(d, 2, 0))),
    ]


def _with(make: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Callable[[DType], list[Call]]:
    return lambda d: [Call((make(d, *s),), options) for s in shapes]


def _both(*several: Callable[[DType], list[Call]]) -> Callable[[DType], list[Call]]:
    return lambda d: [c for calls in several for c in calls(d)]


SQUARES = ((3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2))
OBLONG = ((3, 3), (4, 2), (2, 4), (2, 3, 2))


def _solve(d: DType) -> list[Call]:
    return [
        Call((regular(d, 3, 3), _m(d, 3))),
        Call((regular(d, 3, 3), _m(d, 3, 2))),
        Call((regular(d, 2, 3, 3), _m(d, 2, 3, 2))),
        Call((regular(d, 3, 3), _m(d, 2, 3, 2))),
        Call((regular(d, 2, 3, 3), _m(d, 3, 2))),
    ]


def _norms(d: DType) -> list[Call]:
    return [
        Call((_m(d, 2, 3),), {"ord": o, "axis": a, "keepdims": k})
        for o in (2, 1, 0, 3, float("inf"), -float("inf"))
        for a, k in ((None, False), (1, True), ((0, 1), False))
    ]


def _matrix_norms(d: DType) -> list[Call]:
    return [Call((_m(d, *s),), {"ord": o}) for s in ((3, 3), (2, 3, 2)) for o in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))] + [
        Call((_m(d, 3, 2),), {"keepdims": True})
    ]


def _product(parts: Any) -> Any:
    """What factors multiply to, which is determined where they are not, and what is determined of them."""
    if hasattr(parts, "Q"):
        return parts.Q @ parts.R, wnp.abs(parts.R)
    if hasattr(parts, "eigenvectors"):
        v = parts.eigenvectors
        return (v * parts.eigenvalues[..., None, :]) @ wnp.conj(wnp.matrix_transpose(v)), parts.eigenvalues, wnp.abs(v)
    k = parts.S.shape[-1]
    return (parts.U[..., :k] * parts.S[..., None, :]) @ parts.Vh[..., :k, :], parts.S


LINALG = [
    Entry(
        "linalg.cholesky",
        FLOATS,
        _both(_with(definite, *SQUARES), _with(definite, (3, 3), upper=True)),
        _with(definite, (3, 3)),
        tolerance=100,
        signs=False,
        prepared=hermitian,
    ),
    Entry(
        "linalg.cross",
        NUMERIC,
        lambda d: [
            Call((_m(d, 3), _m(d, 3, seed=2))),
            Call((_m(d, 2, 3), _m(d, 2, 3, seed=2))),
            Call((_m(d, 3, 2), _m(d, 3, 2, seed=2)), {"axis": -2}),
            Call((_m(d, 2, 3), _m(d, 3, seed=2))),
        ],
        lambda d: [Call((_m(d, 2, 3), _m(d, 2, 3, seed=2)))],
    ),
    Entry("linalg.det", FLOATS, _with(regular, *SQUARES), _with(regular, (3, 3), (2, 3, 3)), tolerance=100),
    Entry(
        "linalg.diagonal",
        ALL,
        lambda d: [Call((_m(d, 3, 4),), {"offset": k}) for k in (0, 1, -2, 5)] + [Call((_m(d, 2, 3, 3),))],
        lambda d: [Call((_m(d, 3, 4),), {"offset": 1})],
        exact=True,
    ),
    Entry("linalg.eigh", FLOATS, _with(definite, *SQUARES), _with(definite, (3, 3)), tolerance=300, result=_product, prepared=hermitian),
    Entry("linalg.eigvalsh", FLOATS, _with(definite, *SQUARES), _with(definite, (3, 3), (2, 3, 3)), tolerance=300, prepared=hermitian),
    Entry("linalg.inv", FLOATS, _with(regular, *SQUARES), _with(regular, (3, 3), (2, 3, 3)), tolerance=100),
    Entry("linalg.matmul", NUMERIC, _matmul, _matmul),
    Entry("linalg.matrix_norm", FLOATS, _matrix_norms, lambda d: _matrix_norms(d)[:8], tolerance=100),
    Entry(
        "linalg.matrix_power",
        FLOATS,
        lambda d: [Call((regular(d, 3, 3), n)) for n in (0, 1, 2, 5, -1, -3)] + [Call((regular(d, 2, 3, 3), 3))],
        lambda d: [Call((regular(d, 3, 3), n)) for n in (2, 3, -2)],
        tolerance=1000,
    ),
    Entry("linalg.matrix_rank", FLOATS, _both(_with(_m, *OBLONG), _with(lambda d, *s: np.ones(s, d), (3, 3)), _with(_m, (3, 3), rtol=0.5)), exact=True),
    Entry("linalg.matrix_transpose", ALL, _with(_m, *OBLONG, (0, 3)), _with(_m, (2, 3)), exact=True),
    Entry("linalg.outer", NUMERIC, lambda d: [Call((_m(d, 3), _m(d, 4))), Call((_m(d, 0), _m(d, 4)))], lambda d: [Call((_m(d, 3), _m(d, 4)))], exact=True),
    Entry("linalg.pinv", FLOATS, _both(_with(_m, *OBLONG), _with(_m, (3, 2), rtol=0.1)), _with(_m, (4, 2)), tolerance=1000),
    Entry("linalg.qr", FLOATS, _both(_with(_m, *OBLONG), _with(_m, *OBLONG, mode="complete")), _with(_m, (3, 3), (4, 2)), tolerance=300, result=_product),
    Entry("linalg.slogdet", FLOATS, _with(regular, *SQUARES), _with(regular, (3, 3), (2, 3, 3)), tolerance=100),
    Entry("linalg.solve", FLOATS, _solve, _solve, tolerance=100),
    Entry(
        "linalg.svd",
        FLOATS,
        _both(_with(_m, *OBLONG), _with(_m, *OBLONG, full_matrices=False)),
        _with(_m, (3, 3), (4, 2), full_matrices=False),
        tolerance=300,
        result=_product,
    ),
    Entry("linalg.svdvals", FLOATS, _with(_m, *OBLONG), _with(_m, (3, 3), (4, 2)), tolerance=300),
    Entry("linalg.tensordot", NUMERIC, _tensordot, _tensordot),
    Entry(
        "linalg.trace",
        NUMERIC,
        lambda d: [Call((_m(d, 3, 4),), {"offset": k}) for k in (0, 1, -2, 5)] + [Call((_m(d, 2, 3, 3),))],
        lambda d: [Call((_m(d, 3, 4),))],
    ),
    Entry("linalg.vecdot", NUMERIC, _vecdot, _vecdot),
    Entry("linalg.vector_norm", FLOATS, _norms, lambda d: [c for c in _norms(d) if c.options["ord"] != 0], tolerance=100),
]
PRODUCTS = [
    Entry(name, e.kinds, e.calls, e.smooth, e.exact, e.tolerance)
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")
    for e in LINALG
    if e.name == f"linalg.{name}"
]


def _transformed(*shapes: tuple[int, ...], low: float = -2.0) -> Callable[[DType], list[Call]]:
    options: list[dict[str, Any]] = [{}, {"n": 6}, {"n": 3, "norm": "ortho"}, {"norm": "forward"}]
    return lambda d: [Call((random(d, s, 51, low),), o) for s in shapes for o in options] + [Call((random(d, (4, 3), 52),), {"axis": 0})]


def _transformed_n(d: DType) -> list[Call]:
    options: list[dict[str, Any]] = [{}, {"axes": (0, 2)}, {"s": (3, 4), "axes": (1, 2)}, {"norm": "ortho"}, {"norm": "forward", "axes": (-1,)}]
    return [Call((random(d, (2, 3, 4), 53),), o) for o in options]


_ONE = _transformed((5,), (2, 4))


def _shifts(d: DType) -> list[Call]:
    return [Call((_m(d, 5),)), Call((_m(d, 4, 3),)), Call((_m(d, 4, 3),), {"axes": 1}), Call((_m(d, 4, 3),), {"axes": (0,)})]


def _frequencies(d: DType) -> list[Call]:
    return [Call((n,), {"d": s, "dtype": d}) for n in (1, 4, 5) for s in (1.0, 0.25)]


FFT = [
    *(Entry(f"fft.{name}", "c", _ONE, lambda d: _ONE(d)[:3], tolerance=64) for name in ("fft", "ifft", "irfft", "hfft")),
    *(Entry(f"fft.{name}", "f", _ONE, lambda d: _ONE(d)[:3], tolerance=64) for name in ("rfft", "ihfft")),
    *(Entry(f"fft.{name}", "c", _transformed_n, lambda d: _transformed_n(d)[:3], tolerance=64) for name in ("fftn", "ifftn", "irfftn")),
    Entry("fft.rfftn", "f", _transformed_n, lambda d: _transformed_n(d)[:3], tolerance=64),
    *(Entry(f"fft.{name}", "f", _frequencies) for name in ("fftfreq", "rfftfreq")),
    *(Entry(f"fft.{name}", FLOATS, _shifts, lambda d: _shifts(d)[:2], exact=True) for name in ("fftshift", "ifftshift")),
]

"""Kernels of ten classes at the gpu level, with inputs and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
KERNELS = sorted((Path(__file__).parents[2] / "gpu" / "kernels").glob("*.mlir"))

draw = np.random.default_rng(0)
X = {n: draw.normal(size=n) for n in (64, 100, 256, 512, 640, 1000, 3000)}
PLACES = draw.integers(-5, 110, 64).astype(np.int32)
REFERENCES: dict[str, tuple[list[Array], Callable[..., Array], float]] = {
    "elementwise": ([X[1000].astype("f4")], lambda x: np.tanh(x) * np.exp(x), 1e-6),
    "gather": ([X[100], PLACES], lambda x, p: x[np.clip(p, 0, 99)], 0.0),
    "scatter_add": ([X[64].astype("f4"), PLACES % 10], lambda x, p: np.bincount(p, x, 10), 1e-6),
    "row_sums": ([X[3000].astype("f4")], lambda x: x.reshape(3, 1000).sum(1, dtype="f8"), 1e-5),
    "column_maxima": ([X[640]], lambda x: x.reshape(20, 32).max(0), 0.0),
    "transpose": ([X[512].astype("f4")], lambda x: x.reshape(32, 16).T.reshape(-1), 0.0),
    "product": ([X[256].astype("f4"), X[512].astype("f4")[:256]], lambda x, z: (x.reshape(16, 16) @ z.reshape(16, 16)).reshape(-1), 1e-5),
    "shuffled_sum": ([X[64].astype("f4")], lambda x: x.reshape(2, 32).sum(1), 1e-6),
    "square_roots": ([np.abs(X[64][:48])], np.sqrt, 1e-12),
    "conversions": (
        [X[64][:32].astype("f2"), np.arange(-16, 16, dtype=np.int8), X[100][:32] > 0],
        lambda x, i, m: np.where(m, x.astype("f4") * i.view(np.uint8), 0).astype(ml_dtypes.bfloat16),
        0.0,
    ),
}
"""For each kernel its inputs, what it computes, and how near it comes."""

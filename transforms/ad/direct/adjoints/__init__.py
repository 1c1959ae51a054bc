"""The adjoint of every op, one file per family; importing this package fills the table."""

from wengert.transforms.ad.direct.adjoints import (
    branches,
    checkpoint,
    contraction,
    custom,
    elementwise,
    fourier,
    indexing,
    linalg,
    loops,
    ordering,
    reduction,
    shape,
    special,
    tapes,
    windows,
)

__all__ = [
    "branches",
    "checkpoint",
    "contraction",
    "custom",
    "elementwise",
    "fourier",
    "indexing",
    "linalg",
    "loops",
    "ordering",
    "reduction",
    "shape",
    "special",
    "tapes",
    "windows",
]

"""The derivative of every op, one file per family; importing this package fills the rule table."""

from wengert.transforms.ad.rules import (
    algebra,
    branches,
    checkpoint,
    contraction,
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

ALL_CASES = [case for family in (elementwise, shape, contraction, reduction, windows, indexing, ordering, fourier, linalg, special) for case in family.CASES]

__all__ = ["ALL_CASES", "algebra", "branches", "checkpoint", "loops", "tapes"]

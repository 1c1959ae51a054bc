"""The derivative of every op, one file per family; importing this package fills the rule table."""

from wengert.transforms.ad.replay import transpose  # noqa: F401  # pyright: ignore[reportUnusedImport]
from wengert.transforms.ad.rules import (
    algebra,
    communication,
    contraction,
    elementwise,
    factorisations,
    fourier,
    implicit,
    indexing,
    linear_ops,
    ordering,
    reduction,
    shape,
    special,
    spectra,
    systems,
    windows,
)
from wengert.transforms.ad.rules.control_flow import branches, checkpoint, loop_transposes, loops, tapes

linear_ops.declare_linear_ops()
FAMILIES = (elementwise, shape, contraction, reduction, windows, indexing, ordering, fourier, systems, factorisations, spectra, special, communication)
ALL_CASES = [case for family in FAMILIES for case in family.CASES]

__all__ = ["ALL_CASES", "algebra", "branches", "checkpoint", "implicit", "linear_ops", "loop_transposes", "loops", "tapes"]

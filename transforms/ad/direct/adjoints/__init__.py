"""The adjoint of every op, one file per family; importing this package fills the table."""

from wengert.transforms.ad.direct.adjoints import contraction, elementwise, fourier, indexing, linalg, ordering, reduction, shape, special, windows

__all__ = ["contraction", "elementwise", "fourier", "indexing", "linalg", "ordering", "reduction", "shape", "special", "windows"]

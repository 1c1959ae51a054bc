"""Batching rules, one file per family; importing this package fills the table."""

from wengert.transforms.ad.batching import contraction, control, elementwise, indexing, reduction, shape, tapes

__all__ = ["contraction", "control", "elementwise", "indexing", "reduction", "shape", "tapes"]

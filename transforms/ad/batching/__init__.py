"""Batching rules, one file per family; importing this package fills the table of rules."""

from wengert.transforms.ad.batching import calls, contraction, control, elementwise, indexing, reduction, shape, systems, tapes

__all__ = ["calls", "contraction", "control", "elementwise", "indexing", "reduction", "shape", "systems", "tapes"]

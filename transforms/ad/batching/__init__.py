"""Batching rules, one file per family; importing this package fills the table of rules."""

from wengert.transforms.ad.batching import (
    calls,
    communication,
    contraction,
    control,
    elementwise,
    host_calls,
    implicit,
    indexing,
    reduction,
    shape,
    systems,
    tapes,
)

__all__ = ["calls", "communication", "contraction", "control", "elementwise", "host_calls", "implicit", "indexing", "reduction", "shape", "systems", "tapes"]

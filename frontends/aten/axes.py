"""Dimensions as PyTorch counts them."""

from __future__ import annotations

from collections.abc import Sequence


def axis(d: int, rank: int) -> int:
    """A dimension counted from the front; that of a scalar is 0."""
    return d % max(rank, 1)


def axes(dims: Sequence[int] | int | None, rank: int) -> list[int]:
    """Dimensions counted from the front in ascending order; all where none is named."""
    if isinstance(dims, int):
        dims = [dims]
    return sorted({axis(d, rank) for d in dims}) if dims and rank else list(range(rank))

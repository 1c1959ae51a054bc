"""Chooses whether the two innermost loops run in tiles, because of transposed reads."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.kernel import LoadOp
from wengert.dialects.kernel.element_formats import element_format
from wengert.ir.traversal import result_of
from wengert.transforms.schedule.order import SMALLEST_TILE, is_transposed
from wengert.transforms.schedule.placement import Placement

LARGEST_TILE = 16
REPEATED_OPS = 12
"""Scalars of the loop around the innermost one are computed again in every tile, so there may not be many."""


def choose_tile(placement: Placement, lanes: int) -> int | None:
    """Chooses the side of square tiles, which is also the lanes of a register then; None: no tiles."""
    if len(placement.levels[placement.inner]) > REPEATED_OPS:
        return None
    side = min(lanes, LARGEST_TILE)
    while side > min(placement.extents[-2:]):
        side //= 2
    return side if side >= SMALLEST_TILE and any(is_tiled(placement, op) for op in placement.ops) else None


def is_tiled(placement: Placement, op: Operation) -> bool:
    """Whether an op is a load that tiles read in rows and transpose."""
    if not isinstance(op, LoadOp) or op.base is not None or op.where is not None or element_format(result_of(op).type).kind == "c":
        return False
    return is_transposed(placement.loops[op.at.data], placement.inner - 1, placement.inner)

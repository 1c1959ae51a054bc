"""Chooses the order of loops.

Where something is read transposed, the loop along which that is contiguous is moved next to the innermost one, so that the two can run in tiles.
Many short rows are summed column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.dialects.kernel import STORE, LoadOp, Write
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.schedule.placement import Placement

SMALLEST_TILE = 4
"""Loops with fewer iterations are not run in tiles."""
SHORT_ROW = 4
MANY_ROWS = 32
"""Rows and columns of a matrix whose columns are summed one after another."""


def choose_order(placement: Placement, *, strict: bool, in_place: Callable[[], bool]) -> tuple[tuple[int, ...], bool]:
    """Chooses the order of the loops (empty: as they are); and whether a loop was moved inward because of transposed reads."""
    loops, last = placement.loops, placement.inner
    across = crossed_loop(placement)
    if across is not None and not in_place():
        order = (*[d for d in range(last) if d != across], across, last)
        return (() if order == tuple(range(last + 1)) else order), True
    if sums_short_rows(loops, placement.writes, strict=strict) and all(tie < 0 for tie in placement.op.tied):
        return (*range(last - 1), last, last - 1), False
    return (), False


def crossed_loop(placement: Placement) -> int | None:
    """The loop along which transposed reads are contiguous; None if there are none, or if the order of loops matters."""
    loops, inner = placement.loops, placement.inner
    if any(write.kind != STORE or write.base is not None or loops[write.at].coefficient(inner) != 1 for write in placement.writes):
        return None
    for op in placement.ops:
        if isinstance(op, LoadOp) and op.base is None and op.where is None:
            at = loops[op.at.data]
            if at.coefficient(inner) not in (-1, 0, 1):
                for d in range(inner):
                    if is_transposed(at, d, inner) and min(loops.extents[d], loops.extents[inner]) >= SMALLEST_TILE:
                        return d
    return None


def sums_short_rows(loops: Loops, writes: Sequence[Write], *, strict: bool) -> bool:
    """Whether a nest only combines many rows of very few elements, which is faster column by column, in registers.

    A strict program adds up one after the other, which the total of a column is not where there are several matrices.
    """
    inner = len(loops.extents) - 1
    if inner < 1 or loops.extents[inner] > SHORT_ROW or loops.extents[inner - 1] < MANY_ROWS:
        return False
    positions = [loops[write.at] for write in writes if write.kind != STORE and write.base is None]
    kept = {*range(inner - 1), inner} if strict else {inner}
    return len(positions) == len(writes) and all(kept <= dimensions(at) and inner - 1 not in dimensions(at) for at in positions)


def is_transposed(at: Position, across: int, inner: int) -> bool:
    """Whether a position is strided along the innermost loop and contiguous along another one."""
    divided = {d for atom, _ in at.terms if not isinstance(atom, int) for d in dimensions(atom.expression)}
    return at.coefficient(inner) not in (-1, 0, 1) and at.coefficient(across) == 1 and not divided & {across, inner}

"""Chooses the parallel loop of a nest and its chunk size: the outermost loop, or a new one around all others.

The iterations of the chosen loop must write different elements. A nest of one loop, or with few iterations in the outermost, is cut: the
range of its longest loop becomes ranges that a new outermost loop goes through. Ranges have one length, since the text of a loop is
written for it; where no divisor of the loop's length is near the number of chunks, the last range overlaps the one before, if
elements may be computed twice. A nest that sums over all iterations has been split before, so that each chunk has a sum of its own
(:mod:`wengert.transforms.kernel.split_reductions`). Updates of an array are shared by loops that reach different elements
(:mod:`.computed_positions`), so that each element sees them in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

from msgspec.structs import replace
from xdsl.ir import SSAValue

from wengert.dialects.kernel import STORE, NestOp, Write
from wengert.dialects.kernel.iterators import stored_apart
from wengert.dialects.kernel.positions import Position, dimensions, span
from wengert.dialects.kernel.schedule import Cut, Parallel, Schedule
from wengert.ir.tensor_types import size
from wengert.transforms.schedule.chunks import Split, split, wanted_chunks
from wengert.transforms.schedule.computed_positions import updated_apart, updates, window_unit
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target
from wengert.transforms.schedule.work import nest_ns

FEW_ITERATIONS = 8
"""A loop of so many iterations is shared as it is, though the work would be worth more chunks."""
OWNED_NS = 10.0
"""What is updated at one computed position must take so long that going through all of them is little beside it."""
MOST_OWNED = 64
UNIT = 64
"""Ranges of the innermost loop are multiples of so many elements where that can be: whole registers, whole cache lines."""


def choose_parallel(placement: Placement, target: Target, *, crossed: bool, in_place: Callable[[], bool]) -> tuple[Cut | None, Parallel | None]:
    """Chooses the cut that makes a new outermost loop, if one is needed, and the chunks of the outermost loop; None: sequential.

    The cut names a loop as the placement numbers it. Where the two innermost loops may run in tiles (``crossed``), neither of them is shared.
    """
    nanoseconds = nest_ns(placement, target)
    wanted, extents = wanted_chunks(nanoseconds, awake=target.awake), placement.extents
    if wanted < 2 or 0 in extents or not may_share(placement):
        return None, None
    outer_loops = len(extents) - (2 if crossed else 1)
    outer = outer_loops >= 1 and is_disjoint(placement, 0)
    if outer and extents[0] >= min(FEW_ITERATIONS, wanted):
        return None, _chunks(extents[0], nanoseconds, target)
    cut = _choose_cut(placement, wanted, in_place=in_place)
    if cut is None:
        return None, _chunks(extents[0], nanoseconds, target) if outer and extents[0] > 1 else None
    return cut, Parallel(1, int(nanoseconds))


def _chunks(count: int, nanoseconds: float, target: Target) -> Parallel | None:
    shared = split(count, nanoseconds, awake=target.awake)
    return None if shared is None else Parallel(shared.grain, shared.nanoseconds)


def _choose_cut(placement: Placement, wanted: int, *, in_place: Callable[[], bool]) -> Cut | None:
    """Cuts the longest loop into ranges; None if it cannot be cut."""
    loops, extents = placement.loops, placement.extents
    # Columns of updates are far apart in memory, where each row is scanned by all threads (7 times as long for rows of 2 KB, measured).
    rows = 1 if any(updates(placement, write) for write in placement.writes) else len(extents)
    able = [d for d in range(rows) if extents[d] >= 2 * UNIT and is_disjoint(placement, d) and not loops.is_divided(d)]
    if not able:
        return None
    d = max(able, key=lambda n: (extents[n], n))
    count = best_divisor(extents[d], wanted)
    if count is not None and 2 * count >= wanted:
        return Cut(d, extents[d] // count)
    if all(write.kind == STORE for write in placement.writes) and not in_place():
        return Cut(d, extents[d] // wanted // UNIT * UNIT + UNIT, overlapping=True)
    return None if count is None else Cut(d, extents[d] // count)


def choose_owned(placement: Placement, target: Target) -> tuple[int, Parallel] | None:
    """Chooses the ranges of elements of an array that threads update, each going through all positions; None: one thread updates all of it."""
    nanoseconds = nest_ns(placement, target)
    if wanted_chunks(nanoseconds, awake=target.awake) < 2 or 0 in placement.extents or not (unit := window_unit(placement)):
        return None
    (write,) = placement.writes
    elements = size(placement.op.outputs[write.target])
    positions = prod(placement.extents[: placement.depth[cast("SSAValue", write.base)] + 1])
    if elements < 2 * unit or nanoseconds < OWNED_NS * positions:
        return None
    return -(-elements // unit // MOST_OWNED) * unit, Parallel(1, int(nanoseconds))


def owned_ranges(op: NestOp, schedule: Schedule) -> Split | None:
    """The ranges of elements that threads update; None if there are none."""
    if not schedule.owned or schedule.parallel is None:
        return None
    elements = size(op.outputs[op.writes[0].target])
    return Split(-(-elements // schedule.owned), schedule.parallel.chunk, schedule.parallel.nanoseconds, joined=True, even=True)


def shared_loop(op: NestOp, schedule: Schedule, extents: list[int]) -> Split | None:
    """The iterations of the outermost loop in chunks, as the thread pool runs them; None: sequential. ``extents`` are the loops as they run."""
    if (parallel := schedule.parallel) is None or schedule.owned:
        return owned_ranges(op, schedule)
    overlapping = ranges(op, schedule)
    if overlapping is None:
        return Split(extents[0], parallel.chunk, parallel.nanoseconds)
    return replace(overlapping, grain=parallel.chunk, nanoseconds=parallel.nanoseconds)


def ranges(op: NestOp, schedule: Schedule) -> Split | None:
    """The ranges that the outermost loop goes through, where the last overlaps the one before; None if none do."""
    cut = schedule.cut
    if cut is None or not cut.overlapping:
        return None
    extent = op.extents[cut.loop]
    return Split(-(-extent // cut.size), 1, 0, cut.size, extent - cut.size)


def may_share(placement: Placement) -> bool:
    """Whether there may be loops whose iterations write different elements: no result is summed up at computed positions."""
    return all(placement.op.tied[write.target] >= 0 for write in placement.writes if updates(placement, write))


def is_disjoint(placement: Placement, d: int) -> bool:
    """Whether the iterations of a loop write different elements; those of combined results in blocks one after another."""
    op, loops, extents = placement.op, placement.loops, placement.extents

    def is_apart(write: Write) -> bool:
        at = loops[write.at]
        if updates(placement, write):
            return d in updated_apart(placement, write)
        return d in stored_apart(at, extents) if write.kind == STORE else block_length(at, d, extents, size(op.outputs[write.target])) is not None

    return all(map(is_apart, placement.writes))


def block_length(at: Position, d: int, extents: list[int], elements: int) -> int | None:
    """The c for which iteration i of loop d writes within elements [c i, c (i + 1)) of so many; None if there is none."""
    c = at.coefficient(d)
    rest = Position(at.offset, tuple([term for term in at.terms if term[0] != d]))
    if c <= 0 or c * extents[d] != elements or d in dimensions(rest):
        return None
    low, high = span(rest, extents)
    return c if low >= 0 and high < c else None


def best_divisor(extent: int, wanted: int) -> int | None:
    """The number of ranges, at most as many as wanted and not much fewer, that divides the extent; ranges of whole units first."""
    divisors = [n for n in range(wanted, max(wanted // 4, 1), -1) if extent % n == 0]
    return next((n for n in divisors if extent // n % UNIT == 0), divisors[0] if divisors else None)

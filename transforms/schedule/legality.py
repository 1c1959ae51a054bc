"""Checks whether a nest can run as its schedule asks for, and says why not.

What is checked is whether results would be right, not whether they come fast: an order in which nothing is contiguous is obeyed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wengert.dialects.kernel import STORE, LoadOp, NestOp, Write
from wengert.dialects.kernel.attributes import guards_text
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import dimensions
from wengert.dialects.kernel.schedule import Piece, Schedule
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.transforms.schedule.computed_positions import apart_in, window_unit
from wengert.transforms.schedule.lanes import needs_one_lane
from wengert.transforms.schedule.parallel import is_disjoint, may_share
from wengert.transforms.schedule.placement import Placement, guards_of
from wengert.transforms.schedule.tiles import is_tiled
from wengert.transforms.schedule.versions import guard_values, outer_part


class _Asked(NamedTuple):
    """A schedule that is to be checked: the nest, its loops as they would run, and what holds around the nest."""

    op: NestOp
    placement: Placement
    schedule: Schedule
    strict: bool
    in_place: bool

    @property
    def last(self) -> int:
        """The iterations of the innermost loop."""
        return self.placement.extents[-1]

    def once(self) -> str:
        """Why no iteration may run twice; empty if it may."""
        if self.in_place:
            return "the nest overwrites what it reads, so that no iteration may run twice"
        return "" if self.placement.only_stores() else "the nest combines values, or writes at computed positions, so that no iteration may run twice"


def check(op: NestOp, schedule: Schedule, *, strict: bool, in_place: bool, parallel: bool) -> Placement:
    """Places the loops of a nest as its schedule asks for. ``strict``, ``in_place``, ``parallel``: as for :func:`~.choice.choose`.

    Raises:
        DiagnosticError: the nest cannot run so; the error is at its location.
    """
    if 0 in op.extents:
        return Placement(op)
    if problem := _loops(op, schedule, strict=strict):
        raise _refusal(op, *problem)
    placement = Placement.scheduled(op, schedule)
    if problem := _inside(_Asked(op, placement, schedule, strict, in_place), parallel):
        raise _refusal(op, *problem)
    return placement


def _refusal(op: NestOp, what: str, why: str) -> DiagnosticError:
    return error_at(op, f"the schedule asks for {what}, but {why}")


Problem = tuple[str, str] | None
"""What a schedule asks for, and why that cannot be."""


def _loops(op: NestOp, schedule: Schedule, *, strict: bool) -> Problem:
    """The order of loops, and the cut."""
    count, cut = len(op.extents), schedule.cut
    if schedule.order and len(schedule.order) != count:
        return f"an order of {len(schedule.order)} loops", f"the nest has {count}"
    if cut is not None:
        what = f"ranges of {cut.size} iterations of loop {cut.loop}"
        if cut.loop >= count:
            return what, f"the nest has {count} loops"
        if cut.size > (extent := op.extents[cut.loop]):
            return what, f"that has {extent}"
        if not cut.overlapping and extent % cut.size:
            return what, f"its {extent} are no multiple of that, and ranges are not overlapping"
    sequence = [*([cut.loop] if cut is not None else []), *(schedule.order or range(count))]
    if sequence != list(range(count)):
        for write in op.writes:
            if why := _needs_order(op, write, sequence, strict=strict):
                return "cut" if not schedule.order else "this order", why
    return None


def _needs_order(op: NestOp, write: Write, sequence: list[int], *, strict: bool) -> str:
    """Why a write does not allow loops in this sequence (a loop that is cut stands in it twice); empty if it does."""
    if sequence[1:] == list(range(len(op.extents))) and sequence[0] in apart_in(op, write):
        return ""  # ranges of a loop whose iterations update different elements, each in the same order as before
    if write.base is not None and write.kind == STORE and Placement(op).depth[write.base] >= 0:
        return "the nest stores at computed positions, where the last iteration's value stays"
    if not strict or write.kind not in ("add", "mul") or element_format(write.value.type).kind not in "fc":
        return ""
    used, last = dimensions(write.at), sequence[-1]
    summed = [d for d in dict.fromkeys(sequence) if d not in used]
    kept = next((at for at, d in reversed([*enumerate(sequence)]) if d in used), 0)
    in_parts = last not in used and any(d not in used for d in sequence[:kept])
    return "a strict program adds up in order" if write.base is not None or summed != sorted(summed) or in_parts else ""


def _inside(asked: _Asked, parallel: bool) -> Problem:
    if asked.placement.inner < 0:
        return None if asked.schedule == Schedule() else ("loops", "the nest has none")
    for rule in (_shared(parallel), _overlapping, _lanes, _interleaving, _accumulators, _tiles, _version, _pieces, _remainder):
        if problem := rule(asked):
            return problem
    return None


def _shared(parallel: bool) -> Callable[[_Asked], Problem]:
    def rule(asked: _Asked) -> Problem:
        placement, what = asked.placement, f"ranges of {owned} elements" if (owned := asked.schedule.owned) else "a parallel loop"
        if asked.schedule.parallel is None:
            return (what, "no 'parallel' shares them") if owned else None
        if not parallel:
            return what, "the nest is part of what runs in parallel already"
        if owned:
            unit = 0 if asked.schedule.cut is not None or asked.schedule.order else window_unit(placement)
            why = "nothing is updated at computed positions, each in one range for sure" if not unit else f"what is updated at once lies within {unit}"
            return None if unit and owned % unit == 0 else (what, why)
        if placement.inner < (2 if asked.schedule.tiled else 1):
            return what, "there is no loop around those that a thread runs; cut one"
        if not may_share(placement) or not is_disjoint(placement, 0):
            return what, "the iterations of the outermost loop do not write different elements"
        return None

    return rule


def _overlapping(asked: _Asked) -> Problem:
    cut = asked.schedule.cut
    return ("overlapping ranges", why) if cut is not None and cut.overlapping and (why := asked.once()) else None


def _lanes(asked: _Asked) -> Problem:
    why = needs_one_lane(asked.placement, strict=asked.strict)
    return (f"{asked.schedule.lanes} lanes", why) if asked.schedule.lanes > 1 and why else None


def _interleaving(asked: _Asked) -> Problem:
    placement, what = asked.placement, f"{asked.schedule.interleave} registers at once"
    if asked.schedule.interleave == 1:
        return None
    if asked.schedule.lanes == 1:
        return what, "there is one lane"
    loads = [op for op in placement.levels[-1] if isinstance(op, LoadOp)]
    if any(load.base is not None or guards_of(load) or not placement.is_straight(placement.loops[load.at.data]) for load in loads):
        return what, "something is read with a stride, with a guard, or at computed positions"
    if any(write.base is not None or not placement.is_straight(placement.loops[write.at]) for write in placement.writes):
        return what, "something is written with a stride, or at computed positions"
    return None


def _accumulators(asked: _Asked) -> Problem:
    what = f"{asked.schedule.accumulators} accumulators"
    sums = [r.write for r in asked.placement.reductions if r.in_registers]
    if asked.schedule.accumulators == 1:
        return None
    if not sums:
        return what, "nothing is summed over the innermost loop"
    if asked.strict and any(write.kind in ("add", "mul") and element_format(write.value.type).kind in "fc" for write in sums):
        return what, "a strict program adds up in order"
    return None


def _tiles(asked: _Asked) -> Problem:
    schedule, placement = asked.schedule, asked.placement
    if not schedule.tiled:
        return None
    if placement.inner < 1 or not any(is_tiled(placement, op) for op in placement.ops):
        return "tiles", "nothing is read with a stride along the innermost loop that is contiguous along the one around it"
    if not 1 < schedule.lanes <= min(placement.extents[-2:]) or schedule.interleave > 1:
        return f"tiles of {schedule.width} by {schedule.width} iterations", "a side is one register, and not longer than the loops"
    if schedule.version is not None or schedule.pieces or schedule.remainder != "masked":
        return "tiles", "also for an innermost loop in versions, in pieces or with a remainder"
    return ("tiles", why) if (why := asked.once()) else None


def _version(asked: _Asked) -> Problem:
    version, placement = asked.schedule.version, asked.placement
    if version is None:
        return None
    if not version.holds and not version.fails:
        return "a version", "names no guard for it"
    positions = dict(placement.guards)
    for guard in (*version.holds, *version.fails):
        what = f"a version where {guards_text([guard])} {'holds' if guard in version.holds else 'fails'} throughout"
        if guard not in positions:
            return what, "the nest has no such guard"
        if guard in version.holds and guard in version.fails:
            return what, "also one where it fails"
        if outer_part(positions[guard], placement.inner) is None:
            return what, "outer loops have no part in it, or divide"
    return ("a version", "the innermost loop is summed over") if any(r.in_registers for r in placement.reductions) else None


def _pieces(asked: _Asked) -> Problem:
    pieces, width = asked.schedule.pieces, asked.schedule.width
    if not pieces:
        return None
    if pieces[-1].stop != asked.last:
        return f"pieces up to {pieces[-1].stop}", f"the innermost loop has {asked.last} iterations"
    if asked.schedule.remainder != "masked":
        return "pieces", "also for a remainder, which they have none of"
    if why := asked.once():
        return "pieces", why
    return next((problem for piece in pieces if (problem := _piece(asked.placement, piece, width))), None)


def _piece(placement: Placement, piece: Piece, width: int) -> Problem:
    what = f"a piece {piece.start} to {piece.stop}"
    if piece.masked:
        registers = -(-piece.length // width)
        return (what, f"its registers of {width} lanes reach beyond the loop") if registers * width > placement.extents[-1] else None
    if piece.length < width:
        return what, f"that does not fill a register of {width} lanes"
    changing = [guard for guard, value in guard_values(placement.guards, placement.inner, piece).items() if value is None]
    return (f"{what} that is not masked", f"{guards_text(changing[:1])} changes in it") if changing else None


def _remainder(asked: _Asked) -> Problem:
    if asked.schedule.remainder == "masked":
        return None
    if asked.last < asked.schedule.width:
        return "a repeated remainder", f"the innermost loop does not fill a register of {asked.schedule.width} lanes"
    return ("a repeated remainder", why) if (why := asked.once()) else None

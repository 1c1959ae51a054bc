"""Chooses the schedule of a nest for a target, by a model of costs."""

from __future__ import annotations

from collections.abc import Callable

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.schedule import Cut, Parallel, Schedule
from wengert.transforms.schedule.lanes import choose_accumulators, choose_interleaving, choose_lanes, choose_remainder
from wengert.transforms.schedule.order import choose_order
from wengert.transforms.schedule.parallel import choose_owned, choose_parallel
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target
from wengert.transforms.schedule.tiles import choose_tile
from wengert.transforms.schedule.versions import choose_pieces, choose_version
from wengert.transforms.schedule.work import may_be_shared


def choose(op: NestOp, target: Target, *, strict: bool = False, in_place: Callable[[], bool] = lambda: False, parallel: bool = True, runs: int = 1) -> Schedule:
    """Chooses how a nest runs on a processor.

    Args:
        op: the nest; the model assumes that its loops are collapsed (:mod:`wengert.transforms.kernel.collapsing`).
        target: the processor.
        strict: sums are added up in the order in which they are written.
        in_place: whether a result lies where an operand does, so that no iteration may run twice. It is asked where the answer matters: before there are
            buffers it takes placing them all to know.
        parallel: threads may share the nest: it is not inside of something that they share already.
        runs: how often the loops around the nest run it, as far as that is known.
    """
    if not op.extents or 0 in op.extents:
        return Schedule()
    placement = Placement(op)
    order, crossed = choose_order(placement, strict=strict, in_place=in_place)
    cut: Cut | None = None
    shared: Parallel | None = None
    owned = 0
    if order:
        placement = Placement.scheduled(op, Schedule(order=order))
    if parallel and may_be_shared(op, awake=target.awake):
        cut, shared = choose_parallel(placement, target, crossed=crossed, in_place=in_place)
        if cut is not None:
            cut = Cut(order[cut.loop], cut.size, cut.overlapping) if order else cut
            placement = Placement.scheduled(op, Schedule(order=order, cut=cut))
        if shared is None and (ranges := choose_owned(placement, target)) is not None:
            owned, shared = ranges
    lanes, widest = choose_lanes(placement, target, strict=strict)
    if crossed and (side := choose_tile(placement, lanes)) is not None:
        return Schedule(order, cut, owned, shared, lanes=side, tiled=True)
    interleave = 1 if crossed else choose_interleaving(placement, target, lanes, widest)
    if interleave > 1 and in_place():
        interleave = 1
    width = lanes * interleave
    repeatable = width > 1 and placement.only_stores()
    pieces = choose_pieces(placement, width, runs) if repeatable else ()
    version = choose_version(placement, width) if repeatable else None
    remainder = "masked" if pieces else choose_remainder(placement, width, repeatable=repeatable)
    if (pieces or version or remainder == "repeated") and in_place():
        pieces, version, remainder = (), None, "masked"
    return Schedule(
        order,
        cut,
        owned,
        shared,
        lanes,
        interleave,
        choose_accumulators(placement, lanes, interleave, strict=strict),
        version=version,
        pieces=pieces,
        remainder=remainder,
    )

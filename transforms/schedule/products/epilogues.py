"""Checks whether a product and the nest that finishes it can run as their schedules ask for."""

from __future__ import annotations

from wengert.dialects.kernel import FusedOp
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.location.places import error_at
from wengert.transforms.schedule import legality
from wengert.transforms.schedule.products.choice import schedule_of
from wengert.transforms.schedule.products.legality import check
from wengert.transforms.schedule.products.operands import product_of
from wengert.transforms.schedule.products.plan import plan_of
from wengert.transforms.schedule.target import Target


def check_fused(op: FusedOp, target: Target, *, strict: bool, parallel: bool, room: int | None = None) -> None:
    """Raises a DiagnosticError at the place of the product or the nest if they cannot run so; the arguments are those of :func:`check`."""
    what = product_of(op.product)
    schedule = schedule_of(op.product, what)
    check(op.product, schedule, target, parallel=parallel, room=room)
    plan = plan_of(what, schedule)
    if plan.blocks is None or plan.loops or plan.apart_elements or plan.copy_a is not None or plan.copy_b is not None:
        raise error_at(op.product, f"a nest finishes the product, but its kernel '{schedule.kernel}' does not go through blocks of the result itself")
    if plan.blocks.rows % plan.tile.rows:
        raise error_at(op.product, f"a nest finishes the product, but blocks of {plan.blocks.rows} rows end within a tile of {plan.tile.rows}")
    if (plan.m, plan.n) != op.nest.extents:
        raise error_at(op.nest, f"the nest goes through {op.nest.extents[0]} rows and {op.nest.extents[1]} columns, the product has {plan.m} and {plan.n}")
    asked = Schedule() if op.nest.schedule is None else op.nest.schedule.data
    if asked.order or asked.cut is not None or asked.tiled or asked.parallel is not None:
        raise error_at(op.nest, "the nest finishes a product, row by row: its loops stay as they are, and threads share the product")
    legality.check(op.nest, asked, strict=strict, in_place=not op.keeps_sums, parallel=False)

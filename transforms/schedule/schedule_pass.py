"""The pass ``schedule``: writes on every kernel of a program how it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.kernel import FusedOp, MatmulOp, NativeOp, NestOp, StripMineOp
from wengert.dialects.kernel.buffers import LaunchOp, StripLoopOp, is_bufferized, runs_in_place, scratch_room
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import Parallel, Schedule, ScheduleAttr
from wengert.ir.traversal import ops_in
from wengert.transforms.bufferize.layout import in_place_nests
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.schedule.choice import choose
from wengert.transforms.schedule.chunks import split, stay_awake
from wengert.transforms.schedule.gpu.target import GPU_TARGETS
from wengert.transforms.schedule.host import HOST, target_named
from wengert.transforms.schedule.legality import check
from wengert.transforms.schedule.target import Target
from wengert.transforms.schedule.work import block_ns, strips_ns


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Chooses how each kernel runs on a target; a schedule that is there already is kept."""

    name = "schedule"

    target: str = HOST
    """``cpu``, the processor that this process runs on, or one by name: ``avx2``, ``avx512``, ``zen4``, ``neon``, ``sse2``; or a GPU: ``gpu`` (none of them),
    ``sm_80``, ``sm_90``, ``gfx90a``, ``gfx942``."""
    strict: bool = False
    """Sums are added up in the order in which they are written."""
    tf32: bool = False
    """Products of f32 are computed by tensor cores, where a GPU has these, from the first ten bits of the mantissas of their factors."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.target in GPU_TARGETS:
            from wengert.transforms.schedule.gpu.schedule import schedule_for_gpu  # here, because most programs run on a processor

            schedule_for_gpu(op, replace(GPU_TARGETS[self.target], tf32=self.tf32), strict=self.strict)
            return
        for function in ops_in(op.body.block):
            if isinstance(function, FuncOp) and function.body.blocks:
                target = target_named(self.target)
                target = replace(target, awake=stay_awake(block_ns(function.body.block, target)))
                schedule(function, target, strict=self.strict, in_place=_overwrites(function))


def _overwrites(function: FuncOp) -> Callable[[NestOp], bool]:
    """Says which nests of a function overwrite what they read, by their buffers if they have some, else by those that ``bufferize`` will give them."""
    if is_bufferized(function):
        return lambda nest: isinstance(launch := nest.parent_op(), LaunchOp) and runs_in_place(launch)
    nests = lru_cache(maxsize=1)(lambda: in_place_nests(function))  # most schedules do not depend on it
    return lambda nest: nest in nests()


UNCOUNTED = 16
"""The iterations that a loop is taken to have if they are not known."""


def schedule(
    root: Operation, target: Target, *, strict: bool = False, in_place: Callable[[NestOp], bool] = lambda op: False, parallel: bool = True, runs: int = 1
) -> None:
    """Chooses schedules for the kernels and strip loops inside of an op that have none, and checks those that are there.

    A nest on values may have a schedule by which iterations run twice though it might overwrite what it reads: then ``bufferize`` does not let it.

    Args:
        root: a module, or any op with kernels inside.
        target: the processor.
        strict: sums keep their order.
        in_place: whether a nest overwrites what it reads.
        parallel: whether kernels may be shared by the thread pool.
        runs: how often loops around the op run it.

    Raises:
        DiagnosticError: a schedule that is there cannot be obeyed.
    """
    for region in root.regions:
        for block in region.blocks:
            for op in ops_in(block):
                inside = parallel
                if isinstance(op, NestOp):
                    if op.schedule is None:
                        op.properties["schedule"] = ScheduleAttr(
                            choose(op, target, strict=strict, in_place=partial(in_place, op), parallel=parallel, runs=runs)
                        )
                    else:
                        check(op, op.schedule.data, strict=strict, in_place=isinstance(root, LaunchOp) and runs_in_place(root), parallel=parallel)
                    continue
                if isinstance(op, MatmulOp | NativeOp):
                    _whole(op, target, strict=strict, parallel=parallel, room=scratch_room(root) if isinstance(root, LaunchOp) else None)
                    continue
                if isinstance(op, FusedOp):
                    _fused(op, target, strict=strict, parallel=parallel, room=scratch_room(root) if isinstance(root, LaunchOp) else None)
                    continue
                if isinstance(op, StripMineOp) and op.schedule is None:
                    op.properties["schedule"] = ScheduleAttr(choose_strips(op, target, parallel=parallel))
                if isinstance(op, StripMineOp | StripLoopOp):
                    inside = parallel and (op.schedule is None or op.schedule.data.parallel is None)
                schedule(op, target, strict=strict, in_place=in_place, parallel=inside, runs=runs * _iterations(op))


def _iterations(op: Operation) -> int:
    """How often an op runs what is inside of it, as far as that is known."""
    if not isinstance(op, core.ForOp | core.WhileOp):
        return 1
    known = constant_integer(op.trip_count) if isinstance(op, core.ForOp) else None
    return UNCOUNTED if known is None else max(known, 1)


def _whole(op: MatmulOp | NativeOp, target: Target, *, strict: bool, parallel: bool, room: int | None) -> None:
    """Gives a product or a native kernel its schedule, or checks the one that is there. What lies on buffers has no more scratch memory than it has."""
    if isinstance(op, NativeOp):
        from wengert.transforms.codegen.cpu.native.schedules import check_native, choose_native  # here, because many programs do without them

        if op.schedule is not None:
            check_native(op, target, strict=strict, parallel=parallel, room=room)
        elif (schedule := choose_native(op, target, strict=strict, parallel=parallel, room=room)) is not None:
            op.properties["schedule"] = ScheduleAttr(schedule)
        return
    from wengert.transforms.schedule.products.choice import choose as choose_product
    from wengert.transforms.schedule.products.choice import plain
    from wengert.transforms.schedule.products.legality import check as check_product
    from wengert.transforms.schedule.products.operands import product_of
    from wengert.transforms.schedule.products.plan import scratch_bytes

    if op.schedule is not None:
        check_product(op, op.schedule.data, target, parallel=parallel, room=room)
        return
    product = product_of(op)
    chosen = choose_product(product, target, parallel=parallel)
    if room is not None and scratch_bytes(product, chosen) > room:
        chosen = plain(product)
    op.properties["schedule"] = ProductScheduleAttr(chosen)


def _fused(op: FusedOp, target: Target, *, strict: bool, parallel: bool, room: int | None) -> None:
    """Gives a product and the nest that finishes it their schedules, or checks those that are there."""
    from wengert.transforms.schedule.products.epilogues import check_fused

    _whole(op.product, target, strict=strict, parallel=parallel, room=room)
    if op.nest.schedule is None:
        chosen = choose(op.nest, target, strict=strict, in_place=lambda: not op.keeps_sums, parallel=False)
        op.nest.properties["schedule"] = ScheduleAttr(chosen)
    check_fused(op, target, strict=strict, parallel=parallel, room=room)


def choose_strips(op: StripMineOp, target: Target, *, parallel: bool) -> Schedule:
    """Chooses how strips run: one after the other, or shared by the thread pool."""
    shared = split(op.iterations.value.data, strips_ns(op, target), awake=target.awake) if parallel else None
    return Schedule(parallel=Parallel(shared.grain, shared.nanoseconds)) if shared is not None else Schedule()

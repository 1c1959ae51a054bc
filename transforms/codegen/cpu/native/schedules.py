"""Chooses and checks the schedules of native kernels: which have a form for threads, and the chunks of their iterations.

The kernels themselves say what may run in parallel and how long it takes (:mod:`wengert.transforms.codegen.cpu.native.base`).
"""

from __future__ import annotations

from wengert.dialects.kernel import NativeOp
from wengert.dialects.kernel.schedule import Cut, Parallel, Schedule
from wengert.ir.location.places import error_at
from wengert.transforms.codegen.cpu.native import NativeKernel, native_kernel
from wengert.transforms.codegen.cpu.native.base import ROWS, STEPS, TERM_ROWS, TERMS, Cuttable
from wengert.transforms.schedule.chunks import split
from wengert.transforms.schedule.target import Target

_NAMES = {ROWS: "rows", TERMS: "terms", TERM_ROWS: "rows of terms", STEPS: "steps"}


def choose_native(op: NativeOp, target: Target, *, strict: bool = False, parallel: bool, room: int | None = None) -> Schedule | None:
    """The schedule of a native kernel that has none; None if it has no form for threads.

    Args:
        op: the kernel.
        target: the processor.
        strict: sums keep their order.
        parallel: it may be shared by the thread pool.
        room: the bytes of scratch memory that it has, if that is decided.
    """
    kernel = native_kernel(op, target)
    if parallel and (cut := kernel.choose_cut()) is not None and not (strict and _reassociates(kernel, cut)):
        kernel = native_kernel(op, target)  # what this one knows of itself holds without the cut
        kernel.schedule = Schedule(cut=cut)
        if room is not None and kernel.scratch_bytes() > room:
            kernel = native_kernel(op, target)
    iterations, nanoseconds = kernel.parallel_work()
    if iterations < 2 and all(cuttable.extent < 2 for cuttable in kernel.cuttable().values()):
        return None
    shared = split(iterations, nanoseconds) if parallel else None
    return Schedule() if shared is None else Schedule(cut=kernel.schedule.cut, parallel=Parallel(shared.grain, shared.nanoseconds))


def check_native(op: NativeOp, target: Target, *, strict: bool = False, parallel: bool, room: int | None = None) -> None:
    """Raises a DiagnosticError at the op's place if it cannot run as its schedule says. The arguments are those of :func:`choose_native`."""
    kernel = native_kernel(op, target)
    problem = _problem(kernel, strict=strict, parallel=parallel)
    if problem is None and room is not None and (needed := kernel.scratch_bytes()) > room:
        problem = f"{needed} bytes of scratch memory", f"the launch has {room}: 'bufferize' gives what the schedule needs that is there when it runs"
    if problem is not None:
        raise error_at(op, f"the schedule asks for {problem[0]}, but {problem[1]}")


def _reassociates(kernel: NativeKernel, cut: Cut) -> bool:
    return (cuttable := kernel.cuttable().get(cut.loop)) is not None and cuttable.reassociates


def _problem(kernel: NativeKernel, *, strict: bool, parallel: bool) -> tuple[str, str] | None:
    """What the schedule asks for, and why that cannot be."""
    schedule = kernel.schedule
    if schedule != Schedule(cut=schedule.cut, parallel=schedule.parallel):
        return "more than a cut and a parallel loop", "a native kernel has its own loops and registers"
    if (cut := schedule.cut) is not None and (problem := _problem_of_cut(kernel, cut, strict=strict)) is not None:
        return problem
    if schedule.parallel is not None:
        if not parallel:
            return "a parallel loop", "the kernel is part of what runs in parallel already"
        iterations, _ = kernel.parallel_work()
        if iterations < 2 or kernel.returns_status or kernel.uses_tapes:
            return "a parallel loop", "the kernel has no iterations that are independent"
    return None


def _problem_of_cut(kernel: NativeKernel, cut: Cut, *, strict: bool) -> tuple[str, str] | None:
    loop = cut.loop if cut.loop in _NAMES else ROWS
    cuttable = kernel.cuttable().get(loop, Cuttable(0))
    asked = f"ranges of {cut.size} iterations of loop {cut.loop}"
    fits = cuttable.extent % cut.size == 0 if cuttable.equal else 2 * cut.size <= cuttable.extent and cut.size % cuttable.unit == 0
    if loop != cut.loop or cut.overlapping or not cuttable.extent or not fits:
        how = "equal ranges" if cuttable.equal else f"two or more ranges of a multiple of {cuttable.unit}"
        return asked, f"the kernel has {cuttable.extent or 'no'} {_NAMES[loop]} that may be cut, into {how}"
    return (asked, "a strict program adds up in order") if strict and _reassociates(kernel, cut) else None

"""How far more cores can help a model: ``python -m benchmarks.critical_path [--quick]``.

Every kernel of a training step is timed on one thread (the least of some runs, so that a loaded machine does as well as a quiet one), and read off its
schedule in how many chunks threads share it. Of that follow the kernels that are jobs of the pool, the time of all others, and the time that 2 and 16
threads need at least: that of the busiest thread in each job, one kernel after the other. Neighbouring blocks of a product are computed together by one
thread, but alone by one of many, and each copies its own operands: so they are timed in both ways, by turns. The last column is what could be gained on
top if kernels that do not depend on one another, by the bytes that they read and write, ran side by side: how much shorter the time of 16 threads would be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import jax
import numpy as np
from benchmarks.models.catalogue import models
from benchmarks.problems.workloads import Workload
from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

import wengert as wg
from wengert.dialects.kernel import FusedOp, MatmulOp, NativeOp, NestOp
from wengert.dialects.kernel.buffers import CopyOp, LaunchOp, StripLoopOp
from wengert.dialects.kernel.buffers.storage import overlap
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.attributes import int_of
from wengert.lab.profile.timed import TimedProgram
from wengert.runtime.cpu import pool
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.lowering import placed
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.parallel import shared_loop
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.products.choice import schedule_of
from wengert.transforms.schedule.products.operands import product_of
from wengert.transforms.schedule.products.plan import parts_of


@dataclass(frozen=True)
class Step:
    """A kernel: its microseconds on one thread, and if every chunk is run apart; the chunks that threads share (1: none); the buffers it reads and writes."""

    time: float
    apart: float
    chunks: int
    read: Sequence[SSAValue]
    written: Sequence[SSAValue]

    def on(self, threads: int) -> float:
        """Microseconds of the busiest of so many threads."""
        together = max(self.chunks // (2 * threads), 1)  # about how many a thread claims at once, in the mean
        return (self.time + (self.apart - self.time) / together) * -(-self.chunks // threads) / self.chunks


def chunks(op: Operation) -> int:
    """In how many chunks threads share what is timed."""
    if isinstance(op, StripLoopOp):
        shared = None if op.schedule is None else op.schedule.data.parallel
        return 1 if shared is None else -(-int_of(op.iterations) // shared.chunk)
    kernel = op.kernel if isinstance(op, LaunchOp) else op
    if isinstance(kernel, FusedOp):
        kernel = kernel.product
    cut = None
    if isinstance(kernel, NestOp):
        schedule = Schedule() if kernel.schedule is None else kernel.schedule.data
        cut = shared_loop(kernel, schedule, list(Placement.scheduled(kernel, schedule).extents))
    elif isinstance(kernel, MatmulOp):
        parts = parts_of(what := product_of(kernel), schedule_of(kernel, what))
        cut = None if parts is None else parts.cut
    elif isinstance(kernel, NativeOp):
        cut = native_kernel(kernel, host().target).cut
    return 1 if cut is None else cut.chunks


def derivative(workload: Workload) -> tuple[wg.Program, list[Any]]:
    """The value and the gradients, and what they are computed for."""
    primal = wg.parse(jax.jit(workload.function).lower(*workload.inputs).as_text(), workload.name)
    return primal.vjp(wrt=workload.wrt), [*workload.inputs, *(np.ones(r.shape, r.dtype) for r in primal.signature.results)]


def steps(program: wg.Program, arguments: list[Any], runs: int) -> list[Step]:
    """The kernels of a program, in order."""
    module = placed(runnable(program.optimized_module, as_given=program.as_given))
    timed, apart = TimedProgram(program, module), TimedProgram(program, _with_blocks_apart(module))
    pool.set_threads(1)
    ticks = np.min([[each.run(arguments).ticks for each in (timed, apart)] for _ in range(runs)], axis=0)
    least, least_apart = ticks / timed.ticks_per_second * 1e6
    return [
        Step(float(time), max(float(time), float(by_itself) if _is_joined(op) else 0.0), chunks(op), *_buffers(op))
        for op, time, by_itself in zip(timed.ops, least, least_apart, strict=True)
    ]


def _is_joined(op: Operation) -> bool:
    """Whether it is a product of which one thread computes neighbouring blocks together."""
    return any(isinstance(inside, MatmulOp) and inside.schedule is not None and inside.schedule.data.together for inside in op.walk())


def _with_blocks_apart(module: ModuleOp) -> ModuleOp:
    """The same program, in which no thread computes neighbouring blocks of a product together."""
    copy = module.clone()
    for op in copy.walk():
        if isinstance(op, MatmulOp) and op.schedule is not None and op.schedule.data.together:
            op.properties["schedule"] = ProductScheduleAttr(replace(op.schedule.data, together=0))
    return copy


def _buffers(op: Operation) -> tuple[list[SSAValue], list[SSAValue]]:
    """What is read and what is written, scratch memory among it."""
    if isinstance(op, LaunchOp):
        return list(op.read), [*op.written, *([] if op.scratch is None else [op.scratch])]
    if isinstance(op, StripLoopOp):
        return list(op.ins), [*op.outs, *([] if op.arena is None else [op.arena])]
    assert isinstance(op, CopyOp)
    return [op.source], [op.target]


def side_by_side(kernels: Sequence[Step], threads: int) -> float:
    """Microseconds if every kernel began with those that depend on as many others: the longest of a level, or all of their work divided."""
    levels: list[list[Step]] = []
    level_of: list[int] = []
    for number, step in enumerate(kernels):
        before = [level_of[i] for i, other in enumerate(kernels[:number]) if _depends(step, other)]
        level_of.append(max(before, default=-1) + 1)
        while len(levels) <= level_of[-1]:
            levels.append([])
        levels[level_of[-1]].append(step)
    return sum(max(sum(step.time for step in level) / threads, *(step.on(threads) for step in level)) for level in levels)


def _depends(step: Step, earlier: Step) -> bool:
    """Whether a kernel reads what an earlier one writes, or writes what that reads or writes."""
    pairs = ((step.read, earlier.written), (step.written, earlier.written), (step.written, earlier.read))
    return any(overlap(a, b) for ones, others in pairs for a in ones for b in others)


def line(name: str, kernels: Sequence[Step], wakings: str) -> str:
    """A row of the table."""
    whole, alone = sum(step.time for step in kernels), sum(step.time for step in kernels if step.chunks == 1)
    gains = [whole / sum(step.on(threads) for step in kernels) for threads in (2, 16)]
    most = sum(step.on(16) for step in kernels) / side_by_side(kernels, 16) - 1
    shared = sum(step.chunks > 1 for step in kernels)
    return f"| {name} | {whole / 1e3:.3g} | {len(kernels)} | {shared} | {wakings} | {alone / whole:.1%} | {gains[0]:.2f} | {gains[1]:.1f} | {most:.1%} |"


def wakings(program: wg.Program, arguments: Sequence[Any], runs: int) -> str:
    """The median of how often a call wakes workers, with two threads, and of the jobs that it shares: less than there are where others need the cores."""
    compiled, counts = program.compile(), list[tuple[int, int]]()
    pool.set_threads(2)
    for _ in range(runs):
        before = pool.jobs()
        compiled(*arguments)
        counts.append((pool.jobs()[0] - before[0], pool.jobs()[1] - before[1]))
    jobs, woken = (median(column) for column in zip(*counts, strict=True))
    return f"{woken:.0f} of {jobs:.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.critical_path", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest models alone")
    parser.add_argument("--runs", type=int, default=12, help="runs of each model")
    options = parser.parse_args(arguments)
    jax.config.update("jax_enable_x64", True)
    columns: list[Any] = [
        "training step",
        "ms",
        "kernels",
        "jobs",
        "wakings of jobs",
        "time of the others",
        "gain of 2 threads, at most",
        "of 16",
        "side by side",
    ]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for workload in models(options.quick):
        program, given = derivative(workload)
        print(line(workload.name, steps(program, given, options.runs), wakings(program, given, options.runs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

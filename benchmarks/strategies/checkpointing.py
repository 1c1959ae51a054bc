"""Checkpoints and offloads under a byte budget: plans, their arenas, planning time, and the integer program."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from benchmarks.problems.checkpoint_peers import tables
from benchmarks.problems.transformer_peers import table as transformer_table
from benchmarks.problems.transformer_peers import transformer
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp
from wengert.lab.checkpoint.oracle import LARGEST, optimal_order
from wengert.runtime.interpreter import Counter, run
from wengert.runtime.program import Program
from wengert.transforms.ad.replay.schedule import forward_steps
from wengert.transforms.checkpoint.frontier import Frontier, arena_of
from wengert.transforms.checkpoint.liveness import Liveness
from wengert.transforms.checkpoint.order import added_work, arranged
from wengert.transforms.offload.plan import moved_bytes


def network(*widths: int, rows: int = 64) -> Program:
    """Layers of these widths."""

    @wg.jit
    def loss(x, *weights):
        for w in weights:
            x = wnp.tanh(x @ w)
        return wnp.sum(x * x)

    return loss.program(np.zeros((rows, widths[0])), *[np.zeros((a, b)) for a, b in pairwise(widths)])


def checkpointing() -> Section:
    """A 6-layer and a 100-layer transformer, planning time, and the integer program."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    least: dict[int, int] = {}
    for layers in (6, 25, 100):
        derivative = transformer(layers).vjp()
        start = time.process_time()
        frontier = derivative.frontier
        seconds = time.process_time() - start
        first, total = frontier.best[0], sum(work or 0 for work in frontier.graph.work)
        third = next((plan for plan in frontier.best if plan.arena <= 0.33 * first.arena), None)
        least[layers] = min(plan.arena for plan in frontier.best if plan.work <= 0.34 * total)
        at = "no plan" if third is None else f"{1 + third.work / total:.3f} times the flops"
        head = f"transformer of {layers} layers, {len(frontier.graph.ops)} ops: {len(frontier.plans)} plans in {seconds:.1f} s of processor time"
        lines.append(f"{head}; {first.arena} bytes of arena; within 0.33 of it {at}; within one forward part more {least[layers]} bytes")
        exact = [derivative.within(plan.arena).compile().stats.arena_bytes == plan.arena for plan in (first, frontier.best[-1], third or first)]
        lines.append(f"  predicted arena = allocated arena on {sum(exact)} of {len(exact)} plans that were compiled")
        flops = None if third is None else 1 + third.work / total
        count = len(frontier.graph.ops)
        numbers[f"transformer {layers}"] = {"ops": count, "seconds": seconds, "arena": first.arena, "flops at 0.33": flops, "least": least[layers]}
    lines.append(f"least memory within one forward part more, 100 layers against 25: {least[100] / least[25]:.2f} (a root of the depth: 2)")
    ratios = list(_against_the_integer_program())
    lines.append(f"flops against the integer program's at its real arena, {len(ratios)} optima: at most {max(ratios):.4f} times (1.05 allowed)")
    numbers |= {"integer program": max(ratios), "optima": len(ratios)}
    table, beside = transformer_table()
    return [*lines, *table], numbers | beside


def offloading() -> Section:
    """The arena of VJPs whose kept values are on disk in between, the bytes that are moved, and seconds of a call."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for name, program in (("transformer of 6 layers", transformer(6)), ("8 layers of 256, 1024 rows", network(*[256] * 9, rows=1024))):
        rng = np.random.default_rng(0)
        inputs = [rng.standard_normal(x.shape) / 8 for x in program.signature.arguments]
        for residuals in ("auto", "offload-disk"):
            vjp = program.vjp(residuals=residuals)
            compiled = vjp.compile()
            times = []
            for _ in range(5):
                start = time.perf_counter()
                compiled(*inputs, 1.0)
                times.append(time.perf_counter() - start)
            arena, moved = compiled.stats.arena_bytes, 2 * moved_bytes(vjp.module)
            lines.append(f"{name}, {residuals}: arena {arena} bytes, moved {moved} bytes, {1e3 * min(times):.1f} ms")
            numbers[f"{name}, {residuals}"] = {"arena": arena, "moved": moved, "seconds": min(times)}
    return lines, numbers


def checkpoints_of_loops() -> Section:
    """Steps that were run against the binomial formula, and memory, flops and time of loops beside JAX and PyTorch."""
    lines = ["steps forward that were run, and by the formula r l - C(s + r, s + 1) for l = n + 1 (n iterations, and the rest of the program):"]
    counted: dict[str, tuple[int, int]] = {}
    for iterations in (10, 30, 100):
        for slots in (1, 2, 4, 8):
            counted[f"n={iterations} s={slots}"] = _steps(iterations, slots), forward_steps(iterations, slots)
    lines.append("  " + ", ".join(f"{name}: {run}/{formula}" for name, (run, formula) in counted.items()))
    online = {f"n={n} s={slots}": (_steps(n, slots, counted=False), forward_steps(n, slots)) for n in (30, 100) for slots in (3, 8)}
    lines.append("  where nobody counts, the formula being what is best if n is known: " + ", ".join(f"{n}: {a}/{b}" for n, (a, b) in online.items()))
    table, numbers = tables()
    return [*lines, *table], {"steps": counted, "online": online, **numbers}


def _steps(iterations: int, slots: int, *, counted: bool = True) -> int:
    """How often the body of a loop ran forward: it has one sine, of which the reversal needs the cosine only."""

    @wg.jit
    def loss(x, n):
        if counted:
            return wnp.sum(wg.fori_loop(0, iterations, lambda i, s: s + 0.1 * wnp.sin(s), x))
        return wnp.sum(wg.while_loop(lambda c: c[0] < wnp.floor(n + c[1][0] * 0.0), lambda c: (c[0] + 1.0, c[1] + 0.1 * wnp.sin(c[1])), (x[0] * 0.0, x))[1])

    derivative, counter = loss.program(np.ones(1), 1.0).vjp(wrt=0, residuals=f"binomial-{slots}"), Counter()
    run(derivative.optimized_module, [np.ones(1), np.float64(iterations), np.float64(1)][: len(derivative.signature.arguments)], counter=counter)
    return counter.ops["stablehlo.sine"]


def _against_the_integer_program() -> list[float]:
    ratios: list[float] = []
    for widths in ((8, 64, 8, 32, 16, 64), (32, 32, 32, 32, 32), (64, 8, 64, 8, 64), (16, 32, 64, 32, 16)):
        frontier: Frontier = network(*widths).vjp().frontier
        graph = frontier.graph
        if len(graph.ops) > LARGEST:
            continue
        full, total = Liveness(graph).peak(frontier.plans[0].order), sum(work or 0 for work in graph.work)
        for part in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6):
            optimum = optimal_order(graph, int(part * full))
            if optimum is not None and optimum.proven:
                plan = frontier.within(arena_of(arranged(graph, optimum.order)))
                ratios.append((total + plan.work) / (total + added_work(graph, optimum.order)))
    return ratios

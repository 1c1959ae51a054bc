"""``python -m benchmarks.strategies [--only checkpointing] [--json FILE]``: the figures that strategies are held to.

Each section is a function that returns lines and numbers; nothing here depends on the load of the machine, but for seconds of planning, which are
processor time.
"""

# Functions of traced arrays, whose parameters have no types.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.edge_pushing import edge_pushing
from benchmarks.elimination import elimination
from benchmarks.problems.checkpoint_peers import tables
from benchmarks.problems.sparse import HESSIANS, JACOBIANS
from benchmarks.problems.transformer_peers import table as transformer_table
from benchmarks.problems.transformer_peers import transformer
from benchmarks.taylor import taylor

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

Section = tuple[list[str], dict[str, Any]]


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


def sparsity() -> Section:
    """Directions of sparse derivatives, by colouring, and the processor time until the first matrix beside that of the dense one by forward mode."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for problems, colourings in ((JACOBIANS, ("columns", "rows", "both")), (HESSIANS, ("star", "acyclic"))):
        for name, (function, size) in problems.items():
            directions, elements, seconds = _sparse(function, np.linspace(0.5, 1.5, size), colourings)
            listed = ", ".join(f"{colouring} {count}" for colouring, count in directions.items())
            times = f"first matrix after {seconds[0]:.3f} s, the dense one after {seconds[1]:.3f} s"
            lines.append(f"{name}, {size} columns, {elements} elements: directions by {listed}; {times}")
            numbers[name] = {"directions": directions, "elements": elements, "seconds": seconds}
    return lines, numbers


def _sparse(function: Any, x: Any, colourings: Sequence[Any]) -> tuple[dict[str, int], int, list[float]]:
    """Directions by colouring, elements, and seconds for a sparse and a dense derivative of a program that was not differentiated before."""

    def made() -> Program:
        return wg.jit(partial(function, wnp)).program(x)

    program, fresh, of_hessian = made(), made(), "star" in colourings
    start = time.process_time()
    sparse = program.hessian(sparse=True) if of_hessian else program.jacobian(sparse=True)
    sparse(x)
    middle = time.process_time()
    (fresh.jacrev().jacfwd() if of_hessian else fresh.jacfwd())(x)
    seconds = [middle - start, time.process_time() - middle]
    derivatives = {c: program.sparse_hessian(colouring=c) if of_hessian else program.sparse_jacobian(colouring=c) for c in colourings}
    return {c: sum(derivative.directions) for c, derivative in derivatives.items()}, sparse.pattern.nnz, seconds


def implicit() -> Section:
    """Errors of derivatives of matrix-free solutions and fixed points beside dense algebra, and peaks of memory beside the iterations differentiated."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    n = 100
    noise, right, weight = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=n)
    definite, general = noise @ noise.T / n + np.eye(n), 0.4 * noise / np.sqrt(n) + 2 * np.eye(n)
    for solver, a in ((wg.cg, definite), (wg.bicgstab, general), (wg.gmres, general)):
        errors = _derivatives_of_solution(solver, a, right, weight)
        lines.append(f"{solver.__name__}, {n} unknowns: " + ", ".join(f"{what} {error:.1e}" for what, error in errors.items()))
        numbers[solver.__name__] = errors
    layer, point = 0.5 * rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=n)
    for iterations in (50, 200, 800):
        rule, loop = (_equilibrium(layer, iterations, by_rule=by_rule) for by_rule in (True, False))
        peaks = [wg.grad(f).program(point).memory().peak for f in (rule, loop)]
        error = _relative(wg.grad(rule)(point), wg.grad(loop)(point))
        lines.append(f"fixed point after {iterations} iterations: peak {peaks[0]} bytes by the equation, {peaks[1]} by the iterations; {error:.0e} apart")
        numbers[f"fixed point {iterations}"] = {"peaks": peaks, "error": error}
    return lines, numbers


def _derivatives_of_solution(solver: Any, a: Any, b: Any, weight: Any) -> dict[str, float]:
    """Errors of a solution to 1e-10, and of derivatives of ``weight . sin(x)``, relative to those of dense algebra."""

    def loss(a, b):
        def product(v):
            return a @ v

        return wnp.sum(weight * wnp.sin(solver(product, b, rtol=1e-10)[0]))

    def of_right(b):
        return loss(a, b)

    x = np.linalg.solve(a, b)
    pulled, pushed = np.linalg.solve(a.T, weight * np.cos(x)), np.linalg.solve(a, b)
    product = -np.linalg.solve(a.T, weight * np.sin(x) * pushed)
    a_bar, b_bar = wg.grad(loss, (0, 1))(a, b)
    return {
        "solution": _relative(solver(a, b, rtol=1e-10)[0], x),
        "JVP": _relative(wg.jvp(loss, (a, b), (np.zeros_like(a), b))[1], weight * np.cos(x) @ pushed),
        "VJP by the right-hand side": _relative(b_bar, pulled),
        "VJP by the matrix": _relative(a_bar, -np.outer(pulled, x)),
        "HVP": _relative(wg.hvp(of_right, (b,), (b,)), product),
    }


def _equilibrium(w: Any, iterations: int, *, by_rule: bool) -> Any:
    """A function of the fixed point of a layer, differentiated by its equation or through its iterations."""

    def f(p):
        def step(x):
            return wnp.tanh(w @ x + p)

        def iterate(step, x):
            def numbered(_, x):
                return step(x)

            return wg.fori_loop(0, iterations, numbered, x)

        start = wnp.zeros_like(p)
        return wnp.sum((wg.custom_fixed_point(step, start, iterate) if by_rule else iterate(step, start)) ** 2)

    return f


def _relative(given: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(given) - expected).max() / np.abs(expected).max())


def stochastic() -> Section:
    """Bias and variance of estimates over 10^5 draws, their costs beside the gradient's, and both modes around a bottleneck."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    draws = 100_000

    def loss(x):
        return wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    for n in (10, 100):
        x = np.linspace(-1, 1, n)
        gradient = wg.grad(loss)(x)
        for kind, sign in (("rademacher", -1), ("normal", 1)):
            mean, mean_square = _moments(loss, x, kind, draws)
            errors = np.abs(mean - gradient) / np.sqrt((gradient @ gradient + sign * gradient**2) / draws)
            variance = float((mean_square.sum() - gradient @ gradient) / (gradient @ gradient))
            lines.append(
                f"forward gradient, {n} elements, {kind}: off by at most {errors.max():.1f} standard errors; variance {variance:.3f}, by formula {n + sign}"
            )
            numbers[f"forward gradient {n} {kind}"] = {"standard errors": float(errors.max()), "variance": variance, "formula": n + sign}
    program = wg.jit(loss).program(np.zeros(1000))
    for row in wg.strategies(program, of="gradient", estimates=16, measure=False).rows:
        if row.plan.off or row.name == "vjps":
            lines.append(
                f"{row.name}, 1000 elements: {float(row.flops.constant or 0):.0f} flops, arena {row.arena} bytes, off by {row.plan.off:.2g} of the norm"
            )
            numbers[row.name] = {"flops": float(row.flops.constant or 0), "arena": row.arena, "off": row.plan.off}
    rng = np.random.default_rng(0)
    u, w, m = rng.normal(size=(90, 3)), rng.normal(size=(3, 120)), rng.normal(size=(3, 3)) / 2

    def through_a_bottleneck(x):
        return wnp.sin(u @ wnp.tanh(w @ x))

    def through_a_loop(x):
        return wnp.sin(u @ wg.fori_loop(0, 40, lambda i, s: wnp.tanh(m @ s) + s, wnp.tanh(w @ x)))

    for what, function in (("120 to 3 to 90", through_a_bottleneck), ("with a loop between", through_a_loop)):
        table = wg.strategies(wg.jit(function).program(np.zeros(120)), measure=True)
        for row in table.rows:
            if row.name not in ("mixed", "mixed late", "jacfwd", "jacrev"):
                continue
            time = row.measured.times.minimum if row.measured is not None else float("nan")
            predicted = float(row.predicted.seconds.constant or 0) if row.predicted is not None else float("nan")
            flops = float(row.flops.constant or 0)
            lines.append(f"{what}, {row.name}: {flops:.0f} flops, predicted {1e6 * predicted:.1f} us, measured {1e6 * time:.1f} us")
            numbers[f"{what} {row.name}"] = {"flops": flops, "predicted": predicted, "measured": time}
    return lines, numbers


def _moments(loss: Any, x: Any, kind: Any, draws: int) -> tuple[Any, Any]:
    """The mean of single estimates and of their squares."""
    one = wg.forward_gradient(loss, directions=kind)
    single = wg.vmap(one, in_axes=(0, None))(np.arange(draws), x)
    return single.mean(0), (single**2).mean(0)


SECTIONS: dict[str, Callable[[], Section]] = {
    "checkpointing": checkpointing,
    "checkpointing-loops": checkpoints_of_loops,
    "offloading": offloading,
    "taylor": taylor,
    "sparsity": sparsity,
    "elimination": elimination,
    "edge-pushing": edge_pushing,
    "implicit": implicit,
    "stochastic": stochastic,
}

_PARTS = {"checkpointing": ("checkpointing", "checkpointing-loops")}
"""Sections that come together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures of all sections, or of those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strategies", description="The figures that strategies are held to.")
    parser.add_argument(
        "--only",
        default=",".join(name for name in SECTIONS if name != "checkpointing-loops"),
        metavar="A,B",
        help=f"sections: {', '.join(SECTIONS)} (default: all)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    options = parser.parse_args(arguments)
    names = [name for asked in options.only.split(",") for name in (_PARTS.get(asked, (asked,)))]
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    numbers: dict[str, Any] = {}
    for name in names:
        lines, numbers[name] = SECTIONS[name]()
        print("\n".join([name, *(f"  {line}" for line in lines)]))
    if options.json:
        Path(options.json).write_text(json.dumps(numbers, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

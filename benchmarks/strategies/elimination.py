"""Multiplications of elimination orders beside published ones, and times of the programs: ``python -m benchmarks.strategies --only elimination``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks.problems.elimination import PROBLEMS, Problem
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.ir.construction import copy_module
from wengert.lab.measure import measure_times
from wengert.numpy import special
from wengert.runtime.program import Program
from wengert.transforms.ad.elimination.graph import Graph
from wengert.transforms.ad.elimination.jacobian import Loops, eliminated_jacobian, program_graph
from wengert.transforms.ad.elimination.orders import Order
from wengert.transforms.ad.elimination.plan import Method, Wanted, planned
from wengert.transforms.ad.elimination.weight import Costs


def elimination() -> Section:
    """Multiplications of elimination orders beside the published ones, on the same graphs; then times of the programs, for one point of many."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for name, problem in PROBLEMS.items():
        graph, costs, kind = _graph_as_written(problem)
        counts = {order: planned(graph, costs, Wanted("vertices", order)).multiplications for order in ("forward", "reverse", "markowitz", "best")}
        wanted = {method: Wanted(method, "search", steps=SEARCHED[method]) for method in ("vertices", "faces")}
        searched = {method: planned(graph, costs, one).multiplications for method, one in wanted.items() if len(graph.inner) <= FEW[method]}
        listed = ", ".join(f"{order} {count}" for order, count in counts.items())
        searches = ", ".join(f"search over {method} {count}" for method, count in searched.items()) or "no search"
        lines.append(f"{name}, {len(graph.inner)} {kind}: {listed}; {searches}{_published(problem)}")
        numbers[name] = {"counts": counts, "searched": searched, "published": problem.published, "published_elsewhere": problem.elsewhere}
    for name, problem in PROBLEMS.items():
        times = _times_for_a_point(problem)
        lines.append(f"{name}, ns for one of 1024 points in a batch: " + ", ".join(f"{way} {time:.0f}" for way, time in times.items()))
        numbers[name]["ns"] = times
    for name, program, x in _loops():
        counts = {f"{order}, loops={loops}": _count(program, order, loops) for order in ("forward", "reverse", "best") for loops in LOOPS}
        ways = {"jacfwd": program.jacfwd(), "jacrev": program.jacrev()}
        ways |= {f"eliminated, loops={loops}": program.jacobian(strategy=f"eliminate{{granularity=tensors loops={loops}}}") for loops in LOOPS}
        times = measure_times([partial(way.compile(), x) for way in ways.values()], rounds=25)
        microseconds = {way: 1e6 * time.minimum for way, time in zip(ways, times, strict=True)}
        lines.append(f"{name}: multiplications " + ", ".join(f"{how} {count}" for how, count in counts.items()))
        lines.append(f"{name}, us for a Jacobian: " + ", ".join(f"{way} {time:.1f}" for way, time in microseconds.items()))
        numbers[name] = {"counts": counts, "us": microseconds}
    return lines, numbers


LOOPS: tuple[Loops, ...] = ("keep", "auto")


def _loops() -> Iterator[tuple[str, Program, Any]]:
    """Loops with few carried numbers, between many arguments and results; and one whose iterations have a wide layer besides."""
    chance = np.random.default_rng(0)
    few, wide, ends, steps = 4, 64, 60, 50
    into, out, m = (chance.standard_normal(shape) / 8 for shape in ((few, ends), (ends, few), (few, few)))
    wider, narrower = (chance.standard_normal(shape) / 8 for shape in ((wide, few), (few, wide)))
    x = chance.standard_normal(ends)

    def narrow(i: Any, s: Any) -> Any:
        return s + wnp.tanh(m @ s)

    def layered(i: Any, s: Any) -> Any:
        return narrower @ wnp.tanh(wider @ s)

    bodies: dict[str, Callable[[Any, Any], Any]] = {
        "a loop over 4 numbers between 60 and 60": narrow,
        "a loop over 4 numbers with a layer of 64 in it, between 60 and 60": layered,
    }
    for name, body in bodies.items():

        def function(x: Any, body: Any = body) -> Any:
            return wnp.sin(out @ fori_loop(0, steps, body, wnp.tanh(into @ x)))

        yield name, wg.jit(function).program(x), x


def _count(program: Program, order: Order, loops: Loops) -> int:
    module = copy_module(program.apply("to-core,simplify,cse,dce").module)
    return eliminated_jacobian(module, Wanted("vertices", order), granularity="tensors", loops=loops).elimination.multiplications


def _published(problem: Problem) -> str:
    """What AlphaGrad is published with."""
    if problem.published is not None:
        return f"; published for this graph: forward, reverse, markowitz {', '.join(map(str, problem.published[:3]))}, AlphaGrad {problem.published[3]}"
    if problem.elsewhere is not None:
        return f"; published for another graph of the function: best of these orders {problem.elsewhere[0]}, AlphaGrad {problem.elsewhere[1]}"
    return ""


SEARCHED: dict[Method, int] = {"vertices": 2000, "faces": 200}
"""How many eliminations searches try."""
FEW = {"vertices": 200, "faces": 80}
"""Graphs of more vertices are not searched."""


def _graph_as_written(problem: Problem) -> tuple[Graph[int], Costs, str]:
    """The graph of a problem operation by operation, as JAX writes it down: of elements where these are few, else of blocks."""
    jax: Any = import_module("jax")  # the published graphs are of JAX's programs, in which nothing is shared
    special_functions: Any = import_module("jax.scipy.special")
    jax.config.update("jax_enable_x64", True)
    library: Any = Namespace(jax.numpy, special_functions.erf)
    function = partial(problem.function, library)
    if problem.second:
        function = jax.grad(function, argnums=tuple(range(len(problem.inputs))))
    module = wg.parse(jax.jit(function, keep_unused=True).lower(*problem.inputs).as_text()).module
    costs = Costs(trivial=True)
    graph = program_graph(module, costs, shared=False, granularity="tensors" if problem.blocks else "scalars")
    return graph, costs, "values" if problem.blocks else "elements"


class Namespace:
    """A namespace of arrays, with the error function."""

    def __init__(self, arrays: Any, erf: Any):
        self._arrays, self.erf = arrays, erf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arrays, name)


def _times_for_a_point(problem: Problem) -> dict[str, float]:
    """Nanoseconds for a Jacobian, one of 1024 in a batch, by both modes and by elimination."""
    size, chance = 1024, np.random.default_rng(0)
    program = wg.jit(partial(problem.function, Namespace(wnp, special.erf))).program(*problem.inputs)
    program = program.jacrev() if problem.second else program
    points = [np.multiply.outer(np.ones(size), x) * chance.uniform(0.9, 1.1, (size, *np.shape(x))) for x in problem.inputs]
    ways = {"jacfwd": program.jacfwd(), "jacrev": program.jacrev()}
    ways |= {f"eliminated by {order}": program.jacobian(strategy=f"eliminate{{order={order}}}") for order in ("forward", "reverse", "best")}
    compiled = {way: jacobian.vmap(size=size).compile() for way, jacobian in ways.items()}
    times = measure_times([partial(run, *points) for run in compiled.values()], rounds=25)
    return {way: 1e9 * time.minimum / size for way, time in zip(compiled, times, strict=True)}

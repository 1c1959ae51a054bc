"""Derivatives of loops that keep a few states: the same results, the steps of the formula, memory that does not grow with the iterations."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.inputs import random_inputs
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import Counter, run
from wengert.runtime.program import Program
from wengert.transforms.ad.replay.schedule import forward_steps, repetitions
from wengert.transforms.analysis.program_cost import program_cost

ONE = np.ones((3, 4))
SQUARE = np.ones((4, 4)) / 4


def counted(iterations: int = 23) -> Program:
    """An ODE by Euler's method."""

    @wg.jit
    def ode(x: Any, w: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, iterations, lambda i, s: s + 0.1 * wnp.sin(s @ w) * (1 + 0.01 * i), x))

    return ode.program(ONE, SQUARE)


def counted_when_run() -> Program:
    """The same for a number of iterations that is an argument."""

    @wg.jit
    def ode(x: Any, w: Any, n: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, n, lambda i, s: s + 0.1 * wnp.sin(s @ w) * (1 + 0.01 * i), x))

    return ode.program(ONE, SQUARE, np.int64(5))


def uncounted() -> Program:
    """A loop that ends when its state is large."""

    @wg.jit
    def growth(x: Any, w: Any, n: Any) -> Any:
        def body(carry: Any) -> Any:
            i, s = carry
            return i + 1, s * 1.02 + 0.05 * wnp.sin(s @ w)

        return wnp.sum(wg.while_loop(lambda c: wnp.logical_and(c[0] < n, wnp.sum(c[1] * c[1]) < 1e6), body, (0, x))[1])

    return growth.program(ONE, SQUARE, np.int64(5))


def nested() -> Program:
    """Loops and branches inside of a loop, one of them uncounted."""

    @wg.jit
    def nest(x: Any, w: Any) -> Any:
        def outer(i: Any, s: Any) -> Any:
            s = wg.fori_loop(0, 7, lambda j, t: t + 0.05 * wnp.tanh(t @ w) * (1 + 0.01 * j + 0.1 * i), s)
            s = wg.while_loop(lambda t: wnp.sum(t * t) > 20.0, lambda t: t * 0.9 + 0.01 * wnp.sin(t), s)
            return wg.cond(wnp.sum(s) > 0, lambda t: t * 0.9, lambda t: wg.fori_loop(0, 5, lambda k, u: u + 0.01 * u * u, t), s)

        return wnp.sum(wg.fori_loop(0, 12, outer, x))

    return nest.program(ONE, SQUARE)


def rows() -> Program:
    """A recurrent network over rows, of which each gives one."""

    @wg.jit
    def network(x: Any, w: Any, xs: Any) -> Any:
        def cell(c: Any, y: Any) -> Any:
            c = wnp.tanh(c @ w + y)
            return c, wnp.sum(c * c)

        c, ys = wg.scan(cell, x, xs)
        return wnp.sum(c) + wnp.sum(ys * ys)

    return network.program(ONE, SQUARE, np.ones((17, 3, 4)))


PROGRAMS = {"counted": counted, "counted_when_run": counted_when_run, "uncounted": uncounted, "nested": nested, "rows": rows}
POLICIES = ("sqrt", "binomial-1", "binomial-2", "binomial-3", "binomial-7", "binomial-40")


def inputs_of(program: Program) -> list[Any]:
    """Random arguments; numbers of iterations are 19."""
    given = random_inputs(program.signature, 0)
    return [np.full_like(x, 19) if np.asarray(x).dtype.kind == "i" else x for x in given]


def assert_same(actual: Any, expected: Any) -> None:
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=1e-12 * max(1.0, float(np.abs(e).max())))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_what_is_kept(name: str, policy: str):
    program = PROGRAMS[name]()
    derivative = program.vjp(residuals=policy)
    inputs = inputs_of(derivative)
    expected = program.vjp()(*inputs)
    assert_same(derivative(*inputs), expected)
    assert_same(derivative.compile("interpreter")(*inputs), expected)


@pytest.mark.parametrize(
    "pipeline",
    [
        "linearize{residuals=binomial-3},transpose,join",
        "linearize{residuals=binomial-3},transpose,transpose,join",
        "linearize{residuals=binomial-3},join",
        "linearize{residuals=sqrt},transpose,join",
        "linearize{residuals=sqrt},join",
        "vjp{residuals=binomial-3},vjp{wrt=0 of=1 residuals=binomial-2}",
        "vjp{residuals=binomial-3},tapes-to-stacks,vjp{wrt=0 of=1}",
        "vjp{wrt=0},tapes-to-stacks,vjp{wrt=0 of=1 residuals=binomial-2}",
        "vjp{residuals=binomial-3},jvp{wrt=0 of=1}",
        "jvp{wrt=0 of=0},vjp{wrt=0 of=1 residuals=binomial-3}",
        "vjp{wrt=0 residuals=binomial-3},batch{size=3}",
        "vjp{wrt=0 residuals=sqrt},tapes-to-stacks,vjp{wrt=0 of=1 residuals=sqrt}",
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_differentiated_transposed_and_batched(name: str, pipeline: str):
    program = PROGRAMS[name]()
    made = program.apply(f"to-core,{pipeline}")
    plain = program.apply("to-core," + re.sub(r" ?residuals=[a-z0-9-]+", "", pipeline))
    inputs = inputs_of(made)
    assert_same(made(*inputs), plain(*inputs))


def forward_runs(program: Program, inputs: list[Any]) -> int:
    """How often an ODE's body ran forward: it has one sine, and the reversal of an iteration only a cosine."""
    counter = Counter()
    run(program.optimized_module, inputs, counter=counter)
    return counter.ops["stablehlo.sine"]


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8])
def test_steps_are_those_of_the_formula(slots: int):
    """A chain of n iterations and the rest of the program is run forward r (n + 1) - C(s + r, s + 1) times, whether n is known before or when it runs."""
    late = counted_when_run().vjp(residuals=f"binomial-{slots}")
    for iterations in (slots + 1, 12, 25, 61):
        inputs = [ONE, SQUARE, np.int64(iterations), np.float64(1)]
        assert forward_runs(late, inputs) == forward_steps(iterations, slots)
        early = counted(iterations).vjp(residuals=f"binomial-{slots}")
        assert forward_runs(early, [ONE, SQUARE, np.float64(1)]) == forward_steps(iterations, slots) if iterations > slots else iterations


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8])
def test_steps_without_a_known_number_of_iterations(slots: int):
    """No iteration runs forward more often than in a binomial schedule with one slot less that knows their number."""
    derivative = uncounted().vjp(residuals=f"binomial-{slots}")
    for iterations in (1, 2, 7, 20, 47):
        inputs = [ONE / 100, SQUARE, np.int64(iterations), np.float64(1)]
        most = repetitions(iterations + 1, slots - 1) if slots > 1 else iterations
        assert iterations <= forward_runs(derivative, inputs) <= iterations * most
        assert slots < 3 or forward_runs(derivative, inputs) <= 1.4 * forward_steps(iterations, slots)


def test_what_is_no_policy_is_refused():
    with pytest.raises(InputError, match="there is no 'binomial-0'"):
        counted().vjp(residuals="binomial-0")
    with pytest.raises(DiagnosticError, match="binomial-8"):
        counted().apply("to-core,vjp{residuals=binomial-x}")
    text = str(marked("sqrt").optimized_module).replace('"sqrt"', '"never"')
    with pytest.raises(DiagnosticError, match=r"residuals must be .* not 'never'"):
        wg.parse(text).vjp()


def marked(policy: str) -> Program:
    """The counted ODE, of which the loop names a policy, inside of a loop that names none."""

    @wg.jit
    def nest(x: Any, w: Any) -> Any:
        def outer(i: Any, s: Any) -> Any:
            return wg.fori_loop(0, 20, lambda j, t: t + 0.05 * wnp.tanh(t @ w), s, residuals=policy)

        return wnp.sum(wg.fori_loop(0, 6, outer, x))

    return nest.program(ONE, SQUARE)


@pytest.mark.parametrize("policy", ["sqrt", "binomial-3", "recompute-all"])
def test_a_loop_names_its_own_policy(policy: str):
    program, plain = marked(policy), marked("auto")
    derivative = program.vjp()
    inputs = inputs_of(derivative)
    assert_same(derivative(*inputs), plain.vjp()(*inputs))
    arenas = [made.compile().stats.arena_bytes for made in (derivative, plain.vjp(), plain.vjp(residuals=policy))]
    assert len(set(arenas)) == 3, "the mark is for its loop alone, not for the one around it"
    again = wg.parse(str(program.optimized_module)).vjp()
    assert again.compile().stats.arena_bytes == arenas[0], "text keeps the mark"


def test_loops_of_all_kinds_name_policies():
    def loss(x: Any, xs: Any) -> Any:
        x, _ = wg.scan(lambda c, row: (wnp.tanh(c + row), ()), x, xs, residuals="binomial-2")
        return wnp.sum(wg.while_loop(lambda s: wnp.sum(s * s) < 9.0, lambda s: s * 1.1, x, residuals="binomial-2"))

    x, xs = np.ones(3), np.ones((9, 3)) / 9
    text = str(wg.jit(loss).program(x, xs).optimized_module)
    assert text.count('ad.policy = "binomial-2"') == 2
    assert "core.tape" not in str(wg.jit(wg.grad(loss)).program(x, xs).optimized_module)
    with pytest.raises(InputError, match="there is no 'binomial'"):
        wg.jit(lambda x: wg.fori_loop(0, 3, lambda i, s: s, x, residuals="binomial")).program(x)


def test_memory_is_that_of_the_slots():
    """Ten times the iterations take the same memory with eight slots, and ten times as much where everything is kept."""
    few, many = counted(40), counted(400)
    assert many.vjp().compile().stats.arena_bytes > 5 * few.vjp().compile().stats.arena_bytes
    tables = 8 * 3 * 3 * 400  # constants count as none, copies of them would
    assert many.vjp(residuals="binomial-8").compile().stats.arena_bytes <= few.vjp(residuals="binomial-8").compile().stats.arena_bytes + tables


@pytest.mark.parametrize("policy", ["sqrt", "binomial-3", "binomial-6"])
@pytest.mark.parametrize("name", ["counted", "rows"])
def test_costs_are_known_before_a_run(name: str, policy: str):
    """Tables of a schedule say how often the loops in it run."""
    derivative = PROGRAMS[name]().vjp(residuals=policy)
    counter = Counter()
    run(derivative.optimized_module, inputs_of(derivative), counter=counter)
    cost = program_cost(derivative.optimized_module)
    assert (cost.flops.constant, cost.transcendentals.constant) == (counter.flops, counter.transcendentals)

"""Loops as blocks with an order of their own: elimination within their bodies, and blocks of whole loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from largest_errors import largest_error
from reference_programs import share

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, while_loop
from wengert.ir.construction import copy_module
from wengert.runtime.program import Program
from wengert.transforms.ad.elimination.jacobian import Loops, eliminated_jacobian
from wengert.transforms.ad.elimination.orders import Elimination, Order
from wengert.transforms.ad.elimination.plan import Wanted

CHANCE = np.random.default_rng(0)
FEW, MANY, ENDS = 3, 20, 15
WIDER, NARROWER = CHANCE.standard_normal((MANY, FEW)) / 5, CHANCE.standard_normal((FEW, MANY)) / 5
INTO, OUT = CHANCE.standard_normal((FEW, ENDS)) / 5, CHANCE.standard_normal((ENDS, FEW)) / 5
X = CHANCE.standard_normal(ENDS)


def elimination_of(program: Program, loops: Loops, order: Order = "best") -> Elimination:
    module = copy_module(program.apply("to-core,simplify,cse,dce").module)
    return eliminated_jacobian(module, Wanted("vertices", order), granularity="tensors", loops=loops).elimination


def jacobian_of(program: Program, loops: Loops, order: Order = "best") -> Program:
    return program.jacobian(strategy=f"eliminate{{order={order} granularity=tensors loops={loops}}}")


def narrow_state(steps: int) -> Program:
    """Many arguments and results, few carried numbers, and a wide layer in every iteration."""

    def body(i: Any, s: Any) -> Any:
        return NARROWER @ wnp.tanh(WIDER @ s)

    def function(x: Any) -> Any:
        return wnp.sin(OUT @ fori_loop(0, steps, body, wnp.tanh(INTO @ x)))

    return wg.jit(function).program(X)


@pytest.mark.parametrize("order", ["forward", "reverse", "best"])
def test_what_an_iteration_takes_for_a_direction_is_a_product_with_its_jacobian(order: Order):
    program = narrow_state(5)
    assert largest_error(jacobian_of(program, "auto", order)(X), program.jacfwd()(X)) < 1e-12
    counts = {loops: elimination_of(program, loops, order).multiplications for loops in ("keep", "auto")}
    assert counts["auto"] < counts["keep"]


def test_for_each_iteration_a_jacobian_is_made_once_whatever_the_number_of_directions():
    iterations = [elimination_of(narrow_state(steps), "auto", "reverse").multiplications for steps in (3, 4, 5)]
    each = iterations[1] - iterations[0]
    assert iterations[2] - iterations[1] == each == MANY * FEW + FEW * MANY * FEW + ENDS * FEW * FEW  # D W, M (D W), and rows times it


def test_the_block_of_a_loop_with_a_narrow_state_takes_a_direction_for_each_number_that_is_carried():
    program = narrow_state(5)
    steps = elimination_of(program, "keep").steps
    assert [step.what for step in steps].count("write") == 1
    assert elimination_of(program, "keep").multiplications < min(elimination_of(program, "keep", order).multiplications for order in ("forward", "reverse"))
    assert largest_error(jacobian_of(program, "keep")(X), program.jacfwd()(X)) < 1e-12


def test_a_body_that_is_narrow_already_stays_as_it_is():
    def function(x: Any) -> Any:
        return fori_loop(0, 4, lambda i, s: wnp.sin(s) * x + s[::-1], x)

    program = wg.jit(function).program(X)
    counts = {loops: elimination_of(program, loops).multiplications for loops in ("keep", "auto")}
    assert counts["auto"] <= counts["keep"]
    text = str(jacobian_of(program, "auto").module)
    assert text.count("dot_general") == 0


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a constant that is differentiated": lambda x: fori_loop(0, 3, lambda i, s: NARROWER @ wnp.tanh(WIDER @ s * wnp.sum(x)), INTO @ x),
    "two carried values": lambda x: fori_loop(
        0, 3, lambda i, s: (NARROWER @ wnp.sin(WIDER @ (s[0] * s[1])), wnp.sum(wnp.tanh(WIDER @ s[0]))), (INTO @ x, wnp.sum(x))
    ),
    "rows of an argument, and what every iteration gives": lambda x: scan(
        lambda s, row: (NARROWER @ wnp.tanh(WIDER @ (s * row)), wnp.sum(wnp.tanh(WIDER @ s))), wnp.ones(FEW), wnp.reshape(x, (5, FEW))
    ),
    "a loop in a loop": lambda x: fori_loop(
        0, 2, lambda i, s: fori_loop(0, 3, lambda j, t: NARROWER @ wnp.sin(WIDER @ t) + s, NARROWER @ wnp.tanh(WIDER @ s)), INTO @ x
    ),
    "a branch in a loop": lambda x: fori_loop(
        0, 3, lambda i, s: cond(wnp.sum(s) > 0, lambda t: NARROWER @ wnp.tanh(WIDER @ t), lambda t: NARROWER @ wnp.sin(WIDER @ (t * t)), s), INTO @ x
    ),
    "a selection in a loop": lambda x: fori_loop(0, 3, lambda i, s: NARROWER @ wnp.where(WIDER @ s > 0, wnp.exp(WIDER @ s), WIDER @ s), INTO @ x),
    "a matrix that is carried": lambda x: fori_loop(0, 3, lambda i, s: wnp.tanh(s @ WIDER.T) @ NARROWER.T, wnp.reshape(x, (5, FEW))),
    "an iteration that looks at its number": lambda x: fori_loop(0, 4, lambda i, s: NARROWER @ wnp.tanh((WIDER + wnp.sin(i + 0.5)) @ s), INTO @ x),
    "no iteration": lambda x: fori_loop(0, 0, lambda i, s: NARROWER @ wnp.tanh(WIDER @ s), INTO @ x),
    "an uncounted loop": lambda x: while_loop(lambda s: wnp.sum(s * s) > 0.05, lambda s: NARROWER @ wnp.tanh(WIDER @ s), INTO @ x),
    "a value that is used twice": lambda x: fori_loop(0, 3, lambda i, s: (lambda h: NARROWER @ (h * wnp.sin(h)) + wnp.sum(h))(WIDER @ s), INTO @ x),
}


@pytest.mark.parametrize("order", ["forward", "reverse", "best"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_loop_gives_the_jacobian(name: str, order: Order):
    program = wg.jit(FUNCTIONS[name]).program(X)
    expected = program.jacfwd()(X)
    assert largest_error(jacobian_of(program, "auto", order).compile("interpreter")(X), expected) < 1e-12
    assert elimination_of(program, "auto", order).multiplications <= elimination_of(program, "keep", order).multiplications


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_compiles_is_verified_and_can_be_differentiated_and_batched(name: str):
    program = wg.jit(FUNCTIONS[name]).program(X)
    jacobian, reference = jacobian_of(program, "auto"), program.jacfwd()
    wg.parse(str(jacobian.module))
    assert largest_error(jacobian.compile()(X), reference(X)) < 1e-12
    batch = np.stack([X, X + 0.25])
    assert largest_error(jacobian.vmap(size=2)(batch), reference.vmap(size=2)(batch)) < 1e-12
    if name != "an uncounted loop":
        directions = np.stack([np.cos(X), np.sin(X)])
        for direction in directions:
            assert largest_error(jacobian.jvp()(X, direction)[-1], reference.jvp()(X, direction)[-1]) < 1e-10


def random_body(seed: int) -> Callable[[Any], Any]:
    """A function with a loop whose body is a random chain with branches of wide and narrow layers."""

    def layers(chance: np.random.Generator, s: Any, x: Any, depth: int) -> Any:
        values = [s]
        for _ in range(chance.integers(1, 6)):
            v, w = (values[chance.integers(len(values))] for _ in range(2))
            match chance.integers(7 if depth else 6):
                case 0:
                    made = wnp.sin(v) * w
                case 1:
                    made = NARROWER @ wnp.tanh(WIDER @ v)
                case 2:
                    made = v * wnp.sum(w) + s
                case 3:
                    made = wnp.where(v > 0.1, wnp.exp(-w), v)
                case 4:
                    made = wnp.tanh(INTO @ x) * v - w
                case 5:
                    made = wnp.sum(v[:, None] * wnp.cos(w)[None, :], axis=int(chance.integers(2)))
                case _:
                    inner = int(chance.integers(2**31))
                    made = fori_loop(0, 2, lambda i, t, inner=inner: layers(np.random.default_rng(inner), t, x, 0), v)
            values.append(wnp.tanh(made))
        return values[-1]

    def function(x: Any) -> Any:
        chance = np.random.default_rng([18, seed])
        inner = int(chance.integers(2**31))
        if chance.integers(2):
            s = fori_loop(0, 3, lambda i, t: layers(np.random.default_rng(inner), t, x, 1), INTO @ x)
            return OUT @ s
        return scan(lambda t, row: (layers(np.random.default_rng(inner), t + row, x, 1), wnp.sum(wnp.sin(t))), INTO @ x, wnp.reshape(x, (5, FEW)))

    return function


@pytest.mark.parametrize("seed", share(range(200), 10))
def test_random_loops(seed: int):
    program = wg.jit(random_body(seed)).program(X)
    order: Order = ("best", "forward", "reverse")[seed % 3]
    expected = program.jacfwd().compile("interpreter")(X)
    assert largest_error(jacobian_of(program, "auto", order).compile("interpreter")(X), expected) < 1e-10
    assert elimination_of(program, "auto", order).multiplications <= elimination_of(program, "keep", order).multiplications

"""Jacobians by elimination: equal to those of both modes, whatever is eliminated in whatever order; as programs, they nest, batch and compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from largest_errors import largest_error
from random_programs import random_program
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
from fuzz.generator import SeededChoices
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, while_loop
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.elimination.jacobian import program_graph
from wengert.transforms.ad.elimination.orders import ORDERS
from wengert.transforms.ad.elimination.plan import Wanted, planned
from wengert.transforms.ad.elimination.weight import Costs

WAYS = [
    "order=best",
    "order=forward granularity=tensors",
    "order=reverse granularity=tensors",
    "order=markowitz granularity=scalars",
    "order=search steps=20 granularity=tensors",
    "order=best method=edges granularity=tensors",
    "order=reverse method=faces granularity=scalars",
    "order=search method=faces steps=10 granularity=tensors",
]
MATRIX = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.6, 1.8]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "numbers": (lambda a, b: (wnp.sin(a * b) / b, a**3), (np.float64(0.3), np.float64(0.7))),
    "a layer": (lambda x, w: wnp.tanh(w @ x), (np.arange(3.0), MATRIX)),
    "layers of a batch": (lambda x, w, v: wnp.sum(wnp.exp(wnp.tanh(x @ w) @ v), axis=0), (MATRIX, MATRIX.T, MATRIX[:, :2])),
    "an outer product": (lambda x: x[:, None] * x[None, :], (np.arange(1.0, 4.0),)),
    "a sum of ties that differ": (lambda x: x @ x.T + x, (MATRIX,)),
    "parts put together": (lambda x: wnp.concat([x[1:] * x[:-1], wnp.flip(x)[::2]]), (np.arange(1.0, 6.0),)),
    "reshapes": (lambda x: wnp.reshape(wnp.reshape(x, (2, 3)).T * wnp.reshape(x, (3, 2)), (6,)), (np.arange(1.0, 7.0),)),
    "a selection": (lambda x: wnp.where(x > 2, x * x, -x), (np.arange(1.0, 6.0),)),
    "gathers and scatters": (lambda x: wnp.at(wnp.zeros(6))[np.array([4, 0, 4])].add(x[np.array([2, 0, 1])] ** 2), (np.arange(1.0, 4.0),)),
    "a solution": (wnp.linalg.solve, (MATRIX, np.arange(3.0))),
    "a transform in complex numbers": (lambda x: wnp.abs(wnp.fft.rfft(x * x)) ** 2, (np.arange(1.0, 6.0),)),
    "a counted loop": (lambda x: fori_loop(0, 3, lambda i, y: wnp.sin(y) * x + y[::-1], x), (np.arange(1.0, 5.0),)),
    "a scan": (lambda x, c: scan(lambda s, row: (s * row[0] + row[1], wnp.sin(s)), c, x), (MATRIX, np.float64(0.4))),
    "an uncounted loop": (lambda x: while_loop(lambda s: wnp.sum(s) < 50, lambda s: s * s + 1, x), (np.arange(1.0, 4.0),)),
    "a branch": (lambda x: cond(x[0] > 0, lambda x: x * x, wnp.flip, x) + x, (np.arange(1.0, 4.0),)),
    "a loop between layers": (
        lambda x, w: wnp.sum(fori_loop(0, 2, lambda i, y: wnp.tanh(w @ y), wnp.exp(-x)) ** 2),
        (np.arange(3.0), MATRIX),
    ),
    "results that are arguments, or do not depend on them": (lambda x, y: (x, wnp.ones(2), 2 * y, y), (np.arange(2.0), np.float64(3.0))),
}


def program_of(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Program:
    return wg.jit(function).program(*inputs)


def eliminated(program: Program, way: str = "order=best") -> Program:
    return program.jacobian(strategy=f"eliminate{{{way}}}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_way_gives_the_jacobian(name: str, way: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    expected = program.jacfwd()(*inputs)
    assert largest_error(eliminated(program, way).compile("interpreter")(*inputs), expected) < 1e-12


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_compiles(name: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    assert largest_error(eliminated(program).compile()(*inputs), program.jacrev()(*inputs)) < 1e-12


@pytest.mark.parametrize("name", ["numbers", "a layer", "a counted loop", "a branch"])
def test_it_can_be_differentiated_and_batched(name: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    jacobian, reference = eliminated(program), program.jacfwd()
    assert largest_error(jacobian.jacrev()(*inputs), reference.jacfwd()(*inputs)) < 1e-12
    assert largest_error(eliminated(jacobian)(*inputs), reference.jacfwd()(*inputs)) < 1e-12
    batch = [np.stack([x, x + 0.25]) for x in inputs]
    assert largest_error(jacobian.vmap(size=2)(*batch), reference.vmap(size=2)(*batch)) < 1e-12


def test_wrt_and_of_choose_blocks_and_arguments_without_elements_have_empty_ones():
    program = program_of(lambda x, y, e: (x * y, wnp.sum(x)), (np.arange(3.0), np.float64(2.0), np.zeros((0, 2))))
    inputs = (np.arange(3.0), np.float64(2.0), np.zeros((0, 2)))
    assert largest_error(eliminated(program)(*inputs), program.jacfwd()(*inputs)) == 0
    chosen = program.jacobian(wrt=1, of=0, strategy="eliminated")(*inputs)
    assert largest_error([chosen] if isinstance(chosen, np.ndarray) else chosen, [np.arange(3.0)]) == 0


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_values_without_elements_take_no_part(order: str):
    """A loop carries one, and a product of two of them is the number zero."""

    def f(x):
        carried, _, number = fori_loop(0, 3, lambda i, c: (c[0] * x, wnp.sin(c[1]), c[2] + 1.0), (x, x[:0], wnp.sum(x)))
        empty = fori_loop(0, 3, lambda i, c: (wnp.sin(c[0]), c[1] * x), (x[:0], x))[0]
        return carried, empty, wnp.dot(empty, empty) + number

    x = np.array([0.3, -0.7])
    program = program_of(f, (x,))
    given = program.jacobian(strategy=f"eliminate{{order={order} granularity=tensors}}")(x)
    assert [np.shape(y) for y in given] == [(2, 2), (0, 2), (2,)]
    assert largest_error(given, [np.diag(4 * x**3), np.zeros((0, 2)), np.ones(2)]) < 1e-15


@pytest.mark.parametrize("granularity", ["tensors", "scalars"])
def test_what_a_selection_discards_does_not_come_through(granularity: str):
    def function(x: Any) -> Any:
        return wnp.where(x > 0, wnp.sqrt(x), 0.0) * 2.0

    x = np.array([4.0, 0.0, 1.0])
    made = eliminated(program_of(function, (x,)), f"order=forward granularity={granularity}")(x)
    assert largest_error(made, [np.diag([0.5, 0.0, 1.0])]) == 0


def test_a_chain_of_elementwise_functions_stays_a_diagonal():
    program = program_of(lambda x: wnp.exp(wnp.sin(wnp.tanh(x))), (np.ones(50),))
    text = str(eliminated(program, "granularity=tensors").module)
    assert text.count("tensor<50x50xf64>") <= 12  # the diagonal is written once, at the end
    assert "dot_general" not in text


def test_a_bottleneck_takes_fewer_multiplications_than_either_mode():
    inputs = (np.linspace(0, 1, 40), np.full((2, 40), 0.01), np.full((30, 2), 0.5))
    program = program_of(lambda x, a, b: wnp.sin(b @ wnp.sin(a @ wnp.sin(x))), inputs)
    counts = {}
    for order in ("forward", "reverse", "best"):
        costs = Costs()
        graph = program_graph(program.apply("to-core").module, costs, granularity="tensors")
        counts[order] = planned(graph, costs, Wanted("vertices", order)).multiplications
    assert counts["best"] < min(counts["forward"], counts["reverse"])
    assert largest_error(eliminated(program)(*inputs), program.jacfwd()(*inputs)) < 1e-12


def test_the_widest_vertices_first_make_the_fewest_multiplications_of_two_bottlenecks_around_a_wide_layer():
    chance = np.random.default_rng(0)
    a, b, c, d = (chance.standard_normal(shape) / 9 for shape in ((3, 30), (50, 3), (4, 50), (30, 4)))
    x = np.linspace(0, 1, 30)
    program = program_of(lambda x: wnp.sin(d @ wnp.sin(c @ wnp.sin(b @ wnp.sin(a @ x)))), (x,))
    costs = Costs()
    graph = program_graph(program.apply("to-core").module, costs, granularity="tensors")
    counts = {order: planned(graph, costs, Wanted("vertices", order)).multiplications for order in ORDERS if order != "search"}
    assert counts["widest"] == counts["best"] < min(count for order, count in counts.items() if order not in ("widest", "best"))
    assert largest_error(eliminated(program, "order=widest granularity=tensors")(x), program.jacfwd()(x)) < 1e-12


def test_mistakes_are_named_with_the_choices():
    program = program_of(lambda x: x * x, (np.ones(2),))
    for text, said in (
        ("eliminate{order=sideways}", "expects one of best, forward, reverse, markowitz, reverse-markowitz, relative-markowitz, widest, search"),
        ("eliminate{method=loops}", "expects one of vertices, edges, faces"),
        ("eliminate{granularity=small}", "expects one of auto, scalars, tensors"),
        ("eliminate{steps=0}", "steps must be at least 1"),
        ("eliminate{seconds=-1}", "seconds must be above 0"),
    ):
        with pytest.raises(DiagnosticError, match=said):
            program.jacobian(strategy=text)
    for text, said in (
        ("eliminatd", "there are jacfwd, .*eliminated"),
        ("simplify{}", "no pass that makes a Jacobian"),
        ("eliminate{wrt=0}", "give them as wrt and of"),
        ("eliminate{", "not one pass with its options"),
    ):
        with pytest.raises(InputError, match=said):
            program.jacobian(strategy=text)
    complex_program = wg.parse("func.func public @main(%z: tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>> {\n  return %z : tensor<2xcomplex<f64>>\n}")
    with pytest.raises(DiagnosticError, match="argument 0 of @main is of type"):
        complex_program.apply("eliminate")


@pytest.mark.parametrize("seed", share(range(200), 10))
def test_random_programs(seed: int):
    made = random_program(SeededChoices(np.random.default_rng([7, seed])))
    program = Program(made.module)
    wrt, of = program.resolve()
    if not wrt or not of:
        return
    expected = program.jacfwd().compile("interpreter")(*made.inputs)
    few = sum(np.size(x) for x in made.inputs) <= 40
    way = WAYS[seed % len(WAYS)] if few else WAYS[seed % len(WAYS)].replace("scalars", "tensors")
    assert largest_error(eliminated(program, way).compile("interpreter")(*made.inputs), expected) < 1e-9


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("reference", share([pytest.param(program, id=program.name) for program in PROGRAMS], 6))
def test_reference_programs(reference: CorpusProgram):
    program, inputs = wg.load(reference.path("f64")), reference.reference("f64").inputs
    wrt, of = program.resolve()
    parameters = [*(program.signature.arguments[i] for i in wrt), *(program.signature.results[j] for j in of)]
    if any(parameter.dtype.kind == "c" for parameter in parameters):
        pytest.skip("complex programs have no one Jacobian")
    columns, rows = (sum(int(np.prod(p.shape)) for p in side) for side in (parameters[: len(wrt)], parameters[len(wrt) :]))
    if columns * rows > 100_000:
        pytest.skip("the Jacobian has more than 100,000 elements")
    expected = (program.jacfwd() if columns <= rows else program.jacrev())(*inputs)
    made = eliminated(program, "order=reverse granularity=tensors" if columns > rows else "order=best granularity=tensors")(*inputs)
    assert largest_error(made, expected) <= reference.tolerance("jac", "f64")


def test_products_with_nothing_to_add_are_multiplications():
    program = wg.jit(lambda x, y: wnp.sin(x[:1] * y[1:2]) * x[1:2]).program(np.ones(2), np.ones(2))
    text = str(program.jacobian(strategy="eliminate{order=reverse granularity=tensors}"))
    assert "dot_general" not in text
    assert "multiply" in text


def test_many_products_of_numbers_stay_products_of_blocks():
    into, out = np.full((3, 80), 0.1), np.full((60, 3), 0.2)
    x = np.linspace(0, 1, 80)
    program = wg.jit(lambda x: wnp.sin(out @ wnp.tanh(into @ x))).program(x)
    jacobian = program.jacobian(strategy="eliminate{order=best}")
    assert len(str(jacobian).splitlines()) < 60  # 14,400 products of numbers
    np.testing.assert_allclose(jacobian(x)[0], program.jacfwd()(x)[0], rtol=1e-12, atol=1e-14)


def test_a_batch_of_jacobians_of_many_numbers_is_one_loop_over_the_points():
    def flux(x: Any) -> Any:
        numbers = [x[i] for i in range(6)]
        for n in range(60):
            i, j, k = n % 6, (n * 5 + 1) % 6, (n * 7 + 3) % 6
            numbers[i] = wnp.sin(numbers[j]) * numbers[k] + wnp.cos(numbers[i]) / 2
        return wnp.stack(numbers[:3])

    points = np.random.default_rng(0).uniform(0.2, 0.4, (64, 6))
    program = wg.jit(flux).program(points[0])
    batched = program.jacobian(strategy="eliminate{order=reverse granularity=scalars}").vmap(size=64).compile()
    assert batched.stats.kernels <= 2  # the numbers, and their places in the result
    np.testing.assert_allclose(batched(points)[0], program.jacrev().vmap(size=64)(points)[0], rtol=1e-10, atol=1e-12)

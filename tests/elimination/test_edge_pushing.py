"""Hessians by edge pushing: equal to those of nested modes; as programs, they nest, batch and compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from largest_errors import largest_error
from random_programs import of_one_number, random_program
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
from fuzz.generator import SeededChoices
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, while_loop
from wengert.ir.construction import copy_module
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.edge_pushing.hessian import pushed_hessian

MATRIX = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.6, 1.8]])
CHAIN = np.linspace(0.1, 1.0, 6)
GRANULARITIES = ["auto", "tensors", "scalars"]

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "numbers": (lambda a, b: wnp.sin(a * b) / b + a**3, (np.float64(0.3), np.float64(0.7))),
    "a rule that uses the result": (lambda x: wnp.sum(wnp.tanh(x) * wnp.exp(wnp.sin(x))), (np.arange(1.0, 4.0),)),
    "a result that meets its operand": (lambda x: wnp.sum(wnp.sqrt(x * x + 1) * x), (np.arange(1.0, 4.0),)),
    "a layer": (lambda x, w, v: wnp.sum(wnp.tanh(w @ x) * (v @ x)), (np.arange(3.0), MATRIX, MATRIX.T)),
    "layers of a batch": (lambda x, w, v: wnp.sum(wnp.exp(wnp.tanh(x @ w) @ v)), (MATRIX, MATRIX.T, MATRIX[:, :2])),
    "a chain": (lambda x: wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), (CHAIN,)),
    "a matrix times itself": (lambda w: wnp.sum((w @ w.T) ** 2), (MATRIX,)),
    "softmax": (lambda x, w: wnp.log(wnp.sum(wnp.exp(w @ x))), (np.arange(3.0), MATRIX)),
    "a value that is passed on": (lambda x, z: wnp.sum(((x + z) * (x + 1)) * wnp.exp(x + 1)), (np.arange(3.0), np.ones(3))),
    "two arguments in one sum": (lambda x, z: wnp.sum(wnp.exp(x + z)), (np.arange(3.0), np.ones(3))),
    "a product of all": (wnp.prod, (np.array([1.0, 2.0, 0.0, 3.0]),)),
    "gathers and scatters": (lambda x: wnp.sum(wnp.at(wnp.zeros(6))[np.array([4, 0, 4])].add(x[np.array([2, 0, 1])] ** 2) ** 2), (np.arange(1.0, 4.0),)),
    "a solution": (lambda a, b: wnp.sum(wnp.linalg.solve(a, b) ** 2), (MATRIX, np.arange(3.0))),
    "a factor": (lambda a: wnp.sum(wnp.linalg.cholesky(a @ a.T + np.eye(3)) ** 3), (MATRIX,)),
    "a counted loop": (lambda x: wnp.sum(fori_loop(0, 3, lambda i, y: wnp.sin(y) * x + y[::-1], x) ** 2), (np.arange(1.0, 5.0),)),
    "a scan": (lambda x, c: scan(lambda s, row: (s * row[0] + row[1], wnp.sin(s)), c, x)[0] ** 2, (MATRIX, np.float64(0.4))),
    "a loop between layers": (lambda x, w: wnp.sum(fori_loop(0, 2, lambda i, y: wnp.tanh(w @ y), wnp.exp(-x)) ** 2), (np.arange(3.0), MATRIX)),
    "a branch": (lambda x: wnp.sum(cond(x[0] > 0, lambda x: x * x * x, wnp.flip, x) * x), (np.arange(1.0, 4.0),)),
    "a linear function": (lambda x: wnp.sum(3 * x), (np.arange(3.0),)),
    "an argument that does nothing": (lambda x, y: wnp.sum(x * x), (np.arange(3.0), np.ones(2))),
    "a constant": (lambda x: wnp.sum(wnp.floor(x)), (np.arange(3.0),)),
    "an argument without elements": (lambda x, e: wnp.sum(x**3) + wnp.sum(e), (np.arange(3.0), np.zeros((0, 2)))),
}


def program_of(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Program:
    return wg.jit(function).program(*inputs)


def pushed(program: Program, granularity: str = "auto") -> Program:
    return program.apply(f"to-core,simplify,cse,dce,edge-pushing{{granularity={granularity}}},simplify,cse,dce")


def nested(program: Program) -> Program:
    """Forward over reverse."""
    wrt, of = program.resolve()
    return program.jacrev(wrt, of).jacfwd(wrt)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_the_hessian(name: str, granularity: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    assert largest_error(pushed(program, granularity).compile("interpreter")(*inputs), nested(program)(*inputs)) < 1e-12


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_compiles(name: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    assert largest_error(pushed(program).compile()(*inputs), nested(program)(*inputs)) < 1e-12


def test_loops_that_nobody_counts():
    def function(x: Any) -> Any:
        return wnp.sum(while_loop(lambda s: wnp.sum(s) < 50, lambda s: s * s + 1, x))

    x = np.arange(1.0, 4.0)
    program = program_of(function, (x,))
    assert largest_error(pushed(program)(x), program.jacfwd().jacfwd()(x)) < 1e-12


@pytest.mark.parametrize("name", ["numbers", "a layer", "a counted loop"])
def test_it_can_be_differentiated_and_batched(name: str):
    function, inputs = FUNCTIONS[name]
    program = program_of(function, inputs)
    hessian, reference = pushed(program), nested(program)
    assert largest_error(hessian.jacfwd()(*inputs), reference.jacfwd()(*inputs)) < 1e-12
    batch = [np.stack([x, x + 0.25]) for x in inputs]
    assert largest_error(hessian.vmap(size=2)(*batch), reference.vmap(size=2)(*batch)) < 1e-12


def test_wrt_and_of_choose_blocks():
    inputs = (np.arange(3.0), np.float64(2.0))
    program = program_of(lambda x, y: (x * y, wnp.sum(x**3) * y), inputs)
    made = program.apply("to-core,edge-pushing{wrt=1,0 of=1}")(*inputs)
    x, y = inputs
    assert largest_error(made, [0.0, 3 * x**2, 3 * x**2, np.diag(6 * x * y)]) < 1e-14


def test_each_pair_of_arguments_is_computed_once():
    program = program_of(lambda x, w: wnp.sum(wnp.exp(w @ x)), (np.arange(3.0), MATRIX))
    assert str(pushed(program, "tensors").module).count("exponential") == 1
    made = {g: pushed_hessian(copy_module(program.optimized_module), granularity=g).multiplications for g in ("auto", "tensors", "scalars")}
    assert made["auto"] == min(made.values())


def test_pushing_takes_fewer_multiplications_than_the_columns_of_a_chain():
    n = 40
    program = program_of(FUNCTIONS["a chain"][0], (np.linspace(0, 1, n),))
    scalars = pushed_hessian(copy_module(program.optimized_module), granularity="scalars").multiplications
    assert scalars <= 12 * n


def test_the_row_and_the_strategy_by_name():
    inputs = (np.float64(1.0), np.float64(2.0), np.float64(3.0))
    program = program_of(lambda a, b, c: wnp.sin(a * b) * wnp.exp(c * a) / (1 + b * b), inputs)
    row = wg.strategies(program, of="hessian", measure=False).row("edge pushing")
    assert largest_error(row.compile()(*inputs), nested(program)(*inputs)) < 1e-13
    named = program.hessian(strategy="edge pushing")
    assert largest_error(named(*inputs), nested(program)(*inputs)) < 1e-13
    assert [r.name for r in named.signature.results] == [r.name for r in nested(program).signature.results]
    with pytest.raises(InputError, match="did you mean 'edge pushing'"):
        program.hessian(strategy="edge pushin")
    several = program_of(lambda x: x * x, (np.ones(2),))
    assert "edge pushing" not in [row.name for row in wg.strategies(several, of="hessian", measure=False).rows]


def test_what_it_is_not_for_is_refused():
    several = program_of(lambda x: x * x, (np.ones(2),))
    with pytest.raises(DiagnosticError, match="for a function of one number, and @main has 2"):
        pushed(several)
    inner = program_of(lambda x: wnp.sum(wnp.abs(wnp.fft.rfft(x * x)) ** 2), (np.arange(1.0, 6.0),))
    with pytest.raises(DiagnosticError, match="has a complex tangent: edge pushing is for real numbers"):
        pushed(inner)
    argument = wg.parse(
        "func.func public @main(%z: tensor<complex<f64>>) -> tensor<f64> {\n  %0 = stablehlo.real %z : (tensor<complex<f64>>) -> tensor<f64>\n  return %0 : tensor<f64>\n}"
    )
    with pytest.raises(DiagnosticError, match="argument 0 of @main is of type"):
        pushed(argument)


@pytest.mark.parametrize("seed", share(range(200), 10))
def test_random_programs(seed: int):
    made = of_one_number(random_program(SeededChoices(np.random.default_rng([18, seed]))))
    program = Program(made.module)
    few = sum(np.size(x) for x in made.inputs) <= 12
    hessian = pushed(program, ("auto", "scalars")[seed % 2] if few else "tensors")
    assert largest_error(hessian.compile("interpreter")(*made.inputs), nested(program).compile("interpreter")(*made.inputs)) < 1e-9


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("reference", share([pytest.param(program, id=program.name) for program in PROGRAMS], 6))
def test_reference_programs(reference: CorpusProgram):
    program, inputs = wg.load(reference.path("f64")), reference.reference("f64").inputs
    wrt, of = program.resolve()
    if len(of) != 1 or program.signature.results[of[0]].shape or sum(int(np.prod(program.signature.arguments[i].shape)) for i in wrt) > 200:
        pytest.skip("no small Hessian of one number")
    if "complex" in program.jvp().text():
        with pytest.raises(DiagnosticError, match="edge pushing is for real numbers"):
            pushed(program, "tensors")
        return
    hessian, expected = pushed(program, "tensors"), nested(program)
    assert [str(r.type) for r in hessian.signature.results] == [str(r.type) for r in expected.signature.results]
    assert largest_error(hessian(*inputs), expected(*inputs)) < max(1e-7, reference.tolerance("hvp", "f64"))

"""Taylor mode against nested JVPs: every rule, loops and branches, reference programs; its size, its errors, and what it composes with."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_programs import RandomProgram, programs
from reference_programs import PROGRAMS, needs_corpus, share

import wengert as wg
import wengert.numpy as wnp
from wengert.frontends.transforms.taylor import derivative_tensor
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.analysis.program_cost import program_cost


def directions(program: Program, wrt, seed: int = 0):
    """Random directions for these arguments."""
    rng = np.random.default_rng(seed)
    made = []
    for i in wrt:
        parameter = program.signature.arguments[i]
        drawn = rng.standard_normal(parameter.shape)
        made.append(np.asarray(drawn + 1j * rng.standard_normal(parameter.shape) if parameter.dtype.kind == "c" else drawn, parameter.dtype))
    return made


def nested(program: Program, order: int, inputs, vs, wrt, of):
    """Taylor coefficients by JVPs of JVPs, along the same directions each time: for each result one array for each order."""
    current, last, given_inputs = program, list(of), list(inputs)
    listed = [[] for _ in of]
    for j in range(1, order + 1):
        count = len(current.signature.results)
        current, given_inputs = current.jvp(wrt, last), [*given_inputs, *vs]
        last = list(range(count, count + len(of)))
        results = current(*given_inputs)
        for k, position in enumerate(last):
            listed[k].append(np.asarray(results[position]) / factorial(j))
    return listed


def assert_taylor(program: Program, order: int, inputs, wrt=None, of=None, tolerance: float = 1e-10) -> None:
    wrt, of = program.resolve(wrt=wrt, of=of)
    vs = directions(program, wrt)
    made = program.taylor(order, wrt, of)(*inputs, *vs)
    plain = program(*inputs)
    for a, b in zip(made, plain, strict=False):
        assert np.array_equal(a, b, equal_nan=True) or np.allclose(a, b, rtol=1e-13, atol=1e-13, equal_nan=True)
    for result, expected in zip(made[len(plain) :], nested(program, order, inputs, vs, wrt, of), strict=True):
        assert result.shape == (order, *expected[0].shape)
        scale = max([1e-30, *(float(np.abs(e[np.isfinite(e)]).max(initial=0.0)) for e in expected)])
        for j, e in enumerate(expected):
            size = max(float(np.abs(e[np.isfinite(e)]).max(initial=0.0)), 1e-3 * scale)
            assert np.allclose(result[j], e, rtol=0, atol=tolerance * size, equal_nan=True), f"order {j + 1}: {np.abs(result[j] - e).max()} of {size}"


@pytest.mark.parametrize("case", share(ALL_CASES, 3), ids=lambda case: case.name)
def test_every_rule(case: Case):
    rng = np.random.default_rng(1)
    assert_taylor(wg.Program(case.module()), 3, [argument.draw(rng) for argument in case.args])


FUNCTIONS = {
    "exp": wnp.exp,
    "sine": wnp.sin,
    "tanh": wnp.tanh,
    "log": lambda x: wnp.log(2.0 + x * x),
    "root": lambda x: wnp.sqrt(2.0 + x * x),
    "quotient": lambda x: wnp.sin(x) / (2.0 + x * x),
    "power": lambda x: (2.0 + wnp.sin(x)) ** 1.7,
    "product": lambda x: x * x * x * wnp.cos(x),
    "softmax": lambda x: wnp.exp(x - wnp.max(x)) / wnp.sum(wnp.exp(x - wnp.max(x))),
    "solve": lambda x: wnp.linalg.solve(x[:, None] * x[None, :] + 2.0 * wnp.eye(3), x),
    "cholesky": lambda x: wnp.linalg.cholesky(x[:, None] * x[None, :] + 2.0 * wnp.eye(3)),
    "determinant": lambda x: wnp.linalg.det(wnp.sin(x)[:, None] * x[None, :] + 2.0 * wnp.eye(3)),
    "orthogonal factor": lambda x: wnp.linalg.qr(wnp.sin(x)[:, None] * x[None, :] + 2.0 * wnp.eye(3))[0],
    "eigenvectors": lambda x: wnp.linalg.eigh(x[:, None] * x[None, :] + wnp.eye(3) * wnp.arange(3.0))[1],
    "cube": lambda x: wnp.pow(wnp.sin(x), 3.0),
    "moving exponent": lambda x: (2.0 + wnp.sin(x)) ** wnp.cos(x),
    "fixed exponents": lambda x: (2.0 + wnp.sin(x)) ** wnp.asarray([-2.0, 0.5, 3.0]),
    "negative base": lambda x: (wnp.sin(x) - 3.0) ** -5.0,
    "loop": lambda x: wg.fori_loop(0, 4, lambda i, y: y + 0.1 * wnp.sin(y) * x, x),
    "while": lambda x: wg.while_loop(lambda y: wnp.sum(y * y) < 9.0, lambda y: y * 1.5 + 0.1 * wnp.exp(-y), x),
    "branch": lambda x: wg.cond(wnp.sum(x) > 0.0, lambda y: wnp.sin(y) * y, wnp.exp, x),
    "sort": lambda x: wnp.sort(wnp.sin(3.0 * x)) * x,
    "checkpoint": lambda x: wg.checkpoint(lambda y: wnp.sin(y) * wnp.exp(y))(x) * x,
    "integers": lambda x: x * wnp.floor(3.0 * x) + wnp.maximum(x, 0.1),
}


LARGE = {"determinant", "orthogonal factor"}
"""Functions whose nested JVPs of order 6 take half a minute to make."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_up_to_order_six(name: str):
    point = np.array([0.3, 0.7, -0.4])
    assert_taylor(wg.jit(FUNCTIONS[name]).program(point), 4 if name in LARGE else 6, [point])


@needs_corpus
@pytest.mark.parametrize("program", share(PROGRAMS, 12), ids=lambda program: program.name)
def test_reference_programs(program: CorpusProgram):
    precision = "f64" if "f64" in program.precisions else program.precisions[0]
    reference = program.reference(precision)
    tolerance = 1e-10 if precision == "f64" and "bf16" not in program.name else 2e-2
    assert_taylor(wg.load(program.path(precision)), 3, reference.inputs, tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents)), tolerance)


@settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs(random: RandomProgram):
    assert_taylor(wg.Program(random.module), 3, random.inputs, tolerance=1e-8)


SQUARE = ["exp", "sine", "tanh", "quotient", "product", "root", "log", "power", "cube", "moving exponent", "fixed exponents", "negative base"]
SQUARE += ["solve", "cholesky", "determinant", "orthogonal factor", "eigenvectors"]


@pytest.mark.parametrize("name", SQUARE)
def test_ops_grow_as_the_square_of_the_order(name: str):
    program = wg.jit(FUNCTIONS[name]).program(np.ones(3))
    counts = [program_cost(program.taylor(order).optimized_module).count.constant for order in (3, 6, 12)]
    assert counts[2] - counts[1] <= 4.6 * (counts[1] - counts[0])


@pytest.mark.parametrize("exponent", [3.0, 2.0, 1.0, 2.5, 0.5, 0.0, -1.0])
@pytest.mark.parametrize("known", [True, False])
def test_powers_at_zero(exponent: float, known: bool):
    """Along a line through zero a whole power has its own coefficients; another one is 0 up to its order, and infinite behind that."""
    program = wg.jit((lambda x: wnp.pow(x, exponent)) if known else wnp.pow).program(*[np.zeros(())] * (1 if known else 2))
    coefficients = np.asarray(program.taylor(5, 0)(*([0.0] if known else [0.0, exponent]), 2.0)[-1])
    whole = exponent >= 0 and exponent == int(exponent)
    for j, c in enumerate(coefficients, 1):
        if whole:
            assert c == (2.0**j if j == exponent else 0.0)
        elif j < exponent:
            assert c == 0.0
        else:
            assert not np.isfinite(c)


def test_powers_of_a_path_through_zero():
    """(t - t^2)^3, which nested derivatives of a power cannot give behind order 3."""
    path = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0])
    program = wg.jit(lambda x: wnp.pow(x, 3.0)).program(np.zeros(()))
    assert np.asarray(program.taylor(6, series=True)(0.0, path)[-1]).tolist() == [0.0, 0.0, 1.0, -3.0, 3.0, -1.0]


def test_coefficients_of_an_exponential():
    value, coefficients = wg.taylor(wnp.exp, np.array(0.5), np.array(2.0), 8)
    expected = [np.exp(0.5) * 2.0**i / factorial(i) for i in range(1, 9)]
    assert np.allclose(coefficients, expected, rtol=1e-14)
    assert np.isclose(value, np.exp(0.5))


def test_trees():
    value, coefficients = wg.taylor(lambda a, b: {"product": a * b, "first": a}, (np.array(2.0), np.array(3.0)), (np.array(1.0), np.array(1.0)), 3)
    assert value["product"] == 6.0
    assert coefficients["product"].tolist() == [5.0, 1.0, 0.0]
    assert coefficients["first"].tolist() == [1.0, 0.0, 0.0]


def test_paths_compose():
    """The coefficients of f(g(x)) are those of f along the path of g."""
    inner = wg.jit(lambda x: wnp.sin(x) * x).program(np.ones(3))
    outer = wg.jit(lambda y: wnp.exp(y) / (2.0 + y)).program(np.ones(3))
    both = wg.jit(lambda x: wnp.exp(wnp.sin(x) * x) / (2.0 + wnp.sin(x) * x)).program(np.ones(3))
    x, v = np.array([0.3, 0.7, -0.4]), np.array([1.0, -2.0, 0.5])
    y, path = inner.taylor(5)(x, v)
    assert np.allclose(outer.taylor(5, series=True)(y, path)[1], both.taylor(5)(x, v)[1], rtol=1e-11, atol=1e-13)


def test_composes_with_both_modes():
    program = wg.jit(lambda x: wnp.sum(wnp.sin(x) * wnp.exp(x))).program(np.ones(3))
    x, v = np.array([0.3, 0.7, -0.4]), np.array([1.0, -2.0, 0.5])
    gradient = program.vjp(0)
    along = gradient.taylor(3, 0, 1)(x, 1.0, v)[-1]
    step = 1e-3
    shifted = [np.asarray(gradient(x + s * step * v, 1.0)[-1]) for s in (-1, 1)]
    assert np.allclose(along[0], (shifted[1] - shifted[0]) / (2 * step), rtol=1e-5)
    reverse = program.taylor(3).vjp(0, 1)(x, v, np.array([0.0, 1.0, 0.0]))[-1]
    assert np.allclose(reverse, along[1], rtol=1e-9)  # the gradient of the second coefficient is the second coefficient of the gradient
    forward = program.taylor(3).jvp(0, 1)(x, v, v)[-1]
    higher = program.taylor(4)(x, v)[1]
    assert np.allclose(forward, [(j + 1) * higher[j] for j in range(1, 4)], rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_all_derivatives_of_an_order(order: int):
    program = wg.jit(lambda x: wnp.sin(x[0]) * wnp.exp(x[1] * x[2])).program(np.ones(3))
    point = np.array([0.3, 0.2, 0.5])
    expected = program
    for _ in range(order):
        expected = expected.jacfwd()
    assert np.allclose(derivative_tensor(program, order, [point]), expected(point)[0], rtol=1e-11, atol=1e-12)


def test_a_differential_equation():
    """The solution's Taylor series from its own equation: y' = y cos(t), y(0) = 1, of which y = exp(sin t) is the solution."""
    program = wg.jit(lambda y, t: y * wnp.cos(t)).program(np.array(1.0), np.array(0.0))
    order = 12
    path, time = np.zeros(order), np.zeros(order)
    time[0] = 1.0
    rate = program.taylor(order, series=True)
    for j in range(order):
        value, coefficients = rate(1.0, 0.0, path, time)
        path[j] = (value if j == 0 else coefficients[j - 1]) / (j + 1)
    step = 0.3
    assert np.isclose(1.0 + sum(c * step ** (j + 1) for j, c in enumerate(path)), np.exp(np.sin(step)), rtol=1e-9)


def test_errors():
    program = wg.jit(wnp.sin).program(np.ones(3))
    with pytest.raises(InputError, match="at least 1, not 0"):
        program.taylor(0)
    with pytest.raises(DiagnosticError, match="at least 1, not -1"):
        program.apply("taylor{order=-1}")
    with pytest.raises(InputError):
        program.taylor(2, wrt=7)

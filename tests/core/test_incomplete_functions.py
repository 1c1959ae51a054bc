"""The incomplete gamma and beta functions in texts that JAX lowered: recognised by their ops, with the derivatives of JAX's rules."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.transforms.pipelines import parse_pipeline

mpmath: Any = pytest.importorskip("mpmath")
jax: Any = pytest.importorskip("jax", reason="JAX lowers the programs")
lax: Any = jax.lax

INF, NAN = np.inf, np.nan
GAMMA = [
    *((2.0, 1.0), (2.0, 5.0), (3.0, 1000.0), (0.3, 0.1), (50.0, 40.0), (1.0, 2.0), (0.5, 0.0), (1.0, 0.0), (2.0, 0.0)),
    *((1.0, -1.0), (-1.0, 1.0), (0.0, 1.0), (0.0, 0.0), (1.0, INF), (INF, 1.0), (INF, 0.0), (NAN, 1.0), (1.0, NAN)),
]
BETA = [
    *((1.0, 1.5, -1.0), (2.0, 1.5, 0.0), (1.0, 1.5, 1.0), (2.0, 1.5, 2.0), (1.0, 1.5, NAN), (-1.0, 1.5, 0.5), (0.0, 1.0, 0.5), (1.0, 0.0, 0.5)),
    *((INF, 1.0, 0.5), (NAN, 1.0, 0.5), (0.5, 1.5, 0.5), (2.0, 3.0, 0.9)),
]
FUNCTIONS = {"igamma": (lax.igamma, GAMMA), "igammac": (lax.igammac, GAMMA), "betainc": (lax.betainc, BETA)}


def text_of(function: Any, *arguments: Any) -> str:
    return jax.jit(function).lower(*arguments).as_text()


def is_recognised(program: wg.Program) -> bool:
    return "ad.custom_jvp" in print_module(program.core_module)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_what_this_jax_lowers_is_known(name: str, wide: bool, shape: tuple[int, ...]) -> None:
    """If another version of JAX lowers it otherwise, this fails: its fingerprints belong in the table."""
    function, points = FUNCTIONS[name]
    for dtype in ["float32", "bfloat16", *(["float64"] if wide else [])]:
        with jax.enable_x64(wide):
            program = wg.parse(text_of(function, *[jax.ShapeDtypeStruct(shape, dtype)] * len(points[0])))
        assert is_recognised(program), dtype


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_derivatives_are_those_of_the_rules_outside_of_the_domain_too(name: str, backend: str) -> None:
    function, points = FUNCTIONS[name]
    with jax.enable_x64(True):
        a, x = map(np.array, zip(*points, strict=True))
        program, one, zero = wg.parse(text_of(function, a, x)), np.ones_like(a), np.zeros_like(a)
        y, pullback = jax.vjp(function, a, x)
        expected = pullback(one)
        results = program.vjp().compile(backend)(a, x, one)
        np.testing.assert_allclose(results[0], y, rtol=1e-12, atol=1e-300)
        for i in (0, 1):
            forward = program.jvp(wrt=i).compile(backend)(a, x, one)[1]
            np.testing.assert_allclose(results[1 + i], expected[i], rtol=1e-10, atol=1e-300, err_msg=f"{i}")
            np.testing.assert_allclose(forward, expected[i], rtol=1e-10, atol=1e-300, err_msg=f"{i}")
        second = program.vjp(wrt=1).vjp(wrt=1, of=1).compile(backend)(a, x, one, one)[-1]
        np.testing.assert_allclose(second, jax.vmap(jax.grad(jax.grad(function, 1), 1))(a, x), rtol=1e-10)
        both = program.jvp().compile(backend)(a, x, one, zero)[1]
        np.testing.assert_allclose(both, jax.jvp(function, (a, x), (one, zero))[1], rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_the_beta_functions_derivatives(backend: str) -> None:
    """JAX has a rule in x only; in a and b they are those that from_jax gives, and right inside."""
    with jax.enable_x64(True):
        a, b, x = map(np.array, zip(*BETA, strict=True))
        program, one = wg.parse(text_of(lax.betainc, a, b, x)), np.ones_like(a)
        expected = jax.vjp(partial(lax.betainc, a, b), x)[1](one)[0]
        results = program.vjp().compile(backend)(a, b, x, one)
        np.testing.assert_allclose(results[3], expected, rtol=1e-10)
        np.testing.assert_allclose(program.jvp(wrt=2).compile(backend)(a, b, x, one)[1], expected, rtol=1e-10)
        imported = wg.from_jax(lax.betainc, a, b, x).program.vjp().compile(backend)(a, b, x, one)
        for i in (1, 2):
            np.testing.assert_allclose(results[i], imported[i], rtol=1e-10)
            assert np.isfinite(results[i][-2:]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_derivative_in_a_is_right_where_the_value_has_few_terms(dtype: type) -> None:
    """For whole a the continued fraction of the value ends; that of its derivative does not. Differentiated op by op it was wrong in the fourth digit."""
    precision = 2.0**-52 if dtype is np.float64 else 2.0**-23
    points = [(1.0, 2.0), (2.0, 5.0), (2.0, 3.0), (3.0, 3.5), (7.0, 20.0), (0.5, 0.25)]
    a, x = (np.array(column, dtype) for column in zip(*points, strict=True))
    with jax.enable_x64(dtype is np.float64):
        program = wg.parse(text_of(lax.igamma, a, x))
    for derivatives in (program.vjp(wrt=0)(a, x, np.ones_like(a))[1], program.jvp(wrt=0)(a, x, np.ones_like(a))[1]):
        for (p, q), value in zip(points, derivatives, strict=True):
            expected = float(mpmath.diff(partial(mpmath.gammainc, a=0, b=q, regularized=True), p))
            assert abs(float(value) / expected - 1) < 500 * precision, (p, q)


def test_what_is_only_run_is_the_text_as_it_was() -> None:
    """To the last bit, without anything of derivatives, which only to-core{keep-custom=true} looks for."""
    with jax.enable_x64(True):
        a, x = map(np.array, zip(*GAMMA, strict=True))
        text = text_of(lax.igamma, a, x)
    plain = parse_pipeline("to-core").run(parse_module(text, "igamma.mlir"))
    assert "call @" not in print_module(plain)
    lowered = parse_pipeline("to-core{keep-custom=true},lower-ad").run(parse_module(text, "igamma.mlir"))
    assert "ad." not in print_module(lowered)
    assert print_module(lowered).count("func.func") == 1
    first, second = (wg.parse(print_module(module))(a, x) for module in (plain, lowered))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2.2204460492503131E-16", "2.3E-16"),  # another precision
        ("stablehlo.compare GT, %arg1, %arg0", "stablehlo.compare GE, %arg1, %arg0"),
        ("stablehlo.compare LT, %arg0", "stablehlo.compare LE, %arg0"),  # another domain
    ],
)
def test_what_differs_in_one_op_is_not_recognised(old: str, new: str) -> None:
    with jax.enable_x64(True):
        text = text_of(lax.igamma, *[jax.ShapeDtypeStruct((3,), "float64")] * 2)
    assert is_recognised(wg.parse(text))
    assert old in text
    changed = wg.parse(text.replace(old, new))
    assert not is_recognised(changed)
    a, x, one = np.array([1.5, 2.5, 0.5]), np.array([0.5, 4.0, 2.0]), np.ones(3)
    with jax.enable_x64(True):
        expected = jax.vjp(lax.igamma, a, x)[1](one)[1]
    np.testing.assert_allclose(changed.jvp(wrt=1)(a, x, one)[1], expected, rtol=1e-9)  # reverse mode has NaN for branches that are not selected


def test_they_are_recognised_within_larger_programs() -> None:
    """Behind calls, with constants for arguments, several of one kind, in a loop, and in a batch."""

    def step(x: Any, _: Any, total: Any) -> Any:
        return total + jax.scipy.special.gammaincc(x, total)

    def function(x: Any) -> Any:
        total = lax.fori_loop(0, 2, partial(step, x), x)
        return jax.numpy.sum(jax.scipy.special.gammainc(2.0, x) * jax.scipy.special.betainc(2.0, 3.0, x) * total * jax.scipy.special.gammainc(x, 0.5))

    with jax.enable_x64(True):
        x = np.linspace(0.1, 0.9, 5)
        program, one = wg.parse(text_of(function, x)), np.float64(1)
        known = [line for line in print_module(program.core_module).splitlines() if "ad.custom_jvp" in line]
        assert len(known) == 3  # @igamma is called twice
        expected = jax.grad(function)(x)
        np.testing.assert_allclose(program.vjp()(x, one)[1], expected, rtol=1e-10)
        np.testing.assert_allclose(program.vjp(strategy="direct")(x, one)[1], expected, rtol=1e-10)
        batched = program.vmap(size=2).vjp()(np.stack([x, x / 2]), np.ones(2))[1]
        np.testing.assert_allclose(batched, jax.vmap(jax.grad(function))(np.stack([x, x / 2])), rtol=1e-10)

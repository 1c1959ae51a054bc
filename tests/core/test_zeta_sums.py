"""polygamma and zeta as sums of powers: against arbitrary precision, against the interpreter where they are not finite, and in loops."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import mpmath as mp
import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.numpy import special
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def program(op: str, count: int, element: str = "f64", order: float | None = None) -> wg.Program:
    """The op with an order that is an argument, or a constant."""
    t = f"tensor<{count}x{element}>"
    given = f"%n: {t}, %x: {t}" if order is None else f"%x: {t}"
    constant = "" if order is None else f"%n = stablehlo.constant dense<{order}> : {t}\n"
    return wg.parse(f"func.func @main({given}) -> {t} {{\n{constant}%y = chlo.{op} %n, %x : {t}, {t} -> {t}\nreturn %y : {t}\n}}")


@cache
def exact_zeta(s: float, q: float) -> tuple[Any, Any]:
    """zeta(s, q), and the size of what it is a sum of. (mpmath's zeta is precise to so many digits after the point.)"""
    with mp.workdps(30 + max(0, int(s * np.log10(abs(q) + 1)))):
        x = mp.mpf(q)
        if x > 0:
            value = mp.zeta(s, x)
            return value, value
        near, far = mp.zeta(s, x - mp.floor(x)), mp.zeta(s, mp.ceil(x) - x)
        return near + (-1) ** int(s) * (far - mp.zeta(s, 1 - x)), near + far


POINTS = np.concatenate([[1e-5, 0.01, 0.5, 1.46, 3.3, 11.7, 59.1, 2.5e3, 1e8], -np.array([1e-5, 0.3, 0.999999, 3.75, 60.2, 1e4 + 0.3])])


def errors(actual: Array, s: float, factor: Any) -> float:
    """The largest error of a multiple of zeta(s, POINTS) relative to the terms, where what was found is a normal number."""
    normal = np.isfinite(actual) & (np.abs(actual) > 1e-300)
    assert normal.sum() >= 6
    parts: list[float] = []
    with mp.workdps(40):
        for x, y in zip(POINTS[normal], actual[normal], strict=True):
            value, size = exact_zeta(s, float(x))
            parts.append(float(abs(mp.mpf(float(y)) / factor - value) / size))
    return max(parts)


EXPONENTS = np.array([1.0000001, 1.001, 1.5, 2.0, 3.7, 10.0, 40.5])
SHIFTS = np.array([1e-3, 0.3, 1.0, 1.46, 3.3, 60.1, 2.5e3, 1e7])


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_derivative_of_zeta_in_its_exponent(backend: str) -> None:
    s, q = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(EXPONENTS, SHIFTS))
    _, actual = program("zeta", s.size).jvp(wrt=[0]).compile(backend)(s, q, np.ones_like(s))
    for a, b, y in zip(s, q, actual, strict=True):
        with mp.workdps(40 + int(a * max(0.0, np.log10(b)))):  # mpmath's zeta is precise to so many digits after the point
            exact = mp.zeta(a, mp.mpf(b), 1)
        assert abs(y - exact) <= 5e-15 * abs(exact), (a, b)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_derivative_of_zeta_at_its_limits(backend: str) -> None:
    """-inf at s = 1, zero where all powers are, NaN where zeta is defined for whole exponents only, or not at all."""
    inf, nan = np.inf, np.nan
    s, q = (np.array(v) for v in ([1, 0.5, nan, inf, inf, inf, 2, 2, 2, 2, 2, 1e300, 30], [2, 2, 1, 2, 1, 0.5, 0, -0.5, inf, nan, -2, 2, 1e-300]))
    y, y_dot = program("zeta", s.size).jvp(wrt=[0]).compile(backend)(s, q, np.ones_like(s))
    np.testing.assert_array_equal(y_dot, [-inf, nan, nan, 0, 0, inf, nan, nan, 0, nan, nan, 0, inf])
    np.testing.assert_allclose(y, [inf, nan, nan, 0, 1, inf, inf, 8.934802200544679, 0, nan, inf, 0, inf], rtol=1e-14)


def test_zeta_where_it_is_small() -> None:
    s, q = np.array([127.5, 90.0]), np.array([255.7, 2200.0])
    for backend in ("interpreter", "cpu"):
        np.testing.assert_allclose(program("zeta", 2).compile(backend)(s, q)[0], [float(exact_zeta(*point)[0]) for point in zip(s, q, strict=True)], rtol=1e-12)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("order", [2, 3, 20, 150])
def test_polygamma(order: int, backend: str) -> None:
    with mp.workdps(40):
        factor = (-1) ** (order + 1) * mp.factorial(order)
    constant = program("polygamma", POINTS.size, order=float(order)).compile(backend)(POINTS)[0]
    assert errors(constant, order + 1, factor) < 2e-15
    given = program("polygamma", POINTS.size).compile(backend)(np.full(POINTS.size, float(order)), POINTS)[0]
    assert errors(given, order + 1, factor) < 2e-15 + 2 * 2.2e-16 * float(mp.loggamma(order + 1))  # n! by its logarithm


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("exponent", [2, 3])
def test_zeta(exponent: float, backend: str) -> None:
    actual = program("zeta", POINTS.size).compile(backend)(np.full(POINTS.size, float(exponent)), POINTS)[0]
    assert errors(actual, exponent, 1) < 2e-15


def test_zeta_of_exponents_that_are_not_whole() -> None:
    s, q = (grid.ravel() for grid in np.meshgrid([1 + 1e-6, 1.5, 2.5, 7.1], [1e-3, 0.7, 4.0, 123.0]))
    wanted = [float(exact_zeta(float(a), float(x))[0]) for a, x in zip(s, q, strict=True)]
    np.testing.assert_allclose(program("zeta", s.size)(s, q)[0], wanted, rtol=2e-15)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", ["polygamma", "zeta"])
def test_what_is_not_finite_agrees_with_the_interpreter(op: str, element: str) -> None:
    inf, nan = np.inf, np.nan
    orders = [0, 1, 2, 3, 5, 0.5, 2.5, 40, -1, -2, inf, -inf, nan]
    points = [0, -0.0, -1, -2, inf, -inf, nan, 2.5, -0.5, -1.25, 1e300, -1e300, 1e-300, 0.5, 1, 3]
    with np.errstate(over="ignore"):
        n, x = (grid.ravel().astype(DTYPES[element]) for grid in np.meshgrid(np.array(orders), np.array(points)))
    p = program(op, n.size, element)
    compiled = p.compile()
    assert not compiled.stats.interpreted
    actual, wanted = compiled(n, x)[0].astype(np.float64), p.compile("interpreter")(n, x)[0].astype(np.float64)
    np.testing.assert_allclose(actual, wanted, rtol=max(4 * float(ml_dtypes.finfo(DTYPES[element]).eps), 5e-14))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_factors_that_overflow_or_underflow(backend: str) -> None:
    points = [(200, 3.0), (200, 50.0), (200, 1e3), (150, 2.5e3), (40, 1e8), (2, 1e140), (100, 1e-3), (300, 0.4)]
    with mp.workdps(60):
        wanted = np.array([float(mp.polygamma(n, x)) for n, x in points])
    n, x = np.array(points).T
    actual = program("polygamma", n.size).compile(backend)(n, x)[0]
    np.testing.assert_allclose(actual, wanted, rtol=5e-13)
    np.testing.assert_allclose(program("polygamma", 2, order=200.0).compile(backend)(np.array([3.0, 50.0]))[0], wanted[:2], rtol=5e-13)


def test_in_loops_batches_and_derivatives() -> None:
    def f(x: Any) -> Any:
        return wg.fori_loop(0, 3, lambda i, c: c + 0.1 * wg.numpy.tanh(special.polygamma(2, c)), x)

    x = np.array([-1.7, 0.4, 2.5])
    for program in (wg.jit(wg.vmap(f)).program(x), wg.jit(wg.vmap(wg.grad(f))).program(x)):
        compiled = program.compile()
        assert not compiled.stats.interpreted
        np.testing.assert_allclose(compiled(x)[0], program.compile("interpreter")(x)[0], rtol=1e-11)


def test_the_pass_leaves_valid_ir_and_no_such_op() -> None:
    module = parse_module(str(program("polygamma", 3)))
    parse_pipeline("expand-functions").run(module)
    verify(module)
    assert not any(op.name in ("chlo.polygamma", "chlo.zeta") for op in module.walk())
    assert program("polygamma", 0, order=3.0)(np.zeros(0))[0].shape == (0,)

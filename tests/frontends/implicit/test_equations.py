"""Roots, fixed points and linear systems in traced code: derivatives of the equation, whatever solves it."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError


def newton(f, x0):
    """A scalar equation, element by element."""

    def step(state):
        x, _ = state
        y, slope = wg.jvp(f, (x,), (wnp.ones_like(x),))
        return x - y / slope, wnp.max(wnp.abs(y))

    return wg.while_loop(lambda s: s[1] > 1e-13, step, (x0, wnp.max(wnp.abs(x0)) + 1.0))[0]


def iterate(step, x0):
    return wg.fori_loop(0, 80, lambda _, x: step(x), x0)


def cube_root(p, solve=newton, **options):
    return wg.custom_root(lambda x: x**3 - p, wnp.ones_like(p), solve, **options)


DIVIDE = {"tangent_solve": lambda g, y: y / g(wnp.ones_like(y))}


@pytest.mark.parametrize("options", [{}, DIVIDE], ids=["gmres", "divide"])
def test_roots(options) -> None:
    p = np.array([1.0, 8.0, 3.0])
    np.testing.assert_allclose(cube_root(p), np.cbrt(p))
    np.testing.assert_allclose(wg.jit(cube_root)(p), np.cbrt(p))
    slope, curve = p ** (-2 / 3) / 3, -2 * p ** (-5 / 3) / 9

    def loss(p):
        return wnp.sum(cube_root(p, **options))

    np.testing.assert_allclose(wg.grad(loss)(p), slope, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(loss, (p,), (p,))[1], p @ slope, rtol=1e-9)
    np.testing.assert_allclose(wg.hessian(loss)(p), np.diag(curve), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wg.jacrev(wg.jacfwd(loss))(p), np.diag(curve), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wg.grad(lambda q: wg.grad(loss)(q) @ p)(p), curve * p, rtol=1e-9)
    np.testing.assert_allclose(wg.vmap(wg.grad(lambda q: cube_root(q, **options)))(p), slope, rtol=1e-9)
    np.testing.assert_allclose(wg.grad(lambda p: wnp.sum(wg.vmap(lambda q: cube_root(q, **options))(p)))(p), slope, rtol=1e-9)


def test_a_system_of_equations_with_trees() -> None:
    """x and y by x + y^2 = p, y - x^2 / 4 = q, with what the solver says besides."""
    p, q = np.array(0.3), np.array(0.2)

    def solution(p, q):
        def f(z):
            return {"a": z["a"] + z["b"] ** 2 - p, "b": z["b"] - z["a"] ** 2 / 4 - q}

        def solve(f, z):
            steps = wg.fori_loop(0, 100, lambda _, z: {"a": z["a"] - f(z)["a"] / 2, "b": z["b"] - f(z)["b"] / 2}, z)
            return steps, f(steps)

        return wg.custom_root(f, {"a": 0.0, "b": 0.0}, solve, has_aux=True)

    z, residual = wg.jit(solution)(p, q)
    assert abs(residual["a"]) + abs(residual["b"]) < 1e-12
    matrix = np.array([[1, 2 * z["b"]], [-z["a"] / 2, 1]])
    jacobian = wg.jacrev(lambda p, q: (lambda z: wnp.stack([z["a"], z["b"]]))(solution(p, q)[0]), argnums=(0, 1))(p, q)
    np.testing.assert_allclose(np.stack(jacobian, axis=1), np.linalg.inv(matrix), rtol=1e-8)


@pytest.mark.parametrize("both", [False, True])
def test_fixed_points(both: bool) -> None:
    rng = np.random.default_rng(0)
    w, p = 0.2 * rng.normal(size=(4, 4)), rng.normal(size=4)
    options = {"tangent_solve": lambda g, y: wg.bicgstab(g, y, rtol=1e-13)[0], "transpose_solve": lambda g, y: wg.gmres(g, y)[0]} if both else {}

    def layer(w, p):
        return wg.custom_fixed_point(lambda x: wnp.tanh(w @ x + p), wnp.zeros_like(p), iterate, **options)

    x = wg.jit(layer)(w, p)
    np.testing.assert_allclose(x, np.tanh(w @ x + p), rtol=1e-12)
    d = np.diag(1 - x**2)
    np.testing.assert_allclose(wg.jacfwd(layer, 1)(w, p), np.linalg.solve(np.eye(4) - d @ w, d), rtol=1e-9)
    np.testing.assert_allclose(wg.jacrev(layer, 1)(w, p), np.linalg.solve(np.eye(4) - d @ w, d), rtol=1e-9)

    def unrolled(w, p):
        return iterate(lambda x: wnp.tanh(w @ x + p), wnp.zeros_like(p))

    for f, g in ((layer, unrolled),):
        by_rule, by_loop = (wg.grad(lambda w, h=h: wnp.sum(h(w, p) ** 2)) for h in (f, g))
        np.testing.assert_allclose(by_rule(w), by_loop(w), rtol=1e-9)
        assert "80x4" in by_loop.ir(w)  # the states of 80 iterations
        assert "80x4" not in by_rule.ir(w)
        direction = rng.normal(size=w.shape)
        np.testing.assert_allclose(
            *(wg.hvp(lambda w, h=h: wnp.sum(h(w, p) ** 2), (w,), (direction,)) for h in (f, g)),
            rtol=1e-7,
        )


def test_linear_systems() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 3)) + 4 * np.eye(3), rng.normal(size=3)

    def dense(matvec, right):
        return wnp.linalg.solve(wg.jacfwd(matvec)(wnp.zeros(3)), right)

    for transpose_solve in (None, dense):

        def solution(a, b, transpose_solve=transpose_solve):
            return wg.custom_linear_solve(lambda x: a @ x, b, dense, transpose_solve)

        np.testing.assert_allclose(solution(a, b), np.linalg.solve(a, b))
        x, pullback = wg.vjp(solution, a, b)
        a_bar, b_bar = pullback(b)
        np.testing.assert_allclose(x, np.linalg.solve(a, b))
        np.testing.assert_allclose(b_bar, np.linalg.solve(a.T, b))
        np.testing.assert_allclose(a_bar, -np.outer(np.linalg.solve(a.T, b), x))
        assert "ad.custom_linear_solve" in wg.jit(solution).ir(a, b, stage="traced")


def test_the_declaration_counts_and_not_the_solver() -> None:
    """A solver that has no derivative, or that lies about it, does not matter."""
    p = np.array([2.0, 3.0])
    rounded = wg.custom_jvp(lambda x: x)
    rounded.defjvp(lambda primals, tangents: (primals[0], 100 * tangents[0]))
    gradient = wg.grad(lambda p: wnp.sum(cube_root(p, lambda f, x0: rounded(newton(f, x0)))))(p)
    np.testing.assert_allclose(gradient, p ** (-2 / 3) / 3, rtol=1e-9)


def test_errors() -> None:
    p = np.array([1.0, 2.0])
    with pytest.raises(wg.TracingError, match="must hold arrays of floats, found int64"):
        wg.jit(lambda p: wg.custom_root(lambda x: x - p, np.array([1, 2]), newton))(p)
    with pytest.raises(wg.TracingError, match=r"must return arrays like those of the unknown, float64\[2\], but returns float64\[\]"):
        wg.jit(lambda p: wg.custom_root(lambda x: wnp.sum(x - p), p, newton))(p)
    with pytest.raises(wg.TracingError, match="must return a tree like the unknown"):
        wg.jit(lambda p: wg.custom_fixed_point(lambda x: (x, p), p, iterate))(p)
    with pytest.raises(wg.TracingError, match="must return a pair"):
        wg.jit(lambda p: wg.custom_root(lambda x: x - p, p, newton, has_aux=True))(p)
    with pytest.raises(DiagnosticError, match="is not linear in the unknown") as caught:
        wg.jit(lambda b: wg.custom_linear_solve(lambda x: x * x, b, lambda matvec, y: y))(p)
    assert "test_equations.py" in str(caught.value)

    def loop(matvec, y):
        return wg.while_loop(lambda x: wnp.sum(x * x) < 1e3, lambda x: 2 * x, y)

    derivative = wg.grad(lambda b: wnp.sum(wg.custom_linear_solve(lambda x: 2 * x, b, loop)))
    with pytest.raises(DiagnosticError, match="transpose_solve"):
        derivative(p)

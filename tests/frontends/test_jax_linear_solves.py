"""Systems of JAX functions have the derivatives of ``lax.custom_linear_solve``, however their solvers come by the solution.

Solutions by triangular factors are differentiated as they are computed only where these are factors of what the map takes, and no gradient stays stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp
from jax import lax
from jax.scipy import linalg

import wengert as wg

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
A = np.array([[3.0, 0.5, -0.2], [0.1, 2.0, 0.4], [-0.3, 0.2, 4.0]])
B = np.array([1.0, -0.5, 2.0])
A_DOT, B_DOT, X_BAR = np.cos(np.arange(9.0)).reshape(3, 3), np.sin(np.arange(3.0)), np.array([0.5, -1.0, 0.25])
FACTORS = tuple(np.asarray(x, B.dtype) if np.asarray(x).dtype.kind == "f" else np.asarray(x) for x in linalg.lu_factor(A))


def explicit(matvec: Any, b: Any) -> Any:
    """By the matrix of the map, behind a stopped gradient."""
    return lax.stop_gradient(jnp.linalg.solve(jax.jacobian(matvec)(b), b))


def system(a: Any, b: Any, factors: Any) -> Any:
    """By these factors of a."""
    solve = lambda transposed: lambda _, y: linalg.lu_solve(factors, y, trans=transposed)
    return lax.custom_linear_solve(lambda x: a @ x, b, solve(0), solve(1))


def inside_of_jit(a: Any, b: Any) -> Any:
    return jax.jit(system)(a, b, jax.jit(linalg.lu_factor)(lax.stop_gradient(a)))


def factors_are_results(a: Any, b: Any) -> Any:
    factors = linalg.lu_factor(lax.stop_gradient(a))
    return system(a, b, factors) * jnp.diag(factors[0])


def refined(a: Any, b: Any) -> Any:
    """By a step of refinement around factors of another matrix, which is exact for the diagonal part only as often as it is repeated."""
    step = lambda matrix: lambda matvec, y: lax.fori_loop(0, 60, lambda _, x: x + linalg.solve_triangular(matrix, y - matvec(x)), jnp.zeros_like(y))
    return lax.custom_linear_solve(lambda x: a @ x, b, step(jnp.triu(a)), step(jnp.triu(a.T)))


SYSTEMS: dict[str, Callable[[Any, Any], Any]] = {
    "jnp.linalg.solve": jnp.linalg.solve,
    "in a loop": lambda a, b: lax.scan(lambda c, _: (jnp.sin(jnp.linalg.solve(a, c)), None), b, None, length=3)[0],
    "of JAX's gradient": lambda a, b: jax.grad(lambda a: jnp.sum(jnp.sin(jnp.linalg.solve(a, b))))(a) @ b,
    "of JAX's gradient of a loop": lambda a, b: jax.grad(
        lambda b: jnp.sum(lax.scan(lambda c, _: (jnp.sin(jnp.linalg.solve(a, c)), None), b, None, length=2)[0])
    )(b),
    "beside a stopped gradient": lambda a, b: jnp.linalg.solve(a, b) * lax.stop_gradient(a)[0],
    "by an explicit matrix": lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, explicit, explicit),
    "by an explicit matrix, batched": lambda a, b: jax.vmap(lambda b: lax.custom_linear_solve(lambda x: a @ x, b, explicit, explicit))(jnp.stack([b, b**2]))[1],
    "by factors that are constants": lambda a, b: system(a, b, FACTORS),
    "by factors that are made elsewhere": inside_of_jit,
    "by factors that are results": factors_are_results,
    "by factors in the solver": lambda a, b: lax.custom_linear_solve(
        lambda x: a @ x,
        b,
        lambda _, y: linalg.lu_solve(linalg.lu_factor(a), y),
        lambda _, y: linalg.lu_solve(linalg.lu_factor(a.T), y),
    ),
    "by refinement": refined,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_derivatives_are_those_of_the_map(name: str) -> None:
    """Values, both modes, and forward over reverse."""
    f = SYSTEMS[name]
    with jax.enable_x64(True):
        value, x_dot = jax.jit(lambda *given: jax.jvp(f, given[:2], given[2:]))(A, B, A_DOT, B_DOT)
        gradient = lambda a, b: jax.vjp(f, a, b)[1](jnp.asarray(X_BAR))
        wanted, second = jax.jit(lambda *given: jax.jvp(gradient, given[:2], given[2:]))(A, B, A_DOT, B_DOT)
        program = wg.from_jax(f, A, B).program
    close = lambda actual, expected: np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)
    for actual, expected in zip(program.jvp()(A, B, A_DOT, B_DOT), (value, x_dot), strict=True):
        close(actual, expected)
    for strategy in ("transpose", "direct"):
        pullback = program.vjp(strategy=strategy)  # type: ignore[arg-type]
        for actual, expected in zip(pullback(A, B, X_BAR)[1:], wanted, strict=True):
            close(actual, expected)
        for actual, expected in zip(pullback.jvp(wrt=(0, 1), of=(1, 2)).compile("interpreter")(A, B, X_BAR, A_DOT, B_DOT)[3:], second, strict=True):
            close(actual, expected)

"""Programs of optimistix: roots, fixed points, least squares and minima, differentiated implicitly."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def _root(p: Any) -> Any:
    import jax.numpy as jnp

    return lambda y, _: jnp.tanh(p["a"] @ y) + 2 * y - p["b"]


def _parameters() -> dict[str, Any]:
    return {"a": 0.5 * noise(0, 3, 3), "b": noise(1, 3)}


def root() -> Made:
    import jax.numpy as jnp
    import optimistix as optx

    def solutions(p: Any) -> Any:
        solvers = [optx.Newton(1e-12, 1e-12), optx.Chord(1e-12, 1e-12), optx.Dogleg(1e-12, 1e-12)]
        return [optx.root_find(_root(p), s, jnp.zeros_like(p["b"]), max_steps=100, throw=False).value for s in solvers]

    return solutions, (_parameters(),)


def checked_root() -> Made:
    """With the library's own check that the solver has converged."""
    import jax.numpy as jnp
    import optimistix as optx

    return lambda p: optx.root_find(_root(p), optx.Newton(1e-6, 1e-6), jnp.zeros_like(p["b"])).value, (_parameters(),)


def bisection() -> Made:
    import jax.numpy as jnp
    import optimistix as optx

    def solution(p: Any) -> Any:
        options = {"lower": 0.0, "upper": 3.0}
        return optx.root_find(lambda y, a: y**3 + a * y - 2, optx.Bisection(1e-6, 1e-6), jnp.array(1.0), p, options=options).value

    return solution, (jnp.array(0.7),)


def fixed_point() -> Made:
    import jax.numpy as jnp
    import optimistix as optx

    def solution(p: Any) -> Any:
        solver = optx.FixedPointIteration(1e-10, 1e-10)
        return optx.fixed_point(lambda y, _: 0.3 * jnp.cos(p["a"] @ y) + 0.1 * p["b"], solver, jnp.zeros_like(p["b"]), max_steps=200, throw=False).value

    return solution, (_parameters(),)


def least_squares() -> Made:
    import jax.numpy as jnp
    import optimistix as optx

    x = noise(2, 12)

    def solutions(y: Any) -> Any:
        residual = lambda w, _: w[0] * jnp.exp(-w[1] * x**2) - y  # noqa: E731
        solvers = [optx.LevenbergMarquardt(1e-8, 1e-8), optx.GaussNewton(1e-8, 1e-8)]
        return [optx.least_squares(residual, s, jnp.array([1.8, 0.6]), max_steps=200, throw=False).value for s in solvers]

    return solutions, (2 * jnp.exp(-0.7 * x**2) + 0.01 * noise(3, 12),)


def minimise() -> Made:
    import jax.numpy as jnp
    import optimistix as optx

    def solutions(p: Any) -> Any:
        f = lambda y, _: jnp.sum((y - p["b"]) ** 2) + jnp.sum(jnp.log(jnp.cosh(p["a"] @ y)))  # noqa: E731
        solvers = [optx.BFGS(1e-8, 1e-8), optx.NonlinearCG(1e-8, 1e-8)]
        return [optx.minimise(f, s, jnp.zeros_like(p["b"]), max_steps=200, throw=False).value for s in solvers]

    return solutions, (_parameters(),)


PROGRAMS = (
    Program("optimistix", "roots: Newton, chord, dogleg", root),
    Program("optimistix", "root, convergence checked", checked_root),
    Program("optimistix", "bisection", bisection),
    Program("optimistix", "fixed point", fixed_point),
    Program("optimistix", "least squares: Levenberg-Marquardt, Gauss-Newton", least_squares),
    Program("optimistix", "minimum: BFGS, nonlinear CG", minimise, by_values=True),
)

"""Derivatives of implicit functions: their error, and the memory that they take."""

# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.strategies import Section

import wengert as wg
from wengert import numpy as wnp


def implicit() -> Section:
    """Errors of derivatives of matrix-free solutions and fixed points beside dense algebra, and peaks of memory beside the iterations differentiated."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    n = 100
    noise, right, weight = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=n)
    definite, general = noise @ noise.T / n + np.eye(n), 0.4 * noise / np.sqrt(n) + 2 * np.eye(n)
    for solver, a in ((wg.cg, definite), (wg.bicgstab, general), (wg.gmres, general)):
        errors = _derivatives_of_solution(solver, a, right, weight)
        lines.append(f"{solver.__name__}, {n} unknowns: " + ", ".join(f"{what} {error:.1e}" for what, error in errors.items()))
        numbers[solver.__name__] = errors
    layer, point = 0.5 * rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=n)
    for iterations in (50, 200, 800):
        rule, loop = (_equilibrium(layer, iterations, by_rule=by_rule) for by_rule in (True, False))
        peaks = [wg.grad(f).program(point).memory().peak for f in (rule, loop)]
        error = _relative(wg.grad(rule)(point), wg.grad(loop)(point))
        lines.append(f"fixed point after {iterations} iterations: peak {peaks[0]} bytes by the equation, {peaks[1]} by the iterations; {error:.0e} apart")
        numbers[f"fixed point {iterations}"] = {"peaks": peaks, "error": error}
    return lines, numbers


def _derivatives_of_solution(solver: Any, a: Any, b: Any, weight: Any) -> dict[str, float]:
    """Errors of a solution to 1e-10, and of derivatives of ``weight . sin(x)``, relative to those of dense algebra."""

    def loss(a, b):
        def product(v):
            return a @ v

        return wnp.sum(weight * wnp.sin(solver(product, b, rtol=1e-10)[0]))

    def of_right(b):
        return loss(a, b)

    x = np.linalg.solve(a, b)
    pulled, pushed = np.linalg.solve(a.T, weight * np.cos(x)), np.linalg.solve(a, b)
    product = -np.linalg.solve(a.T, weight * np.sin(x) * pushed)
    a_bar, b_bar = wg.grad(loss, (0, 1))(a, b)
    return {
        "solution": _relative(solver(a, b, rtol=1e-10)[0], x),
        "JVP": _relative(wg.jvp(loss, (a, b), (np.zeros_like(a), b))[1], weight * np.cos(x) @ pushed),
        "VJP by the right-hand side": _relative(b_bar, pulled),
        "VJP by the matrix": _relative(a_bar, -np.outer(pulled, x)),
        "HVP": _relative(wg.hvp(of_right, (b,), (b,)), product),
    }


def _equilibrium(w: Any, iterations: int, *, by_rule: bool) -> Any:
    """A function of the fixed point of a layer, differentiated by its equation or through its iterations."""

    def f(p):
        def step(x):
            return wnp.tanh(w @ x + p)

        def iterate(step, x):
            def numbered(_, x):
                return step(x)

            return wg.fori_loop(0, iterations, numbered, x)

        start = wnp.zeros_like(p)
        return wnp.sum((wg.custom_fixed_point(step, start, iterate) if by_rule else iterate(step, start)) ** 2)

    return f


def _relative(given: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(given) - expected).max() / np.abs(expected).max())

"""Random equations: what they say has the derivatives of what solves them, computed step by step, in both modes, nested and batched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference_programs import share

import wengert as wg
import wengert.numpy as wnp

FUNCTIONS = (wnp.sin, wnp.tanh, wnp.cos, lambda x: x / (1 + x * x), lambda x: wnp.exp(-x * x))
STEPS = 70


class Equation:
    """x = 0.4 M f(x) + h(p), a contraction, with p and x of random sizes; or the linear system (1 + 0.4 M d(p)) x = h(p)."""

    def __init__(self, seed: int):
        rng = np.random.default_rng([21, seed])
        self.n, self.m = (int(k) for k in rng.integers(1, 5, 2))
        matrix = rng.normal(size=(self.n, self.n))
        self.symmetric = bool(rng.random() < 0.5)
        matrix = (matrix + matrix.T) / 2 if self.symmetric else matrix
        self.matrix = 0.4 * matrix / max(np.linalg.norm(matrix, 2), 1e-3)
        self.inner = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        self.outer = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        self.mixing, self.weights = rng.normal(size=(self.n, self.m)), rng.normal(size=self.n)
        self.p, self.direction = rng.uniform(-1, 1, (2, self.m))
        self.kind = ("fixed point", "root", "linear")[seed % 3]
        self.solver = (wg.gmres, wg.bicgstab, wg.cg)[rng.integers(3 if self.symmetric else 2)]

    def step(self, p: Any, x: Any) -> Any:
        return self.matrix @ self.inner(x) + self.outer(self.mixing @ p)

    def product(self, p: Any, x: Any) -> Any:
        """A linear map of x, symmetric if the matrix is."""
        scale = wnp.sin(wnp.sum(p))
        return x + scale * (self.matrix @ x)

    def by_equation(self, p: Any) -> Any:
        zero = wnp.zeros(self.n) + 0 * wnp.sum(p)
        if self.kind == "linear":
            return self.solver(lambda x: self.product(p, x), self.outer(self.mixing @ p), rtol=1e-13)[0]
        if self.kind == "root":
            return wg.custom_root(lambda x: x - self.step(p, x), zero, lambda f, x0: wg.fori_loop(0, STEPS, lambda _, x: x - f(x), x0))
        return wg.custom_fixed_point(lambda x: self.step(p, x), zero, lambda step, x0: wg.fori_loop(0, STEPS, lambda _, x: step(x), x0))

    def step_by_step(self, p: Any) -> Any:
        zero = wnp.zeros(self.n) + 0 * wnp.sum(p)
        if self.kind == "linear":
            return wg.fori_loop(0, STEPS, lambda _, x: x + self.outer(self.mixing @ p) - self.product(p, x), zero)
        return wg.fori_loop(0, STEPS, lambda _, x: self.step(p, x), zero)

    def loss(self, solve: Any) -> Any:
        return lambda p: wnp.sum(self.weights * wnp.sin(solve(p)))


COMPILED = 10
"""Of so many programs one is compiled; the others are interpreted, which takes a tenth of the time."""


@pytest.mark.parametrize("seed", share(range(200), 40))
def test_random_equations(seed: int) -> None:
    equation = Equation(seed)
    p, v = equation.p, equation.direction
    loss, expected = equation.loss(equation.by_equation), equation.loss(equation.step_by_step)
    backend = "cpu" if seed % COMPILED == 0 else "interpreter"

    def value(function: Any, at: Any) -> Any:
        return wg.jit(function).program(at).compile(backend)(at)[0]

    for make in (
        lambda f: value(f, p),
        lambda f: value(lambda q: wg.jvp(f, (q,), (v,))[1], p),
        lambda f: value(wg.grad(f), p),
        lambda f: value(lambda q: wg.jvp(wg.grad(f), (q,), (v,))[1], p),
        lambda f: value(wg.grad(lambda q: wg.jvp(f, (q,), (v,))[1]), p),
        lambda f: value(wg.vmap(wg.grad(f)), np.stack([p, p + 0.2 * v])),
    ):
        np.testing.assert_allclose(make(loss), make(expected), rtol=1e-7, atol=1e-8)

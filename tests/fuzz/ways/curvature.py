"""Curvature products and estimates of Hessians of random programs: against dense Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from ad.random_programs import RandomProgram, of_one_number

import wengert as wg
import wengert.numpy as wnp
from wengert.frontends.transforms.program_calls import call_program
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]
SAMPLES = 1000


class _Dense:
    """A random program as a traced function of its float arguments, with its values and its Jacobian as matrices."""

    def __init__(self, made: RandomProgram):
        self.program, self.inputs = Program(made.module), made.inputs
        self.wrt, self.of = self.program.resolve()
        self.primals = tuple(made.inputs[i] for i in self.wrt)
        rng = np.random.default_rng(made.seed)
        self.tangents = tuple(np.asarray(rng.standard_normal(np.shape(x))) for x in self.primals)
        self.direction = flat(self.tangents)

    def __call__(self, *xs: Any) -> tuple[Any, ...]:
        given = dict(zip(self.wrt, xs, strict=True))
        results = call_program(self.program, [given.get(i, x) for i, x in enumerate(self.inputs)])
        return tuple(results[j] for j in self.of)

    def values(self) -> list[Array]:
        """The results."""
        results = self.program.compile("interpreter")(*self.inputs)
        return [np.asarray(results[j]) for j in self.of]

    def matrix(self, program: Program, rows: int) -> Array:
        """The blocks of a derivative as one matrix."""
        blocks = [np.asarray(block) for block in program.compile("interpreter")(*self.inputs)]
        width = len(self.wrt)
        across = [x.size for x in self.primals]
        listed = [[b.reshape(-1, n) for b, n in zip(blocks[k : k + width], across, strict=True)] for k in range(0, width * rows, width)]
        return np.block(listed)


def flat(parts: Any) -> Array:
    """Arrays one after the other."""
    return np.concatenate([np.ravel(part) for part in parts])


def interpreted(function: Callable[..., Any], *arguments: Any) -> Array:
    """The results of a traced function in the interpreter."""
    return flat(wg.jit(function).program(*arguments).compile("interpreter")(*arguments))


def curvature(made: RandomProgram) -> Iterator[tuple[str, Callable[[], None]]]:
    """Gauss-Newton and Fisher products, and Hutchinson's estimates of the trace and the diagonal of a Hessian."""
    f, one = _Dense(made), _Dense(of_one_number(made))

    def near(product: Array, at_outputs: Callable[[Array], Array]) -> None:
        jacobian = f.matrix(f.program.jacfwd(), len(f.of))
        expected = jacobian.T @ at_outputs(jacobian @ f.direction)
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-8 * max(1.0, float(np.abs(expected).max(initial=0.0))))

    def gauss_newton() -> None:
        def loss(ys: Any) -> Any:
            return sum(wnp.sum(wnp.cos(y)) for y in ys)

        y = flat(f.values())
        near(interpreted(lambda *a: wg.gauss_newton_product(f, loss, a[: len(f.wrt)], a[len(f.wrt) :]), *f.primals, *f.tangents), lambda u: -np.cos(y) * u)

    def fisher(distribution: str) -> None:
        product = interpreted(lambda *a: wg.fisher_product(f, a[: len(f.wrt)], a[len(f.wrt) :], distribution), *f.primals, *f.tangents)
        near(product, lambda u: _fisher(distribution, f.values(), u))

    def estimate(what: str) -> None:
        hessian = one.matrix(one.program.jacrev().jacfwd(), len(one.wrt))
        off = hessian - np.diag(np.diag(hessian))
        like = tuple(np.zeros(np.shape(x)) for x in one.primals)

        def product(v: Any) -> Any:
            return wg.jvp(wg.grad(lambda *xs: one(*xs)[0], tuple(range(len(like)))), one.primals, v)[1]

        made_of = wg.hutchinson_trace if what == "trace" else wg.hutchinson_diagonal
        mean = interpreted(made_of(product, like, samples=SAMPLES), np.int64(made.seed))
        exact = np.trace(hessian).reshape(1) if what == "trace" else np.diag(hessian)
        variance = 2 * (off**2).sum().reshape(1) if what == "trace" else (off**2).sum(1)
        assert np.all(np.abs(mean - exact) <= 7 * np.sqrt(variance / SAMPLES) + 1e-8 * (1 + np.abs(exact)))

    yield "Gauss-Newton product", gauss_newton
    for name in ("bernoulli", "normal", "poisson", *(["categorical"] if all(y.ndim for y in f.values()) else [])):
        yield f"Fisher product: {name}", lambda name=name: fisher(name)
    yield "Hutchinson trace", lambda: estimate("trace")
    yield "Hutchinson diagonal", lambda: estimate("diagonal")


def _fisher(distribution: str, values: list[Array], u: Array) -> Array:
    """The Fisher matrix in the results times a direction of them."""
    made: list[Array] = []
    for y in values:
        part, u = u[: y.size].reshape(y.shape), u[y.size :]
        p = 1 / (1 + np.exp(-y))
        if distribution == "categorical":
            e = np.exp(y - y.max(-1, keepdims=True))
            p = e / e.sum(-1, keepdims=True)
            made.append(p * part - p * (p * part).sum(-1, keepdims=True))
        else:
            made.append({"bernoulli": p * (1 - p), "normal": np.ones_like(y), "poisson": np.exp(y)}[distribution] * part)
    return flat(made)

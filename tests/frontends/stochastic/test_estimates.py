"""Estimates are unbiased with the variances that they say, and products with curvature matrices are those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

DRAWS = 100_000
X = np.array([0.3, -1.2, 0.8, 0.5])


def rosenbrock(x):
    return wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("directions", ["rademacher", "normal"])
def test_forward_gradients_are_unbiased(directions) -> None:
    """The mean of 10^5 draws is the gradient within five standard errors; the variances are those of the formulas."""
    gradient = wg.grad(rosenbrock)(X)
    square = gradient @ gradient
    variance = square - gradient**2 if directions == "rademacher" else square + gradient**2
    mean = wg.forward_gradient(rosenbrock, samples=DRAWS, directions=directions)(7, X)
    assert np.all(np.abs(mean - gradient) <= 5 * np.sqrt(variance / DRAWS))
    one = wg.forward_gradient(rosenbrock, directions=directions)
    draws = wg.vmap(one, in_axes=(0, None))(np.arange(20_000), X)
    np.testing.assert_allclose(draws.mean(0), gradient, atol=5 * np.sqrt(variance.max() / 20_000))
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.1)
    error = ((draws - gradient) ** 2).sum(1).mean() / square
    assert error == pytest.approx(len(X) + (-1 if directions == "rademacher" else 1), rel=0.05)


def test_seeds_decide() -> None:
    estimate = wg.forward_gradient(rosenbrock, samples=3)
    np.testing.assert_array_equal(estimate(1, X), estimate(np.int64(1), X))
    assert np.abs(estimate(1, X) - estimate(2, X)).max() > 1e-3
    np.testing.assert_array_equal(wg.jit(lambda seed, x: estimate(seed, x))(5, X), estimate(5, X))


def test_forward_gradients_of_trees() -> None:
    def f(tree, scale):
        return wnp.sum(wnp.sin(tree["a"])) * scale + tree["b"] ** 2

    tree = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3.0)}
    expected = wg.grad(f, (0, 1))(tree, 2.0)
    gradient = wg.forward_gradient(f, (0, 1), samples=DRAWS)(0, tree, 2.0)
    np.testing.assert_allclose(gradient[0]["a"], expected[0]["a"], atol=0.2)
    np.testing.assert_allclose(gradient[0]["b"], expected[0]["b"], atol=0.2)
    np.testing.assert_allclose(gradient[1], expected[1], atol=0.2)
    assert gradient[0]["a"].shape == (2, 3)


@pytest.mark.parametrize("directions", ["rademacher", "normal"])
def test_traces_and_diagonals(directions) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 5))
    a = a + a.T
    off = (a**2).sum() - (np.diag(a) ** 2).sum()
    variance = 2 * (off if directions == "rademacher" else (a**2).sum())
    trace = wg.hutchinson_trace(lambda v: a @ v, np.zeros(5), samples=DRAWS, directions=directions)(3)
    assert abs(trace - np.trace(a)) <= 5 * np.sqrt(variance / DRAWS)
    diagonal = wg.hutchinson_diagonal(lambda v: a @ v, np.zeros(5), samples=DRAWS, directions=directions)(3)
    np.testing.assert_allclose(diagonal, np.diag(a), atol=5 * np.sqrt(variance / DRAWS))
    if directions == "rademacher":  # whose squares are 1: no variance on a diagonal
        d = np.diag(np.arange(5.0))
        assert float(wg.hutchinson_trace(lambda v: d @ v, wg.ArraySpec((5,), np.float64))(0)) == 10.0
        np.testing.assert_array_equal(wg.hutchinson_diagonal(lambda v: d @ v, np.zeros(5))(1), np.arange(5.0))


def test_the_trace_of_a_hessian() -> None:
    """Products may be derivatives: the Laplacian of a function."""
    trace = wg.hutchinson_trace(lambda v: wg.hvp(rosenbrock, (X,), (v,)), X, samples=DRAWS)(0)
    assert float(trace) == pytest.approx(np.trace(wg.hessian(rosenbrock)(X)), rel=0.01)


def model(w, x):
    return wnp.tanh(x @ w["a"]) @ w["b"]


def test_curvature_products() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(6, 3)), {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(4, 3))}
    v = {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(4, 3))}
    labels = rng.integers(0, 3, size=6)

    def outputs(w):
        return model(w, x)

    def loss(y):
        return wnp.sum(wnp.special.logsumexp(y, axis=-1) - y[np.arange(6), labels])

    blocks = wg.jacfwd(outputs)(w)
    jacobian = np.concatenate([np.asarray(blocks[k]).reshape(18, -1) for k in ("a", "b")], axis=1)
    direction = np.concatenate([v[k].ravel() for k in ("a", "b")])
    y = outputs(w)
    hessian = np.asarray(wg.hessian(loss)(y)).reshape(18, 18)

    def flat(gradient):
        return np.concatenate([gradient[0][k].ravel() for k in ("a", "b")])

    expected = jacobian.T @ hessian @ jacobian @ direction
    np.testing.assert_allclose(flat(wg.gauss_newton_product(outputs, loss, (w,), (v,))), expected, rtol=1e-10)
    # for the cross entropy of a softmax both are the same
    np.testing.assert_allclose(flat(wg.fisher_product(outputs, (w,), (v,))), expected, rtol=1e-10)
    p = 1 / (1 + np.exp(-y.ravel()))
    for name, middle in (("bernoulli", p * (1 - p)), ("normal", np.ones(18)), ("poisson", np.exp(y.ravel()))):
        expected = jacobian.T @ (middle * (jacobian @ direction))
        np.testing.assert_allclose(flat(wg.fisher_product(outputs, (w,), (v,), name)), expected, rtol=1e-10)
        np.testing.assert_allclose(flat(wg.jit(lambda w, v, n=name: wg.fisher_product(outputs, (w,), (v,), n))(w, v)), expected, rtol=1e-10)


def test_errors() -> None:
    with pytest.raises(wg.TracingError, match="a seed is an integer"):
        wg.forward_gradient(rosenbrock)(0.5, X)
    with pytest.raises(wg.TracingError, match="there are no 'uniform' directions"):
        wg.forward_gradient(rosenbrock, directions="uniform")(0, X)  # pyright: ignore[reportArgumentType]
    with pytest.raises(wg.TracingError, match="samples=0"):
        wg.forward_gradient(rosenbrock, samples=0)(0, X)
    with pytest.raises(wg.TracingError, match="needs a scalar result"):
        wg.forward_gradient(wnp.sin)(0, X)
    with pytest.raises(wg.TracingError, match="found int64"):
        wg.forward_gradient(rosenbrock)(0, np.arange(3))
    with pytest.raises(wg.TracingError, match="must return what it is given"):
        wg.hutchinson_trace(lambda v: v[:2], X)(0)
    with pytest.raises(wg.TracingError, match="there is no Fisher matrix of 'cauchy'"):
        wg.fisher_product(wnp.sin, (X,), (X,), "cauchy")

"""Derivatives of JAX's random numbers by the parameters of their distribution are JAX's: implicit where a sample was accepted or rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp

import wengert as wg

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
random = jax.random
Sampler = Callable[[Any, Any], Any]

REJECTED: dict[str, Sampler] = {
    "beta": lambda key, x: random.beta(key, x, x + 0.5),
    "dirichlet": random.dirichlet,
    "gamma": random.gamma,
    "logarithm of gamma": random.loggamma,
    "t": lambda key, x: random.t(key, x + 2),
}
"""Distributions whose samples may be rejected, with parameters that are made of a positive x: f[3]."""


def others(key: Any, x: Any) -> list[Any]:
    """Samples that are functions of parameters and of numbers that do not depend on them."""
    made = [random.ball(key, 3, shape=(3,)) * x[:, None], random.double_sided_maxwell(key, x, x + 1, (3,)), random.exponential(key, (3,)) / x]
    made += [random.lognormal(key, x), random.multivariate_normal(key, x, jnp.diag(x) + 0.1), random.pareto(key, x), random.permutation(key, x)]
    made += [random.rayleigh(key, x), random.triangular(key, x - 1, x, x + 1), random.uniform(key, (3,), minval=x, maxval=x + 2), random.wald(key, x)]
    return [*made, random.weibull_min(key, x, 2.0)]


AROUND: dict[str, Callable[[Sampler], Sampler]] = {
    "a batch": lambda f: lambda key, x: jax.vmap(f)(random.split(key, 2), jnp.stack([x, x + 1])),
    "one parameter for two keys": lambda f: lambda key, x: jax.vmap(f, in_axes=(0, None))(random.split(key, 2), x),
    "a loop": lambda f: lambda key, x: jax.lax.scan(lambda x, key: (f(key, x), x), x, random.split(key, 3)),
    "a branch": lambda f: lambda key, x: jax.lax.cond(x[0] > 0, lambda: f(key, x), lambda: x),
    "a checkpoint": lambda f: jax.checkpoint(lambda key, x: jnp.sin(f(key, x))),
}
X, X_DOT = np.array([0.3, 0.7, 2.5]), np.array([1.0, -0.5, 2.0])


def check_derivatives(f: Callable[[Any], Any], x: Any, x_dot: Any, tolerance: float) -> None:
    """Value, JVP and VJP, by both strategies, beside JAX's."""
    with jax.enable_x64(True):
        value, y_dot = jax.jit(lambda x, x_dot: jax.jvp(f, (x,), (x_dot,)))(x, x_dot)
        y_bar = jax.tree.map(lambda y: np.asarray(np.cos(np.arange(y.size)).reshape(y.shape), y.dtype), value)
        wanted = jax.jit(lambda x, y_bar: jax.vjp(f, x)[1](y_bar)[0])(x, y_bar)
        program = wg.from_jax(f, x).program
    values, y_dots, y_bars = (jax.tree.leaves(tree) for tree in (value, y_dot, y_bar))
    for actual, expected in zip(program.jvp()(x, x_dot), [*values, *y_dots], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    for strategy in ("transpose", "direct"):
        np.testing.assert_allclose(program.vjp(strategy=strategy)(x, *y_bars)[-1], wanted, rtol=tolerance, atol=tolerance)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", REJECTED)
def test_samples_that_may_be_rejected(name: str) -> None:
    check_derivatives(lambda x: REJECTED[name](random.key(3), x), X, X_DOT, 1e-9)


def test_samples_that_are_functions_of_parameters() -> None:
    check_derivatives(lambda x: others(random.key(3), x), X, X_DOT, 1e-9)


@pytest.mark.parametrize("around", AROUND)
def test_samples_that_may_be_rejected_in(around: str) -> None:
    check_derivatives(lambda x: AROUND[around](random.gamma)(random.key(5), x), X, X_DOT, 1e-9)


def test_samples_of_other_keys_and_types() -> None:
    """Keys of another generator, keys as plain numbers, and single precision."""
    for key in (random.key(2, impl="rbg"), random.PRNGKey(4)):
        check_derivatives(lambda x, key=key: random.gamma(key, x), X, X_DOT, 1e-9)
    check_derivatives(lambda x: random.loggamma(random.key(7), x), X.astype(np.float32), X_DOT.astype(np.float32), 2e-5)


def test_a_key_that_is_an_argument() -> None:
    """The derivative is by the parameter alone; a second one is there too, where JAX has none: that of a mean, which is the parameter, is 0."""
    data = np.asarray(random.key_data(random.split(random.key(0), 1000)))
    with jax.enable_x64(True):
        program = wg.from_jax(lambda keys, a: jnp.mean(jax.vmap(lambda key: random.gamma(random.wrap_key_data(key), a))(keys)), data, np.array(1.5)).program
    first = program.jvp(wrt=1)
    np.testing.assert_allclose(first(data, np.array(1.5), np.array(1.0))[1], 1.0, atol=0.1)
    second = first.jvp(wrt=1, of=1)
    np.testing.assert_allclose(second(data, np.array(1.5), np.array(1.0), np.array(1.0))[2], 0.0, atol=0.1)

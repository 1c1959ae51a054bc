"""log(exp(a) + exp(b)) as JAX lowers it is smooth where a = b, whatever holds for |x| at 0."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
import jax.numpy as jnp

import wengert as wg
from wengert.runtime.interpreter import run

pytestmark = pytest.mark.oracle
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 3.0, 1.5])


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
@pytest.mark.parametrize(
    "f",
    [jax.nn.softplus, jax.nn.log_sigmoid, lambda x: jnp.logaddexp(x, 2 * x), lambda x: jnp.logaddexp(1.0, x)],
    ids=["softplus", "log_sigmoid", "of x", "one"],
)
def test_derivatives_at_ties_are_those_of_jax(f, strategy: str) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, 40.0, -40.0])
    with jax.enable_x64(True):
        program = wg.parse(jax.jit(f).lower(x).as_text())
        expected = np.asarray(jax.vmap(jax.grad(f))(x))
    for backend in ("interpreter", "cpu"):
        actual = program.vjp(strategy=strategy).compile(backend)(x, np.ones_like(x))[1]
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-300)


def test_values_do_not_change() -> None:
    a, b = (v.ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    with jax.enable_x64(True):
        program = wg.parse(jax.jit(jnp.logaddexp).lower(a, b).as_text())
    assert "minimum" in str(program.core_module)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(program.core_module, [a, b])[0], run(program.module, [a, b])[0])

"""Taylor coefficients of JAX functions with rules: beside nested JVPs of JAX, and as deep as there are rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp
import transform_sides  # noqa: F401, for JAX's settings

import wengert as wg

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
X = np.array([0.3, -0.7, 1.2])

RULES_ALONG_A_PATH: dict[str, Callable[[Any], Any]] = {
    "a rule that calls its own function": jax.nn.softplus,
    "two arguments": lambda x: jnp.logaddexp(x, x**2),
    "an argument with no rule for it": lambda x: jax.lax.igamma(2.0, x + 1.5),
    "a primitive's rule": lambda x: jax.lax.bessel_i0e(x) * jax.scipy.special.xlogy(x + 2, x + 3),
    "rules without end": jnp.sinc,
    "in a loop": lambda x: jax.lax.scan(lambda c, _: (jax.nn.softplus(c) * x, None), x, None, length=3)[0],
}


@pytest.mark.parametrize("name", RULES_ALONG_A_PATH)
def test_taylor_coefficients_of_functions_with_rules(name: str) -> None:
    """Beside JVPs of JVPs in JAX; rules of rules are looked for only as deep as the order needs them."""
    f, order = RULES_ALONG_A_PATH[name], 3
    derivative, wanted = f, list[Any]()
    for j in range(1, order + 1):
        derivative = (lambda g: lambda x: jax.jvp(g, (x,), (jnp.cos(X),))[1])(derivative)
        wanted.append(jax.jit(derivative)(X) / math.factorial(j))
    actual = wg.from_jax(f, X).program.taylor(order)(X, np.cos(X))[1]
    np.testing.assert_allclose(actual, np.stack(wanted), rtol=1e-9, atol=1e-9)


def test_taylor_coefficients_beyond_the_rules() -> None:
    program = wg.from_jax(jnp.sinc, 0.0).program
    np.testing.assert_allclose(program.taylor(6)(0.0, 1.0)[1][3], np.pi**4 / 120, rtol=1e-12)
    with pytest.raises(wg.DiagnosticError, match="rule_of_sinc_maclaurin_which_is_more_than_6_rules_deep"):
        str(program.taylor(7))

"""The incomplete gamma and beta functions of JAX keep their rules, outside of their domains too."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import transform_sides  # noqa: F401, for JAX's settings

import wengert as wg

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

EDGES = [(1.0, -1.0), (-1.0, 1.0), (1.0, 0.0), (0.5, 0.0), (0.0, 1.0), (1.0, np.inf), (np.inf, 1.0), (2.0, 3.0), (0.3, 0.1), (np.nan, 1.0)]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_have_their_rules_outside_of_their_domain_too(name: str) -> None:
    """A tangent that is zero is absent in the rule: it is not multiplied with an infinite derivative in the other argument."""
    function = getattr(jax.scipy.special, name)
    with jax.enable_x64(True):
        program = wg.from_jax(function, 1.0, 2.0).program
        modes = [(program.jvp(wrt=i).compile("interpreter"), program.vjp(wrt=i).compile("interpreter"), jax.grad(function, i)) for i in (0, 1)]
        both = program.vjp().compile("interpreter")
        for a, x in EDGES:
            for i, (forward, reverse, gradient) in enumerate(modes):
                expected = gradient(a, x)
                one = jax.jvp(lambda t, a=a, x=x, i=i: function(*((t, x) if i == 0 else (a, t))), ((a, x)[i],), (1.0,))[1]
                np.testing.assert_allclose(forward(a, x, 1.0)[1], one, rtol=1e-12, err_msg=f"{a}, {x}, {i}")
                np.testing.assert_allclose(reverse(a, x, 1.0)[1], expected, rtol=1e-12, err_msg=f"{a}, {x}, {i}")
            np.testing.assert_allclose(both(a, x, 1.0)[1:], jax.grad(function, (0, 1))(a, x), rtol=1e-12, err_msg=f"{a}, {x}")


BETA_EDGES = [
    *((1.0, 1.5, -1.0), (2.0, 1.5, 0.0), (1.0, 1.5, 1.0), (2.0, 1.5, 2.0), (1.0, 1.5, np.nan), (-1.0, 1.5, 0.5), (0.0, 1.0, 0.5), (1.0, 0.0, 0.5)),
    *((np.inf, 1.0, 0.5), (np.nan, 1.0, 0.5), (0.5, 1.5, 0.5), (2.0, 3.0, 0.9)),
]


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_the_incomplete_beta_function_has_its_rule_outside_of_its_domain_too(backend: str) -> None:
    function = jax.scipy.special.betainc
    with jax.enable_x64(True):
        program = wg.from_jax(function, 1.0, 2.0, 0.5).program
        forward, reverse, every = (p.compile(backend) for p in (program.jvp(wrt=2), program.vjp(wrt=2), program.vjp()))
        for a, b, x in BETA_EDGES:
            expected, about = jax.grad(function, 2)(a, b, x), f"{a}, {b}, {x}"
            one = jax.jvp(lambda t, a=a, b=b: function(a, b, t), (x,), (1.0,))[1]
            np.testing.assert_allclose(forward(a, b, x, 1.0)[1], one, rtol=1e-12, err_msg=about)
            np.testing.assert_allclose(reverse(a, b, x, 1.0)[1], expected, rtol=1e-12, err_msg=about)
            np.testing.assert_allclose(every(a, b, x, 1.0)[3], expected, rtol=1e-12, err_msg=about)


def test_the_incomplete_beta_function_of_scalar_literals_beside_an_array() -> None:
    with jax.enable_x64(True):
        x = np.linspace(0.1, 0.9, 3)
        program = wg.from_jax(lambda x: jax.scipy.special.betainc(2.0, 3.0, x), x).program
        np.testing.assert_allclose(program.vjp()(x, np.ones(3))[1], 12 * x * (1 - x) ** 2, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_incomplete_beta_function_has_derivatives_in_a_and_b(dtype: type) -> None:
    """JAX has none: differences of SciPy's function, and zero at both ends."""
    a, b, x = (np.array(v, dtype) for v in ([0.5, 2.0, 3.0, 3.0], [1.5, 3.0, 2.0, 2.0], [0.5, 0.75, 0.0, 1.0]))
    with jax.enable_x64(True):
        program = wg.from_jax(jax.scipy.special.betainc, a, b, x).program
        _, a_bar, b_bar, _ = program.vjp()(a, b, x, np.ones(4, dtype))
        a_dot, b_dot = program.jvp(wrt=0)(a, b, x, np.ones(4, dtype))[1], program.jvp(wrt=1)(a, b, x, np.ones(4, dtype))[1]
    wide, h = [v.astype(np.float64) for v in (a, b, x)], 1e-5
    in_a = (scipy.special.betainc(wide[0] + h, *wide[1:]) - scipy.special.betainc(wide[0] - h, *wide[1:])) / (2 * h)
    in_b = (scipy.special.betainc(wide[0], wide[1] + h, wide[2]) - scipy.special.betainc(wide[0], wide[1] - h, wide[2])) / (2 * h)
    for given, expected in ((a_bar, in_a), (b_bar, in_b), (a_dot, in_a), (b_dot, in_b)):
        assert given.dtype == dtype
        np.testing.assert_allclose(given.astype(np.float64), expected, rtol=max(1e-7, 20 * float(np.finfo(dtype).eps)), atol=1e-9)

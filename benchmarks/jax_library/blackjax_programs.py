"""Programs of blackjax: steps of samplers from a fixed key, as functions of the position."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def _log_density(q: Any) -> Any:
    import jax.numpy as jnp

    return -0.5 * jnp.sum(q["x"] ** 2) - jnp.sum((q["y"] - q["x"][:2] ** 2) ** 2)


def _step(make: Any) -> Made:
    import jax

    def step(q: Any, key: Any) -> Any:
        sampler = make(_log_density)
        state, information = sampler.step(key, sampler.init(q))
        return state.position, information.acceptance_rate if hasattr(information, "acceptance_rate") else information[0]

    return step, ({"x": noise(0, 3), "y": noise(1, 2)}, jax.random.key(4))


def _metric() -> Any:
    import jax.numpy as jnp

    return jnp.ones(5)


def hmc() -> Made:
    import blackjax

    return _step(lambda f: blackjax.hmc(f, 0.1, _metric(), 5))


def nuts() -> Made:
    import blackjax

    return _step(lambda f: blackjax.nuts(f, 0.2, _metric(), max_num_doublings=4))


def mala() -> Made:
    import blackjax

    return _step(lambda f: blackjax.mala(f, 0.05))


def sgld() -> Made:
    """Ten steps of Langevin dynamics by gradients of a density."""
    import blackjax
    import jax

    def run(q: Any, key: Any) -> Any:
        sampler = blackjax.sgld(lambda q, _: jax.grad(_log_density)(q))
        return jax.lax.scan(lambda q, k: (sampler.step(k, q, 0.0, 1e-2), None), q, jax.random.split(key, 10))[0]

    return run, ({"x": noise(0, 3), "y": noise(1, 2)}, jax.random.key(4))


def adaptation() -> Made:
    """Window adaptation of HMC, 20 steps: step size and inverse mass matrix."""
    import blackjax
    import jax

    def run(q: Any, key: Any) -> Any:
        warm = blackjax.window_adaptation(blackjax.hmc, _log_density, num_integration_steps=4)
        (state, parameters), _ = warm.run(key, q, num_steps=20)
        return state.position, parameters["step_size"], parameters["inverse_mass_matrix"]

    return run, ({"x": noise(0, 3), "y": noise(1, 2)}, jax.random.key(4))


PROGRAMS = (
    Program("blackjax", "a step of HMC", hmc, forward_only=True),
    Program("blackjax", "a step of NUTS", nuts, undifferentiable=True),
    Program("blackjax", "a step of MALA", mala, second=True),
    Program("blackjax", "ten steps of Langevin dynamics", sgld),
    Program("blackjax", "window adaptation of HMC", adaptation, undifferentiable=True),
)

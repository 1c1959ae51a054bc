"""Programs of numpyro: log densities of models, potentials in unconstrained space, a step of NUTS, an ELBO."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, floats, noise


def _schools(y: Any, sigma: Any) -> None:
    import numpyro
    import numpyro.distributions as dist

    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", y.shape[0]):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


def _data() -> tuple[Any, Any]:
    import jax.numpy as jnp

    return floats([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]), jnp.linspace(9.0, 18.0, 8)


def log_density() -> Made:
    """The joint log density of a hierarchical model at constrained parameters."""
    import jax.numpy as jnp
    from numpyro.infer.util import log_density

    y, sigma = _data()
    parameters = floats({"mu": 1.5, "tau": 2.5, "theta": jnp.arange(8.0)})
    return lambda p, y, sigma: log_density(_schools, (jnp.stack(y), sigma), {}, p)[0], (parameters, y, sigma)


def potential() -> Made:
    """The potential energy in unconstrained space, with the Jacobian of the change of variables."""
    import jax.numpy as jnp
    from numpyro.infer.util import potential_energy

    y, sigma = _data()
    parameters = floats({"mu": 1.5, "tau": 0.3, "theta": jnp.arange(8.0)})
    return lambda p, y, sigma: potential_energy(_schools, (jnp.stack(y), sigma), {}, p), (parameters, y, sigma)


def regression() -> Made:
    """Discrete and heavy-tailed likelihoods, a Cholesky factor of correlations, simplexes."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import potential_energy

    def model(x: Any) -> None:
        scale = numpyro.sample("scale", dist.Gamma(2.0, 1.0))
        factor = numpyro.sample("factor", dist.LKJCholesky(3, 2.0))
        w = numpyro.sample("w", dist.MultivariateNormal(0.0, scale_tril=scale * factor))
        shares = numpyro.sample("shares", dist.Dirichlet(jnp.ones(3)))
        numpyro.sample("counts", dist.Poisson(jnp.exp(0.1 * x @ w)), obs=jnp.arange(6) % 3)
        numpyro.sample("heavy", dist.StudentT(3.0 + shares[0], x @ w, scale), obs=x[:, 0])
        numpyro.sample("kind", dist.Categorical(probs=shares), obs=jnp.arange(6) % 3)
        numpyro.sample("fraction", dist.Beta(1 + shares[1], 2.0), obs=jnp.linspace(0.1, 0.9, 6))

    parameters = floats({"scale": 0.2, "factor": noise(2, 3), "w": noise(3, 3), "shares": noise(4, 2)})
    return lambda p, x: potential_energy(model, (x,), {}, p), (parameters, noise(0, 6, 3))


def nuts() -> Made:
    """The state after a step of NUTS, from a fixed key: positions and potentials."""
    import jax
    from numpyro.infer import NUTS
    from numpyro.infer.util import initialize_model

    y, sigma = _data()
    import jax.numpy as jnp

    y = jnp.stack(y)
    information = initialize_model(jax.random.PRNGKey(0), _schools, model_args=(y, sigma))
    kernel = NUTS(potential_fn=information.potential_fn, max_tree_depth=4)
    state = kernel.init(jax.random.PRNGKey(1), 5, init_params=information.param_info.z, model_args=(), model_kwargs={})

    def step(state: Any) -> Any:
        after = kernel.sample(state, (), {})
        return after.z, after.potential_energy, after.num_steps

    return step, (state,)


def elbo() -> Made:
    """The ELBO of a mean-field guide, by random numbers from a fixed key."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.optim import Adam

    y, sigma = _data()
    guide = AutoNormal(_schools)
    svi = SVI(_schools, guide, Adam(1e-2), Trace_ELBO(num_particles=2))
    state = svi.init(jax.random.PRNGKey(0), jnp.stack(y), sigma)
    parameters = floats(svi.get_params(state))
    return lambda p, key, y, sigma: svi.loss.loss(key, p, _schools, guide, jnp.stack(y), sigma), (parameters, jax.random.PRNGKey(2), y, sigma)


PROGRAMS = (
    Program("numpyro", "log density of a hierarchical model", log_density, second=True),
    Program("numpyro", "its potential in unconstrained space", potential, second=True),
    Program("numpyro", "correlations, simplexes, counts, heavy tails", regression, second=True),
    Program("numpyro", "a step of NUTS", nuts, undifferentiable=True),
    Program("numpyro", "ELBO of a mean-field guide", elbo, second=True),
)

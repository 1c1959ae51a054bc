"""Programs of distrax: densities of flows, mixtures and chains, and reparametrised samples."""

from __future__ import annotations

from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def coupling_flow() -> Made:
    """The log density of a flow of masked couplings by rational quadratic splines."""
    import distrax
    import jax.numpy as jnp

    def density(p: Any, x: Any) -> Any:
        layers = []
        for i, w in enumerate(p):
            mask = jnp.arange(4) % 2 == i
            bijector = lambda q: distrax.RationalQuadraticSpline(q, range_min=-3.0, range_max=3.0)  # noqa: E731
            layers.append(distrax.MaskedCoupling(mask, lambda x, w=w: jnp.tanh(x @ w).reshape(*x.shape, 13), bijector))
        base = distrax.Independent(distrax.Normal(jnp.zeros(4), jnp.ones(4)), 1)
        return jnp.mean(distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers))).log_prob(x))

    return density, ([noise(0, 4, 52), noise(1, 4, 52)], noise(2, 3, 4))


def affine_flow() -> Made:
    """Samples of affine couplings, with their log densities."""
    import distrax
    import jax
    import jax.numpy as jnp

    def sampled(p: Any, key: Any) -> Any:
        bijector = lambda q: distrax.ScalarAffine(q[..., 0], log_scale=jnp.tanh(q[..., 1]))  # noqa: E731
        layers = [distrax.MaskedCoupling(jnp.arange(4) % 2 == i, lambda x, w=w: jnp.sin(x @ w).reshape(*x.shape, 2), bijector) for i, w in enumerate(p)]
        base = distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4))
        return distrax.Transformed(base, distrax.Chain(layers)).sample_and_log_prob(seed=key, sample_shape=(3,))

    return sampled, ([noise(0, 4, 8), noise(1, 4, 8)], jax.random.key(2))


def mixture() -> Made:
    import distrax
    import jax.numpy as jnp

    def density(p: Any, x: Any) -> Any:
        parts = distrax.Normal(p["mean"], jnp.exp(p["scale"]))
        return jnp.sum(distrax.MixtureSameFamily(distrax.Categorical(logits=p["logits"]), parts).log_prob(x))

    return density, ({"mean": noise(0, 3), "scale": noise(1, 3), "logits": noise(2, 3)}, noise(3, 6))


def chain() -> Made:
    """The log likelihood and smoothed states of a hidden Markov model."""
    import distrax
    import jax
    import jax.numpy as jnp

    def likelihood(p: Any, x: Any) -> Any:
        model = distrax.HMM(
            init_dist=distrax.Categorical(logits=p["start"]), trans_dist=distrax.Categorical(logits=p["steps"]), obs_dist=distrax.Normal(p["mean"], jnp.ones(3))
        )
        _, _, smoothed, total = model.forward_backward(x)
        return total, jax.nn.softmax(smoothed)

    return likelihood, ({"start": noise(0, 3), "steps": noise(1, 3, 3), "mean": noise(2, 3)}, noise(3, 5))


def divergences() -> Made:
    """Kullback-Leibler divergences and entropies."""
    import distrax
    import jax.numpy as jnp

    def f(p: Any) -> Any:
        normal, other = distrax.MultivariateNormalTri(p[0], jnp.tril(p[1]) + 3 * jnp.eye(3)), distrax.MultivariateNormalDiag(p[0] + 1, jnp.exp(p[2]))
        beta, gamma = distrax.Beta(jnp.exp(p[0]), jnp.exp(p[2])), distrax.Gamma(jnp.exp(p[0]), jnp.exp(p[2]))
        return normal.kl_divergence(other), beta.entropy(), beta.log_prob(0.3), gamma.log_prob(1.7), distrax.Logistic(p[0], jnp.exp(p[2])).log_cdf(0.2)

    return f, ((noise(0, 3), noise(1, 3, 3), noise(2, 3)),)


PROGRAMS = (
    Program("distrax", "flow of spline couplings", coupling_flow, second=True),
    Program("distrax", "samples of affine couplings by a typed key", affine_flow, second=True),
    Program("distrax", "mixture of normals", mixture, second=True),
    Program("distrax", "hidden Markov model", chain, second=True),
    Program("distrax", "divergences, entropies, cdf", divergences, second=True),
)

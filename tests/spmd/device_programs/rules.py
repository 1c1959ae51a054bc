"""``jax.custom_jvp`` and ``jax.custom_vjp`` inside of ``shard_map``, with collectives in the function or in its rule."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
from mesh import m1, normal, smap, vary


@jax.custom_jvp
def clipped2(x):
    return jnp.clip(x, -1, 1)


clipped2.defjvp(lambda p, t: (clipped2(p[0]), jnp.where(jnp.abs(p[0]) < 2, t[0], 0)))


@smap(m1, (P("x"), P()), P(), normal(8, 3), normal(3))
def custom_jvp_inside(x, w):
    return lax.psum(jnp.sum(clipped2(2 * x @ w) * jnp.sin(x @ w)), "x")


# Megatron's pair: identity forward, psum backward, and the other way round
@jax.custom_vjp
def meg_g(x):
    return lax.psum(x, "x")


meg_g.defvjp(lambda x: (meg_g(x), None), lambda _, g: (vary(g),))


@smap(m1, (P("x"), P()), P(), normal(8, 3), normal(3))
def psum_in_rule(x, w):
    return meg_g(jnp.sum(jnp.tanh(x @ w)))


# w the same everywhere, x split: the rule of a linear layer sums by itself
@jax.custom_vjp
def lin(w, x):
    return x @ w


lin.defvjp(lambda w, x: (lin(w, x), (w, x)), lambda r, g: (lax.psum(r[1].T @ g, "x"), g @ r[0].T))


@smap(m1, (P(), P("x"), P()), (P("x"), P()), normal(3, 3), normal(8, 3), normal(3))
def mixed_rule(w, x, b):
    h = jnp.tanh(lin(w, jnp.sin(x))) + b
    h = lin(w @ w.T, h)
    return h, lax.pmean(jnp.sum(h**2), "x") * meg_g(h[0])


@jax.custom_vjp
def clipped(x):
    return jnp.clip(x, -1, 1)


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (jnp.where(jnp.abs(x) < 2, g, 0),))


@smap(m1, (P("x"), P()), P(), normal(8, 3), normal(3))
def custom_rule_inside(x, w):
    return lax.psum(jnp.sum(clipped(2 * x @ w) * jnp.sin(x @ w)), "x")

"""``shard_map`` inside of other transformations, several of them, and such that leave axes to the compiler."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
from mesh import PROGRAMS, m1, m2, normal

PROGRAMS["vmap_of_shard_map"] = (
    jax.vmap(jax.shard_map(lambda x, w: lax.psum(jnp.tanh(x @ w), "x"), mesh=m1, in_specs=(P(None, "x"), P("x")), out_specs=P()), in_axes=(0, None)),
    (normal(3, 2, 8), normal(8, 5)),
)
_inner = jax.shard_map(lambda x, w: x * lax.psum(w, "x") - lax.pmean(x, "x"), mesh=m1, in_specs=(P("x"), P("x")), out_specs=P("x"))
PROGRAMS["two_shard_maps"] = (lambda x, w: jnp.sum(_inner(jnp.sin(x), w) ** 2) + jnp.sum(_inner(w, jnp.cos(x).T.T)), (normal(8), normal(8)))
PROGRAMS["scan_of_shard_map"] = (lambda x, w: lax.scan(lambda c, k: (_inner(c, w * k), jnp.sum(c)), x, jnp.arange(3.0)), (normal(8), normal(8) * 0.3))
PROGRAMS["grad_of_shard_map"] = (jax.grad(lambda x, w: jnp.sum(_inner(x, w) ** 3)), (normal(8), normal(8)))
# manual over a only, b stays automatic
PROGRAMS["partial_manual"] = (
    jax.jit(jax.shard_map(lambda x, w: lax.psum(jnp.tanh(x @ w), "a"), mesh=m2, in_specs=(P(None, "a"), P("a")), out_specs=P(), axis_names={"a"})),
    (normal(3, 4), normal(4, 6)),
)


def _nest(x):
    def inner(y):
        return y * lax.psum(jnp.sum(y), "b")

    def outer(x):
        return jax.shard_map(inner, in_specs=P(None, "b"), out_specs=P(None, "b"), axis_names={"b"})(x) + lax.pmean(x, "a")

    return jax.shard_map(outer, mesh=m2, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})(x)


PROGRAMS["nested_manual"] = (jax.jit(_nest), (normal(4, 4),))

"""What programs for four devices in JAX are made of; imported in a process that has four devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_enable_x64", True)
DEVICES = np.array(jax.devices())
m1 = Mesh(DEVICES, ("x",))
m2 = Mesh(DEVICES.reshape(2, 2), ("a", "b"))
rng = np.random.default_rng(0)


def normal(*s):
    return rng.standard_normal(s)


PROGRAMS = {}


def smap(mesh, ins, outs, *args, **kw):
    def deco(f):
        PROGRAMS[f.__name__] = (jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **kw), args)
        return f

    return deco


def sjit(mesh, ins, outs, *args):
    def deco(f):
        def s(p):
            return jax.tree.map(lambda q: NamedSharding(mesh, q), p, is_leaf=lambda q: isinstance(q, P))

        PROGRAMS[f.__name__] = (jax.jit(f, in_shardings=s(ins), out_shardings=s(outs)), args)
        return f

    return deco


def ln(x):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v + 1e-5)


def attn(q, k, v, mask=None):
    s = jnp.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = jnp.where(mask, s, -1e30)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(s, -1), v)


def vary(x, a="x"):
    return lax.pcast(x, a, to="varying") if hasattr(lax, "pcast") else lax.pvary(x, a)

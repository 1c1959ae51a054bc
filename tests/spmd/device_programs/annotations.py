"""Sharded ``jit``: networks, and ops that go across a dimension that is split."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from mesh import ln, m1, m2, normal, sjit


@sjit(m2, (P("a"), P(None, "b"), P("b")), P("a"), normal(8, 4), normal(4, 8) * 0.4, normal(8, 4) * 0.4)
def jit_mlp(x, w1, w2):
    h = jax.nn.gelu(x @ w1)
    h = lax.with_sharding_constraint(h, NamedSharding(m2, P("a", "b")))
    return ln(x + h @ w2)


@sjit(m2, (P(None, None, "b"), P("a")), P(), normal(3, 4, 4) * 0.5, normal(8, 4))
def jit_scan_layers(ws, x):
    y, _ = lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)
    return jnp.mean(y**2)


@sjit(m1, (P("x"), P()), P("x"), normal(4, 3, 8), normal(2, 3, 3) * 0.5)
def jit_conv(x, k):
    return jax.nn.relu(lax.conv_general_dilated(x, k, (1,), "SAME"))


@sjit(m2, (P("a"), P("b")), P("a", "b"), normal(8, 3), normal(6, 3))
def jit_distances(x, y):
    return jnp.exp(-jnp.sum((x[:, None] - y[None]) ** 2, -1))


@sjit(m1, (P("x"),), P(), normal(8, 5))
def jit_softmax_cols(x):
    return jnp.sum(jax.nn.softmax(x, 0) * jnp.cumsum(x, 1), 0)


@sjit(m1, (P("x"), P("x")), P("x"), normal(8, 4), normal(4, 4))
def jit_solve(x, w):
    return jnp.linalg.solve(w @ w.T + 4 * jnp.eye(4), x.T).T


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_reverse(x):
    return jnp.flip(x, 0) * jnp.arange(8.0)[:, None]


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_iota(x):
    return x * lax.iota(jnp.float64, 8)[:, None]


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_roll(x):
    return jnp.roll(x, 1, 0) - 2 * x + jnp.roll(x, -1, 0)


@sjit(m2, (P("a", "b"),), P("a", "b"), normal(8, 6))
def j_waves(x):
    """Shifts along two dimensions that are split, in a loop."""

    def step(u, _):
        around = sum(jnp.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1))
        return jnp.tanh(u + 0.1 * (around - 4 * u)), None

    return jax.lax.scan(step, x, None, length=3)[0]


@sjit(m1, (P("x"),), P("x"), normal(12, 3))
def j_differences(x):
    """Shifts by two rows with zeros behind the ends."""
    return jnp.pad(x, ((2, 0), (0, 0)))[:-2] * x - jnp.pad(x, ((0, 2), (0, 0)))[2:]


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_padslice(x):
    return jnp.pad(x, ((1, 1), (0, 0)))[2:] + jnp.pad(x, ((2, 0), (0, 0)))[:-2]


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_strided(x):
    return jnp.sin(x[::2])


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_concat(x):
    return jnp.concatenate([x, x * x], 0)


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_sort(x):
    return jnp.sort(x, 0)


@sjit(m1, (P("x"), P()), P("x"), normal(8, 3), np.array([1, 5, 2, 7]))
def j_gather(x, i):
    return x[i]


@sjit(m1, (P("x"), P(), P("x")), P("x"), normal(8, 3), np.array([1, 5, 2, 5]), normal(4, 3))
def j_scatter(x, i, u):
    return x.at[i].add(u)


@sjit(m1, (P("x"), P()), P("x"), normal(8, 3), np.array(3))
def j_dynslice(x, i):
    return lax.dynamic_slice_in_dim(x, i, 4, 0)


@sjit(m1, (P("x"), P(), P("x")), P("x"), normal(8, 3), np.array(3), normal(4, 3))
def j_dynupdate(x, i, u):
    return lax.dynamic_update_slice_in_dim(x, u, i, 0)


@sjit(m1, (P("x"),), P("x"), normal(8, 4) + 0j)
def j_fft(x):
    return jnp.fft.fft(x, axis=0)


@sjit(m1, (P("x"),), P("x"), normal(4, 3, 3))
def j_chol(x):
    return jnp.linalg.cholesky(x @ jnp.swapaxes(x, 1, 2) + jnp.eye(3))


@sjit(m1, (P("x"),), P("x"), normal(8, 8))
def j_chol_split(x):
    return jnp.linalg.cholesky(x @ x.T + jnp.eye(8))


@sjit(m1, (P(None, "x"), P()), P(None, "x"), normal(2, 8, 3), normal(3, 3, 3))
def j_conv_split(x, k):
    return lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


@sjit(m1, (P(None, "x"),), P(None, "x"), normal(2, 8, 3))
def j_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 1), (1, 2, 1), "VALID") + lax.reduce_window(x, -np.inf, lax.max, (1, 2, 1), (1, 2, 1), "VALID")


@sjit(m1, (P(None, "x"),), P("x"), normal(3, 8))
def j_reshape(x):
    return jnp.sin(x.reshape(24))


@sjit(m1, (P("x"),), P("x", None), normal(24))
def j_reshape2(x):
    return jnp.sin(x.reshape(4, 6)).T.reshape(8, 3)


@sjit(m1, (P("x"),), P(), normal(8, 3))
def j_argmax(x):
    return jnp.take_along_axis(x, jnp.argmax(x, 0)[None], 0) + jnp.max(x, 0)


@sjit(m1, (P("x"), P("x")), P("x"), normal(8, 3), normal(8, 3))
def j_while(x, y):
    return lax.while_loop(lambda c: jnp.sum(c[0] ** 2) > 1e-1, lambda c: (c[0] * 0.5, c[1] + jnp.flip(c[0], 0)), (x, y))[1]


@sjit(m2, (P("a", "b"), P("b", "a")), P("a"), normal(4, 8), normal(8, 4))
def j_cond(x, y):
    return lax.cond(jnp.sum(x) > 0, lambda a, b: a @ b, lambda a, b: jnp.sin(a) @ b, x, y)


@sjit(m2, (P("a"), P("b")), P(), normal(8, 4), normal(8, 4))
def j_einsum(x, y):
    return jnp.einsum("ij,kj->ik", x, y).sum(0) + jnp.einsum("ij,ij->j", x, y).sum()


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_topk(x):
    return lax.top_k(x.T, 4)[0].T


@sjit(m1, (P("x"), P()), P("x"), normal(8, 8) + 8 * np.eye(8), normal(8, 2))
def j_tri(a, b):
    return jax.scipy.linalg.solve_triangular(jnp.tril(a), b, lower=True)


@sjit(m1, (P("x"),), P("x"), normal(8, 3))
def j_random(x):
    return x * jax.random.normal(jax.random.key(3), (8, 3))


@sjit(m1, (P("x"),), P(), normal(8, 3))
def j_reductions(x):
    return jnp.max(x, 0) + 2 * jnp.min(x, 0) + 3 * jnp.prod(x, 0) + jnp.where(jnp.any(x > 1, 0), 5.0, 0) + jnp.where(jnp.all(x < 3, 0), 7.0, 0) + x.std(0)


@sjit(m2, (P("a", "b"),), P("a"), normal(4, 8))
def j_softmax_split(x):
    return jax.nn.log_softmax(x, 1)[:, :3].sum(1) + jax.nn.logsumexp(x, 1)


@sjit(m2, (P(("a", "b")), P(None, "b")), P("a", "b"), normal(8, 4), normal(4, 6))
def j_two_axes(x, w):
    return jnp.tanh(x @ w)


# products and extremes along dimensions that are split, with a zero in them
@sjit(m1, (P("x"),), P("x"), normal(8, 4) * (np.arange(32).reshape(8, 4) != 9))
def j_cumprod(x):
    return jnp.cumprod(x, 0) + lax.cumprod(x, 0, reverse=True)


@sjit(m2, (P("a", "b"), P(("a", "b"))), P("a"), normal(8, 4), normal(8, 4))
def j_cumulative(x, y):
    return jnp.cumprod(x, 1) * lax.cummax(x, 0) + lax.cumlogsumexp(jnp.cumprod(y, 0), 0, reverse=True)

"""Numerical algorithms by ``shard_map``: halo exchange, Fourier transforms, linear algebra, iterations until convergence."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
from mesh import m1, m2, normal, smap, vary


@smap(m2, (P("a", "b"), P("a", "b")), (P("a", "b"), P()), normal(8, 8), normal(8, 8) * 0.1)
def wave2d(u, v):
    def halo(u, ax, name):
        lo = lax.ppermute(lax.slice_in_dim(u, u.shape[ax] - 1, u.shape[ax], axis=ax), name, [(0, 1)])
        hi = lax.ppermute(lax.slice_in_dim(u, 0, 1, axis=ax), name, [(1, 0)])
        return jnp.concatenate([lo, u, hi], ax)

    def step(c, _):
        u, v = c
        h0 = halo(u, 0, "a")
        h1 = halo(u, 1, "b")
        lap = h0[2:] + h0[:-2] + h1[:, 2:] + h1[:, :-2] - 4 * u
        v = v + 0.1 * lap - 0.01 * u**3
        u = u + 0.1 * v
        return (u, v), lax.psum(jnp.sum(v * v), ("a", "b"))

    (u, v), e = lax.scan(step, (u, v), None, length=5)
    return u, e


@smap(m1, (P("x"), P(None, "x")), P("x"), normal(8, 8) + 1j * normal(8, 8), normal(8, 8))
def fft2d(x, k):
    y = jnp.fft.fft(x, axis=1)
    y = lax.all_to_all(y, "x", 1, 0, tiled=True)
    y = jnp.fft.fft(y, axis=0) * k
    y = jnp.fft.ifft(y, axis=0)
    y = lax.all_to_all(y, "x", 0, 1, tiled=True)
    return jnp.fft.ifft(y, axis=1)


A0 = normal(8, 8)
A0 = A0 @ A0.T + 8 * np.eye(8)


@smap(m1, (P("x"), P("x")), P("x"), A0, normal(8))
def cg_rows(a, b):
    def mv(v):
        return a @ lax.all_gather(v, "x", tiled=True)

    def dot(u, v):
        return lax.psum(u @ v, "x")

    def step(_, c):
        x, r, p, rs = c
        ap = mv(p)
        al = rs / dot(p, ap)
        x = x + al * p
        r = r - al * ap
        n = dot(r, r)
        return x, r, r + (n / rs) * p, n

    x, _, _, _ = lax.fori_loop(0, 5, step, (vary(jnp.zeros(2)), b, b, dot(b, b)))
    return x


@smap(m1, (P("x"),), (P("x"), P()), normal(16, 3))
def tsqr(a):
    q1, r1 = jnp.linalg.qr(a)
    rs = lax.all_gather(r1, "x", tiled=True)
    q2, r = jnp.linalg.qr(rs)
    i = lax.axis_index("x")
    return q1 @ lax.dynamic_slice_in_dim(q2, i * 3, 3, 0), lax.pmean(r, "x")


@smap(m1, (P("x"), P("x")), P("x"), A0 / 10, normal(8))
def jacobi_while(a, b):
    i = lax.axis_index("x")
    d = jax.vmap(lambda r, j: r[i * 2 + j])(a, jnp.arange(2))

    def cond(c):
        return (c[1] > 1e-6) & (c[2] < 12)

    def body(c):
        x, _, k = c
        full = lax.all_gather(x, "x", tiled=True)
        xn = x + 0.8 * (b - a @ full) / d
        return xn, lax.psum(jnp.sum((xn - x) ** 2), "x"), k + 1

    return lax.while_loop(cond, body, (jnp.zeros(2) + 0 * b, lax.psum(jnp.sum(b * b), "x"), 0))[0]

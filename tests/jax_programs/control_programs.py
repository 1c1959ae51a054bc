"""Loops, scans and branches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from program_table import Table

P = Table()


@P.define("6x3 3x3 3")
def scan_pytree(xs, w, h):
    def step(carry, x):
        h, c = carry["h"], carry["c"]
        h = jnp.tanh(h @ w + x)
        return {"h": h, "c": c + h.sum()}, (h * c, {"x": x - h})

    carry, (ys, other) = lax.scan(step, {"h": h, "c": jnp.asarray(0.0, h.dtype)}, xs)
    return carry["h"], carry["c"], ys, other["x"]


P("scan_reverse", "7 f", lambda xs, a: lax.scan(lambda c, x: (a * c + jnp.sin(x), c * x), a, xs, reverse=True))
P("scan_unroll", "8x2 2", lambda xs, c: lax.scan(lambda c, x: (jnp.cos(c) * x, c**2), c, xs, unroll=3))
P("scan_full_unroll", "4x2 2", lambda xs, c: lax.scan(lambda c, x: (jnp.cos(c) * x, c**2), c, xs, unroll=True))
P("scan_no_xs", "3", lambda x: lax.scan(lambda c, _: (c - 0.1 * c**3, c[0]), x, None, length=5))
P("scan_integer_carry", "5x2", lambda xs: lax.scan(lambda c, x: ((c[0] + 1, c[1] + x * c[0]), c[1].sum()), (0, jnp.zeros(2, xs.dtype)), xs))
P("scan_boolean_carry", "9", lambda xs: lax.scan(lambda c, x: (c ^ (x > 0), jnp.where(c, x, 2 * x)), False, xs)[1])


@P.define("4x3 3")
def scan_nested(xs, h):
    def outer(h, x):
        inner = lambda c, y: (jnp.tanh(c * y + h.sum()), c)
        c, ys = lax.scan(inner, x.sum(), h)
        return h + 0.1 * ys * c, c

    return lax.scan(outer, h, xs)


@P.define("4 f")
def scan_over_while(xs, a):
    def newton(x):
        step = lambda s: (s[0] - (s[0] ** 2 - x) / (2 * s[0]), s[1] + 1)
        return lax.while_loop(lambda s: (jnp.abs(s[0] ** 2 - x) > 1e-3) & (s[1] < 50), step, (1 + 0 * x, 0))[0]

    return lax.scan(lambda c, x: (c * newton(x**2 + 1), newton(c**2 + 0.5)), a, xs)


@P.define("3x3 3")
def scan_cond_in_body(xs, c):
    step = lambda c, x: (lax.cond(x.sum() > 0, lambda c: jnp.sin(c) * x, lambda c: c - x, c), c.sum())
    return lax.scan(step, c, xs)


@P.define("5 3x3")
def scan_carry_matrix_update(xs, m):
    def step(m, ix):
        i, x = ix
        m = m.at[i % 3, (i + 1) % 3].add(x * m[0, 0])
        return m, m[i % 3].sum()

    return lax.scan(step, m, (jnp.arange(5), xs))


@P.define("6 f")
def scan_history_buffer(xs, a):
    def step(buffer, x):
        buffer = jnp.roll(buffer, 1).at[0].set(x * a)
        return buffer, jnp.tanh(buffer).sum()

    return lax.scan(step, jnp.zeros(3, xs.dtype), xs)


P("map_rows", "4x3 3", lambda m, v: lax.map(lambda r: jnp.sin(r @ v) * r, m))
P("map_batched", "7x2", lambda m: lax.map(lambda r: jnp.exp(-r) * r.sum(), m, batch_size=3))
P("associative_scan_add", "9", lambda x: lax.associative_scan(jnp.add, jnp.sin(x)))
P("associative_scan_matmul", "5x2x2", lambda m: lax.associative_scan(jnp.matmul, m))
P("associative_scan_reverse", "6x2", lambda x: lax.associative_scan(lambda a, b: a * b + a, x, reverse=True, axis=0))


@P.define("s8 8")
def associative_scan_linear_recurrence(a, b):
    return lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b))


P("fori_static", "3", lambda x: lax.fori_loop(0, 6, lambda i, c: jnp.sin(c) + x * i, x))
P("fori_from_five_down", "4", lambda x: lax.fori_loop(0, 5, lambda i, c: c.at[(4 - i) % 4].multiply(c[0] + 1.5, unique_indices=True), x))
P("fori_dynamic_index", "6 6", lambda x, y: lax.fori_loop(1, 6, lambda i, s: s + x[i] * y[i - 1] * s, x[0]))
P(
    "fori_nested_triangular",
    "4x4",
    lambda m: lax.fori_loop(0, 4, lambda i, s: lax.fori_loop(0, i, lambda j, t: t + m[i, j] * jnp.sin(m[j, i]), s), 0.0 * m[0, 0]),
)
P("fori_dynamic_bound", "3 i<7", lambda x, n: lax.fori_loop(0, n, lambda i, c: 0.9 * c + jnp.cos(x) / (i + 1), x))
P("fori_dynamic_both", "3 i<3", lambda x, n: lax.fori_loop(n, n + 4, lambda i, c: c * jnp.cos(x + i), x))


@P.define("4x4 4")
def fori_forward_substitution(l, b):
    def row(i, x):
        s = jnp.where(jnp.arange(4) < i, l[i] * x, 0).sum()
        return x.at[i].set((b[i] - s) / (3 + l[i, i] ** 2))

    return lax.fori_loop(0, 4, row, jnp.zeros_like(b))


@P.define("m4x4")
def fori_cholesky(a):
    def column(j, l):
        v = a[:, j] - l @ l[j]
        return l.at[:, j].set(jnp.where(jnp.arange(4) >= j, v / jnp.sqrt(v[j]), 0))

    return lax.fori_loop(0, 4, column, jnp.zeros_like(a))


@P.define("3 p")
def while_many_carries(x, tol):
    def body(s):
        x, y, i, _ = s
        z = x - 0.3 * jnp.sin(x) * y.sum()
        return z, 0.5 * (y + jnp.abs(z)), i + 2, jnp.max(jnp.abs(z - x)) < 0.05 * tol

    return lax.while_loop(lambda s: (~s[3]) & (s[2] < 30), body, (x, x * 0 + 1, 0, False))[:3]


P("while_float_counter", "f", lambda x: lax.while_loop(lambda s: s[0] < 3.0, lambda s: (s[0] + 0.5, s[1] * jnp.sin(s[0] + x)), (0.0 * x, x))[1])
P("while_doubling", "f", lambda x: lax.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] * 0.9 + jnp.sin(x) / s[0]), (1, x))[1])
P(
    "while_halving_shift",
    "p",
    lambda x: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] >> 1, s[1] * jnp.where(s[0] & 1, x, 1), s[2]), (13, x * 0 + 1, x))[1],
)
P("while_zero_trips", "3", lambda x: lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * x), (3, x))[1])
P("while_value_dependent", "3", lambda x: lax.while_loop(lambda c: jnp.sum(c**2) > 0.01, lambda c: c * (0.5 + 0.1 * jnp.cos(x)), x))


@P.define("p")
def while_bisection(x):
    def body(s):
        lo, hi = s
        mid = (lo + hi) / 2
        left = mid**3 + mid > x
        return jnp.where(left, lo, mid), jnp.where(left, mid, hi)

    return lax.while_loop(lambda s: s[1] - s[0] > 1e-2 * x, body, (-3 * x, 4 * x + 1))


@P.define("3 3")
def while_in_while(x, y):
    inner = lambda c, k: lax.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, jnp.sin(s[1]) + y), (0, c))[1]
    return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, inner(s[1], s[0]) * x), (1, x))[1]


P("cond_two_branches", "3 f", lambda x, p: lax.cond(p > 0, lambda v: jnp.sin(v) * p, lambda v: v.sum() * v, x))
P(
    "cond_nested",
    "3 f",
    lambda x, p: lax.cond(p > 0, lambda v: lax.cond(v[0] > 0, jnp.sin, jnp.cos, v), lambda v: lax.cond(v[1] > p, jnp.tanh, lambda u: u * p, v), x),
)
P("cond_constant_branch", "3 f", lambda x, p: lax.cond(p < 100, lambda v: v**2, lambda v: jnp.ones_like(v), x))
P("cond_pytree", "3 2 f", lambda x, y, p: lax.cond(p > 9, lambda a, b: (a * b[0], b), lambda a, b: (a + p, b * a[0]), x, y))
P("switch_four", "3 i<4", lambda x, i: lax.switch(i, [jnp.sin, lambda v: v * v[0], lambda v: jnp.zeros_like(v), jnp.exp], x))
P("switch_clamped", "3 i<-9", lambda x, i: lax.switch(i + 20, [jnp.sin, jnp.cos, jnp.tanh], x) + lax.switch(i - 20, [jnp.sin, jnp.cos, jnp.tanh], x))
P("switch_in_loop", "3", lambda x: lax.fori_loop(0, 6, lambda i, c: lax.switch(i % 3, [jnp.sin, lambda v: v * x, jnp.tanh], c), x))
P("cond_with_loop_inside", "3 f", lambda x, p: lax.cond(p < 5, lambda v: lax.fori_loop(0, 3, lambda i, c: c * jnp.sin(v), v), lambda v: v, x))
P("vmap_cond", "5 5", jax.vmap(lambda x, p: lax.cond(p > 0, lambda v: jnp.sin(v) * p, lambda v: v**2, x)))
P("vmap_switch", "4x2 i4<3", jax.vmap(lambda x, i: lax.switch(i, [jnp.sin, jnp.exp, lambda v: v * v[0]], x)))
P("vmap_while", "4 i4<6", jax.vmap(lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sin(s[1]) + x), (0, x))[1]))
P("vmap_scan", "3x5 3", jax.vmap(lambda xs, a: lax.scan(lambda c, x: (a * c + x, jnp.tanh(c)), a, xs)))
P("vmap_fori_gather", "3x5 i3<5", jax.vmap(lambda v, i: lax.fori_loop(0, 3, lambda k, s: s + v[(i + k) % 5] * s, v[i])))
P(
    "collatz_weights",
    "f i<30",
    lambda x, n: lax.while_loop(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), 0.9 * s[1] + x), (n + 3, x))[1],
)
P("checkpointed_scan", "6x3 3x3", lambda xs, w: lax.scan(jax.checkpoint(lambda c, x: (jnp.tanh(c @ w + x), c.sum())), xs[0], xs))
P("checkpoint_nested", "3 3x3", lambda x, w: jax.checkpoint(lambda v: jnp.sin(jax.checkpoint(lambda u: jnp.tanh(w @ u))(v)) @ w)(x))
P("scan_of_gradients", "4 2", lambda xs, p: lax.scan(lambda p, x: (p - 0.1 * jax.grad(lambda q: jnp.sum(jnp.sin(q * x) ** 2))(p), p.sum()), p, xs))
P("scan_dynamic_slice", "10 f", lambda v, a: lax.scan(lambda c, i: (c * a + lax.dynamic_slice(v, (i,), (3,)).sum(), c), a, jnp.array([0, 7, 3, 9, -2])))
P(
    "scan_dynamic_update",
    "8 4",
    lambda v, xs: lax.scan(lambda v, ix: (lax.dynamic_update_slice(v, ix[1] * v[:2], (ix[0],)), None), v, (jnp.array([0, 3, 7, 2]), xs))[0],
)
P("scan_argmax_carry", "5x4", lambda xs: lax.scan(lambda c, x: ((jnp.argmax(x), c[1] + x[c[0]] ** 2), c[0]), (0, 0.0 * xs[0, 0]), xs))

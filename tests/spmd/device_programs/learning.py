"""Networks and other programs by ``shard_map``: data, tensor, sequence, pipeline and expert parallel, loops and branches with collectives."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
from mesh import attn, ln, m1, m2, normal, smap, vary


@smap(m1, (P(), P(), P("x")), P(), normal(6, 18) * 0.3, normal(6, 6) * 0.3, normal(4, 5, 6))
def dp_transformer(wqkv, wo, x):
    q, k, v = jnp.split(ln(x) @ wqkv, 3, -1)
    y = x + attn(q, k, v, jnp.tril(jnp.ones((5, 5), bool))) @ wo
    return lax.pmean(jnp.mean(jnp.tanh(y) ** 2), "x")


@smap(
    m1,
    (P(None, None, "x"), P("x"), P(None, "x"), P("x"), P()),
    P(),
    normal(3, 6, 8) * 0.3,
    normal(8, 6) * 0.3,
    normal(6, 16) * 0.3,
    normal(16, 6) * 0.3,
    normal(2, 5, 6),
)
def tp_block(wqkv, wo, w1, w2, x):
    h = ln(x)
    q, k, v = (h @ wqkv[i] for i in range(3))
    x = x + lax.psum(attn(q, k, v) @ wo, "x")
    return x + lax.psum(jax.nn.gelu(ln(x) @ w1) @ w2, "x")


@smap(m1, (P("x"), P(None, "x"), P("x")), P("x"), normal(8, 6), normal(6, 8) * 0.3, normal(8, 6) * 0.3)
def seq_parallel(x, w1, w2):
    h = lax.all_gather(ln(x), "x", axis=0, tiled=True)
    return x + lax.psum_scatter(jax.nn.silu(h @ w1) @ w2, "x", scatter_dimension=0, tiled=True)


@smap(m1, (P("x"), P()), P("x"), normal(4, 6, 6) * 0.4, normal(6, 3, 6))
def gpipe(w, micro):
    i = lax.axis_index("x")
    n = 4
    steps = micro.shape[0] + n - 1

    def step(c, t):
        buf, outs = c
        inp = jnp.where(i == 0, micro[jnp.clip(t, 0, micro.shape[0] - 1)], buf)
        y = jnp.tanh(inp @ w[0])
        out_t = t - (n - 1)
        outs = jnp.where((i == n - 1) & (out_t >= 0), outs.at[jnp.clip(out_t, 0, micro.shape[0] - 1)].set(y), outs)
        return (lax.ppermute(y, "x", [(j, j + 1) for j in range(n - 1)]), outs), None

    z = vary(jnp.zeros((3, 6)))
    o = vary(jnp.zeros((6, 3, 6)))
    (_, outs), _ = lax.scan(step, (z, o), jnp.arange(steps))
    return outs[None]


@smap(m1, (P("x"), P(), P("x"), P("x")), P("x"), normal(16, 5), normal(5, 4), normal(4, 5, 7) * 0.4, normal(4, 7, 5) * 0.4)
def moe_top1(x, wr, w1, w2):
    experts, slots = 4, 4
    g = jax.nn.softmax(x @ wr, -1)
    e = jnp.argmax(g, -1)
    p = jnp.max(g, -1)
    oh = jax.nn.one_hot(e, experts)
    pos = (jnp.cumsum(oh, 0) - 1) * oh
    slot = jnp.sum(pos, -1).astype(int)
    disp = oh[:, :, None] * jax.nn.one_hot(slot, slots)[:, None, :]
    xe = jnp.einsum("sec,sd->ecd", disp, x)
    xe = lax.all_to_all(xe, "x", 0, 1, tiled=True)
    y = jax.nn.relu(jnp.einsum("ecd,edf->ecf", xe, w1))
    y = jnp.einsum("ecf,efd->ecd", y, w2)
    y = lax.all_to_all(y, "x", 1, 0, tiled=True)
    return jnp.einsum("sec,ecd,s->sd", disp, y, p)


@smap(m1, (P("x"), P()), P("x"), normal(8, 3), np.array(0.7))
def cond_in_scan(x, thr):
    def step(c, k):
        s = lax.psum(jnp.sum(c * c), "x")
        c = lax.cond(s > 6 * thr, lambda c: c / jnp.sqrt(lax.psum(jnp.sum(c * c), "x")), lambda c: c * 1.3 + jnp.sin(c), c)
        return c, s

    return lax.scan(step, x, jnp.arange(6))[0]


@smap(m1, (P(), P(), P(), P("x")), P(), normal(4, 5) * 0.5, normal(5), normal(5, 3) * 0.4, normal(8, 4))
def weight_norm(v, g, w2, x):
    w = g * v / jnp.sqrt(jnp.sum(v * v, 0))
    u = jnp.tanh(w2 @ w2.T)
    return lax.pmean(jnp.sum(jnp.tanh(x @ w) @ u @ w2), "x")


@smap(m1, (P("x"), P(None, "x")), P(None, "x"), normal(8, 8), normal(8, 12))
def ring_matmul(a, b):
    i = lax.axis_index("x")

    def step(k, c):
        acc, blk = c
        j = (i + k) % 4
        acc = lax.dynamic_update_slice_in_dim(acc, blk @ b, j * 2, 0)
        return acc, lax.ppermute(blk, "x", [(s, (s - 1) % 4) for s in range(4)])

    return lax.fori_loop(0, 4, step, (vary(jnp.zeros((8, 3))), a))[0]


@smap(m2, (P("a", "b"), P("a", "b")), P("a", "b"), normal(4, 4), normal(4, 4))
def summa(a, b):
    i, j = lax.axis_index("a"), lax.axis_index("b")
    c = 0
    for k in range(2):
        ak = lax.psum(jnp.where(j == k, a, 0), "b")
        bk = lax.psum(jnp.where(i == k, b, 0), "a")
        c = c + ak @ bk
    return jnp.sin(c)


@smap(m1, (P(), P(), P("x")), (P("x"), P()), np.ones(5) * 1.2, normal(5), normal(8, 5))
def sync_batchnorm(g, b, x):
    m = lax.pmean(x.mean(0), "x")
    v = lax.pmean(((x - m) ** 2).mean(0), "x")
    y = g * (x - m) * lax.rsqrt(v + 1e-5) + b
    return jax.nn.relu(y), jnp.stack([m, v])


@smap(m1, (P("x"), P("x"), P()), P(), normal(8, 4), normal(8, 4) * 0.5, np.array([3, 0, 7, 5]))
def vocab_ce(emb, out, tok):
    i = lax.axis_index("x")
    loc = tok - 2 * i
    ok = (loc >= 0) & (loc < 2)
    h = lax.psum(jnp.where(ok[:, None], emb[jnp.clip(loc, 0, 1)], 0), "x")
    lg = h @ out.T
    mx = lax.stop_gradient(lax.pmax(lax.stop_gradient(lg.max(-1)), "x"))
    z = lax.psum(jnp.exp(lg - mx[:, None]).sum(-1), "x")
    t = jnp.roll(tok, -1) - 2 * i
    okt = (t >= 0) & (t < 2)
    tl = lax.psum(jnp.where(okt, jnp.take_along_axis(lg, jnp.clip(t, 0, 1)[:, None], 1)[:, 0], 0), "x")
    return jnp.mean(jnp.log(z) + mx - tl)


@smap(m1, (P("x"), P("x")), P("x"), jax.nn.sigmoid(normal(16)), normal(16))
def ssm_scan(a, b):
    def combine(x, y):
        return x[0] * y[0], y[0] * x[1] + y[1]

    own_a, own_b = lax.associative_scan(combine, (a, b))
    all_a, all_b = lax.all_gather(own_a[-1], "x"), lax.all_gather(own_b[-1], "x")
    i = lax.axis_index("x")

    def step(h, k):
        return all_a[k] * h + all_b[k], h

    _, hs = lax.scan(step, 0 * all_a[0], jnp.arange(4))
    return own_a * hs[i] + own_b


@smap(m2, (P("a", "b"),), (P("a", "b"), P()), normal(4, 6))
def sinkhorn(c):
    def lse(z, ax, name):
        m = lax.stop_gradient(lax.pmax(lax.stop_gradient(z.max(ax)), name))
        return m + jnp.log(lax.psum(jnp.exp(z - jnp.expand_dims(m, ax)).sum(ax), name))

    def step(fg, _):
        f, g = fg
        f = -lse(-c + g[None, :], 1, "b")
        g = -lse(-c + f[:, None], 0, "a")
        return (f, g), None

    (f, g), _ = lax.scan(step, (vary(jnp.zeros(2), "a"), vary(jnp.zeros(3), "b")), None, length=4)
    p = jnp.exp(f[:, None] + g[None] - c)
    return p, lax.psum(jnp.sum(p * c), ("a", "b"))


@smap(m1, (P("x"),), (P("x"), P()), normal(12))
def dist_sort(x):
    s = jnp.sort(lax.all_gather(x, "x", tiled=True))
    i = lax.axis_index("x")
    return lax.dynamic_slice_in_dim(s, 3 * i, 3), lax.pmean(s[6], "x")


@smap(m1, (P(), P("x"), P("x")), (P(), P()), normal(4, 3) * 0.5, normal(8, 4), normal(8, 3))
def grad_inside_zero(w, x, y):
    def loss(w):
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    def step(c, _):
        w, mo = c
        value, g = jax.value_and_grad(lambda w: lax.pmean(loss(w), "x"))(w)
        mo = 0.9 * mo + g
        return (w - 0.3 * mo, mo), value

    (w, _), ls = lax.scan(step, (w, jnp.zeros_like(w)), None, length=4)
    return w, ls


@smap(m1, (P(), P()), P("x"), np.array([0, 3], np.uint32), np.array(0.3))
def monte_carlo(key, sig):
    k = jax.random.fold_in(jax.random.wrap_key_data(key), lax.axis_index("x"))
    z = jax.random.normal(k, (5,))
    s = jnp.exp(sig * z - 0.5 * sig**2)
    return lax.pmean(jnp.maximum(s - 1, 0).mean(), "x") * jnp.ones(1) + 0 * z[:1]


A1 = normal(8, 8)
A1 = A1 @ A1.T + 8 * np.eye(8)


@smap(m1, (P("x"),), P("x"), A1)
def block_chol(a):
    i = lax.axis_index("x")
    factor = jnp.zeros_like(a) + 0 * a
    for k in range(4):
        blk = a[:, 2 * k : 2 * k + 2]
        akk = lax.psum(jnp.where(i == k, blk, 0), "x")
        corner = jnp.linalg.cholesky(akk)
        col = jax.scipy.linalg.solve_triangular(corner, blk.T, lower=True).T
        col = jnp.where(i == k, corner, jnp.where(i > k, col, 0))
        factor = factor.at[:, 2 * k : 2 * k + 2].set(col)
        full = lax.all_gather(col, "x", tiled=True)
        a = a - jnp.where(i > k, 1.0, 0.0) * (col @ full.T)
    return factor


@smap(
    m1,
    (P("x"), P("x"), P("x"), P()),
    P("x"),
    normal(8, 3),
    np.array([0, 5, 2, 7, 1, 1, 6, 3, 4, 0, 2, 5]),
    np.array([1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1]),
    normal(3, 3) * 0.5,
)
def gnn(h, src, dst, w):
    for _ in range(2):
        full = lax.all_gather(h @ w, "x", tiled=True)
        h = jnp.tanh(h + jax.ops.segment_sum(full[src], dst, 2))
    return h


@smap(m1, (P("x"), P("x")), P("x"), normal(4, 3), normal(4, 3, 3) * 0.5)
def switch_stage(x, w):
    i = lax.axis_index("x")
    y = lax.switch(i, [jnp.sin, lambda v: jnp.tanh(v @ w[0]), lambda v: v**2, lambda v: jnp.exp(-v)], x[0])
    return (lax.ppermute(y, "x", [(0, 2), (2, 1), (1, 0)]) * lax.psum(y, "x"))[None]


@smap(m1, (P(None, "x"), P(None, "x"), P(None, "x")), P(None, "x"), normal(2, 8, 4), normal(2, 8, 4), normal(2, 8, 4))
def causal_ring(q, k, v):
    i = lax.axis_index("x")
    qi = i * 2 + jnp.arange(2)

    def step(c, t):
        o, m, total, k, v = c
        j = (i - t) % 4
        s = jnp.einsum("bqd,bkd->bqk", q, k) / 2
        s = jnp.where(qi[:, None] >= (j * 2 + jnp.arange(2))[None], s, -1e9)
        mn = jnp.maximum(m, s.max(-1))
        p = jnp.exp(s - mn[..., None])
        cor = jnp.exp(m - mn)
        o = o * cor[..., None] + p @ v
        total = total * cor + p.sum(-1)
        k, v = (lax.ppermute(z, "x", [(a, (a + 1) % 4) for a in range(4)]) for z in (k, v))
        return (o, mn, total, k, v), None

    c = (0 * q, 0 * q[..., 0] - 1e9, 0 * q[..., 0], k, v)
    (o, _, total, _, _), _ = lax.scan(jax.checkpoint(step), c, jnp.arange(4))
    return o / total[..., None]


@smap(m1, (P(), P()), P("x"), normal(3, 2), np.array(0.5))
def uniform_loop_with_index(w, s):
    def step(c, k):
        i = lax.axis_index("x")
        return jnp.tanh(c @ w @ w.T * s), jnp.where(i == k, jnp.sum(c) * i, 0.0)

    c, ys = lax.scan(step, jnp.ones((1, 3)), jnp.arange(4))
    return vary(c) * ys.sum()


@smap(m1, (P("x"), P("x")), (P("x"), P()), normal(8, 2) + 1j * normal(8, 2), normal(8, 2))
def complex_psum(z, w):
    s = lax.psum(jnp.sum(z * w, 0), "x")
    z = lax.ppermute(z, "x", [(0, 3), (3, 0), (1, 1)])
    return z * jnp.conj(s), jnp.abs(s) ** 2


@smap(m2, (P(("a", "b")), P("b")), (P("a"), P(("b", "a"))), normal(8), normal(4))
def mixed_axes(x, y):
    g = lax.all_gather(x, ("a", "b"), tiled=True)
    s = lax.psum_scatter(g * jnp.sum(y), ("b", "a"), scatter_dimension=0, tiled=True)
    return lax.psum(jnp.outer(x, y), "b")[:, :].sum(1), s + lax.pmax(lax.stop_gradient(x.max()), "a")

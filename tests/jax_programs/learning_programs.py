"""Networks, losses, optimisers, and dynamic programming over sequences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn
from program_table import Table

P = Table()


def layer_norm(x, g):
    return g * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


@P.define("2x4x6 6x18 6x6")
def attention_multi_head(x, wqkv, wo):
    q, k, v = (t.reshape(2, 4, 2, 3) for t in jnp.split(x @ wqkv, 3, -1))
    s = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), jnp.einsum("bqhd,bkhd->bhqk", q, k) / 3**0.5, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s), v).reshape(2, 4, 6) @ wo


P("attention_library", "1x4x2x3 1x4x2x3 1x4x2x3", lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True))
P("attention_grouped_query", "1x4x4x3 1x4x2x3 1x4x2x3", lambda q, k, v: nn.dot_product_attention(q, k, v))
P("attention_linear", "5x3 5x3 5x2", lambda q, k, v: (nn.elu(q) + 1) @ ((nn.elu(k) + 1).T @ v))


@P.define("4x3 6x3 6x2")
def attention_online_softmax(q, k, v):
    def block(carry, kv):
        m, l, o = carry
        s = q @ kv[0].T
        m2 = jnp.maximum(m, s.max(1))
        p, a = jnp.exp(s - m2[:, None]), jnp.exp(m - m2)
        return (m2, l * a + p.sum(1), o * a[:, None] + p @ kv[1]), None

    start = (jnp.full(4, -1e30, q.dtype), jnp.zeros(4, q.dtype), jnp.zeros((4, 2), q.dtype))
    (_, l, o), _ = lax.scan(block, start, (k.reshape(3, 2, 3), v.reshape(3, 2, 2)))
    return o / l[:, None]


@P.define("5x4")
def rotary_embedding(x):
    angle = jnp.arange(5)[:, None] / 100.0 ** (jnp.arange(2) / 2)
    a, b = x[:, ::2], x[:, 1::2]
    return jnp.stack([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1).reshape(5, 4)


@P.define("5x3 3x12 3x12 12")
def lstm(xs, wx, wh, b):
    def step(hc, x):
        i, f, g, o = jnp.split(x @ wx + hc[0] @ wh + b, 4)
        c = nn.sigmoid(f) * hc[1] + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(3, xs.dtype),) * 2, xs)


@P.define("5x2x3 3x9 3x9")
def gru_batched(xs, wx, wh):
    def step(h, x):
        (xr, xz, xn), (hr, hz, hn) = jnp.split(x @ wx, 3, -1), jnp.split(h @ wh, 3, -1)
        z = nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + nn.sigmoid(xr + hr) * hn) + z * h
        return h, h

    return lax.scan(step, jnp.zeros((2, 3), xs.dtype), xs)[1]


P("bidirectional_rnn", "4x3 3x3", lambda xs, w: sum(lax.scan(lambda h, x: (jnp.tanh(h @ w + x),) * 2, xs[0], xs, reverse=r)[1] for r in (False, True)))
P("state_space_scan", "6x2 u3 3x2 2x3", lambda u, a, b, c: lax.scan(lambda h, x: (a * h + b @ x, c @ h), jnp.zeros(3, u.dtype), u)[1])
P("batch_norm", "4x3x2 3 3", lambda x, g, b: g[:, None] * (x - x.mean((0, 2), keepdims=True)) / jnp.sqrt(x.var((0, 2), keepdims=True) + 1e-5) + b[:, None])
P("group_norm", "2x4x3", lambda x: layer_norm(x.reshape(2, 2, 6), 1.0).reshape(2, 4, 3))
P("rms_weight_norm", "3x4 4x2 2", lambda x, v, g: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) @ (g * v / jnp.linalg.norm(v, axis=0)))
P(
    "spectral_norm",
    "3x4 4",
    lambda w, u: (s := lax.fori_loop(0, 3, lambda i, u: (t := w.T @ (w @ u)) / jnp.linalg.norm(t), u)) is not None and w / jnp.linalg.norm(w @ s),
)
P(
    "activations",
    "9",
    lambda x: (
        nn.gelu(x),
        nn.gelu(x, approximate=False),
        nn.silu(x),
        nn.softplus(x),
        nn.selu(x),
        nn.mish(x),
        nn.hard_swish(x),
        nn.log_sigmoid(x),
        nn.soft_sign(x),
        nn.celu(x),
        nn.leaky_relu(x),
        nn.relu6(x),
        nn.squareplus(x),
    ),
)
P("glu_variants", "3x4 4x6", lambda x, w: (nn.glu(x @ w), nn.silu((x @ w)[:, :3]) * (x @ w)[:, 3:]))
P("cross_entropy_integer", "4x5 i4<5", lambda x, y: -jnp.take_along_axis(nn.log_softmax(x), y[:, None], 1).mean())
P("label_smoothing_focal", "4x5 i4<5", lambda x, y: -(nn.one_hot(y, 5) * 0.9 + 0.02) * (1 - nn.softmax(x)) ** 2 * nn.log_softmax(x))
P(
    "losses",
    "6 6",
    lambda x, y: (
        jnp.where(jnp.abs(x - y) < 1, 0.5 * (x - y) ** 2, jnp.abs(x - y) - 0.5).sum(),
        jnp.maximum(0, 1 - x * y),
        jnp.log(jnp.cosh(x - y)),
        jnp.logaddexp(0.0, -x * y),
    ),
)
P(
    "contrastive_info_nce",
    "4x3 4x3",
    lambda a, b: jnp.diag(nn.log_softmax((a / jnp.linalg.norm(a, axis=1, keepdims=True)) @ (b / jnp.linalg.norm(b, axis=1, keepdims=True)).T / 0.1)),
)


@P.define("5x3 2x2x3")
def ctc_like_forward(logits, trans):
    w = trans.sum(0)
    step = lambda a, x: (jax.nn.logsumexp(a[:, None] + jnp.concatenate([w, w[:1]]), 0) + x, a)
    return lax.scan(step, logits[0], logits[1:])[0]


@P.define("6x4 4x4")
def viterbi_score(e, t):
    step = lambda d, x: ((d[:, None] + t).max(0) + x, (d[:, None] + t).argmax(0))
    d, back = lax.scan(step, e[0], e[1:])
    return d.max(), lax.scan(lambda s, b: (b[s], s), d.argmax(), back, reverse=True)[1]


@P.define("5 7")
def soft_dtw(x, y):
    d = (x[:, None] - y[None]) ** 2

    def row(previous, costs):
        def cell(left, args):
            up, diagonal, c = args
            value = c - 0.5 * jax.nn.logsumexp(jnp.stack([-left, -up, -diagonal]) / 0.5)
            return value, value

        return (r := lax.scan(cell, 1e3 + 0 * costs[0], (previous[1:], previous[:-1], costs))[1]) is not None and (
            jnp.concatenate([jnp.full(1, 1e3, r.dtype), r]),
            r[-1],
        )

    return lax.scan(row, jnp.full(8, 1e3, x.dtype).at[0].set(0.0), d)


@P.define("p4 p5 4x5")
def sinkhorn(a, b, c):
    a, b = a / a.sum(), b / b.sum()

    def step(i, fg):
        f = -0.5 * jax.nn.logsumexp((fg[1] - c) / 0.5, axis=1) + 0.5 * jnp.log(a)
        return f, -0.5 * jax.nn.logsumexp((f[:, None] - c) / 0.5, axis=0) + 0.5 * jnp.log(b)

    f, g = lax.fori_loop(0, 5, step, (jnp.zeros_like(a), jnp.zeros_like(b)))
    return (jnp.exp((f[:, None] + g - c) / 0.5) * c).sum()


@P.define("3 3 p3")
def adam_steps(p, m, v):
    def step(s, i):
        p, m, v = s
        g = jax.grad(lambda q: jnp.sum(jnp.cos(q) * q**2))(p)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        return (p - 0.1 * (m / (1 - 0.9 ** (i + 1))) / (jnp.sqrt(v / (1 - 0.99 ** (i + 1))) + 1e-8), m, v), p.sum()

    return lax.scan(step, (p, m, v), jnp.arange(4))


P(
    "clip_by_global_norm",
    "3x2 4",
    lambda a, b: (n := jnp.sqrt((a**2).sum() + (b**2).sum())) is not None and (a * jnp.minimum(1, 1.0 / n), b * jnp.where(n > 1, 1 / n, 1.0)),
)
P("momentum_line_search", "3", lambda x: lax.while_loop(lambda s: (jnp.sum((x - s * x) ** 4) > 0.5 * jnp.sum(x**4)) & (s < 3), lambda s: s + 0.11, 0 * x[0]))
P("ema_schedule", "5 f", lambda x, d: lax.scan(lambda e, v: (nn.sigmoid(d) * e + (1 - nn.sigmoid(d)) * v, e), x[0], x))
P(
    "newton_method_hessian",
    "2",
    lambda x: x - jnp.linalg.solve(jax.hessian(lambda v: jnp.sum(jnp.cosh(v)) + v[0] * v[1])(x), jax.grad(lambda v: jnp.sum(jnp.cosh(v)) + v[0] * v[1])(x)),
)
P(
    "gauss_newton",
    "3 5",
    lambda p, t: (
        (r := lambda q: q[0] * jnp.exp(-(q[1] ** 2) * t**2) + q[2])
        and (j := jax.jacfwd(r)(p)) is not None
        and p - jnp.linalg.solve(j.T @ j + jnp.eye(3), j.T @ r(p))
    ),
)
P("bilevel_unrolled", "3 3", lambda w, x: jnp.sum(lax.fori_loop(0, 3, lambda i, v: v - 0.1 * (2 * v - jnp.tanh(w * v)), x) ** 2))
P(
    "cnn_small",
    "1x6x6x1 3x3x1x2 18x3",
    lambda x, k, w: (
        nn.relu(lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))).reshape(1, 3, 2, 3, 2, 2).max((2, 4)).reshape(1, 18)
        @ w
    ),
)
P(
    "unet_skip",
    "1x4x4x2 3x3x2x2",
    lambda x, k: (
        (c := lambda v: nn.silu(lax.conv_general_dilated(v, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))))
        and c(x) + jax.image.resize(c(x[:, ::2, ::2]), (1, 4, 4, 2), "bilinear")
    ),
)
P("image_resize_methods", "4x5", lambda x: tuple(jax.image.resize(x, (6, 3), m) for m in ("nearest", "linear", "cubic", "lanczos3")))
P("map_coordinates", "4x5 2x6", lambda im, c: jsp.ndimage.map_coordinates(im, list(jnp.abs(c) * 1.3), order=1, mode="nearest"))
P(
    "mixture_of_experts",
    "4x3 3x2 2x3x3",
    lambda x, g, w: jnp.einsum("ne,nd->nd", lax.top_k(nn.softmax(x @ g), 1)[0], jnp.einsum("nd,ndk->nk", x, w[(x @ g).argmax(1)])),
)
P(
    "graph_attention",
    "4x3 i6<4 i6<4 3",
    lambda h, s, r, a: (
        (e := jnp.exp(nn.leaky_relu((h[s] * h[r]) @ a))) is not None
        and jax.ops.segment_sum(e[:, None] * h[s], r, 4) / (jax.ops.segment_sum(e, r, 4)[:, None] + 1e-6)
    ),
)
P("vq_straight_through", "3x2 4x2", lambda z, c: (q := c[((z[:, None] - c) ** 2).sum(-1).argmin(1)]) is not None and z + lax.stop_gradient(q - z), hidden=True)
P(
    "normalising_flow",
    "3x4 2x2 2",
    lambda x, w, b: (s := jnp.tanh(x[:, :2] @ w)) is not None and (jnp.concatenate([x[:, :2], x[:, 2:] * jnp.exp(s) + b], 1), s.sum(1)),
)
P(
    "diffusion_schedule",
    "3x4",
    lambda x: (
        (a := jnp.cumprod(1 - jnp.linspace(1e-3, 0.2, 5))) is not None
        and lax.fori_loop(0, 5, lambda i, v: jnp.sqrt(a[4 - i]) * v - (1 - a[4 - i]) * jnp.tanh(v), x)
    ),
)
P("kan_spline", "s5 8", lambda x, c: (t := jnp.clip((x + 1) * 3.5, 0, 6.999)) is not None and c[t.astype(int)] * (1 - t % 1) + c[t.astype(int) + 1] * (t % 1))

"""Learning, simulation, statistics and derivatives of derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn
from jax.experimental.ode import odeint
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

P(
    "odeint_adaptive",
    "2 p",
    lambda y, k: odeint(lambda y, t, k: jnp.stack([y[1], -k * y[0]]), y, jnp.linspace(0.0, 1.0, 3), k, rtol=1e-4, atol=1e-4),
    hidden=True,
    second=False,
)
P("rk4_lorenz", "3", lambda y: lax.scan(lambda y, _: (rk4(lorenz, y, 0.01), y), y, None, length=5))
P("leapfrog_nbody", "3x2 3x2 p3", lambda q, p, m: lax.fori_loop(0, 3, lambda i, s: leapfrog(s, m), (q, p)))
P(
    "heat_implicit",
    "6 p",
    lambda u, k: lax.scan(
        lambda u, _: (jnp.linalg.solve(jnp.eye(6) + 0.1 * k * (2 * jnp.eye(6) - jnp.eye(6, k=1) - jnp.eye(6, k=-1)), u),) * 2, u, None, length=3
    )[1],
)
P("burgers_upwind", "8", lambda u: lax.fori_loop(0, 4, lambda i, u: u - 0.1 * jnp.where(u > 0, u * (u - jnp.roll(u, 1)), u * (jnp.roll(u, -1) - u)), u))
P("spectral_poisson", "4x4", lambda f: jnp.fft.ifft2(jnp.fft.fft2(f) / -(1 + jnp.fft.fftfreq(4)[:, None] ** 2 + jnp.fft.fftfreq(4) ** 2)).real)
P(
    "wave_spectral_step",
    "8 8",
    lambda u, v: lax.fori_loop(0, 3, lambda i, s: (s[0] + 0.1 * s[1], s[1] + 0.1 * jnp.fft.irfft(-(jnp.arange(5) ** 2) * jnp.fft.rfft(s[0]), n=8)), (u, v)),
)
P("lattice_boltzmann", "9x3x3", lambda f: f - 0.6 * (f - f.sum(0) * (jnp.arange(9) / 36.0)[:, None, None]) + 0.1 * jnp.roll(f, 1, 1))
P("ising_energy", "4x4 f", lambda s, j: -j * (jnp.tanh(s) * (jnp.roll(jnp.tanh(s), 1, 0) + jnp.roll(jnp.tanh(s), 1, 1))).sum())
P(
    "lennard_jones_forces",
    "4x2",
    lambda x: -jax.grad(lambda x: sum((1 / (r2 := ((x[i] - x[j]) ** 2).sum() + 0.5)) ** 6 - r2**-3 for i in range(4) for j in range(i)))(x),
)
P("quaternion_rotation", "4 5x3", lambda q, v: (u := q / jnp.linalg.norm(q)) is not None and v + 2 * jnp.cross(u[1:], jnp.cross(u[1:], v) + u[0] * v))
P("kalman_filter", "5x2 2x2 m2x2", lambda ys, a, q: kalman(ys, 0.5 * a, q))
P("particle_filter", "4x3", lambda ys: lax.scan(pf_step, (jnp.linspace(-1.0, 1.0, 6).astype(ys.dtype), jax.random.key(1)), ys)[1], tolerance=10)
P(
    "hmc_step",
    "3 3",
    lambda q, p: (
        (u := lambda q: jnp.sum(q**4) / 4 + jnp.sum(q[1:] * q[:-1]))
        and lax.fori_loop(0, 4, lambda i, s: (s[0] + 0.1 * (h := s[1] - 0.05 * jax.grad(u)(s[0])), h - 0.05 * jax.grad(u)(s[0] + 0.1 * h)), (q, p))
    ),
)
P(
    "gp_marginal",
    "6x2 6 p2",
    lambda x, y, l: (
        (k := jnp.exp(-0.5 * (((x[:, None] - x) / l) ** 2).sum(-1)) + 0.1 * jnp.eye(6)) is not None
        and 0.5 * y @ jnp.linalg.solve(k, y) + 0.5 * jnp.linalg.slogdet(k)[1]
    ),
)
P(
    "log_densities",
    "5 p5 u5",
    lambda x, s, p: (
        jsp.stats.norm.logpdf(x, 0.1, s),
        jsp.stats.t.logpdf(x, s),
        jsp.stats.gamma.logpdf(s, s + 1),
        jsp.stats.beta.logpdf(p, s, 2.0),
        jnp.log(jsp.stats.laplace.cdf(x)),
        jsp.stats.logistic.logpdf(x),
        jsp.stats.cauchy.logpdf(x, 0, s),
        jsp.stats.poisson.logpmf(3, s),
    ),
)
P("multivariate_normal_logpdf", "4x3 3 m3x3", lambda x, m, c: jsp.stats.multivariate_normal.logpdf(x, m, c))
P("gaussian_kde", "6 4", lambda d, x: jsp.stats.gaussian_kde(d).logpdf(x))
P(
    "black_scholes_greeks",
    "p4 p4",
    lambda s, k: jax.vmap(jax.grad(lambda s, k: s * jsp.stats.norm.cdf((jnp.log(s / k) + 0.5) / 0.4) - k * jsp.stats.norm.cdf((jnp.log(s / k) + 0.3) / 0.4)))(
        s, k
    ),
)
P(
    "binomial_option",
    "f",
    lambda s: lax.fori_loop(
        0, 5, lambda i, v: jnp.maximum(0.99 * (0.5 * v + 0.5 * jnp.roll(v, -1)), 0.0), jnp.maximum(jnp.exp(0.1 * (jnp.arange(7) - 3)) * (s + 3) - 2.7, 0)
    )[0],
)
P("em_step_gmm", "8 3 3", lambda x, m, l: (r := nn.softmax(l - 0.5 * (x[:, None] - m) ** 2, axis=1)) is not None and (r.T @ x / r.sum(0), jnp.log(r.mean(0))))
P(
    "ranking_ndcg_soft",
    "5 p5",
    lambda s, g: (rank := 1 + nn.sigmoid((s[None] - s[:, None]) / 0.2).sum(1)) is not None and ((2**g - 1) / jnp.log2(1 + rank)).sum(),
)
P("neural_ode_euler", "3 3x3", lambda y, w: lax.scan(lambda y, t: (y + 0.1 * jnp.tanh(w @ y + t), None), y, jnp.linspace(0, 1, 6))[0])
P(
    "deq_fixed_point",
    "3 3x3",
    lambda x, w: lax.while_loop(
        lambda s: (jnp.abs(s[0] - s[1]).max() > 1e-3) & (s[2] < 40), lambda s: (jnp.tanh(0.2 * w @ s[0] + x), s[0], s[2] + 1), (x, x + 1, 0)
    )[0],
)
P("conjugate_gradient", "m4x4 4", lambda a, b: jax.scipy.sparse.linalg.cg(lambda v: a @ v, b, maxiter=3)[0], hidden=True, second=False, tolerance=1e3)
P(
    "rotation_exp_map",
    "3 4x3",
    lambda w, p: p @ jsp.linalg.expm(jnp.array([[0, -1.0, 0], [1.0, 0, 0], [0, 0, 0]]) * w[0] + jnp.outer(w, w) * 0.1).T,
    tolerance=10,
)

P("grad_of_grad", "f", lambda x: jax.grad(jax.grad(lambda v: jnp.sin(v**2) * jnp.exp(v)))(x))
P("third_derivative", "f", lambda x: jax.grad(jax.grad(jax.grad(lambda v: jnp.tanh(v) * v**3)))(x))
P("hessian_dense", "3", lambda x: jax.hessian(lambda v: jnp.prod(jnp.sin(v)) + v @ v**2)(x))
P("jacobians_both", "3", lambda x: jax.jacfwd(lambda v: jnp.outer(v, jnp.tanh(v)))(x) + jax.jacrev(lambda v: jnp.outer(v, jnp.sin(v)))(x))
P("hvp_forward_over_reverse", "4 4", lambda x, t: jax.jvp(jax.grad(lambda v: jnp.sum(jnp.exp(v[1:] * v[:-1]))), (x,), (t,)))
P("vjp_of_scan", "5 f", lambda xs, a: jax.grad(lambda xs: lax.scan(lambda c, x: (jnp.sin(c * x) + a, c**2), a, xs)[1].sum())(xs))
P("grad_of_vmap_cond", "4", lambda x: jax.grad(lambda x: jax.vmap(lambda v: lax.cond(v > 0, jnp.sin, lambda u: u**3, v))(x).sum())(x))
P("jvp_of_eigh", "m3x3 3x3", lambda a, t: jax.jvp(jnp.linalg.eigvalsh, (a,), (t + t.T,))[1])
P("grad_of_cholesky", "m3x3", lambda a: jax.grad(lambda a: jnp.log(jnp.diag(jnp.linalg.cholesky(a))).sum())(a))
P(
    "grad_of_conv",
    "1x5x5x1 2x2x1x1",
    lambda x, k: jax.grad(lambda k: (lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) ** 2).sum())(k),
)
P("grad_of_max_pool", "1x4x4x1", lambda x: jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 3).sum())(x))
P("grad_of_sort", "5", lambda x: jax.grad(lambda x: (jnp.sort(x) * jnp.arange(5) ** 2 * jnp.sort(x)).sum())(x))
P("grad_of_scatter", "5 i4<5 4", lambda x, i, u: jax.grad(lambda x: (x.at[i].add(u * x[0]) ** 3).sum())(x))
P("laplacian_pinn", "2 2x4 4", lambda x, w, a: jnp.trace(jax.hessian(lambda x: jnp.tanh(x @ w) @ a)(x)))
P("custom_jvp_hidden", "4", lambda x: log1pexp(x))
P("custom_vjp_clip_hidden", "4", lambda x: clipped(jnp.sin(x)), hidden=True)
P(
    "implicit_root_hidden",
    "p",
    lambda a: lax.custom_root(
        lambda x: x**3 + x - a, 1 + 0 * a, lambda f, x: lax.fori_loop(0, 12, lambda i, x: x - f(x) / (3 * x**2 + 1), x), lambda g, y: y / g(1.0)
    ),
)
P(
    "jet_taylor",
    "f f",
    lambda x, t: (f := lambda v: jnp.exp(jnp.sin(v))) and f(x) + jax.jvp(f, (x,), (t,))[1] + 0.5 * jax.jvp(lambda v: jax.jvp(f, (v,), (t,))[1], (x,), (t,))[1],
)
P("vmap_grad_per_example", "4x3 4 3", lambda x, y, w: jax.vmap(jax.grad(lambda w, x, y: (jnp.tanh(x @ w) - y) ** 2), (None, 0, 0))(w, x, y))
P("vmap_nested_axes", "2x3 4x3", lambda a, b: jax.vmap(lambda u: jax.vmap(lambda v: jnp.exp(-((u - v) ** 2).sum()))(b))(a))
P("vmap_out_axes", "3x4 4", lambda a, b: jax.vmap(lambda c, s: jnp.cumsum(c) * s, in_axes=(1, 0), out_axes=1)(a, b))
P("vmap_jacobian", "3x2", jax.vmap(jax.jacrev(lambda v: jnp.stack([v[0] * v[1], jnp.sin(v[0])]))))
P("linearize_reuse", "3 2x3", lambda x, ts: jax.vmap(jax.linearize(lambda v: jnp.sin(v) * v.sum(), x)[1])(ts))
P("linear_transpose", "3 4", lambda x, y: jax.linear_transpose(lambda v: jnp.convolve(v, jnp.array([1.0, 2.0])), x)(y)[0] * x)
P("unused_and_constant_outputs", "3 4 i2<3", lambda x, y, n: (x * 2, jnp.ones(3), n, x, x))
P("integer_only_output", "4", lambda x: ((x > 0).sum(), jnp.argsort(x), x.sum()))


def lorenz(y):
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def rk4(f, y, h):
    a = f(y)
    b = f(y + h / 2 * a)
    c = f(y + h / 2 * b)
    return y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))


def leapfrog(state, m):
    q, p = state
    energy = lambda q: -sum(m[i] * m[j] / jnp.sqrt(((q[i] - q[j]) ** 2).sum() + 0.1) for i in range(3) for j in range(i))
    p = p - 0.05 * jax.grad(energy)(q)
    q = q + 0.1 * p / m[:, None]
    return q, p - 0.05 * jax.grad(energy)(q)


def kalman(ys, a, q):
    def step(state, y):
        m, c = a @ state[0], a @ state[1] @ a.T + q
        k = jnp.linalg.solve(c + jnp.eye(2), c).T
        return (m + k @ (y - m), c - k @ c), m

    return lax.scan(step, (jnp.zeros(2, ys.dtype), jnp.eye(2, dtype=ys.dtype)), ys)


def pf_step(state, y):
    x, key = state
    key, noise = jax.random.split(key)
    x = 0.9 * x + 0.1 * jax.random.normal(noise, x.shape, x.dtype)
    w = jax.nn.softmax(-((x - y[0]) ** 2))
    return (x, key), (w @ x, jnp.log(w).mean())


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    return log1pexp(primals[0]), nn.sigmoid(primals[0]) * tangents[0]


@jax.custom_vjp
def clipped(x):
    return x**2


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (jnp.clip(g * 2 * x, -0.1, 0.1),))

"""Simulation, statistics, finance, and equations that are solved by iteration."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, nn
from jax.experimental.ode import odeint
from program_table import Table

P = Table()

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

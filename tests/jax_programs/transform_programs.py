"""JAX's transforms of JAX's transforms: derivatives of derivatives, batches of them, and functions with rules of their own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax, nn
from program_table import Table

P = Table()

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

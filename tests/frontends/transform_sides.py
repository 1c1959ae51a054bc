"""The two sides of the comparison: our namespace and transforms, and JAX's under the same names."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

import wengert as wg
import wengert.numpy as wnp

jax.config.update("jax_enable_x64", True)


def _convolution(x, w, stride=1, padding=0, dilation=1, groups=1):
    strides, edges, steps = ((v,) * (x.ndim - 2) if isinstance(v, int) else v for v in (stride, padding, dilation))
    return jax.lax.conv_general_dilated(x, w, strides, [(p, p) for p in edges], rhs_dilation=steps, feature_group_count=groups)


OURS = SimpleNamespace(
    **{name: getattr(wg, name) for name in "jit grad value_and_grad jvp vjp linearize jacfwd jacrev hessian vmap checkpoint custom_jvp custom_vjp".split()},
    **{name: getattr(wg, name) for name in "stop_gradient cond switch fori_loop while_loop scan".split()},
    special=wnp.special,
    constant=np.asarray,
    is_jax=False,
)
JAX = SimpleNamespace(
    **{name: getattr(jax, name) for name in "jit grad value_and_grad jvp vjp linearize jacfwd jacrev hessian vmap checkpoint custom_jvp custom_vjp".split()},
    **{name: getattr(jax.lax, name) for name in "stop_gradient cond switch fori_loop while_loop scan".split()},
    special=SimpleNamespace(
        convolution=_convolution,
        erf=jax.scipy.special.erf,
        erfc=jax.scipy.special.erfc,
        lgamma=jax.scipy.special.gammaln,
        digamma=jax.scipy.special.digamma,
        logistic=jax.nn.sigmoid,
        logsumexp=jax.nn.logsumexp,
        softmax=jax.nn.softmax,
        log_softmax=jax.nn.log_softmax,
    ),
    constant=np.asarray,
    is_jax=True,
)
SIDES = {"ours": (wnp, OURS, wg.jit), "jax": (jnp, JAX, jax.jit)}

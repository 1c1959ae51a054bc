"""Layers that several models have, for JAX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    """Rows of mean zero and variance one, scaled and shifted."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g + b


def dense(x: Any, weights: Iterator[Any]) -> Any:
    """``x w + b`` with the next two weights."""
    return x @ next(weights) + next(weights)


def split_heads(x: Any, heads: int) -> Any:
    """``[n, t, d]`` as ``[n, heads, t, d / heads]``."""
    n, t, d = x.shape
    return x.reshape(n, t, heads, d // heads).swapaxes(1, 2)


def join_heads(x: Any) -> Any:
    """The inverse of ``split_heads``."""
    n, heads, t, each = x.shape
    return x.swapaxes(1, 2).reshape(n, t, heads * each)


def attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """Attention of ``q: [..., t, d]`` to ``k`` and ``v: [..., s, d]`` where the mask is true."""
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    return jax.nn.softmax(scores if mask is None else jnp.where(mask, scores, -1e9)) @ v


def causal(tokens: int) -> Any:
    """The mask of each position and those before it."""
    return jnp.tril(jnp.ones((tokens, tokens), bool))


def cross_entropy(logits: Any, wanted: Any) -> Any:
    """The mean of the wanted classes' negative logarithms of probabilities."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[..., None], -1))


def convolve(x: Any, w: Any, stride: int = 1, padding: Any = "SAME") -> Any:
    """Images ``[n, h, w, c]`` by kernels ``[kh, kw, c, outputs]``."""
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

"""Lowers the larger examples with JAX, and draws inputs for them: ``python examples/lower.py`` writes this folder's files.

The texts are kept in the repository, so that nothing else here needs JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
HERE = Path(__file__).parent
HEADS = 4


def layer_norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    """Normalises the last axis."""
    centred = x - x.mean(-1, keepdims=True)
    return scale * centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) + shift


def attention(x: jax.Array, qkv: jax.Array, out: jax.Array) -> jax.Array:
    """Causal attention with several heads."""
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ qkv).reshape(batch, length, HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // HEADS)
    weights = jax.nn.softmax(jnp.where(jnp.tri(length, dtype=bool), scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width) @ out


def transformer_block(x: jax.Array, qkv: jax.Array, out: jax.Array, up: jax.Array, down: jax.Array, scales: jax.Array, shifts: jax.Array) -> jax.Array:
    """One block of a language model: attention and a feed-forward layer, each after a norm and beside a skip connection."""
    x = x + attention(layer_norm(x, scales[0], shifts[0]), qkv, out)
    return x + jax.nn.gelu(layer_norm(x, scales[1], shifts[1]) @ up) @ down


def mlp(x: jax.Array, w1: jax.Array, b1: jax.Array, w2: jax.Array, b2: jax.Array, w3: jax.Array, b3: jax.Array, labels: jax.Array) -> jax.Array:
    """The cross-entropy of a classifier with two hidden layers."""
    hidden = jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2)
    return -(jax.nn.one_hot(labels, 10, dtype=x.dtype) * jax.nn.log_softmax(hidden @ w3 + b3)).sum(-1).mean()


def write(function: Callable[..., Any], inputs: Sequence[np.ndarray[Any, Any]]) -> None:
    """Writes the program's text and its inputs."""
    lowered = jax.jit(function, keep_unused=True).lower(*inputs)
    (HERE / f"{function.__name__}.mlir").write_text(lowered.as_text())
    np.savez_compressed(HERE / f"{function.__name__}.npz", allow_pickle=False, **{f"in_{i}": x for i, x in enumerate(inputs)})


def main() -> None:
    """Writes all."""
    random = np.random.default_rng(1964)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return random.standard_normal(shape) / np.sqrt(shape[-2] if len(shape) > 1 else 1)

    write(transformer_block, [normal(2, 16, 32), normal(32, 96), normal(32, 32), normal(32, 64), normal(64, 32), 1 + 0.1 * normal(2, 32), 0.1 * normal(2, 32)])
    write(mlp, [normal(32, 16), normal(16, 64), normal(64), normal(64, 64), normal(64), normal(64, 10), normal(10), random.integers(0, 10, 32, np.int32)])


if __name__ == "__main__":
    main()

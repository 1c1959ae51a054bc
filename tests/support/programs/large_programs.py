"""Programs of the shapes that fill a GPU: layers of networks on thousands of rows, none a multiple of a group of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg
import wengert.numpy as wnp
from wengert.runtime.program import Program

Array = Any


def softmax(x: Array) -> Array:
    """Each row becomes probabilities."""
    e = wnp.exp(x - wnp.max(x, axis=-1, keepdims=True))
    return e / wnp.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Array, scale: Array, bias: Array) -> Array:
    """Each row gets mean 0 and variance 1, then a scale and a bias for each column."""
    centred = x - wnp.mean(x, axis=-1, keepdims=True)
    variance = wnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / wnp.sqrt(variance + 1e-5) * scale + bias


def cross_entropy(logits: Array, targets: Array) -> Array:
    """The mean over rows of what the probabilities of targets cost."""
    shifted = logits - wnp.max(logits, axis=-1, keepdims=True)
    normalised = shifted - wnp.log(wnp.sum(wnp.exp(shifted), axis=-1, keepdims=True))
    return -wnp.mean(wnp.sum(normalised * targets, axis=-1))


def gelu(x: Array) -> Array:
    """``x`` times the normal distribution at ``x``, by a hyperbolic tangent."""
    return 0.5 * x * (1.0 + wnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attention(q: Array, k: Array, v: Array) -> Array:
    """Each row of ``q`` takes of ``v`` what its likeness with ``k`` says."""
    return softmax(q @ wnp.swapaxes(k, -1, -2) * 0.125) @ v


def mlp(x: Array, first: Array, bias: Array, second: Array) -> Array:
    """Two layers with a GELU between them."""
    return gelu(x @ first + bias) @ second


def transformer_block(x: Array, scale: Array, bias: Array, inwards: Array, outwards: Array, first: Array, middle: Array, second: Array) -> Array:
    """Attention of two heads and an MLP, each behind a layer norm and added to what it was given. ``inwards`` makes queries, keys and values at once."""
    tokens, width = x.shape
    wide = wnp.reshape(layer_norm(x, scale, bias) @ inwards, (tokens, 3, HEADS, width // HEADS))
    q, k, v = (wnp.swapaxes(wide[:, part], 0, 1) for part in range(3))
    x = x + wnp.reshape(wnp.swapaxes(attention(q, k, v), 0, 1), (tokens, width)) @ outwards
    return x + mlp(layer_norm(x, scale, bias), first, middle, second)


HEADS = 2
Shapes = list[tuple[int, ...]]
Shaped = tuple[Callable[..., Array], Shapes]


def _block(tokens: int, width: int, hidden: int) -> Shapes:
    """The shapes of a transformer block's arguments."""
    return [(tokens, width), (width,), (width,), (width, 3 * width), (width, width), (width, hidden), (hidden,), (hidden, width)]


PROGRAMS: dict[str, Shaped] = {
    "softmax": (softmax, [(4001, 1003)]),
    "softmax-wide": (softmax, [(1000, 32004)]),
    "softmax-narrow": (softmax, [(16000, 10)]),
    "layer-norm": (layer_norm, [(8191, 772), (772,), (772,)]),
    "cross-entropy": (cross_entropy, [(4001, 10003), (4001, 10003)]),
    "gelu": (gelu, [(16000, 3076)]),
    "gelu-odd": (gelu, [(1001, 515)]),
    "attention": (attention, [(12, 1001, 64)] * 3),
    "mlp": (mlp, [(5003, 772), (772, 3076), (3076,), (3076, 772)]),
    "transformer-block": (transformer_block, _block(2003, 772, 3076)),
}
"""Programs by name, with the shapes of their arguments."""
NARROWER: dict[str, Shapes] = {
    "softmax-wide": [(1000, 5004)],
    "cross-entropy": [(4001, 1003), (4001, 1003)],
    "gelu": [(16000, 772)],
    "attention": [(2, 1001, 36)] * 3,
    "mlp": [(3003, 100), (100, 132), (132,), (132, 100)],
    "transformer-block": _block(1001, 68, 132),
}
"""As many rows, or nearly, of fewer columns, for what would run too long on a device without a GPU."""


def large_program(name: str, kind: str, dtype: str = "float32", *, narrower: bool = False) -> Program:
    """A program, or its derivative by reverse mode if ``kind`` is ``vjp``; with the shapes of :data:`NARROWER` if asked."""
    function, shapes = PROGRAMS[name]
    shapes = NARROWER.get(name, shapes) if narrower else shapes
    program = wg.jit(function).program(*[wg.ArraySpec(shape, dtype) for shape in shapes])
    return program.vjp() if kind == "vjp" else program

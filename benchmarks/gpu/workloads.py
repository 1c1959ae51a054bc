"""What is timed on a GPU: values and gradients of layers on arrays that fill one, once for wengert and JAX, and once as PyTorch writes them.

A workload is a function of a namespace (``wengert.numpy`` or ``jax.numpy``) and arrays. With ``gradient`` the value and the cotangents of all arguments are
computed, for a cotangent that is an argument too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Array = Any
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Workload:
    """A function on arrays of these shapes and type. ``bound`` says by what it is limited: ``memory`` or ``arithmetic``."""

    name: str
    function: Callable[..., Array]
    shapes: Sequence[Shape]
    small: Sequence[Shape]
    gradient: bool = False
    dtype: str = "float32"
    bound: str = "memory"


def elementwise(xp: Any, x: Array, y: Array) -> Array:
    """A product and a hyperbolic tangent."""
    return x * y + xp.tanh(x)


def total(xp: Any, x: Array) -> Array:
    """The sum of all elements."""
    return xp.sum(x)


def row_sums(xp: Any, x: Array) -> Array:
    """The sums of rows."""
    return xp.sum(x, axis=1)


def column_sums(xp: Any, x: Array) -> Array:
    """The sums of columns."""
    return xp.sum(x, axis=0)


def softmax(xp: Any, x: Array) -> Array:
    """Each row becomes probabilities."""
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Array, scale: Array, bias: Array) -> Array:
    """Each row gets mean 0 and variance 1, then a scale and a bias for each column."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + bias


def product(xp: Any, x: Array, y: Array) -> Array:
    """A product of matrices."""
    return x @ y


def gelu(xp: Any, x: Array) -> Array:
    """``x`` times the normal distribution at ``x``, by a hyperbolic tangent."""
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def mlp(xp: Any, x: Array, first: Array, bias: Array, second: Array) -> Array:
    """Two layers with a GELU between them."""
    return gelu(xp, x @ first + bias) @ second


def transformer_block(xp: Any, x: Array, scale: Array, bias: Array, inwards: Array, outwards: Array, first: Array, middle: Array, second: Array) -> Array:
    """Attention and an MLP, each behind a layer norm and added to what it was given. ``inwards`` makes queries, keys and values of 64 each."""
    tokens, width = x.shape
    wide = xp.reshape(layer_norm(xp, x, scale, bias) @ inwards, (tokens, 3, width // HEAD, HEAD))
    q, k, v = (xp.swapaxes(wide[:, part], 0, 1) for part in range(3))
    taken = softmax(xp, q @ xp.swapaxes(k, -1, -2) * HEAD**-0.5) @ v
    x = x + xp.reshape(xp.swapaxes(taken, 0, 1), (tokens, width)) @ outwards
    return x + mlp(xp, layer_norm(xp, x, scale, bias), first, middle, second)


HEAD = 64
"""The length of a head's queries."""


def _rows(rows: int, columns: int) -> list[Shape]:
    return [(rows, columns), (columns,), (columns,)]


def _layers(tokens: int, width: int) -> list[Shape]:
    return [(tokens, width), (width, 4 * width), (4 * width,), (4 * width, width)]


def _block(tokens: int, width: int) -> list[Shape]:
    return [(tokens, width), (width,), (width,), (width, 3 * width), (width, width), *_layers(tokens, width)[1:]]


_MANY = 1 << 26
_ROWS = ((32768, 1024), (8192, 4096), (4096, 16384))


def workloads() -> list[Workload]:
    """All of them, the quickest first."""
    made = [
        Workload("elementwise", elementwise, [(_MANY,)] * 2, [(1001,)] * 2),
        Workload("elementwise gradient", elementwise, [(_MANY,)] * 2, [(1001,)] * 2, gradient=True),
        Workload("sum", total, [(_MANY,)], [(5003,)]),
        Workload("row sums", row_sums, [(8192, 8192)], [(33, 515)]),
        Workload("column sums", column_sums, [(8192, 8192)], [(515, 33)]),
    ]
    for rows, columns in _ROWS:
        made += [
            Workload(f"softmax {columns}", softmax, [(rows, columns)], [(9, 203)]),
            Workload(f"softmax {columns} gradient", softmax, [(rows, columns)], [(9, 203)], gradient=True),
            Workload(f"layer norm {columns}", layer_norm, _rows(rows, columns), _rows(9, 203)),
            Workload(f"layer norm {columns} gradient", layer_norm, _rows(rows, columns), _rows(9, 203), gradient=True),
        ]
    for dtype in ("float32", "bfloat16"):
        made += [
            Workload(f"product {dtype}", product, [(4096, 4096)] * 2, [(70, 50), (50, 90)], dtype=dtype, bound="arithmetic"),
            Workload(f"MLP gradient {dtype}", mlp, _layers(8192, 1024), _layers(33, 20), gradient=True, dtype=dtype, bound="arithmetic"),
            Workload(
                f"transformer block gradient {dtype}", transformer_block, _block(2048, 1024), _block(33, 128), gradient=True, dtype=dtype, bound="arithmetic"
            ),
        ]
    return made

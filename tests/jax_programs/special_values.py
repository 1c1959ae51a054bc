"""Functions of few ops, and the values at which derivatives are hard, for the comparison with JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax, vmap

inf, nan = np.inf, np.nan

POINTS = np.array([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 710.0, -750.0])
PAIRS = [axis.ravel() for axis in np.meshgrid(POINTS, POINTS)]
ROWS = np.array(
    [
        *([1.0, nan, 2, 3], [1, inf, 2, 3], [1, -inf, 2, 3], [inf, inf, 1, 2], [0, 0, 1, 2], [nan, nan, nan, nan]),
        *([0, inf, 1, 2], [0, nan, 1, 2], [0, 0, 0, 0], [3, 2, 2, 3], [2, 1, -inf, 0]),
    ]
)
TO = np.array([1, 1, 0, 2])

Function = Callable[..., Any]

UNARY: dict[str, Function] = {
    name: getattr(lax, name)
    for name in (
        *("abs", "neg", "sign", "floor", "exp", "exp2", "expm1", "log", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "tanh", "sinh", "cosh"),
        *("asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc", "erf_inv", "lgamma", "logistic", "square"),
    )
}
BINARY: dict[str, Function] = {name: getattr(lax, name) for name in ("add", "sub", "mul", "rem", "max", "min", "pow", "atan2")} | {
    "select": lambda x, y: jnp.where(x > 0, x, y),
    "clamp": lambda x, y: lax.clamp(-0.75, x, y),
}
OF_ROWS: dict[str, Function] = {
    "sum": lambda x: x.sum(1),
    "prod": lambda x: jnp.prod(x, 1),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(1),
    "argmax": lambda x: jnp.take_along_axis(x, jnp.argmax(x, 1)[:, None], 1),
    "cumsum": lambda x: lax.cumsum(x, 1),
    "cumprod": lambda x: lax.cumprod(x, 1),
    "cumprod from the end": lambda x: lax.cumprod(x, 1, reverse=True),
    "cummax": lambda x: lax.cummax(x, 1),
    "cummax across rows": lambda x: lax.cummax(x, 0),
    "cummin from the end": lambda x: lax.cummin(x, 1, reverse=True),
    "sort": lambda x: jnp.sort(x, 1),
    "window max": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 1), "VALID"),
    "scatter": lambda x: jnp.zeros((11, 3)).at[:, TO].set(x),
    "scatter add": lambda x: jnp.zeros((11, 3)).at[:, TO].add(x),
    "scatter mul": lambda x: x.at[:, jnp.array([1, 3, 0])].mul(x[:, :3], unique_indices=True)[:, jnp.array([0, 1, 3])],
    "top k": lambda x: lax.top_k(x * jnp.array([1.0, -1.0, 1.0, 1.0]), 3)[0],
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, s: jnp.sin(s) * x, x),
    "scan": lambda x: lax.scan(lambda c, r: (c * r, c + r), jnp.ones(11), x.T),
}

SINGULAR = np.array(
    [
        *([[1, 2, 3], [2, 1, 5], [1, 1, 1]], [[1, 2, 3], [2, 4, 6], [1, 1, 1]], [[0, 1, 2], [0, 3, 1], [0, 1, 1]], [[1, 2, 3], [0, 0, 0], [1, 1, 1]]),
        *([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[2, 0, 0], [0, inf, 0], [0, 0, 1]]),
    ],
    float,
)
SIDES = np.array([[1, 1, 1], [1, 0, -2], [0, 0, 0], [inf, 0, 1], [0, nan, 0], [1, 0, 0], [0, 0, 1]])
SYSTEMS: dict[str, Function] = {
    "solve": lambda a, b: jnp.linalg.solve(a, b[..., None]),
    "vmap of solve": vmap(jnp.linalg.solve),
    "inv": lambda a, b: jnp.linalg.inv(a) * b[..., None],
}

GROUPS: dict[str, tuple[dict[str, Function], list[np.ndarray]]] = {
    "unary": (UNARY, [POINTS]),
    "binary": (BINARY, PAIRS),
    "rows": (OF_ROWS, [ROWS]),
    "systems": (SYSTEMS, [SINGULAR, SIDES]),
    "tridiagonal": ({"solve": lax.linalg.tridiagonal_solve}, [np.array([0.0, 1, nan]), np.array([2.0, inf, 3]), np.array([1.0, 1, 0]), ROWS[:3]]),
}
"""Functions by name and the inputs of each."""

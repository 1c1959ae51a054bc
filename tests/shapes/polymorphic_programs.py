"""Functions that ``jax.export`` exports for symbolic shapes, by the shapes of their arguments and sizes that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class Polymorphic:
    """A function with the symbolic shapes of its arguments, constraints on them, and sizes to try."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[str, ...]
    sizes: tuple[dict[str, int], ...] = ({"b": 3}, {"b": 6})
    constraints: tuple[str, ...] = ()
    differentiable: bool = True


def _loop(x: Any) -> Any:
    return lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i] * jnp.ones((x.shape[0],)).sum(), 0.0)


def _scan(x: Any) -> Any:
    return lax.scan(lambda c, row: (jnp.tanh(c + row), c.sum()), jnp.zeros((x.shape[1],)), x)


def _attention(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(jnp.einsum("td,sd->ts", q, k) / jnp.sqrt(q.shape[1]), axis=-1)
    return weights @ v


def _convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (2,), "SAME")


def _windows(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "SAME"), lax.cumsum(x), lax.cumlogsumexp(x)


def _indexing(x: Any, i: Any) -> Any:
    return x[i], x.at[i].add(2.0), x[::2], x[-1], jnp.roll(x, 1)


def _pieces(x: Any) -> Any:
    n = x.shape[0]
    return x[: n // 2], x[n // 2 :], jnp.pad(x, (n % 3, n - 1)), x[1 : max(2, n - 1)]


def _dynamic_slices(x: Any, i: Any) -> Any:
    return lax.dynamic_slice(x, (i,), (x.shape[0] - 1,)), lax.dynamic_update_slice(x, jnp.zeros((2,)), (i,))


def _branches(x: Any) -> Any:
    return lax.cond(x[0] > 0, jnp.sin, lambda x: x * x, x)


POLYMORPHIC = [
    Polymorphic("concatenation and mean", lambda x, y: jnp.concatenate([jnp.sin(x), y]).reshape(-1, 2).sum(0) / x.shape[0], ("2*b", "2*b")),
    Polymorphic("other expressions", lambda x, y, z: jnp.outer(x, y).sum() + (z * z).sum(), ("b", "b+1", "b,2*b"), ({"b": 2}, {"b": 4})),
    Polymorphic("matrix product", lambda x, y: jnp.tanh(x @ y), ("b,k", "k,c"), ({"b": 2, "k": 3, "c": 4}, {"b": 1, "k": 1, "c": 5})),
    Polymorphic("statistics", lambda x: ((x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3), x.max(1)), ("b,c",), ({"b": 3, "c": 2}, {"b": 5, "c": 4})),
    Polymorphic("attention", _attention, ("t,d", "s,d", "s,d"), ({"t": 2, "s": 3, "d": 4}, {"t": 5, "s": 2, "d": 1})),
    Polymorphic("counted loop", _loop, ("b",)),
    Polymorphic("scan", _scan, ("b,c",), ({"b": 3, "c": 2}, {"b": 6, "c": 1})),
    Polymorphic("convolution", _convolution, ("b,2,h", "3,2,3"), ({"b": 1, "h": 5}, {"b": 2, "h": 8}), ("h>=3",)),
    Polymorphic("windows", _windows, ("b",)),
    Polymorphic("indexing", _indexing, ("b", "k:int"), ({"b": 3, "k": 2}, {"b": 6, "k": 4})),
    Polymorphic("floor division and remainder", _pieces, ("b",), ({"b": 4}, {"b": 7}), ("b>=4",)),
    Polymorphic("dynamic slices", _dynamic_slices, ("b", ":int"), constraints=("b>=2",)),
    Polymorphic("branches", _branches, ("b",)),
    Polymorphic("vmap and grad inside", jax.vmap(jax.grad(lambda r: (jnp.sin(r) * r).sum())), ("b,c",), ({"b": 2, "c": 3}, {"b": 4, "c": 1})),
    Polymorphic("top k and sort", lambda x: (lax.top_k(x, x.shape[0] - 1)[0], jnp.sort(x)), ("b",), constraints=("b>=2",)),
    Polymorphic("matrices", lambda x: jnp.linalg.cholesky(jnp.einsum("bij,bkj->bik", x, x) + jnp.eye(3)), ("b,3,3",)),
    Polymorphic("a square system", lambda a, y: jnp.linalg.solve(a @ a.T + jnp.eye(a.shape[0]), y), ("n,n", "n"), ({"n": 2}, {"n": 4})),
    Polymorphic("numbers", lambda x: jnp.arange(x.shape[0]) * x + jnp.linspace(0.0, 1.0, x.shape[0]), ("b",), constraints=("b>=2",)),
    Polymorphic("random bits", lambda x: x * jax.random.uniform(jax.random.key(0), x.shape), ("b",)),
    Polymorphic(
        "minimum of extents", lambda x, y: x[: jax.core.min_dim(x.shape[0], y.shape[0])].sum() * y.sum(), ("b", "c"), ({"b": 3, "c": 2}, {"b": 2, "c": 5})
    ),
    Polymorphic("repetition", lambda x: jnp.tile(x, (2, 3)).reshape(-1, x.shape[0]).sum(0), ("b",)),
]

"""A typical program of a library of JAX's: what is compared with JAX, and at which arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Made = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments: the first is a tree of numbers that derivatives are taken by, the others are constants of any dtype."""


@dataclass(frozen=True)
class Program:
    """A program of a library.

    Attributes:
        library: what it is a program of, by its name in Python.
        name: what it computes, in a few words.
        make: makes function and arguments in JAX's precision of the moment; raises ImportError where a library is missing.
        second: whether second derivatives are usual for it, so that they are compared too.
        forward_only: whether JAX itself has no reverse mode of it.
        reverse_only: whether JAX itself has no forward mode of it.
        undifferentiable: whether the library refuses every derivative, so that values alone are compared.
        by_values: whether it looks for a minimum by the function's values. They do not change within the root of the rounding unit around the minimum, so that
            rounding decides which step is the last, and two runs agree to a few of these roots alone (Press et al., Numerical Recipes, 10.1).
        only: the only precision that JAX itself can run it in, if it cannot in both.
    """

    library: str
    name: str
    make: Callable[[], Made]
    second: bool = False
    forward_only: bool = False
    reverse_only: bool = False
    undifferentiable: bool = False
    by_values: bool = False
    only: str = ""


def floats(tree: Any) -> Any:
    """The tree with its floats in JAX's default precision of the moment."""
    import jax
    import jax.numpy as jnp

    def one(x: Any) -> Any:
        x = jnp.asarray(x)
        return x.astype(jnp.result_type(float)) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(one, tree)


def noise(seed: int, *shape: int) -> Any:
    """Normal numbers in JAX's default precision of the moment, the same ones in each but for rounding."""
    import numpy as np

    return floats(np.random.default_rng(seed).normal(size=shape))

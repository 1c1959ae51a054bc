"""The tensors in a container."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from wengert.eager.containers import listed
from wengert.eager.tensor import Tensor


def parameters(tree: Any) -> list[Tensor]:
    """All tensors in nested lists, tuples, dictionaries and iterators, in order; anything else raises a TypeError."""
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, dict):
        return [p for value in cast("dict[Any, Any]", tree).values() for p in parameters(value)]
    if isinstance(tree, list | tuple):
        return [p for value in listed(tree) for p in parameters(value)]
    if isinstance(tree, Iterator):
        return [p for value in cast("Iterator[Any]", tree) for p in parameters(value)]
    raise TypeError(f"parameters are tensors in lists, tuples and dictionaries; found {type(tree).__name__}")

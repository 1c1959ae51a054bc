"""Arguments and results as trees: tuples, lists, dicts, named tuples and what is registered with optree, of arrays at the leaves.

None is a tree without leaves. A class becomes a node by ``optree.register_pytree_node`` or ``optree.dataclasses``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import optree

TreeSpec = optree.PyTreeSpec


def flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves, spec = optree.tree_flatten(tree)
    return leaves, spec


def unflatten(spec: TreeSpec, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return optree.tree_unflatten(spec, leaves)


def map_tree(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The tree of what a function gives for each leaf (and the leaves at the same places of further trees)."""
    return optree.tree_map(function, tree, *rest)


def matching_leaves(spec: TreeSpec, tree: Any) -> list[Any]:
    """The parts of a tree at the places of the structure's leaves; ValueError if it does not have that structure."""
    return list(spec.flatten_up_to(tree))


def spread(prefix: Any, tree: Any) -> list[Any]:
    """One entry of ``prefix`` for each leaf of ``tree``: what stands in a prefix holds for all leaves below. None is an entry."""
    entries = optree.tree_leaves(optree.tree_broadcast_prefix(prefix, tree, none_is_leaf=True), none_is_leaf=True)
    leaves = optree.tree_leaves(tree, none_is_leaf=True)
    return [entry for entry, leaf in zip(entries, leaves, strict=True) if leaf is not None]


def paths(tree: Any, name: str) -> list[str]:
    """The Python expression of each leaf: ``params['w'][0]``."""
    return [accessor.codify(name) for accessor in optree.tree_accessors(tree)]

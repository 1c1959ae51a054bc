"""The leaves of a value of any type: the tensors in it, in order. A tuple holds those of its elements, a token holds none."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute

from wengert.dialects.stablehlo.attributes import FutureType, TokenType

NESTED = (TupleType, TokenType, FutureType)
"""Types whose values are not one tensor, or another value of its own."""


def leaves(type: Attribute) -> tuple[Attribute, ...]:
    """The types of what a value of this type holds: itself, unless it is a tuple, a future or a token."""
    if not isinstance(type, NESTED):
        return (type,)
    if isinstance(type, TokenType):
        return ()
    return all_leaves(type.types)


def all_leaves(types: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """The types of what values of these types hold."""
    return tuple(leaf for type in types for leaf in leaves(type))


def paths(type: Attribute) -> list[str]:
    """The path of each leaf, as it is written after a name: ``[0]``, ``[1][2]``; nothing for a value that is its own leaf."""
    if not isinstance(type, NESTED):
        return [""]
    if isinstance(type, TokenType):
        return []
    return [f"[{i}]{path}" for i, part in enumerate(type.types) for path in paths(part)]

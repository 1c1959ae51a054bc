"""Lists and tuples of anything, as one gets them from users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


class ValuesAndIndices(NamedTuple):
    """Elements, and the positions along the dimension at which they were found."""

    values: Tensor
    indices: Tensor


class Followed:
    """Objects that are all state, such as modules: guards of compiled functions look at their attributes, however deep they are."""


def listed(value: Any) -> list[Any]:
    """The items of a list or a tuple, or the one thing that it is."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]


def extents(given: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape in ``f(2, 3)`` and in ``f((2, 3))``."""
    return tuple(listed(given[0])) if len(given) == 1 else given

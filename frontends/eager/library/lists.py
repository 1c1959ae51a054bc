"""Functions for each tensor of a list, as optimisers call them: ``_foreach_add_(parameters, updates)`` and the like.

``_foreach_NAME`` is the function or method ``NAME`` of each tensor of its first argument. Every other argument that is a list has one entry for each
of them; everything else is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from wengert.eager.errors import ShapeError, missing
from wengert.eager.library import functions
from wengert.eager.operations.functional import FUNCTIONS

_SCALED = ("addcmul", "addcdiv")
"""Functions whose last argument, a number, is one by name elsewhere."""


def of_list(name: str) -> Callable[..., Any]:
    """The function for each tensor of a list; those that change them in place, whose names end in ``_``, return nothing.

    Raises:
        AttributeError: there is no such function of one tensor.
    """
    from wengert.eager.tensor import Tensor

    plain = name.removesuffix("_")
    if not (plain in FUNCTIONS or plain in functions() or hasattr(Tensor, name)):
        raise missing(f"module 'wengert.eager' has no attribute '_foreach_{name}'", plain, [*FUNCTIONS, *functions()])

    def for_each(tensors: Any, *args: Any, **keywords: Any) -> list[Any] | None:
        listed = list(tensors)
        if not listed:
            raise ShapeError(f"_foreach_{name}: Tensor list must have at least one tensor.")
        if plain in _SCALED and len(args) == 3:
            args, keywords = args[:2], {**keywords, "value": args[2]}
        made = [
            getattr(x, name)(*(_entry(name, a, i, len(listed)) for a in args), **{k: _entry(name, a, i, len(listed)) for k, a in keywords.items()})
            for i, x in enumerate(listed)
        ]
        return None if name.endswith("_") else made

    for_each.__name__ = f"_foreach_{name}"
    return for_each


def _entry(name: str, argument: Any, number: int, count: int) -> Any:
    """What an argument is for one of the tensors."""
    if not isinstance(argument, list | tuple):
        return argument
    entries = cast("list[Any]", argument)
    if len(entries) != count:
        raise ShapeError(f"_foreach_{name}: Tensor lists must have the same number of tensors, got {count} and {len(entries)}")
    return entries[number]

"""Updates at the places of a traced mask, ``x.at[x < 0].set(0)``: elements of static shape, of which a selection keeps the new or the old.

How many places a mask names is not known, so what they get cannot have one element for each; it has the shape of one place (a number,
or what follows the mask's dimensions) or an extent of 1 where NumPy would have their number.
"""

from __future__ import annotations

from typing import Any

from wengert.dialects import core
from wengert.frontends.tracing.errors import type_error, value_error
from wengert.frontends.tracing.operands import convert, shape_of, traced, value_of
from wengert.frontends.tracing.tracer import TracedArray
from wengert.numpy.comparisons import where
from wengert.numpy.dispatch import Array, ArrayLike
from wengert.numpy.elementwise import add, maximum, minimum, multiply
from wengert.numpy.manipulation import reshape


def _replaced(old: Any, new: Any) -> Any:
    return new


_COMBINED: dict[core.Kind, Any] = {
    core.Kind.set: _replaced,
    core.Kind.add: add,
    core.Kind.mul: multiply,
    core.Kind.min: minimum,
    core.Kind.max: maximum,
}
"""What an element becomes of what it was and what is given."""


def _is_mask(k: Any) -> bool:
    return isinstance(k, TracedArray) and k.dtype.kind == "b"


def has_traced_mask(key: Any) -> bool:
    """Whether a subscript has a traced mask in it."""
    return any(_is_mask(k) for k in (key if isinstance(key, tuple) else (key,)))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def masked_update(x: TracedArray, key: Any, y: ArrayLike, kind: core.Kind) -> Array:
    """``x`` with the elements at the places of a traced mask replaced by (or combined with) ``y``.

    Raises:
        TracedTypeError: beside the mask there is an index that is no slice and no single integer, or a second mask.
        TracedValueError: the mask does not have the shape of the dimensions that it stands for; ``y`` has an element for each place.
    """
    keys: list[Any] = list(key) if isinstance(key, tuple) else [key]  # pyright: ignore[reportUnknownArgumentType]
    at = next(i for i, k in enumerate(keys) if _is_mask(k))
    mask: TracedArray = keys[at]
    if any(not (k is None or k is Ellipsis or isinstance(k, slice) or (hasattr(k, "__index__") and shape_of(k) == ())) for i, k in enumerate(keys) if i != at):
        raise type_error(
            "beside a traced mask an index can only be a slice, an ellipsis, None or an integer", "write wengert.numpy.where(mask, y, x) for the whole array"
        )
    whole = (*keys[:at], *[slice(None)] * mask.ndim, *keys[at + 1 :])
    region = x.at[whole].get()
    first = _dimension_of_mask(x, keys, at)
    _check_mask(mask, region.shape[first : first + mask.ndim])
    place = first if _stand_together(keys) else 0
    new = _COMBINED[kind](region, _spread(y, x, region, first, mask.ndim, place))
    chosen = reshape(mask, (*mask.shape, *(1,) * (region.ndim - first - mask.ndim)))
    return x.at[whole].set(where(chosen, traced(convert(value_of(new), x.dtype)), region))


def _stand_together(keys: list[Any]) -> bool:
    """Whether mask and integers stand side by side; if not, NumPy puts their common dimension first."""
    places = [i for i, k in enumerate(keys) if not (k is None or k is Ellipsis or isinstance(k, slice))]
    return places == list(range(places[0], places[-1] + 1))


def _dimension_of_mask(x: TracedArray, keys: list[Any], at: int) -> int:
    """The dimension of the region at which those of the mask begin: each key before it leaves one, integers none, an ellipsis what is left."""
    taken = sum(k.ndim if _is_mask(k) else 0 if k is None or k is Ellipsis else 1 for k in keys)
    first = 0
    for k in keys[:at]:
        first += x.ndim - taken if k is Ellipsis else 1 if k is None or isinstance(k, slice) else 0
    return first


def _check_mask(mask: TracedArray, extents: tuple[int, ...]) -> None:
    if mask.shape != extents:
        raise value_error(f"a mask of shape {mask.shape} cannot choose among elements of shape {extents}")


def _spread(y: ArrayLike, x: TracedArray, region: Any, first: int, count: int, place: int) -> Array:
    """``y``, whose dimension for all chosen places (at ``place``) has extent 1 or is missing, with a dimension of extent 1 for each of the mask's."""
    own = shape_of(y)
    padded = (1,) * (region.ndim - count + 1 - len(own)) + tuple(own)
    if len(padded) <= place or padded[place] != 1:
        raise value_error(
            f"how many places a traced mask names is not known, so they cannot get an array of shape {own}",
            "give one number (or one element for each place of the whole array: wengert.numpy.where(mask, y, x))",
        )
    kept = padded[:place] + padded[place + 1 :]
    return reshape(traced(value_of(y, x.dtype)), (*kept[:first], *(1,) * count, *kept[first:]))

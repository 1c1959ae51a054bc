"""Writing where a mask holds. What is read where a mask holds has a shape that depends on the mask, and is refused (``indexing.py``)."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.ordering import taken
from wengert.frontends.aten.result_types.rules import same
from wengert.ir.tensor_types import element, i1, i64, rank, shape, size


def written_where(b: AtenBuilder, x: Value, mask: Value, first: int, values: Value, accumulate: bool) -> Value | None:
    """x with ``x[:, .., mask]`` replaced by (or increased by) values, the mask over dimensions from ``first`` on; None where there is one
    value for each place at which the mask holds, as how many those are depends on the mask."""
    count, behind = rank(mask), rank(x) - first - rank(mask)
    given = shape(values)
    if len(given) > behind:
        chosen = len(given) - behind - 1  # the dimension of places
        if given[chosen] != 1:
            return None
        values = b.reshape(values, [*given[:chosen], *[1] * count, *given[chosen + 1 :]])
    holds = b.broadcast_in_dim(mask, range(first, first + count), shape(x))
    new = b.expanded(b.convert(values, element(x)), shape(x))
    return b.select(holds, b.add(x, new) if accumulate else new, x)


@means("masked_fill.Scalar(self, mask, value)", "masked_fill.Tensor(self, mask, value)", results=same)
def masked_fill(b: AtenBuilder, x: Value, mask: Value, value: Value | Number) -> Value:
    """A number where the mask holds."""
    return b.select(b.fitted(mask, i1), b.fitted(value), b.fitted(x))


@means("masked_scatter.default(self, mask, source)", results=same)
def masked_scatter(b: AtenBuilder, x: Value, mask: Value, source: Value) -> Value:
    """x with the elements where the mask holds replaced by the first ones of the source, in order."""
    from wengert.dialects import core

    x, mask = b.fitted(x), b.fitted(mask, i1)
    if not size(x) or not size(source):
        return x
    places = b.reshape(b.convert(mask, i64), [size(mask)])
    places = b.subtract(b.cumulative(core.Kind.add, places, 0), b.full_like(places, 1))
    places = b.clamp(b.full_like(places, 0), places, b.full_like(places, size(source) - 1))
    new = b.reshape(taken(b, b.reshape(source, [size(source)]), places, 0), shape(x))
    return b.select(mask, new, x)


def only_mask(indices: Sequence[Value | None]) -> tuple[int, Value] | None:
    """The mask and its first dimension where indices are one mask and nothing else."""
    present = [(d, index) for d, index in enumerate(indices) if index is not None]
    return present[0] if len(present) == 1 and element(present[0][1]) == i1 else None

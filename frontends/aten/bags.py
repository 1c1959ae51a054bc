"""Sums, means and maxima of rows of a table, of which each bag names some (``embedding_bag``).

The bags lie one after another in one list of positions; bag i begins at ``offsets[i]``. Beginnings are values, so which bag a position belongs to is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.indexing import index, rows_at, scattered, with_scaled_gradient
from wengert.frontends.aten.meanings import means
from wengert.ir.tensor_types import element, i64, shape, tensor

_SUM, _MEAN, _MAX = range(3)


def bagged(given: Mapping[str, Any]) -> tuple[TensorType[Any], ...]:
    """A row for each bag, the bag of each position, the sizes of the bags, and positions of maxima."""
    weight, positions, offsets = given["weight"], given["indices"], given["offsets"]
    bags = shape(offsets)[0] - bool(given["include_last_offset"])
    whole = element(positions)
    most = tensor((bags, shape(weight)[1]) if given["mode"] == _MAX else (bags,), whole)
    return tensor((bags, shape(weight)[1]), element(weight)), tensor(shape(positions), whole), tensor(shape(offsets), whole), most


@means(
    "_embedding_bag.default(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, "
    "include_last_offset=False, padding_idx=-1)",
    "_embedding_bag_forward_only.default(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, "
    "include_last_offset=False, padding_idx=-1)",
    results=bagged,
)
def embedding_bag(
    b: AtenBuilder,
    weight: Value,
    positions: Value,
    offsets: Value,
    scale_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    scales: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Value, None, None, None]:
    """weight: [n, e], indices: [m], offsets: [k] -> [k, e]. Positions of the row for padding do not count, in means either; an empty bag is 0."""
    count, bags = shape(positions)[0], b.extents[0]
    if not count or not bags:
        return b.full(0, b.type), None, None, None
    positions = b.convert(positions, i64)
    rows = rows_at(b, weight, positions)
    if scale_by_freq:
        rows = with_scaled_gradient(b, rows, positions, shape(weight)[0])
    if scales is not None:
        rows = b.multiply(rows, b.along(rows, scales, [1]))
    owners = _owners(b, b.convert(offsets, i64), count, bags)
    counts = b.compare("NE", positions, b.full_like(positions, padding_idx if padding_idx >= 0 else -1))
    owners = b.select(counts, owners, b.full_like(owners, bags))  # what does not count goes to a bag of its own
    blank = b.full(0, tensor((bags + 1, b.extents[1]), element(rows)))
    if mode == _MAX:
        return _largest(b, rows, owners, blank), None, None, None
    total = _without_last(b, scattered(b, core.Kind.add, blank, 0, b.along(rows, owners, [1]), rows))
    if mode == _MEAN:
        ones = b.full(1, tensor((count,), element(rows)))
        sizes = _without_last(b, scattered(b, core.Kind.add, b.full(0, tensor((bags + 1,), element(rows))), 0, owners, ones))
        total = b.divide(total, b.along(total, b.maximum(sizes, b.full_like(sizes, 1)), [1]))
    return total, None, None, None


def _owners(b: AtenBuilder, offsets: Value, count: int, bags: int) -> Value:
    """The bag of each position: how many bags begin at it or before, less one."""
    extents = (count, bags)
    begun = b.compare("GE", b.iota(0, tensor(extents, i64)), b.broadcast_in_dim(b.slice(offsets, [0], [bags]), [1], extents))
    number = b.reduce_sum(b.convert(begun, i64), [1])
    return b.subtract(number, b.full_like(number, 1))


def _without_last(b: AtenBuilder, x: Value) -> Value:
    return b.slice(x, [0] * len(shape(x)), [shape(x)[0] - 1, *shape(x)[1:]])


def _largest(b: AtenBuilder, rows: Value, owners: Value, blank: Value) -> Value:
    """The largest element of each column in each bag, the first of equal ones; 0 for an empty bag."""
    count, width = shape(rows)
    into, known = b.along(rows, owners, [1]), b.stopped(rows)
    highest = scattered(b, core.Kind.max, b.full_like(blank, float("-inf")), 0, into, known)
    own = b.compare("EQ", known, index(b, highest, [owners]))
    place = b.iota(0, tensor((count, width), i64))
    first = scattered(b, core.Kind.min, b.full(count, tensor(shape(blank), i64)), 0, into, b.select(own, place, b.full_like(place, count)))
    first = _without_last(b, first)
    columns = b.iota(1, tensor(shape(first), i64))
    nothing = b.compare("EQ", first, b.full_like(first, count))
    read = index(b, rows, [b.select(nothing, b.full_like(first, 0), first), columns])
    return b.select(nothing, b.full_like(read, 0), read)

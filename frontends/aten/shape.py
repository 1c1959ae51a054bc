"""Ops that move elements without computing: views, slices, concatenation; and tensors made of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects.builder import Value
from wengert.frontends.aten.axes import axis
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.rules import same
from wengert.frontends.aten.result_types.shapes import joined, padded, repeated, stacked
from wengert.frontends.aten.result_types.views import (
    counted_up,
    exchanged,
    expanded,
    made,
    permuted,
    pieces,
    positions_of,
    sliced,
    square,
    squeezed,
    unsqueezed,
    viewed,
    without,
)
from wengert.frontends.aten.result_types.views import diagonal as diagonal_of
from wengert.ir.tensor_types import element, i64, shape, tensor

# -- views


@means(
    "view.default(self, size)",
    "_unsafe_view.default(self, size)",
    "reshape.default(self, shape)",
    "view_copy.default(self, size)",
    results=viewed,
)
@means("squeeze.default(self)", "squeeze.dim(self, dim)", "squeeze.dims(self, dim)", results=squeezed)
@means("unsqueeze.default(self, dim)", results=unsqueezed)
def reshaped(b: AtenBuilder, x: Value, *_: Any) -> Value:
    """The same elements in the result's shape."""
    return b.reshape(x, b.extents)


@means("permute.default(self, dims)", results=permuted)
def permute(b: AtenBuilder, x: Value, dims: Sequence[int]) -> Value:
    """Dimensions in another order."""
    return b.transpose(x, [axis(d, len(dims)) for d in dims])


@means("transpose.int(self, dim0, dim1)", results=exchanged)
def transpose(b: AtenBuilder, x: Value, first: int, second: int) -> Value:
    """Two dimensions exchanged."""
    order = list(range(len(shape(x))))
    if order:
        i, j = axis(first, len(order)), axis(second, len(order))
        order[i], order[j] = j, i
    return b.transpose(x, order)


@means("t.default(self)", results=exchanged)
def t(b: AtenBuilder, x: Value) -> Value:
    """A matrix transposed."""
    return b.transpose(x, list(reversed(range(len(shape(x))))))


@means("expand.default(self, size)", results=expanded)
def expand(b: AtenBuilder, x: Value, extents: Sequence[int], implicit: bool = False) -> Value:
    """Repeated to the result's shape."""
    return b.expanded(x, b.extents)


@means("repeat.default(self, repeats)", results=repeated)
def repeat(b: AtenBuilder, x: Value, times: Sequence[int]) -> Value:
    """Tiles of x."""
    extents = (1,) * (len(times) - len(shape(x))) + shape(x)
    split = [n for pair in zip(times, extents, strict=True) for n in pair]
    kept = [2 * d + 1 for d in range(len(times))]
    return b.reshape(b.broadcast_in_dim(b.reshape(x, extents), kept, split), b.extents)


@means("flip.default(self, dims)", results=same)
def flip(b: AtenBuilder, x: Value, dims: Sequence[int]) -> Value:
    """Dimensions reversed."""
    return b.reverse(x, [axis(d, len(shape(x))) for d in dims]) if dims and shape(x) else x


@means("diagonal.default(self, offset=0, dim1=0, dim2=1)", results=diagonal_of)
def diagonal(b: AtenBuilder, x: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    """The elements x[..., i, i + offset, ...], along a new last dimension."""
    rank = len(shape(x))
    first, second = axis(first, rank), axis(second, rank)
    count = b.extents[-1]
    other = [d for d in range(rank) if d not in (first, second)]
    turned = b.transpose(x, [*other, first, second])
    *outer, rows, columns = shape(turned)
    # Rows of one element more than there are columns put the diagonal into one column.
    start = max(-offset, 0) * columns + max(offset, 0)
    flat = b.reshape(turned, [*outer, rows * columns])
    stop = min(start + count * (columns + 1), rows * columns) if count else start
    return b.slice(flat, [*[0] * len(outer), start], [*outer, stop], [*[1] * len(outer), columns + 1])


# -- parts


def bounds(start: int | None, end: int | None, extent: int) -> tuple[int, int]:
    """The bounds of a slice by PyTorch's rule: negative ones count from the end, and all are cut to the extent."""
    low, high, _ = slice(start, end).indices(extent)
    return low, max(low, high)


def part(b: AtenBuilder, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
    """x[start:end:step] along one dimension; bounds are within it."""
    extents = shape(x)
    low, high, steps = [0] * len(extents), list(extents), [1] * len(extents)
    low[dim], high[dim], steps[dim] = start, end, step
    return b.slice(x, low, high, steps) if (low[dim], high[dim], step) != (0, extents[dim], 1) else x


@means("slice.Tensor(self, dim=0, start=None, end=None, step=1)", results=sliced)
def slice_(b: AtenBuilder, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    """Every step-th element between two bounds."""
    dim = axis(dim, len(shape(x)))
    return part(b, x, dim, *bounds(start, end, shape(x)[dim]), step)


@means("select.int(self, dim, index)", results=without)
def select(b: AtenBuilder, x: Value, dim: int, index: int) -> Value:
    """One position of a dimension, which disappears."""
    dim = axis(dim, len(shape(x)))
    at = axis(index, shape(x)[dim])
    return b.reshape(part(b, x, dim, at, at + 1), b.extents)


@means("split_with_sizes.default(self, split_sizes, dim=0)", results=pieces)
def split_with_sizes(b: AtenBuilder, x: Value, sizes: Sequence[int], dim: int = 0) -> tuple[Value, ...]:
    """Parts of these extents."""
    dim = axis(dim, len(shape(x)))
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(part(b, x, dim, end - n, end) for end, n in zip(ends, sizes, strict=True))


@means("split.Tensor(self, split_size, dim=0)", results=pieces)
def split(b: AtenBuilder, x: Value, size: int, dim: int = 0) -> tuple[Value, ...]:
    """Parts of this extent, the last one perhaps smaller."""
    extent = shape(x)[axis(dim, len(shape(x)))]
    return split_with_sizes(b, x, [min(size, extent - start) for start in range(0, extent, size)] or [0], dim)


@means("unbind.int(self, dim=0)", results=positions_of)
def unbind(b: AtenBuilder, x: Value, dim: int = 0) -> tuple[Value, ...]:
    """All positions of a dimension."""
    dim = axis(dim, len(shape(x)))
    return tuple(b.reshape(part(b, x, dim, i, i + 1), b.extents) for i in range(shape(x)[dim]))


@means("cat.default(tensors, dim=0)", results=joined)
def cat(b: AtenBuilder, parts: Sequence[Value], dim: int = 0) -> Value:
    """Joined along a dimension. An empty row joins with anything, by an old rule of PyTorch."""
    converted = [b.convert(x, b.element_type) for x in parts if shape(x) != (0,) or len(b.extents) == 1]
    return b.concatenate(converted, axis(dim, len(b.extents)))


@means("stack.default(tensors, dim=0)", results=stacked)
def stack(b: AtenBuilder, parts: Sequence[Value], dim: int = 0) -> Value:
    """Joined along a new dimension."""
    dim = axis(dim, len(b.extents))
    wide = [n if d != dim else 1 for d, n in enumerate(b.extents)]
    return b.concatenate([b.reshape(b.convert(x, b.element_type), wide) for x in parts], dim)


@means("constant_pad_nd.default(self, pad, value=0)", results=padded)
def constant_pad(b: AtenBuilder, x: Value, pad: Sequence[int], value: Number = 0) -> Value:
    """A border of a number; pairs of widths begin with the last dimension, and negative ones cut."""
    rank = len(shape(x))
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return b.pad(x, b.scalar(value, element(x)), low, high)


# -- numbers


@means("full.default(size, fill_value, *, dtype=None)", "scalar_tensor.default(s, *, dtype=None)", results=made)
def full(b: AtenBuilder, first: Any, value: Any = None, **_: Any) -> Value:
    """A number everywhere; ``scalar_tensor`` has it as its only argument."""
    return b.full(first if value is None else value, b.type)


@means("full_like.default(self, fill_value, *, dtype=None)", "new_full.default(self, size, fill_value, *, dtype=None)", results=made)
def full_like(b: AtenBuilder, x: Value, *rest: Any, **_: Any) -> Value:
    """A number in the result's shape."""
    return b.full(rest[-1], b.type)


@means(
    "zeros.default(size, *, dtype=None)",
    "zeros_like.default(self, *, dtype=None)",
    "new_zeros.default(self, size, *, dtype=None)",
    "empty.memory_format(size, *, dtype=None)",
    "empty_like.default(self, *, dtype=None)",
    "new_empty.default(self, size, *, dtype=None)",
    "empty_strided.default(size, stride, *, dtype=None)",
    "empty_permuted.default(size, physical_layout, *, dtype=None)",
    "new_empty_strided.default(self, size, stride, *, dtype=None)",
    results=made,
)
def zeros(b: AtenBuilder, *_: Any, **__: Any) -> Value:
    """Zeros; what PyTorch leaves undefined is zero too, in whatever order it would lie in memory."""
    return b.zeros(b.type)


@means("ones.default(size, *, dtype=None)", "ones_like.default(self, *, dtype=None)", "new_ones.default(self, size, *, dtype=None)", results=made)
def ones(b: AtenBuilder, *_: Any, **__: Any) -> Value:
    """Ones."""
    return b.full(1, b.type)


@means("arange.start_step(start, end, step=1, *, dtype=None)", results=counted_up)
def arange(b: AtenBuilder, start: Number, end: Number, step: Number = 1, **_: Any) -> Value:
    """start + i step."""
    count = b.iota(0, b.type)
    scaled = count if step == 1 else b.multiply(count, b.full(step, b.type))
    return scaled if start == 0 else b.add(scaled, b.full(start, b.type))


@means("eye.default(n, *, dtype=None)", "eye.m(n, m, *, dtype=None)", results=square)
def eye(b: AtenBuilder, *_: Any, **__: Any) -> Value:
    """The identity matrix."""
    positions = tensor(b.extents, i64)
    return b.convert(b.compare("EQ", b.iota(0, positions), b.iota(1, positions)), b.element_type)

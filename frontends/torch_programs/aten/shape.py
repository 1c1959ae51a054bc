"""Ops that move elements without computing: views, slices, concatenation; and tensors made of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects.builder import Value
from wengert.frontends.torch_programs.translation import Number, TorchBuilder, axis, translates
from wengert.ir.tensor_types import element, i64, shape, tensor

# -- views


@translates(
    "view.default", "_unsafe_view.default", "reshape.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default", "view_copy.default"
)
def reshaped(b: TorchBuilder, x: Value, *_: Any) -> Value:
    """The same elements in the result's shape."""
    return b.reshape(x, b.extents)


@translates("permute.default")
def permute(b: TorchBuilder, x: Value, dims: Sequence[int]) -> Value:
    """Dimensions in another order."""
    return b.transpose(x, [axis(d, len(dims)) for d in dims])


@translates("transpose.int")
def transpose(b: TorchBuilder, x: Value, first: int, second: int) -> Value:
    """Two dimensions exchanged."""
    order = list(range(len(shape(x))))
    if order:
        i, j = axis(first, len(order)), axis(second, len(order))
        order[i], order[j] = j, i
    return b.transpose(x, order)


@translates("t.default")
def t(b: TorchBuilder, x: Value) -> Value:
    """A matrix transposed."""
    return b.transpose(x, list(reversed(range(len(shape(x))))))


@translates("expand.default")
def expand(b: TorchBuilder, x: Value, extents: Sequence[int], implicit: bool = False) -> Value:
    """Repeated to the result's shape."""
    return b.expanded(x, b.extents)


@translates("repeat.default")
def repeat(b: TorchBuilder, x: Value, times: Sequence[int]) -> Value:
    """Tiles of x."""
    extents = (1,) * (len(times) - len(shape(x))) + shape(x)
    split = [n for pair in zip(times, extents, strict=True) for n in pair]
    kept = [2 * d + 1 for d in range(len(times))]
    return b.reshape(b.broadcast_in_dim(b.reshape(x, extents), kept, split), b.extents)


@translates("flip.default")
def flip(b: TorchBuilder, x: Value, dims: Sequence[int]) -> Value:
    """Dimensions reversed."""
    return b.reverse(x, [axis(d, len(shape(x))) for d in dims]) if dims and shape(x) else x


@translates("diagonal.default")
def diagonal(b: TorchBuilder, x: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
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


def part(b: TorchBuilder, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
    """x[start:end:step] along one dimension; bounds are within it."""
    extents = shape(x)
    low, high, steps = [0] * len(extents), list(extents), [1] * len(extents)
    low[dim], high[dim], steps[dim] = start, end, step
    return b.slice(x, low, high, steps) if (low[dim], high[dim], step) != (0, extents[dim], 1) else x


@translates("slice.Tensor")
def slice_(b: TorchBuilder, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    """Every step-th element between two bounds."""
    dim = axis(dim, len(shape(x)))
    return part(b, x, dim, *bounds(start, end, shape(x)[dim]), step)


@translates("select.int")
def select(b: TorchBuilder, x: Value, dim: int, index: int) -> Value:
    """One position of a dimension, which disappears."""
    dim = axis(dim, len(shape(x)))
    at = axis(index, shape(x)[dim])
    return b.reshape(part(b, x, dim, at, at + 1), b.extents)


@translates("split_with_sizes.default")
def split_with_sizes(b: TorchBuilder, x: Value, sizes: Sequence[int], dim: int = 0) -> tuple[Value, ...]:
    """Parts of these extents."""
    dim = axis(dim, len(shape(x)))
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(part(b, x, dim, end - n, end) for end, n in zip(ends, sizes, strict=True))


@translates("split.Tensor")
def split(b: TorchBuilder, x: Value, size: int, dim: int = 0) -> tuple[Value, ...]:
    """Parts of this extent, the last one perhaps smaller."""
    extent = shape(x)[axis(dim, len(shape(x)))]
    return split_with_sizes(b, x, [min(size, extent - start) for start in range(0, extent, size)] or [0], dim)


@translates("unbind.int")
def unbind(b: TorchBuilder, x: Value, dim: int = 0) -> tuple[Value, ...]:
    """All positions of a dimension."""
    dim = axis(dim, len(shape(x)))
    return tuple(b.reshape(part(b, x, dim, i, i + 1), b.extents) for i in range(shape(x)[dim]))


@translates("cat.default")
def cat(b: TorchBuilder, parts: Sequence[Value], dim: int = 0) -> Value:
    """Joined along a dimension. An empty row joins with anything, by an old rule of PyTorch."""
    converted = [b.convert(x, b.element_type) for x in parts if shape(x) != (0,) or len(b.extents) == 1]
    return b.concatenate(converted, axis(dim, len(b.extents)))


@translates("stack.default")
def stack(b: TorchBuilder, parts: Sequence[Value], dim: int = 0) -> Value:
    """Joined along a new dimension."""
    dim = axis(dim, len(b.extents))
    wide = [n if d != dim else 1 for d, n in enumerate(b.extents)]
    return b.concatenate([b.reshape(b.convert(x, b.element_type), wide) for x in parts], dim)


@translates("constant_pad_nd.default")
def constant_pad(b: TorchBuilder, x: Value, pad: Sequence[int], value: Number = 0) -> Value:
    """A border of a number; pairs of widths begin with the last dimension, and negative ones cut."""
    rank = len(shape(x))
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return b.pad(x, b.scalar(value, element(x)), low, high)


# -- numbers


@translates("full.default", "scalar_tensor.default")
def full(b: TorchBuilder, first: Any, value: Any = None, **_: Any) -> Value:
    """A number everywhere; ``scalar_tensor`` has it as its only argument."""
    return b.full(first if value is None else value, b.type)


@translates("full_like.default", "new_full.default")
def full_like(b: TorchBuilder, x: Value, *rest: Any, **_: Any) -> Value:
    """A number in the result's shape."""
    return b.full(rest[-1], b.type)


@translates("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default", "new_empty.default")
def zeros(b: TorchBuilder, *_: Any, **__: Any) -> Value:
    """Zeros; what PyTorch leaves undefined is zero too."""
    return b.zeros(b.type)


@translates("ones.default", "ones_like.default", "new_ones.default")
def ones(b: TorchBuilder, *_: Any, **__: Any) -> Value:
    """Ones."""
    return b.full(1, b.type)


@translates("arange.start_step")
def arange(b: TorchBuilder, start: Number, end: Number, step: Number = 1, **_: Any) -> Value:
    """start + i step."""
    count = b.iota(0, b.type)
    scaled = count if step == 1 else b.multiply(count, b.full(step, b.type))
    return scaled if start == 0 else b.add(scaled, b.full(start, b.type))


@translates("eye.default", "eye.m")
def eye(b: TorchBuilder, *_: Any, **__: Any) -> Value:
    """The identity matrix."""
    positions = tensor(b.extents, i64)
    return b.convert(b.compare("EQ", b.iota(0, positions), b.iota(1, positions)), b.element_type)

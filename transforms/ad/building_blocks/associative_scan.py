"""The inclusive scan of an associative function, as JAX's ``associative_scan`` (Blelloch 1990, section 1.4).

Neighbours are combined in pairs; the scan of the pairs is the result at odd positions; one more combination
gives each result at even positions::

    pairs = f(x[0::2], x[1::2])          odd = scan(pairs)
    even = x[0], f(odd[i - 1], x[2 i])   scan(x) = even and odd, interleaved

So n elements take fewer than 2 n combinations on 2 log2(n) levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import rank, shape

Values = Sequence[Value]


def associative_scan(b: OpBuilder, combine: Callable[[Values, Values], Values], parts: Values) -> Values:
    """The inclusive scan of a tuple of tensors of one shape, along their first dimension."""
    n = shape(parts[0])[0]
    if n < 2:
        return parts
    pairs = combine([along(b, x, 0, 0, n // 2, 2) for x in parts], [along(b, x, 0, 1, n // 2, 2) for x in parts])
    odd = associative_scan(b, combine, pairs)
    even: Values = [along(b, x, 0, 0, 1) for x in parts]
    if rest := (n - 1) // 2:
        later = combine([along(b, x, 0, 0, rest) for x in odd], [along(b, x, 0, 2, rest, 2) for x in parts])
        even = [b.concatenate([x, y], 0) for x, y in zip(even, later, strict=True)]
    return [interleaved(b, x, y) for x, y in zip(even, odd, strict=True)]


class Direction(Struct, frozen=True):
    """The dimension of a scan, and whether it starts at the end.

    Scans run over tensors with this dimension in front: neighbours along it are then rows, which are combined as vectors.
    """

    dim: int
    backward: bool

    def forward(self, b: OpBuilder, x: Value) -> Value:
        """Moves the dimension to the front, reversed if the scan starts at its end."""
        x = b.transpose(x, [self.dim, *(d for d in range(rank(x)) if d != self.dim)])
        return b.reverse(x, [0]) if self.backward else x

    def restored(self, b: OpBuilder, x: Value) -> Value:
        """The inverse of ``forward``."""
        x = b.reverse(x, [0]) if self.backward else x
        return b.transpose(x, [*range(1, self.dim + 1), 0, *range(self.dim + 1, rank(x))])


def along(b: OpBuilder, x: Value, dim: int, start: int, count: int, stride: int = 1) -> Value:
    """``count`` elements along one dimension, every ``stride``-th from ``start``."""
    starts, limits, strides = [0] * rank(x), list(shape(x)), [1] * rank(x)
    starts[dim], limits[dim], strides[dim] = start, start + (count - 1) * stride + 1, stride
    return b.slice(x, starts, limits, strides)


def interleaved(b: OpBuilder, even: Value, odd: Value) -> Value:
    """Interleaves the rows of two tensors; the first may have one more."""
    count, *row = shape(odd)
    both = b.concatenate([b.reshape(along(b, even, 0, 0, count), [count, 1, *row]), b.reshape(odd, [count, 1, *row])], 1)
    both = b.reshape(both, [2 * count, *row])
    return both if shape(even)[0] == count else b.concatenate([both, along(b, even, 0, count, 1)], 0)

"""A scatter seen as rows: index vectors each of which says to which row of a matrix a row of updates goes.

That is how it is where windows cannot overlap in part: along each dimension of the operand, a window is one element, or all of them::

    operand     [rows, columns]      after the scattered dimensions are moved to the front
    updates     [n, columns]
    positions   [n]                  a number of a row, or the number of rows for a window that does not lie inside and is dropped
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import element, i1, i32, is_unsigned, largest_integer, rank, shape, size, tensor


class Rows(Struct, frozen=True):
    """The dimensions of a scatter by rows.

    Attributes:
        scattered: the operand's dimensions along which windows have one element; the others are whole.
        sizes: of windows, along each of the operand's dimensions.
        order: of the updates' dimensions, those over index vectors first.
        count: of index vectors.
    """

    op: core.ScatterOp
    scattered: tuple[int, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    count: int

    @staticmethod
    def of(op: core.ScatterOp) -> Rows | None:
        """The rows of a scatter; None if windows may overlap in part, or if there is nothing to scatter."""
        numbers, extents, updates = op.scatter_dimension_numbers, shape(op.operand), shape(op.updates)
        assert isinstance(numbers, ScatterDimensionNumbersAttr)
        windows, fixed = numbers.dims("update_window_dims"), {*numbers.dims("inserted_window_dims"), *numbers.dims("input_batching_dims")}
        if size(op.operand) == 0 or size(op.updates) == 0:
            return None
        sizes = [1] * len(extents)
        kept = [d for d in range(len(extents)) if d not in fixed]
        for d, window in zip(kept, windows, strict=True):
            sizes[d] = updates[window]
        scattered = [d for d, (n, width) in enumerate(zip(extents, sizes, strict=True)) if width == 1 and (d in fixed or n > 1)]
        if any(width != n for d, (n, width) in enumerate(zip(extents, sizes, strict=True)) if d not in scattered):
            return None
        outer = [d for d in range(len(updates)) if d not in windows]
        return Rows(op, tuple(scattered), tuple(sizes), (*outer, *windows), prod(updates[d] for d in outer))

    @property
    def columns(self) -> int:
        """The elements of a window."""
        return size(self.op.updates) // self.count

    @property
    def rows(self) -> int:
        """The rows of the operand."""
        return size(self.op.operand) // self.columns

    @property
    def _front(self) -> list[int]:
        return [*self.scattered, *[d for d in range(rank(self.op.operand)) if d not in self.scattered]]

    def operand(self, b: OpBuilder) -> Value:
        """The operand as a matrix."""
        return b.reshape(b.transpose(self.op.operand, self._front), [self.rows, self.columns])

    def updates(self, b: OpBuilder) -> Value:
        """The updates as a matrix."""
        return b.reshape(b.transpose(self.op.updates, self.order), [self.count, self.columns])

    def restored(self, b: OpBuilder, x: Value) -> Value:
        """A matrix in the shape of the operand."""
        front = self._front
        moved = b.reshape(x, [shape(self.op.operand)[d] for d in front])
        return b.transpose(moved, [front.index(d) for d in range(len(front))])

    def positions(self, b: OpBuilder) -> Value:
        """The number of the row that each index vector means, ``i32``."""
        numbers, extents = self.op.scatter_dimension_numbers, shape(self.op.operand)
        assert isinstance(numbers, ScatterDimensionNumbersAttr)
        vectors = [self._component(b, k) for k in range(len(numbers.dims("scatter_dims_to_operand_dims")))]
        inside, starts = b.full(True, tensor([self.count], i1)), dict[int, Value]()
        for d, start in zip(numbers.dims("scatter_dims_to_operand_dims"), vectors, strict=True):
            inside = b.and_(inside, _is_within(b, start, extents[d] - self.sizes[d]))
            starts[d] = b.convert(start, i32)
        batch = [extent for d, extent in enumerate(shape(self.op.scatter_indices)) if d != int_of(numbers.index_vector_dim)]
        vector_dim = int_of(numbers.index_vector_dim)
        for d, source in zip(numbers.dims("input_batching_dims"), numbers.dims("scatter_indices_batching_dims"), strict=True):
            starts[d] = b.reshape(b.iota(source - (source > vector_dim), tensor(batch, i32)), [self.count])
        total = b.full(0, tensor([self.count], i32))
        for d in self.scattered:
            total = b.multiply(total, b.full_like(total, extents[d]))
            total = b.add(total, starts[d]) if d in starts else total
        return b.select(inside, total, b.full_like(total, self.rows))

    def _component(self, b: OpBuilder, k: int) -> Value:
        """One component of all index vectors."""
        indices, dim = self.op.scatter_indices, int_of(self.op.scatter_dimension_numbers.index_vector_dim)
        if dim == rank(indices):
            return b.reshape(indices, [self.count])
        start, limit = [0] * rank(indices), list(shape(indices))
        start[dim], limit[dim] = k, k + 1
        return b.reshape(b.slice(indices, start, limit), [self.count])


def _is_within(b: OpBuilder, x: Value, limit: int) -> Value:
    """Whether integers lie in [0, limit]."""
    below = b.compare("LE", x, b.full_like(x, min(limit, largest_integer(element(x)))))
    return below if is_unsigned(element(x)) else b.and_(below, b.compare("GE", x, b.full_like(x, 0)))


def taken(b: OpBuilder, x: Value, positions: Value) -> Value:
    """Rows of a matrix at some positions, which are brought to the nearest one that there is."""
    n, columns = shape(positions)[0], shape(x)[1]
    numbers = GatherDimensionNumbersAttr(dimensions((1,)), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
    return b.gather(x, b.reshape(positions, [n, 1]), numbers, [1, columns], [n, columns])

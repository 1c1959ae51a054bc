"""Batches of matrices as tensors of three dimensions, and computations on all of their elements at once.

All that a step of a factorisation does is written on whole matrices: an element compares its row and column with the number of the step and selects what it
becomes. So a step is one kernel, and matrices of a batch run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Attribute

from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import element, i32, i64, is_complex, real_element, shape, size, tensor


class Grid:
    """The elements of a batch of matrices, ``[batch, m, n]``: their rows and columns, and other values brought to their places.

    Methods give a value for each element. A step ``k`` is a ``tensor<i32>``.
    """

    def __init__(self, b: OpBuilder, extents: Sequence[int]):
        self.b = b
        self.extents = tuple(extents)
        self.places = tensor(self.extents, i32)

    @property
    def rows(self) -> Value:
        """The number of each element's row."""
        return self.b.iota(1, self.places)

    @property
    def columns(self) -> Value:
        """The number of each element's column."""
        return self.b.iota(2, self.places)

    def number(self, k: Value) -> Value:
        """A scalar everywhere."""
        return self.b.broadcast_in_dim(k, [], self.extents)

    def full(self, value: float, element_type: Attribute) -> Value:
        """A constant everywhere."""
        return self.b.full(value, tensor(self.extents, element_type))

    def each(self, x: Value) -> Value:
        """``[batch]``: the same in all of a matrix."""
        return self.b.broadcast_in_dim(x, [0], self.extents)

    def down(self, x: Value) -> Value:
        """``[batch, m]``: an element for each row."""
        return self.b.broadcast_in_dim(x, [0, 1], self.extents)

    def across(self, x: Value) -> Value:
        """``[batch, n]``: an element for each column."""
        return self.b.broadcast_in_dim(x, [0, 2], self.extents)

    def is_row(self, direction: str, k: Value) -> Value:
        """Whether the row compares so (``EQ``, ``GT``, ...) with the step."""
        return self.b.compare(direction, self.rows, self.number(k))

    def is_column(self, direction: str, k: Value) -> Value:
        """Whether the column compares so with the step."""
        return self.b.compare(direction, self.columns, self.number(k))

    def compared(self, direction: str) -> Value:
        """Whether the row compares so with the column: GE is the lower triangle, EQ the diagonal."""
        return self.b.compare(direction, self.rows, self.columns)


def batched(b: OpBuilder, x: Value, dims: int = 2) -> Value:
    """x with one batch dimension in front of its last ``dims``."""
    extents = shape(x)
    cut = len(extents) - dims
    return b.reshape(x, (prod(extents[:cut]), *extents[cut:]))


def row(b: OpBuilder, x: Value, k: Value) -> Value:
    """Row k of each matrix: ``[batch, n]``."""
    batch, _, n = shape(x)
    zero = b.scalar(0, i32)
    return b.reshape(b.dynamic_slice(x, [zero, k, zero], (batch, 1, n)), (batch, n))


def column(b: OpBuilder, x: Value, k: Value) -> Value:
    """Column k of each matrix: ``[batch, m]``."""
    batch, m, _ = shape(x)
    zero = b.scalar(0, i32)
    return b.reshape(b.dynamic_slice(x, [zero, zero, k], (batch, m, 1)), (batch, m))


def entry(b: OpBuilder, x: Value, i: Value, j: Value) -> Value:
    """Element (i, j) of each matrix: ``[batch]``."""
    return b.reshape(b.dynamic_slice(x, [b.scalar(0, i32), i, j], (shape(x)[0], 1, 1)), (shape(x)[0],))


def diagonal(b: OpBuilder, x: Value) -> Value:
    """The diagonal of each matrix: ``[batch, min(m, n)]``."""
    batch, m, n = shape(x)
    k = min(m, n)
    return b.slice(b.reshape(x, (batch, m * n)), (0, 0), (batch, (k - 1) * (n + 1) + 1 if k else 0), (1, n + 1))


def taken(b: OpBuilder, x: Value, dimension: int, indices: Value) -> Value:
    """x: ``[batch, ...]`` at computed places of one dimension, of each batch element its own.

    indices: ``[batch]`` or ``[batch, r]``, of i32 or i64, within bounds. The dimension is replaced by r, or is left out.
    """
    extents = shape(x)
    counts = shape(indices)[1:]
    sizes = [1 if d in (0, dimension) else n for d, n in enumerate(extents)]
    result = [extents[0], *extents[1:dimension], *counts, *extents[dimension + 1 :]]
    offsets = [d for d in range(1, len(result)) if d < dimension or d >= dimension + len(counts)]
    batch, here = dimensions([0]), dimensions([dimension])
    numbers = GatherDimensionNumbersAttr(dimensions(offsets), here, batch, batch, here, int_attr(len(shape(indices))))
    return b.gather(x, indices, numbers, sizes, result)


def taken_entries(b: OpBuilder, x: Value, i: Value, j: Value) -> Value:
    """Elements (i, j) of each matrix, at computed places: i and j are ``[batch]`` or ``[batch, r]``, of i32."""
    batch, m, n = shape(x)
    wide = i64 if m * n >= 2**31 else i32
    i, j = b.convert(i, wide), b.convert(j, wide)
    return taken(b, b.reshape(x, (batch, m * n)), 1, b.add(b.multiply(i, b.full_like(i, n)), j))


def conjugate(b: OpBuilder, x: Value) -> Value:
    """The complex conjugate; x itself if it is real."""
    return b.conj(x) if is_complex(element(x)) else x


def real_part(b: OpBuilder, x: Value) -> Value:
    """The real part; x itself if it is real."""
    return b.real(x) if is_complex(element(x)) else x


def imaginary_part(b: OpBuilder, x: Value) -> Value:
    """The imaginary part of a complex tensor."""
    return b.imag(x)


def as_element(b: OpBuilder, x: Value, element_type: Attribute) -> Value:
    """Real numbers as elements of a type that may be complex."""
    return b.complex(x, b.full_like(x, 0)) if is_complex(element_type) else x


def times(b: OpBuilder, x: Value, y: Value) -> Value:
    """The product of elements by the four products of their parts, as LAPACK computes it. (StableHLO's product looks for infinities, too.)"""
    if not is_complex(element(x)):
        return b.multiply(x, y)
    (a, c), (d, e) = ((b.real(z), b.imag(z)) for z in (x, y))
    return b.complex(b.subtract(b.multiply(a, d), b.multiply(c, e)), b.add(b.multiply(a, e), b.multiply(c, d)))


def scaled(b: OpBuilder, x: Value, factor: Value) -> Value:
    """x times real numbers."""
    return b.complex(b.multiply(b.real(x), factor), b.multiply(b.imag(x), factor)) if is_complex(element(x)) else b.multiply(x, factor)


def divided(b: OpBuilder, x: Value, divisor: Value) -> Value:
    """x divided by real numbers."""
    return b.complex(b.divide(b.real(x), divisor), b.divide(b.imag(x), divisor)) if is_complex(element(x)) else b.divide(x, divisor)


def squared(b: OpBuilder, x: Value) -> Value:
    """The square of the absolute value."""
    if is_complex(element(x)):
        re, im = b.real(x), b.imag(x)
        return b.add(b.multiply(re, re), b.multiply(im, im))
    return b.multiply(x, x)


def size_of_parts(b: OpBuilder, x: Value) -> Value:
    """The size by which LAPACK chooses pivots: the absolute value, of complex numbers the sum of those of its parts."""
    return b.add(b.abs(b.real(x)), b.abs(b.imag(x))) if is_complex(element(x)) else b.abs(x)


def transposed(b: OpBuilder, x: Value) -> Value:
    """The transpose of each matrix."""
    return b.transpose(x, (0, 2, 1))


def adjoint(b: OpBuilder, x: Value) -> Value:
    """The conjugate transpose of each matrix."""
    return transposed(b, conjugate(b, x))


def product(b: OpBuilder, x: Value, y: Value) -> Value:
    """The products of matrices."""
    return b.dot_general(x, y, ((2,), (1,)), ((0,), (0,)))


def leading(b: OpBuilder, x: Value, m: int, n: int) -> Value:
    """The first m rows and n columns of each matrix."""
    return x if shape(x)[1:] == (m, n) else b.slice(x, (0, 0, 0), (shape(x)[0], m, n))


def nothing(b: OpBuilder, types: Sequence[Attribute]) -> list[Value]:
    """What factorisations of matrices without elements give: empty factors, and 0 for info."""
    return [b.zeros(type) for type in types]  # pyright: ignore[reportArgumentType]


def is_empty(*values: Value) -> bool:
    """Whether one of the tensors has no elements."""
    return any(size(value) == 0 for value in values)


def real_of(x: Value) -> Attribute:
    """The element type of x's real part."""
    return real_element(element(x))

"""Cholesky and LU factors of very small matrices without a loop: each element is a vector over the batch, so that a thread has a matrix in its registers.

The operations and their order are those of the loops, and so are the bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor
from wengert.transforms.linalg.matrices import as_element, conjugate, divided, real_part, size_of_parts, times

Elements = list[list[Value]]
"""The elements of matrices by row and column, each ``[batch]``."""

MOST_ELEMENTS, MOST_COMPLEX_ELEMENTS = 16, 9
"""Of larger matrices the elements, and what is computed of them, are too many for one kernel."""


def is_small(a: Value) -> bool:
    """Whether matrices, ``[batch, m, n]``, are factored without a loop."""
    _, m, n = shape(a)
    return m * n <= (MOST_COMPLEX_ELEMENTS if is_complex(element(a)) else MOST_ELEMENTS)


def elements_of(b: OpBuilder, a: Value) -> Elements:
    """The elements of ``a: [batch, m, n]``."""
    batch, m, n = shape(a)
    return [[b.reshape(b.slice(a, (0, i, j), (batch, i + 1, j + 1)), (batch,)) for j in range(n)] for i in range(m)]


def assembled(b: OpBuilder, values: Elements) -> Value:
    """The matrices with these elements: ``[batch, m, n]``."""
    (batch,), m, n = shape(values[0][0]), len(values), len(values[0])
    return b.reshape(joined(b, [value for row in values for value in row]), (batch, m, n))


def joined(b: OpBuilder, values: Sequence[Value]) -> Value:
    """Vectors over the batch side by side: ``[batch, n]``."""
    (batch,) = shape(values[0])
    return b.concatenate([b.reshape(value, (batch, 1)) for value in values], 1)


def first_of(b: OpBuilder, failed: Sequence[Value]) -> Value:
    """LAPACK's info: the number, from 1, of the first that failed, or 0; ``[batch]``."""
    info = b.full(0, tensor(shape(failed[0]), i32))
    for number, condition in reversed(list(enumerate(failed, 1))):
        info = b.select(condition, b.full_like(info, number), info)
    return info


def small_cholesky(b: OpBuilder, a: Elements) -> tuple[Elements, Value]:
    """Lower factors, with zeros above the diagonal, and info. Reads the lower triangle."""
    n, type = len(a), element(a[0][0])
    none = b.full_like(a[0][0], 0)
    low = [row[: i + 1] for i, row in enumerate(a)]
    failed: list[Value] = []
    for k in range(n):
        pivot = real_part(b, low[k][k])
        root = b.sqrt(pivot)
        failed.append(b.compare("LE", pivot, b.full_like(pivot, 0)))
        low[k][k] = as_element(b, b.select(failed[k], pivot, root), type)
        for i in range(k + 1, n):
            low[i][k] = divided(b, low[i][k], root)
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                low[i][j] = b.subtract(low[i][j], times(b, low[i][k], conjugate(b, low[j][k])))
    return [[*row, *[none] * (n - len(row))] for row in low], first_of(b, failed)


def small_lu(b: OpBuilder, a: Elements) -> tuple[Elements, list[Value], Value]:
    """Packed factors, the rows (from 0) of the pivots, and info."""
    a = [list(row) for row in a]
    m, n = len(a), len(a[0])
    zero = b.full_like(a[0][0], 0)
    pivots: list[Value] = []
    for k in range(min(m, n)):
        pivots.append(_pivot(b, [row[k] for row in a], k))
        _exchange(b, a, k, pivots[k])
        is_zero = b.compare("EQ", a[k][k], zero)
        for i in range(k + 1, m):
            a[i][k] = b.select(is_zero, a[i][k], b.divide(a[i][k], a[k][k]))
            for j in range(k + 1, n):
                a[i][j] = b.subtract(a[i][j], times(b, a[i][k], a[k][j]))
    return a, pivots, first_of(b, [b.compare("EQ", a[k][k], zero) for k in range(min(m, n))])


def _pivot(b: OpBuilder, column: Sequence[Value], k: int) -> Value:
    """The first row from k on with the largest element, or with the first NaN."""
    place, largest = b.full(k, tensor(shape(column[0]), i32)), size_of_parts(b, column[k])
    for i in range(k + 1, len(column)):
        size = size_of_parts(b, column[i])
        larger = b.and_(b.compare("EQ", largest, largest), b.not_(b.compare("LE", size, largest)))
        place, largest = b.select(larger, b.full_like(place, i), place), b.select(larger, size, largest)
    return place


def _exchange(b: OpBuilder, a: Elements, k: int, pivot: Value) -> None:
    """Exchanges row k with that of the pivot, in place."""
    for i in range(k + 1, len(a)):
        chosen = b.compare("EQ", pivot, b.full_like(pivot, i))
        for j in range(len(a[0])):
            a[k][j], a[i][j] = b.select(chosen, a[i][j], a[k][j]), b.select(chosen, a[k][j], a[i][j])

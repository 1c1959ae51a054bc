"""Singular values and vectors by Jacobi's one-sided method, on the triangle of a QR decomposition.

Rotations of columns from the right make them orthogonal (Hestenes; Golub and Van Loan, Matrix Computations, section 8.6.3): their norms are the singular
values, and their directions the left vectors. These are taken from a QR decomposition, as columns of norm 0 have none: there it completes the others. A step is
three kernels: inner products of pairs of columns, rotations, and what they make of the columns and of the right vectors, which stand below them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, i32, shape, tensor, type_of
from wengert.transforms.linalg.counted_loop import bounded_while, counted_loop
from wengert.transforms.linalg.eigh import with_identity
from wengert.transforms.linalg.jacobi import MOST_SWEEPS, partners, ranks, rotation
from wengert.transforms.linalg.matrices import (
    Grid,
    adjoint,
    batched,
    conjugate,
    diagonal,
    is_empty,
    leading,
    product,
    real_of,
    real_part,
    scaled,
    squared,
    taken,
    times,
)
from wengert.transforms.linalg.permutations import inverse
from wengert.transforms.linalg.qr import factored, identity
from wengert.transforms.linalg.scaling import power_of_two


def svd(b: OpBuilder, op: core.SvdOp) -> Sequence[Value]:
    """Left vectors, singular values in descending order, right vectors, and info: 1 where sweeps did not end. Vectors that nothing uses are not computed."""
    a, full = batched(b, op.a), bool(int_of(op.full))
    batch, m, n = shape(a)
    if is_empty(a):
        count = (m, n) if full else (0, 0)
        values = [identity(b, a, m, count[0]), b.zeros(tensor((batch, 0), real_of(a))), identity(b, a, count[1], n), b.zeros(tensor((batch,), i32))]
    elif m < n:
        v, s, u, info = _tall(b, adjoint(b, a), full, wants_right=op.u.first_use is not None)
        values = [u, s, adjoint(b, v), info]
    else:
        u, s, v, info = _tall(b, a, full, wants_right=op.vh.first_use is not None)
        values = [u, s, adjoint(b, v), info]
    return [b.reshape(value, shape(result)) for value, result in zip(values, op.results, strict=True)]


def _tall(b: OpBuilder, a: Value, full: bool, *, wants_right: bool) -> tuple[Value, Value, Value, Value]:
    """u, s, v (zeros where it is not wanted) and info of matrices of at least as many rows as columns."""
    batch, m, n = shape(a)
    q, r = (a, a) if m == n else factored(b, a, full=full)
    scale = power_of_two(b, r)
    square = leading(b, r, n, n)
    square = scaled(b, square, Grid(b, shape(square)).each(b.divide(b.full_like(scale, 1), scale)))
    columns, v, info = _orthogonalized(b, square, wants_right)
    u, s = _normalized(b, columns)
    s = b.multiply(s, b.broadcast_in_dim(scale, (0,), shape(s)))
    if m > n:
        u, others = product(b, leading(b, q, m, n), u), q
        u = b.concatenate([u, b.slice(others, (0, 0, n), (batch, m, m))], 2) if full else u
    return u, s, v, info


def _orthogonalized(b: OpBuilder, a: Value, wants_right: bool) -> tuple[Value, Value, Value]:
    """``a v`` of orthogonal columns, the longest first, v if it is wanted, and info."""
    batch, n, _ = shape(a)
    odd = n % 2
    even = b.pad(a, b.scalar(0, element(a)), (0, 0, 0), (0, odd, odd)) if odd else a
    order = n + odd
    rivals = partners(b, order, order)

    def sweep(b: OpBuilder, number: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        return counted_loop(b, order - 1, constants, carried, lambda b, k, given, now: [_rotated(b, now[0], given[0], k)])

    def goes_on(b: OpBuilder, constants: Sequence[Value], carried: Sequence[Value]) -> Value:
        return b.reduce(Kind.or_, _compared(b, carried[0], "GT"), (0, 1, 2))

    (work,) = bounded_while(b, MOST_SWEEPS, [rivals], [with_identity(b, even) if wants_right else even], goes_on, sweep)
    done = b.reduce(Kind.and_, _compared(b, work, "LE"), (1, 2))
    columns = leading(b, work, n, n)
    v = b.slice(work, (0, order, 0), (batch, order + n, n)) if wants_right else b.zeros(type_of(a))
    places = inverse(b, ranks(b, _norms(b, columns), descending=True))
    info = b.select(done, b.full(0, tensor((batch,), i32)), b.full(1, tensor((batch,), i32)))
    return taken(b, columns, 2, places), taken(b, v, 2, places), info


def _norms(b: OpBuilder, columns: Value) -> Value:
    """The squares of the columns' norms: ``[batch, n]``."""
    return b.reduce(Kind.add, squared(b, columns), (1,))


def _normalized(b: OpBuilder, columns: Value) -> tuple[Value, Value]:
    """Orthonormal vectors and norms whose products are the (orthogonal) columns, of which those of norm 0 come last."""
    q, r = factored(b, columns, full=False)
    signs = real_part(b, diagonal(b, r))
    signs = b.select(b.compare("LT", signs, b.full_like(signs, 0)), b.full_like(signs, -1), b.full_like(signs, 1))
    return scaled(b, q, Grid(b, shape(q)).across(signs)), b.sqrt(_norms(b, columns))


def _compared(b: OpBuilder, work: Value, direction: str) -> Value:
    """For each pair of columns, how the square of their inner product compares with what rounding errors make: ``[batch, n, n]``."""
    n = shape(work)[2]
    columns = leading(b, work, n, n)
    gram = product(b, adjoint(b, columns), columns)
    grid = Grid(b, shape(gram))
    norms = real_part(b, diagonal(b, gram))
    eps = float(np.finfo(dtype_of(real_of(work))).eps)
    limit = b.multiply(b.multiply(grid.down(norms), grid.full(n * eps * eps, element(norms))), grid.across(norms))
    sizes = b.select(grid.compared("EQ"), b.full_like(limit, 0), squared(b, gram))
    return b.compare(direction, sizes, limit)


def _rotated(b: OpBuilder, work: Value, rivals: Value, k: Value) -> Value:
    """Step k of a sweep."""
    batch, _, n = shape(work)
    partner = b.broadcast_in_dim(b.dynamic_slice(rivals, [k, b.scalar(0, i32)], (1, n)), (0, 1), (batch, n))
    own = b.iota(1, tensor((batch, n), i32))
    first, second = (leading(b, taken(b, work, 2, place), n, n) for place in (b.minimum(own, partner), b.maximum(own, partner)))
    beside = b.reduce(Kind.add, times(b, conjugate(b, first), second), (1,))
    norms = _norms(b, leading(b, work, n, n))
    cosines, sines = rotation(b, norms, taken(b, norms, 1, partner), beside, b.compare("LT", own, partner))
    grid = Grid(b, shape(work))
    return b.subtract(scaled(b, work, grid.across(cosines)), times(b, grid.across(sines), taken(b, work, 2, partner)))

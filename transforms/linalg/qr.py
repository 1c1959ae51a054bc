"""QR factors by Householder's reflectors: Golub and Van Loan, Matrix Computations, algorithm 5.2.1, with the signs of LAPACK's geqrf.

The inner products of a column with all others give its norm as well as what a reflector makes of the others, so a step is one reduction and one update. The
product of the reflectors is ``q = 1 - v t v^H``, where the inverse of t is known: ``diag(1 / tau)`` and the upper triangle of ``v^H v`` (Puglisi, Modification
of the Householder method based on the compact WY representation, SIAM J. Sci. Stat. Comput. 13, 1992). So q is two products and a triangular system.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor
from wengert.transforms.linalg.counted_loop import counted_loop
from wengert.transforms.linalg.matrices import (
    Grid,
    adjoint,
    as_element,
    batched,
    column,
    conjugate,
    entry,
    imaginary_part,
    leading,
    product,
    real_part,
    row,
    scaled,
    squared,
    times,
)
from wengert.transforms.linalg.scaling import power_of_two
from wengert.transforms.linalg.triangular import System, solved


def qr(b: OpBuilder, op: core.QrOp) -> Sequence[Value]:
    """The orthonormal columns asked for, and the triangle."""
    q, r = factored(b, batched(b, op.a), full=bool(int_of(op.full)))
    return [b.reshape(q, shape(op.q)), b.reshape(r, shape(op.r))]


def factored(b: OpBuilder, a: Value, *, full: bool) -> tuple[Value, Value]:
    """q and r of ``a: [batch, m, n]``: ``[batch, m, k]`` and ``[batch, k, n]`` with k = min(m, n), or m if ``full``."""
    batch, m, n = shape(a)
    steps, count = min(m, n), m if full else min(m, n)
    unit = identity(b, a, m, count)
    if 0 in (batch, m, n):
        return unit, b.zeros(tensor((batch, count, n), element(a)))
    scale = power_of_two(b, a)
    grid = Grid(b, shape(a))
    scaled_down = scaled(b, a, grid.each(b.divide(b.full_like(scale, 1), scale)))

    def step(b: OpBuilder, k: Value, constants: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        return [_reflected(b, carried[0], k)]

    packed = b.pad(scaled_down, b.scalar(0, element(a)), (0, 0, 0), (0, 1, 0))
    (packed,) = counted_loop(b, steps, (), [packed], step)
    triangle = leading(b, packed, count, n)
    upper = b.select(Grid(b, shape(triangle)).compared("LE"), triangle, b.full_like(triangle, 0))
    r = scaled(b, upper, Grid(b, shape(triangle)).each(scale))
    return _accumulated(b, packed, unit, steps), r


def identity(b: OpBuilder, a: Value, m: int, n: int) -> Value:
    """Ones on the diagonal, for each of a's batch elements and of its type: ``[batch, m, n]``."""
    ones = b.full(1, tensor((shape(a)[0], m, n), element(a)))
    return b.select(Grid(b, shape(ones)).compared("EQ"), ones, b.full_like(ones, 0))


def _reflected(b: OpBuilder, packed: Value, k: Value) -> Value:
    """Step k on ``packed: [batch, m + 1, n]``: a reflector takes column k to a multiple of a unit vector.

    Below the diagonal the column then holds the reflector (1 is its first element), in the last row its factor tau.
    """
    grid = Grid(b, shape(packed))
    last = grid.extents[1] - 1
    is_inside = b.compare("LT", grid.rows, b.full(last, grid.places))
    below = b.and_(grid.is_row("GT", k), is_inside)
    this = grid.down(column(b, packed, k))
    products = b.select(below, times(b, conjugate(b, this), packed), b.full_like(packed, 0))
    inner = b.reduce(Kind.add, products, (1,))
    norm = b.reshape(b.dynamic_slice(inner, [b.scalar(0, i32), k], (shape(inner)[0], 1)), shape(inner)[:1])
    beta, tau, factor = _reflector(b, entry(b, packed, k, k), norm)
    vector = b.select(grid.is_row("EQ", k), b.full_like(packed, 1), times(b, this, grid.each(factor)))
    weight = b.add(grid.across(row(b, packed, k)), times(b, grid.each(conjugate(b, factor)), grid.across(inner)))
    updated = b.subtract(packed, times(b, times(b, grid.each(conjugate(b, tau)), vector), weight))
    right = b.select(b.and_(grid.is_row("GE", k), is_inside), updated, packed)
    this = b.select(grid.is_row("EQ", k), grid.each(beta), b.select(grid.is_row("GT", k), vector, packed))
    this = b.select(is_inside, this, grid.each(tau))
    return b.select(grid.is_column("GT", k), right, b.select(grid.is_column("EQ", k), this, packed))


def _reflector(b: OpBuilder, alpha: Value, inner: Value) -> tuple[Value, Value, Value]:
    """What the first element of a column becomes, tau, and what makes a reflector of the other elements, as LAPACK's larfg has them; each ``[batch]``.

    inner: the inner product of the others with themselves. Where they are zero, and the first is real, there is nothing to reflect: tau is 0.
    """
    rest = real_part(b, inner)
    zero = b.full_like(rest, 0)
    idle = b.compare("EQ", rest, zero)
    if is_complex(element(alpha)):
        idle = b.and_(idle, b.compare("EQ", imaginary_part(b, alpha), zero))
    norm = b.sqrt(b.add(squared(b, alpha), rest))
    real_beta = b.select(b.compare("GE", real_part(b, alpha), zero), b.negate(norm), norm)
    beta = as_element(b, real_beta, element(alpha))
    none = b.full_like(alpha, 0)
    tau = b.select(idle, none, b.divide(b.subtract(beta, alpha), beta))
    factor = b.select(idle, none, b.divide(b.full_like(alpha, 1), b.subtract(alpha, beta)))
    return b.select(idle, alpha, beta), tau, factor


def _accumulated(b: OpBuilder, packed: Value, unit: Value, steps: int) -> Value:
    """The first columns (as many as ``unit`` has) of the product of the reflectors."""
    batch, last, _ = shape(packed)
    tau = b.reshape(b.slice(packed, (0, last - 1, 0), (batch, last, steps)), (batch, steps))
    lower = leading(b, packed, last - 1, steps)
    grid = Grid(b, shape(lower))
    ones, none = b.full_like(lower, 1), b.full_like(lower, 0)
    vectors = b.select(grid.compared("GT"), lower, b.select(grid.compared("EQ"), ones, none))
    vectors = b.select(b.compare("EQ", grid.across(tau), none), none, vectors)
    inverse = product(b, adjoint(b, vectors), vectors)
    grid = Grid(b, shape(inverse))
    taus = grid.across(tau)
    middle = b.select(b.compare("EQ", taus, b.full_like(taus, 0)), b.full_like(taus, 1), b.divide(b.full_like(taus, 1), taus))
    inverse = b.select(grid.compared("LT"), inverse, b.select(grid.compared("EQ"), middle, b.full_like(taus, 0)))
    count = shape(unit)[2]
    turned = solved(b, inverse, adjoint(b, leading(b, vectors, count, steps)), System(lower=False))
    return b.subtract(unit, product(b, vectors, turned))

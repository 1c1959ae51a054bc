"""Jacobi's rotations: which rows meet in which step, by which angle they are turned, and in which order what they end in is wanted.

Pairs that have no row in common are independent; those of a step are the games of a round of a tournament in which all meet (Brent and Luk, The solution of
singular-value and symmetric eigenvalue problems on multiprocessor arrays, SIAM J. Sci. Stat. Comput. 6, 1985).
"""

from __future__ import annotations

from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor
from wengert.transforms.linalg.matrices import Grid, conjugate, divided, scaled, squared

MOST_SWEEPS = 30
"""Sweeps after which the method has failed. About log2(n) + 4 are needed."""


def partners(b: OpBuilder, n: int, count: int) -> Value:
    """The row that each of n rows (an even number) is rotated with in each step of a sweep: ``[n - 1, count]`` of i32; rows from n on with themselves.

    In step s the rows other than the last are partners whose numbers add up to s modulo n - 1, and that which would be its own partner meets the last.
    """
    places = tensor((n - 1, count), i32)
    s, x = b.iota(0, places), b.iota(1, places)
    last, round_length = b.full(n - 1, places), b.full(n - 1, places)
    rest = b.subtract(s, x)
    partner = b.select(b.compare("LT", rest, b.full(0, places)), b.add(rest, round_length), rest)
    partner = b.select(b.compare("EQ", partner, x), last, partner)
    odd = b.compare("EQ", b.and_(s, b.full(1, places)), b.full(1, places))
    alone = b.divide(b.select(odd, b.add(s, round_length), s), b.full(2, places))
    partner = b.select(b.compare("EQ", x, last), alone, partner)
    return b.select(b.compare("GT", x, last), x, partner)


def rotation(b: OpBuilder, here: Value, there: Value, beside: Value, is_first: Value) -> tuple[Value, Value]:
    """For each row the rotation with its partner that makes the element beside the diagonal zero, by the smaller angle (Golub and Van Loan, algorithm 8.5.1).

    Returns the (real) cosine and the sine, ``[batch, n]``: columns become ``cosine own - sine partner``.

    here, there: the row's own element of the diagonal and its partner's, real.
    beside: the element beside the diagonal, of the row of the two that comes first (``is_first``), the same for both.
    """
    own = b.select(is_first, beside, conjugate(b, beside)) if is_complex(element(beside)) else beside
    size = b.sqrt(squared(b, own)) if is_complex(element(own)) else b.abs(own)
    zero, one = b.full_like(size, 0), b.full_like(size, 1)
    none = b.compare("EQ", size, zero)
    safe = b.select(none, one, size)
    ratio = b.divide(b.subtract(there, here), b.add(safe, safe))
    sizes = b.add(b.abs(ratio), b.sqrt(b.add(one, b.multiply(ratio, ratio))))
    positive = b.or_(b.compare("GT", ratio, zero), b.and_(b.compare("EQ", ratio, zero), is_first))
    tangent = b.select(none, zero, b.divide(b.select(positive, one, b.negate(one)), sizes))
    cosine = b.divide(one, b.sqrt(b.add(one, b.multiply(tangent, tangent))))
    direction = divided(b, conjugate(b, own), safe)
    return cosine, scaled(b, direction, b.multiply(tangent, cosine))


def ranks(b: OpBuilder, values: Value, *, descending: bool = False) -> Value:
    """The place of each number in ascending order, of equal ones in the order in which they stand: ``[batch, n]`` of i32."""
    batch, n = shape(values)
    grid = Grid(b, (batch, n, n))
    own, other = grid.down(values), grid.across(values)
    before = b.compare("GT" if descending else "LT", other, own)
    before = b.or_(before, b.and_(b.compare("EQ", other, own), grid.compared("GT")))
    return b.reduce(Kind.add, b.select(before, grid.full(1, i32), grid.full(0, i32)), (2,))

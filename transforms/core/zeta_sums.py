"""polygamma and the Hurwitz zeta function in terms of powers, for compilers that have no code for them (``expand-functions``).

For q > 0, by the Euler-Maclaurin formula (DLMF 25.11.28 in the form of 2.10.1), with a = q + N::

    zeta(s, q) = sum of (q + k)^-s for k < N  +  a^(1 - s) / (s - 1)  +  a^-s (1/2 + s/a (b_1 + (s + 1)(s + 2)/a^2 (b_2 + ...)))

where b_j = B_2j / (2j)!. With N = 8 and ten b_j what is left out is below 1e-17 of the sum for every s > 1: where the terms stop shrinking,
s is so large that the first power outweighs them. For q <= 0 and whole s, the sum over all k >= 0 goes through the terms on both sides
of zero; with f and g, the distances of q from the whole numbers below and above it,

    zeta(s, q) = zeta(s, f) + (-1)^s (zeta(s, g) - zeta(s, 1 - q))

which takes the same time however negative q is. And polygamma(n, x) = (-1)^(n + 1) n! zeta(n + 1, x). There n! may overflow, and the powers
underflow, where their product does not, so all bases are divided by t, the power of two nearest to the (n + 1)th root of n!; the
rest of it, r = n! / t^(n + 1), comes between the halves of each power: (h r) h.

Everything is computed in f64. The rules for derivatives and batches are those of the ops: this comes after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import factorial, isfinite, lgamma, log
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Region

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import element, f64, i32, rank, shape, tensor

Scale = tuple[Value, Value]
"""A factor n! as t and r, where it is t^s r."""

TERMS = 8
BERNOULLI = tuple(Fraction(*pair) for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)))
"""B_2, B_4, ..., B_20."""
COEFFICIENTS = tuple(float(number / factorial(2 * j)) for j, number in enumerate(BERNOULLI, 1))
LARGEST_EXACT = 1000
"""Up to here r is computed exactly where the order is a constant."""
LARGEST_EXPONENT = 1e15
"""Beyond it, powers of bases greater than one are zero, and the series would be infinity times zero."""
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 as a number with 21 zero bits at its end, so that whole multiples are exact, and the rest."""


# -- the ops


def expand_zeta(b: OpBuilder, op: chlo.ZetaOp) -> Sequence[Value]:
    """Infinite at s = 1, NaN for s < 1, and for q <= 0 unless s is whole; at poles in q infinite for even s (any even s), else NaN."""
    s, q = b.convert(op.lhs, f64), b.convert(op.rhs, f64)
    zero, one, infinity = (b.full_like(s, value) for value in (0, 1, float("inf")))
    zeta = b.multiply(_sign_of(b, s), _signed_zeta(b, s, q, (one, one)))
    parity = b.remainder(s, b.full_like(s, 2))
    whole, even = b.compare("EQ", parity, b.floor(parity)), b.compare("EQ", parity, zero)
    usable = b.and_(b.compare("GE", s, one), b.or_(b.compare("GT", q, zero), whole))
    zeta = b.select(usable, zeta, b.full_like(s, float("nan")))
    pole = b.and_(b.compare("LE", q, zero), b.compare("EQ", q, b.floor(q)))
    zeta = b.select(b.or_(b.compare("EQ", s, one), b.and_(pole, even)), infinity, zeta)
    return [b.convert(zeta, element(op.result))]


def expand_polygamma(b: OpBuilder, op: chlo.PolygammaOp) -> Sequence[Value] | None:
    """digamma for n = 0; NaN unless n is 0, 1, 2, ...; None where it may stay, which is trigamma."""
    order, element_type = _constant_order(op.lhs), element(op.result)
    if order == 1:
        return None
    x = b.convert(op.rhs, f64)
    if order is not None and order < LARGEST_EXACT:
        if order == 0:
            return [b.like(chlo.DigammaOp, op.rhs)]
        if not (order > 0 and order == int(order)):
            return [b.full_like(op.rhs, float("nan"))]
        s, (base, factor) = b.full_like(x, order + 1), _scale_of(int(order))
        return [b.convert(_signed_zeta(b, s, x, (b.full_like(x, base), b.full_like(x, factor))), element_type)]
    n = b.convert(op.lhs, f64)
    zero, one = b.full_like(n, 0), b.full_like(n, 1)
    infinity = b.full_like(n, float("inf"))
    whole = b.and_(b.and_(b.compare("EQ", n, b.floor(n)), b.compare("GT", n, zero)), b.compare("LT", n, infinity))
    s = b.add(b.select(whole, n, one), one)
    polygamma = b.select(whole, _signed_zeta(b, s, x, _scale(b, s)), b.full_like(n, float("nan")))
    return [b.convert(b.select(b.compare("EQ", n, zero), b.like(chlo.DigammaOp, x), polygamma), element_type)]


def _constant_order(n: Value) -> float | None:
    """The order, if it is the same constant everywhere."""
    owner = n.owner
    while isinstance(owner, hlo.BroadcastInDimOp):
        owner = owner.operand.owner
    if not isinstance(owner, hlo.ConstantOp):
        return None
    order = splat_value(cast("DenseIntOrFPElementsAttr[Any]", owner.value))
    return None if order is None or not isfinite(float(cast(float, order))) else float(cast(float, order))


def _scale_of(n: int) -> tuple[float, float]:
    """t, the power of two nearest to the (n + 1)th root of n!, and n! / t^(n + 1)."""
    exponent = round(lgamma(n + 1) / log(2) / (n + 1))
    return 2.0**exponent, float(Fraction(factorial(n), 2 ** (exponent * (n + 1))))


def _scale(b: OpBuilder, s: Value) -> Scale:
    """The same for n = s - 1 that is known only when the program runs."""
    size = b.like(chlo.LgammaOp, s)
    exponent = b.round_nearest_even(b.divide(size, b.multiply(s, b.full_like(s, log(2)))))
    twos = b.multiply(exponent, s)
    rest = b.subtract(b.subtract(size, b.multiply(twos, b.full_like(s, LN2_HIGH))), b.multiply(twos, b.full_like(s, LN2_LOW)))
    return b.power(b.full_like(s, 2), exponent), b.exponential(rest)


# -- the sums


def _signed_zeta(b: OpBuilder, s: Value, q: Value, scale: Scale) -> Value:
    """(-1)^s n! zeta(s, q), n! as its scale. What q <= 0 needs besides is a branch, taken if there is such a q."""
    zero = b.full_like(q, 0)
    positive = b.compare("GT", q, zero)
    endless = b.compare("EQ", q, b.full_like(q, float("-inf")))  # which counts as a whole number
    below = b.select(endless, zero, b.subtract(q, b.floor(q)))
    zeta = b.multiply(_sign_of(b, s), _zeta(b, s, b.select(positive, q, below), scale))
    is_any = b.reduce(core.Kind.or_, b.compare("LE", q, zero), range(rank(q)))

    def reflected(inside: OpBuilder, operands: Sequence[Value]) -> Value:
        zeta, s, q, base, factor, positive, endless = operands
        zero, one, infinity = (inside.full_like(q, value) for value in (0, 1, float("inf")))
        above = inside.select(endless, zero, inside.subtract(inside.ceil(q), q))
        near = _zeta(inside, s, inside.select(positive, one, above), (base, factor))
        far = _zeta(inside, s, inside.select(positive, one, inside.subtract(one, q)), (base, factor))
        other = inside.select(inside.compare("EQ", near, infinity), near, inside.subtract(near, far))
        total = inside.add(zeta, other)
        # where both sides overflow, with opposite signs, the closer one decides
        below = inside.subtract(q, inside.floor(q))
        opposite = inside.and_(inside.compare("EQ", other, infinity), inside.compare("EQ", zeta, inside.negate(infinity)))
        total = inside.select(inside.and_(opposite, inside.compare("GT", below, above)), infinity, total)
        total = inside.select(inside.and_(opposite, inside.compare("LT", below, above)), zeta, total)
        return inside.select(positive, zeta, total)

    return _if(b, is_any, [zeta, s, q, *scale, positive, endless], reflected)


def _if(b: OpBuilder, pred: Value, operands: Sequence[Value], on_true: Callable[[OpBuilder, Sequence[Value]], Value]) -> Value:
    """A branch, or the first operand."""
    types = [x.type for x in operands]
    skipped, taken = Block(arg_types=types), Block(arg_types=types)
    skipped.add_op(hlo.ReturnOp.create(operands=[skipped.args[0]]))
    inside = OpBuilder(taken, pass_name=b.pass_name)
    inside.location = b.location
    taken.add_op(hlo.ReturnOp.create(operands=[on_true(inside, taken.args)]))
    index = b.convert(pred, i32)
    return b.create(core.CaseOp, [index, *operands], [types[0]], {}, [Region([skipped]), Region([taken])])[0]


def _zeta(b: OpBuilder, s: Value, q: Value, scale: Scale) -> Value:
    """n! zeta(s, q) for q >= 0."""
    extents = [TERMS, *shape(q)]
    dims = range(1, len(extents))
    s_, q_, base, factor = [b.broadcast_in_dim(x, dims, extents) for x in (s, q, *scale)]
    half = _half_power(b, s_, b.add(q_, b.iota(0, tensor(extents, f64))), base)
    first = b.reduce_sum(b.multiply(b.multiply(half, factor), half), [0])
    total = b.add(first, _rest(b, s, b.add(q, b.full_like(q, TERMS)), scale))
    # where the terms overflow, the series may diverge: it has to be small beside them, not beside one
    return b.select(b.compare("EQ", first, b.full_like(first, float("inf"))), first, total)


def _half_power(b: OpBuilder, s: Value, a: Value, base: Value) -> Value:
    """(a / base)^(-s / 2), of which a product may be taken before it overflows or underflows."""
    return b.power(b.divide(a, base), b.multiply(s, b.full_like(s, -0.5)))


def _rest(b: OpBuilder, s: Value, a: Value, scale: Scale) -> Value:
    """The sum of the terms from a on: the integral, half of the first, and the series."""
    one, (base, factor) = b.full_like(s, 1), scale
    half = _half_power(b, s, a, base)
    scaled = b.multiply(half, factor)
    integral = b.divide(b.multiply(b.multiply(a, scaled), half), b.subtract(s, one))
    bounded = b.minimum(s, b.full_like(s, LARGEST_EXPONENT))
    inverse = b.divide(one, a)
    square = b.multiply(inverse, inverse)
    series = b.full_like(s, COEFFICIENTS[-1])
    for j, (coefficient, _) in reversed(list(enumerate(pairwise(COEFFICIENTS), 1))):
        factors = b.multiply(b.add(bounded, b.full_like(s, 2 * j - 1)), b.add(bounded, b.full_like(s, 2 * j)))
        series = b.add(b.full_like(s, coefficient), b.multiply(b.multiply(factors, square), series))
    series = b.multiply(b.multiply(bounded, inverse), series)
    rest = b.add(integral, b.multiply(b.multiply(scaled, half), b.add(b.full_like(s, 0.5), series)))
    return b.select(b.compare("EQ", a, b.full_like(a, float("inf"))), b.full_like(a, 0), rest)


def _sign_of(b: OpBuilder, s: Value) -> Value:
    """(-1)^s of a whole number."""
    odd = b.compare("NE", b.remainder(s, b.full_like(s, 2)), b.full_like(s, 0))
    return b.select(odd, b.full_like(s, -1), b.full_like(s, 1))

"""Taylor coefficients of powers.

The derivatives of ``x^r`` are powers with other exponents each, so that the derivative rule would take ops that grow with the cube of the order. The
equation ``x y' = r x' y`` has no powers but y (Griewank, Walther, "Evaluating Derivatives", 2nd ed., table 13.1):

    y_j = sum_{i=1..j} (r i - (j - i)) x_i y_{j-i} / (j x_0)

It says nothing where x_0 = 0, which is treated apart. Where the exponent changes along the path too, ``y = exp(r log x)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.taylor.recurrences import series_of
from wengert.transforms.ad.taylor.series import Series, product, product_of, quotient_by, times, total
from wengert.transforms.optimize.matching import splat

LARGEST_PRODUCT = 64
"""The largest exponent for which a power is made of products."""


@series_of(hlo.PowerOp)
def power(b: OpBuilder, op: Operation, operands: Sequence[Series]) -> Series:
    """``x^r``: products where r is a small whole number, else by its equation, or by a logarithm where r changes."""
    x, r = operands
    if not r.is_constant:
        return _with_exponent(b, op.results[0], x, r)
    known = _known(r.primal)
    if known is not None and known.is_integer() and 0 < known <= LARGEST_PRODUCT:
        return _products(b, op.results[0], x, int(known))
    return _by_equation(b, op.results[0], x, r.primal)


def _products(b: OpBuilder, y: Value, x: Series, exponent: int) -> Series:
    """Products of squares, right at x_0 = 0 too."""
    squares = [x]
    while 2 ** len(squares) <= exponent:
        squares.append(product_of(b, squares[-1], squares[-1]))
    made = reduce(lambda u, v: product_of(b, u, v), [s for n, s in enumerate(squares) if exponent >> n & 1])
    return Series(y, made.at)


def _by_equation(b: OpBuilder, y: Value, x: Series, r: Value) -> Series:
    made, factors = Series(y), _Binomials(b, x.primal, r)

    def compute(j: int) -> Tangent:
        products = [(i, product(b, x.at(i), made.at(j - i))) for i in range(1, j + 1)]
        first = total(b, [None if xy is None else times(b, xy, i) for i, xy in products])
        if first is None:
            return None
        rest = total(b, [None if xy is None or i == j else times(b, xy, j - i) for i, xy in products])
        usual = quotient_by(b, b.multiply(r, first), rest, times(b, factors.divisor, j))
        return None if usual is None else b.select(factors.at_zero, factors.along(j, x.at(1)), usual)

    made.compute = compute
    return made


class _Binomials:
    """Coefficients at x_0 = 0: there ``x^r`` is ``(x_1 t + ...)^r``, of which coefficient j is ``binom(r, j) 0^(r - j) x_1^j`` along a line."""

    def __init__(self, b: OpBuilder, x: Value, r: Value):
        self.b, self.x, self.r = b, x, r
        self.at_zero = b.compare("EQ", x, b.full_like(x, 0))
        self.divisor = b.select(self.at_zero, b.full_like(x, 1), x)

    def along(self, j: int, x_1: Tangent) -> Value:
        """Coefficient j, 0 where j is above a whole r."""
        b, zero = self.b, self.b.full_like(self.x, 0)
        if x_1 is None:
            return zero
        known = _known(self.r)
        if known is not None and (known > j or (known >= 0 and known.is_integer())):
            return _whole(b, x_1, j) if known == j else zero
        binomial, line = b.full_like(self.x, 1), _whole(b, x_1, j)
        for i in range(j):
            binomial = b.multiply(binomial, times(b, b.subtract(self.r, b.full_like(self.r, i)), 1 / (i + 1)))
        vanishes = b.compare("EQ", binomial, zero)
        exponent = b.select(vanishes, b.full_like(self.r, 1), b.subtract(self.r, b.full_like(self.r, j)))
        return b.multiply(b.multiply(binomial, b.power(b.select(self.at_zero, self.x, b.full_like(self.x, 1)), exponent)), line)


def _known(r: Value) -> float | None:
    """A real exponent that all elements have."""
    number = splat(r)
    return None if number is None or number.imag else float(number.real)


def _whole(b: OpBuilder, x: Value, exponent: int) -> Value:
    """x to a whole power, one product more than for the power before."""
    return reduce(lambda y, _: b.multiply(y, x), range(exponent - 1), x)


def _with_exponent(b: OpBuilder, y: Value, x: Series, r: Series) -> Series:
    """``y' = y (r log x)'``, with log(0) taken as 0, as the derivative rule takes it."""
    at_zero = b.compare("EQ", x.primal, b.full_like(x.primal, 0))
    safe = b.select(at_zero, b.full_like(x.primal, 1), x.primal)
    logarithm = Series(b.log(safe))

    def of_logarithm(j: int) -> Tangent:
        # x L' = x':  L_j = (x_j - (1/j) sum_{0<i<j} i L_i x_{j-i}) / x_0
        inner = [(i, product(b, logarithm.at(i), x.at(j - i))) for i in range(1, j)]
        others = total(b, [None if lx is None else times(b, lx, i) for i, lx in inner])
        return quotient_by(b, x.at(j), None if others is None else times(b, others, 1 / j), safe)

    logarithm.compute = of_logarithm if not x.is_constant else None
    exponent = product_of(b, r, logarithm)
    made, factors = Series(y), _Binomials(b, x.primal, r.primal)

    def compute(j: int) -> Tangent:
        terms = [(i, product(b, exponent.at(i), made.at(j - i))) for i in range(1, j + 1)]
        sum_ = total(b, [None if wy is None else times(b, wy, i) for i, wy in terms])
        usual = None if sum_ is None else times(b, sum_, 1 / j)
        if x.is_constant or usual is None:
            return usual
        return b.select(at_zero, factors.along(j, x.at(1)), usual)

    made.compute = compute
    return made

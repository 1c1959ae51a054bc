"""Adjoints of elementwise ops on real and complex numbers.

At kinks the conventions are JAX's: |x|' = 1 at 0, half to each side at a tie of max or min, and a clamp passes no cotangent where x equals a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation

from wengert.dialects import ad, chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex, rank, type_of
from wengert.transforms.ad.direct.adjoint import Bars, Both, adjoint, binary, inactive, unary
from wengert.transforms.ad.errors import OF_COMPLEX, refuse
from wengert.transforms.ad.requests.custom import guarded_cotangent

inactive(hlo.FloorOp, hlo.CeilOp, hlo.RoundNearestAfzOp, hlo.RoundNearestEvenOp, hlo.BitcastConvertOp, ad.StopGradientOp)
inactive(hlo.SignOp, where=lambda op: not is_complex(element(op.operand)))

# -- arithmetic


@binary(hlo.AddOp)
def add(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    return lambda: y_bar, lambda: y_bar


@binary(hlo.SubtractOp)
def subtract(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    return lambda: y_bar, lambda: b.negate(y_bar)


@unary(hlo.NegateOp)
def negate(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.negate(y_bar)


@binary(hlo.MultiplyOp)
def multiply(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # y = x1 x2: x1_bar = x2 y_bar, x2_bar = x1 y_bar
    return lambda: b.multiply(y_bar, x2), lambda: b.multiply(x1, y_bar)


@binary(hlo.DivideOp)
def divide(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # y = x1 / x2: x1_bar = y_bar / x2, x2_bar = -y x1_bar
    return lambda: b.divide(y_bar, x2), lambda: b.negate(b.multiply(b.divide(y_bar, x2), y))


@binary(hlo.RemainderOp)
def remainder(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # y = x1 - n x2 with n = (x1 - y) / x2 whole: x2_bar = -n y_bar, n rounded since x1 - y is not exact. Where y is NaN, use x1
    # for x1 - y: an infinite x1 has an infinite n
    if is_complex(element(y)):
        raise refuse(cast(Operation, y.owner), OF_COMPLEX)

    def whole() -> Value:
        difference = b.select(b.compare("EQ", y, y), b.subtract(x1, y), x1)
        return b.round_nearest_even(b.divide(difference, x2))

    return lambda: y_bar, lambda: b.negate(b.multiply(whole(), y_bar))


@binary(hlo.MaximumOp, hlo.MinimumOp)
def extremum(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # all to the operand that y equals, half to each where it equals both, none where it equals neither (NaN)
    def share(x: Value, other: Value) -> Value:
        tied = b.select(b.compare("EQ", other, y), b.multiply(b.full_like(y, 0.5), y_bar), y_bar)
        return b.select(b.compare("EQ", x, y), tied, b.full_like(y, 0))

    return lambda: share(x1, x2), lambda: share(x2, x1)


@adjoint(hlo.ClampOp)
def clamp(b: OpBuilder, op: hlo.ClampOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    # x inside the open interval; low where x < low < high; high where x > high
    x, y_bar = op.operand, y_bars[0]
    low, high = (bound if bound.type == x.type else b.broadcast_in_dim(bound, [], type_of(x).get_shape()) for bound in (op.min, op.max))

    def part(first: Value, second: Value, bound: Value) -> Value:
        chosen = b.select(b.and_(first, second), y_bar, b.full_like(y_bar, 0))
        return chosen if bound.type == x.type else b.reduce_sum(chosen, range(rank(x)))

    below, above = b.compare("LT", x, low), b.compare("LT", high, x)
    return [
        part(below, b.compare("LT", low, high), op.min) if needed[0] else None,
        part(b.compare("LT", low, x), b.compare("LT", x, high), x) if needed[1] else None,
        part(above, above, op.max) if needed[2] else None,
    ]


@unary(hlo.AbsOp)
def absolute(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    if not is_complex(element(x)):
        return b.select(b.compare("GE", x, b.full_like(x, 0)), y_bar, b.negate(y_bar))
    # |z| = sqrt(re^2 + im^2), so y_bar (re - i im) / |z|; 0 at 0. The quotients by |z| are formed first: the derivative of y_bar / |z|, y_bar / |z|^2, vanishes
    # for |z| beyond the root of the range
    radius = _nonzero(b, y)
    return b.complex(b.multiply(y_bar, b.divide(b.real(x), radius)), b.negate(b.multiply(y_bar, b.divide(b.imag(x), radius))))


def _nonzero(b: OpBuilder, x: Value) -> Value:
    """x with 1 in place of 0."""
    return b.select(b.compare("EQ", x, b.full_like(x, 0)), b.full_like(x, 1), x)


@unary(hlo.SignOp)
def sign(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # s = z / |z| moves along the circle only: z_bar = (s_bar - conj(s) Re(s s_bar)) / |z|, 0 at z = 0
    radius = b.abs(x)
    radial = b.real(b.multiply(y, y_bar))
    rest = b.subtract(y_bar, b.multiply(b.conj(y), b.complex(radial, b.full_like(radial, 0))))
    at_zero = b.compare("EQ", radius, b.full_like(radius, 0))
    scaled = b.divide(rest, b.complex(_nonzero(b, radius), b.full_like(radius, 0)))
    return b.select(at_zero, b.full_like(y, 0), scaled)


@binary(hlo.PowerOp)
def power(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # x1^x2: x2 x1^(x2 - 1) and y log(x1), where log(0) is 0
    def base() -> Value:
        return b.multiply(y_bar, b.multiply(x2, b.power(x1, b.subtract(x2, b.full_like(x2, 1)))))

    def exponent() -> Value:
        return b.multiply(y_bar, b.multiply(y, b.log(_nonzero(b, x1))))

    return base, exponent


@binary(hlo.Atan2Op)
def atan2(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # the angle of (x2, x1): its gradient is (-x1, x2) / r^2, where the quotients are formed first: y_bar / r^2 vanishes for coordinates of half the range
    def share(x: Value) -> Value:
        return b.multiply(y_bar, b.divide(x, b.add(b.multiply(x1, x1), b.multiply(x2, x2))))

    return lambda: share(x2), lambda: b.negate(share(x1))


# -- roots, exponentials, logarithms


@unary(hlo.SqrtOp)
def sqrt(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # y^2 = x: 2 y dy = dx
    return b.divide(b.multiply(y_bar, b.full_like(y, 0.5)), y)


@unary(hlo.RsqrtOp)
def rsqrt(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # y = x^(-1/2): dy = -y / (2 x) dx
    return b.multiply(b.multiply(y_bar, b.full_like(y, -0.5)), b.divide(y, x))


@unary(hlo.CbrtOp)
def cbrt(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # y^3 = x: 3 y^2 dy = dx
    return b.divide(y_bar, b.multiply(b.full_like(y, 3), b.multiply(y, y)))


@unary(hlo.ExponentialOp)
def exponential(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, y)


@unary(hlo.ExponentialMinusOneOp)
def exponential_minus_one(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # e^x = y + 1
    return b.multiply(y_bar, b.add(y, b.full_like(y, 1)))


@unary(hlo.LogOp)
def log(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.divide(y_bar, x)


@unary(hlo.LogPlusOneOp)
def log_plus_one(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.divide(y_bar, b.add(b.full_like(x, 1), x))


@unary(hlo.LogisticOp)
def logistic(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # y = 1 / (1 + e^-x): dy = y (1 - y) dx
    return b.multiply(b.multiply(y_bar, y), b.subtract(b.full_like(y, 1), y))


# -- trigonometric and hyperbolic


@unary(hlo.SineOp)
def sine(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.multiply(y_bar, b.cosine(x))


@unary(hlo.CosineOp)
def cosine(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.negate(b.multiply(y_bar, b.sine(x)))


@unary(hlo.TanOp, chlo.TanOp)
def tan(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # dy = (1 + y^2) dx
    return b.multiply(y_bar, b.add(b.multiply(y, y), b.full_like(y, 1)))


@unary(hlo.TanhOp)
def tanh(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # dy = (1 - y^2) dx
    return b.multiply(y_bar, b.subtract(b.full_like(y, 1), b.multiply(y, y)))


# -- selects, conversions and complex numbers


@adjoint(hlo.SelectOp)
def select(b: OpBuilder, op: hlo.SelectOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    y_bar = y_bars[0]
    zero = b.full_like(y_bar, 0)
    return [None, b.select(op.pred, y_bar, zero) if needed[1] else None, b.select(op.pred, zero, y_bar) if needed[2] else None]


@unary(hlo.ConvertOp)
def convert(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # real -> complex has the adjoint real part; complex -> real drops an imaginary part, whose cotangent is zero
    dropped = is_complex(element(y)) and not is_complex(element(x))
    return b.convert(b.real(y_bar) if dropped else y_bar, element(x))


@adjoint(hlo.ReducePrecisionOp)
def reduce_precision(b: OpBuilder, op: hlo.ReducePrecisionOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    return b.create(hlo.ReducePrecisionOp, (y_bars[0],), (op.operand.type,), op.properties)


@unary(hlo.RealOp)
def real(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.complex(y_bar, b.full_like(y_bar, 0)) if is_complex(element(x)) else y_bar


@unary(hlo.ImagOp)
def imag(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    # Im z = Re(-i z); the imaginary part of a real number is 0
    zero = b.full_like(y_bar, 0)
    return b.complex(zero, b.negate(y_bar)) if is_complex(element(x)) else zero


@binary(hlo.ComplexOp)
def complex_(b: OpBuilder, x1: Value, x2: Value, y: Value, y_bar: Value) -> Both:
    # Re(y_bar (x1 + i x2)) = Re(y_bar) x1 - Im(y_bar) x2
    return lambda: b.real(y_bar), lambda: b.negate(b.imag(y_bar))


@unary(chlo.ConjOp)
def conj(b: OpBuilder, x: Value, y: Value, y_bar: Value) -> Value:
    return b.conj(y_bar)


@adjoint(ad.PartialsOp)
def partials(b: OpBuilder, op: ad.PartialsOp, y_bars: Sequence[Value], needed: Sequence[bool]) -> Bars:
    count = len(op.operands) // 2
    bars = [b.multiply(y_bars[0], c) if wanted else None for c, wanted in zip(op.operands[1 + count :], needed[1:], strict=False)]
    return [None, *bars, *[None] * count]


@adjoint(ad.GuardOp)
def guard(b: OpBuilder, op: ad.GuardOp, y_bars: Sequence[Value | None], needed: Sequence[bool]) -> Bars:
    return [None if y_bars[0] is None else guarded_cotangent(b, op, y_bars[0]), None]


@adjoint(hlo.OptimizationBarrierOp)
def optimization_barrier(b: OpBuilder, op: hlo.OptimizationBarrierOp, y_bars: Sequence[Value | None], needed: Sequence[bool]) -> Bars:
    # a barrier for the cotangents too
    present = [y_bar for y_bar in y_bars if y_bar is not None]
    passed = iter(b.create(hlo.OptimizationBarrierOp, present, [y_bar.type for y_bar in present]))
    return [None if y_bar is None else next(passed) for y_bar in y_bars]

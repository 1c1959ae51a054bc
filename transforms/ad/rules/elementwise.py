"""Derivatives of StableHLO's elementwise ops on real and complex numbers.

A function that is complex differentiable has the same derivative on both; where a complex rule differs, a comment says so. At
kinks the conventions are JAX's: |x|' = 1 at 0, and a tie of max or min gives half to each side.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import c128, element, f64, is_complex, shape, type_of
from wengert.transforms.ad.case import Arg, Case
from wengert.transforms.ad.errors import OF_COMPLEX, refuse
from wengert.transforms.ad.rule import LinearMap, Partial, derivative, divide_by, elementwise, identity, inactive, negation, scale, sum_of, where

Partials = tuple[Partial | None, ...]

# -- arithmetic


@elementwise(hlo.AddOp)
def add(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d(x1 + x2) = dx1 + dx2
    return identity, identity


@elementwise(hlo.SubtractOp)
def subtract(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d(x1 - x2) = dx1 - dx2
    return identity, negation


@elementwise(hlo.NegateOp)
def negate(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d(-x) = -dx
    return negation


@elementwise(hlo.MultiplyOp)
def multiply(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d(x1 x2) = x2 dx1 + x1 dx2
    return scale(x2), scale(x1)


@elementwise(hlo.DivideOp)
def divide(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d(x1 / x2) = dx1 / x2 - (y / x2) dx2; where x2 = broadcast(s): dx1 / x2 - y broadcast(ds / s), with a division for each s only
    by_element, broadcast = scale(lambda: b.negate(b.divide(y, x2))), x2.owner
    if not isinstance(broadcast, hlo.BroadcastInDimOp):
        return divide_by(x2), by_element

    def by_row(lb: OpBuilder, x2_dot: Value) -> Value:
        broadcast_dot = x2_dot.owner
        if (
            not isinstance(broadcast_dot, hlo.BroadcastInDimOp)
            or broadcast_dot.broadcast_dimensions != broadcast.broadcast_dimensions
            or type_of(broadcast_dot.operand) != type_of(broadcast.operand)
        ):
            return by_element(lb, x2_dot)
        ratio = lb.divide(broadcast_dot.operand, broadcast.operand)
        return lb.multiply(lb.broadcast_in_dim(ratio, ints(broadcast.broadcast_dimensions), shape(x2)), b.negate(y))

    return divide_by(x2), by_row


@elementwise(hlo.RemainderOp)
def remainder(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # x1 rem x2 = x1 - trunc(x1 / x2) x2, so d = dx1 - trunc(x1 / x2) dx2
    if is_complex(element(y)):
        raise refuse(cast(Operation, y.owner), OF_COMPLEX)

    def negative_quotient() -> Value:
        quotient = b.divide(x1, x2)
        return b.negate(b.multiply(b.sign(quotient), b.floor(b.abs(quotient))))

    return identity, scale(negative_quotient)


@elementwise(hlo.MaximumOp, hlo.MinimumOp)
def extremum(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # dy = dx1 where x1 wins, dx2 where x2 does, and half of each at a tie
    def share(x: Value, other: Value) -> Value:
        one, half, zero = (b.full_like(y, v) for v in (1, 0.5, 0))
        alone = b.select(b.compare(winning, x, other), one, zero)
        return b.select(b.compare("EQ", x1, x2), half, alone)

    winning = "GT" if isinstance(y.owner, hlo.MaximumOp) else "LT"
    return scale(lambda: share(x1, x2)), scale(lambda: share(x2, x1))


@derivative(hlo.ClampOp)
def clamp(b: OpBuilder, op: hlo.ClampOp):
    # dx strictly between the bounds; dlow where x < low < high; dhigh where x > high
    x = op.operand
    low, high = (b.broadcast_in_dim(bound, [], type_of(x).get_shape()) if bound.type != x.type else bound for bound in (op.min, op.max))

    def bound_partial(pred: Value, bound: Value) -> Partial:
        def partial(lb: OpBuilder, bound_dot: Value) -> Value:
            if bound.type != x.type:
                bound_dot = lb.broadcast_in_dim(bound_dot, [], type_of(x).get_shape())
            return lb.select(pred, bound_dot, lb.full_like(bound_dot, 0))

        return partial

    inside = b.and_(b.compare("GT", x, low), b.compare("LT", x, high))
    below = b.and_(b.compare("GT", low, x), b.compare("LT", low, high))
    return sum_of([bound_partial(below, op.min), where(inside), bound_partial(b.compare("LT", high, x), op.max)])


@derivative(hlo.AbsOp)
def absolute(b: OpBuilder, op: hlo.AbsOp):
    """d|x| = sign(x) dx, dx at 0; d|z| = Re(conj(z) dz) / |z|, 0 at z = 0."""
    x, y = op.operand, op.result
    if not is_complex(element(x)):
        # d|x| = dx where x >= 0 and -dx elsewhere (NaN included)
        sign = b.select(b.compare("GE", x, b.full_like(x, 0)), b.full_like(x, 1), b.full_like(x, -1))
        return sum_of([scale(sign)])
    # d|z| = Re(conj(z) dz) / |z|, and 0 at z = 0
    safe = b.select(b.compare("EQ", y, b.full_like(y, 0)), b.full_like(y, 1), y)
    direction = b.complex(b.divide(b.real(x), safe), b.negate(b.divide(b.imag(x), safe)))
    return sum_of([lambda lb, z_dot: lb.real(lb.multiply(z_dot, direction))])


@elementwise(hlo.PowerOp)
def power(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d(x1^x2) = x2 x1^(x2 - 1) dx1 + log(x1) y dx2, with log(0) taken as 0
    def base() -> Value:
        return b.multiply(x2, b.power(x1, b.subtract(x2, b.full_like(x2, 1))))

    def exponent() -> Value:
        one = b.full_like(x1, 1)
        return b.multiply(b.log(b.select(b.compare("EQ", x1, b.full_like(x1, 0)), one, x1)), y)

    return scale(base), scale(exponent)


@elementwise(hlo.Atan2Op)
def atan2(b: OpBuilder, x1: Value, x2: Value, y: Value) -> Partials:
    # d atan2(x1, x2) = (x2 dx1 - x1 dx2) / (x1^2 + x2^2)
    def square_radius() -> Value:
        return b.add(b.multiply(x1, x1), b.multiply(x2, x2))

    return scale(lambda: b.divide(x2, square_radius())), scale(lambda: b.divide(b.negate(x1), square_radius()))


# -- roots, exponentials, logarithms


@elementwise(hlo.SqrtOp)
def sqrt(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d sqrt(x) = dx / (2 y)
    return scale(b.divide(b.full_like(y, 0.5), y))


@elementwise(hlo.RsqrtOp)
def rsqrt(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d x^(-1/2) = -y / (2 x) dx
    return scale(b.multiply(b.full_like(x, -0.5), b.divide(y, x)))


@elementwise(hlo.CbrtOp)
def cbrt(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d x^(1/3) = dx / (3 y^2)
    return scale(b.divide(b.full_like(y, 1 / 3), b.multiply(y, y)))


@elementwise(hlo.ExponentialOp)
def exponential(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d e^x = y dx
    return scale(y)


@elementwise(hlo.ExponentialMinusOneOp)
def exponential_minus_one(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d (e^x - 1) = (y + 1) dx
    return scale(b.add(y, b.full_like(y, 1)))


@elementwise(hlo.LogOp)
def log(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d log(x) = dx / x
    return divide_by(x)


@elementwise(hlo.LogPlusOneOp)
def log_plus_one(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d log(1 + x) = dx / (1 + x)
    return divide_by(b.add(x, b.full_like(x, 1)))


@elementwise(hlo.LogisticOp)
def logistic(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d logistic(x) = y (1 - y) dx
    return scale(b.multiply(y, b.subtract(b.full_like(y, 1), y)))


# -- trigonometric and hyperbolic


@elementwise(hlo.SineOp)
def sine(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d sin(x) = cos(x) dx
    return scale(b.cosine(x))


@elementwise(hlo.CosineOp)
def cosine(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d cos(x) = -sin(x) dx
    return scale(b.negate(b.sine(x)))


@elementwise(hlo.TanOp)
def tan(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d tan(x) = (1 + y^2) dx
    return scale(b.add(b.full_like(y, 1), b.multiply(y, y)))


@elementwise(hlo.TanhOp)
def tanh(b: OpBuilder, x: Value, y: Value) -> Partial:
    # d tanh(x) = (1 - y^2) dx
    return scale(b.subtract(b.full_like(y, 1), b.multiply(y, y)))


# -- zero wherever it exists

inactive(hlo.FloorOp, hlo.CeilOp, hlo.RoundNearestAfzOp, hlo.RoundNearestEvenOp, hlo.BitcastConvertOp)


@derivative(hlo.SignOp)
def sign(b: OpBuilder, op: hlo.SignOp) -> LinearMap:
    """Real: zero. Complex: d(z/|z|) = (dz - s Re(conj(s) dz)) / |z| with s = z/|z|; zero at z = 0."""
    x = op.operand
    if not is_complex(element(x)):
        # piecewise constant
        return lambda lb, tangents: [None]
    # d(z/|z|) = (dz - s Re(conj(s) dz)) / |z| with s = z/|z|; zero at z = 0, where the sign is 0
    s, r = op.result, b.abs(x)
    safe = b.select(b.compare("EQ", r, b.full_like(r, 0)), b.full_like(r, 1), r)
    inverse = b.complex(b.divide(b.abs(s), safe), b.full_like(r, 0))
    conj = b.complex(b.real(s), b.negate(b.imag(s)))

    def apply(lb: OpBuilder, z_dot: Value) -> Value:
        radial = lb.convert(lb.real(lb.multiply(z_dot, conj)), element(s))
        return lb.multiply(lb.subtract(z_dot, lb.multiply(radial, s)), inverse)

    return sum_of([apply])


def _unary(op: type[Operation], low: float, high: float, complex: bool = False) -> Case:
    return Case(f"{op.name}{' of complex' if complex else ''}", lambda b, x: b.like(op, x), (Arg((3,), low, high, complex),))


CASES = [
    Case("add", lambda b, x, y: b.add(x, y), (Arg((3,)), Arg((3,)))),
    Case("subtract", lambda b, x, y: b.subtract(x, y), (Arg((3,)), Arg((3,)))),
    Case("negate", lambda b, x: b.negate(x), (Arg((2, 3)),)),
    Case("multiply", lambda b, x, y: b.multiply(x, y), (Arg((3,)), Arg((3,)))),
    Case("square by product", lambda b, x: b.multiply(x, x), (Arg((3,)),)),
    Case("divide", lambda b, x, y: b.divide(x, y), (Arg((3,)), Arg((3,), 0.5, 2))),
    Case("remainder", lambda b, x, y: b.remainder(x, y), (Arg((4,), values=(5.3, -5.3, 7.9, -0.4)), Arg((4,), values=(2.1, 2.3, -3.1, -1.7)))),
    Case("maximum", lambda b, x, y: b.maximum(x, y), (Arg((4,)), Arg((4,)))),
    Case("minimum", lambda b, x, y: b.minimum(x, y), (Arg((4,)), Arg((4,)))),
    Case("clamp", lambda b, lo, x, hi: b.clamp(lo, x, hi), (Arg((5,), -0.6, -0.4), Arg((5,)), Arg((5,), 0.4, 0.6))),
    Case("clamp by scalars", lambda b, lo, x, hi: b.clamp(lo, x, hi), (Arg((), -0.6, -0.4), Arg((5,)), Arg((), 0.4, 0.6))),
    Case("abs", lambda b, x: b.abs(x), (Arg((4,)),)),
    Case("abs of complex", lambda b, x: b.abs(x), (Arg((4,), complex=True),)),
    Case("power", lambda b, x, y: b.power(x, y), (Arg((3,), 0.2, 3), Arg((3,), -2, 2))),
    Case("atan2", lambda b, x, y: b.atan2(x, y), (Arg((4,)), Arg((4,)))),
    _unary(hlo.SqrtOp, 0.2, 3),
    _unary(hlo.RsqrtOp, 0.2, 3),
    _unary(hlo.CbrtOp, 0.2, 3),
    _unary(hlo.ExponentialOp, -2, 2),
    _unary(hlo.ExponentialMinusOneOp, -2, 2),
    _unary(hlo.LogOp, 0.2, 3),
    _unary(hlo.LogPlusOneOp, -0.7, 3),
    _unary(hlo.LogisticOp, -3, 3),
    _unary(hlo.SineOp, -3, 3),
    _unary(hlo.CosineOp, -3, 3),
    _unary(hlo.TanOp, -1.2, 1.2),
    _unary(hlo.TanhOp, -2, 2),
    *(_unary(op, -1, 1, complex=True) for op in (hlo.SineOp, hlo.CosineOp, hlo.ExponentialOp, hlo.LogOp, hlo.SqrtOp, hlo.TanhOp, hlo.SignOp, hlo.RsqrtOp)),
    Case("multiply complex", lambda b, x, y: b.multiply(x, y), (Arg((3,), complex=True), Arg((3,), complex=True))),
    Case("divide complex", lambda b, x, y: b.divide(x, y), (Arg((3,), complex=True), Arg((3,), complex=True))),
    Case("power of complex", lambda b, x, y: b.power(x, y), (Arg((3,), complex=True), Arg((3,), complex=True))),
    Case("real", lambda b, x: b.real(x), (Arg((3,), complex=True),)),
    Case("imag", lambda b, x: b.imag(x), (Arg((3,), complex=True),)),
    Case("real of a real number", lambda b, x: b.multiply(x, b.real(x)), (Arg((3,)),)),
    Case("imag of a real number", lambda b, x: b.add(x, b.imag(x)), (Arg((3,)),)),
    Case("complex", lambda b, x, y: b.complex(x, y), (Arg((3,)), Arg((3,)))),
    Case("select", lambda b, x, y: b.select(b.compare("GT", x, b.full_like(x, 0)), b.sine(x), y), (Arg((5,)), Arg((5,)))),
    Case("floor", lambda b, x: b.multiply(b.floor(x), x), (Arg((4,), 0.1, 3),)),
    Case("ceil", lambda b, x: b.multiply(b.ceil(x), x), (Arg((4,), 0.1, 3),)),
    Case("round to even", lambda b, x: b.multiply(b.round_nearest_even(x), x), (Arg((4,), 0.1, 3),)),
    Case("round from zero", lambda b, x: b.multiply(b.like(hlo.RoundNearestAfzOp, x), x), (Arg((4,), 0.1, 3),)),
    Case("convert to complex", lambda b, x: b.convert(b.sine(x), c128), (Arg((4,)),)),
    Case("convert to real", lambda b, z: b.convert(b.multiply(z, z), f64), (Arg((4,), complex=True),)),
    Case("sign", lambda b, x: b.multiply(b.sign(x), x), (Arg((4,)),)),
]

"""Functions whose values and derivatives at special places are those that PyTorch takes, for define-by-run code and for PyTorch programs.

Where PyTorch's formula of a first derivative differs from the rule of the op (which is JAX's) at zeros, ties, infinities or NaN, the function is written with
that formula as its declared derivative (``ad.partials``): what the formula gives there, and what differentiating it gives, are PyTorch's then.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import ad, core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex, is_differentiable, shape

Scaled = tuple[Value, Value]
"""A variable, and the derivative by it."""


# -- derivatives that are declared


def declared(b: OpBuilder, value: Value, *terms: Scaled) -> Value:
    """The value, with the derivative of the sum of c x for all terms (x, c), where c is a coefficient; element by element."""
    if not is_differentiable(value.type):
        return value
    return b.create(ad.PartialsOp, (value, *(x for x, _ in terms), *(c for _, c in terms)), [value.type])[0]


def declared_sum(b: OpBuilder, value: Value, x: Value, c: Value, dims: Sequence[int]) -> Value:
    """The value of a reduction of x along dimensions, with the derivative that sums c dx along them."""
    change = b.reduce_sum(declared(b, b.full_like(x, 0), (x, c)), dims)  # zero, but for its derivative
    return declared(b, value, (change, b.full_like(value, 1)))


def _spread(b: OpBuilder, y: Value, x: Value, dims: Sequence[int]) -> Value:
    return b.broadcast_in_dim(y, [d for d in range(len(shape(x))) if d not in dims], shape(x))


def _where_zero(b: OpBuilder, x: Value, zero: Value, other: Value) -> Value:
    return b.select(b.compare("EQ", x, b.full_like(x, 0)), zero, other)


def _where(b: OpBuilder, holds: Value, x: Value) -> Value:
    """x where a condition holds, else 0: a cotangent goes on there alone, whatever it is elsewhere."""
    return b.select(holds, x, b.full_like(x, 0))


def _number(b: OpBuilder, x: Value, holds: Value) -> Value:
    """1 where a condition holds, else 0."""
    return b.select(holds, b.full_like(x, 1), b.full_like(x, 0))


# -- arithmetic


def sign(b: OpBuilder, x: Value) -> Value:
    """1 for what is larger than zero, -1 for what is smaller, else 0, for NaN too."""
    zero = b.full_like(x, 0)
    smaller = b.select(b.compare("LT", x, zero), b.full_like(x, -1), zero)
    return b.select(b.compare("GT", x, zero), b.full_like(x, 1), smaller)


def absolute(b: OpBuilder, x: Value) -> Value:
    """|x|, whose derivative is the sign, so 0 at 0 and for NaN."""
    if is_complex(element(x)):
        return b.abs(x)
    return declared(b, b.abs(x), (x, b.like(ad.StopGradientOp, sign(b, x))))


def power(b: OpBuilder, x: Value, y: Value, order: int = 2) -> Value:
    """x to the power y. By x the derivative is 0 where y = 0, by y it is 0 where x = 0 and y is not negative; so up to this order."""
    result = b.power(x, y)
    if not order or not is_differentiable(x.type):
        return result
    by_x = b.multiply(y, power(b, x, b.subtract(y, b.full_like(y, 1)), order - 1))
    return declared(b, result, (_where_zero(b, y, b.full_like(x, 0), x), by_x), (y, _by_exponent(b, x, y, order)))


def power_by(b: OpBuilder, x: Value, exponent: float, order: int = 2) -> Value:
    """x to a fixed power, by products where that is a small whole number."""
    if exponent == 0:
        return b.like(ad.StopGradientOp, b.full_like(x, 1))
    if exponent in (1, 2, 3):
        product = x
        for _ in range(int(exponent) - 1):
            product = b.multiply(product, x)
        return product
    roots = {0.5: b.sqrt, -0.5: b.rsqrt}
    value = roots[exponent](x) if exponent in roots else b.power(x, b.full_like(x, exponent))
    if not order or not is_differentiable(x.type):
        return value
    return declared(b, value, (x, b.multiply(b.full_like(x, exponent), power_by(b, x, exponent - 1, order - 1))))


def _by_exponent(b: OpBuilder, x: Value, y: Value, order: int) -> Value:
    flat = b.and_(b.compare("EQ", x, b.full_like(x, 0)), b.compare("GE", y, b.full_like(y, 0)))
    return b.select(flat, b.full_like(x, 0), b.multiply(power(b, x, y, order - 1), b.log(x)))


def power_of(b: OpBuilder, base: float, y: Value) -> Value:
    """A number to the power y."""
    x = b.full_like(y, base)
    return b.power(x, y) if base > 0 else declared(b, b.power(x, y), (y, _by_exponent(b, x, y, 2)))


def remainder(b: OpBuilder, x: Value, y: Value) -> Value:
    """x modulo y, with the sign of y; the derivative by y is minus the whole quotient that :func:`floor_quotient` gives."""
    rest, fits = _rest(b, x, y)
    value = b.select(fits, rest, b.add(rest, y))
    quotient = b.like(ad.StopGradientOp, floor_quotient(b, x, y))
    return declared(b, value, (x, b.full_like(x, 1)), (y, b.negate(quotient)))


def _rest(b: OpBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    """The remainder with the sign of x, and whether it has that of y too or is zero."""
    rest, zero = b.remainder(x, y), b.full_like(x, 0)
    other_sign = b.compare("NE", b.compare("LT", y, zero), b.compare("LT", rest, zero))
    return rest, b.not_(b.and_(b.compare("NE", rest, zero), other_sign))


def floor_quotient(b: OpBuilder, x: Value, y: Value) -> Value:
    """The largest whole number that is not larger than x / y, from the exact remainder; x / y itself where y is 0."""
    rest, fits = _rest(b, x, y)
    if not is_differentiable(x.type):
        return b.select(fits, b.divide(x, y), b.subtract(b.divide(x, y), b.full_like(x, 1)))
    exact = b.divide(b.subtract(x, rest), y)
    exact = b.select(fits, exact, b.subtract(exact, b.full_like(x, 1)))
    whole = b.floor(exact)
    whole = b.select(b.compare("GT", b.subtract(exact, whole), b.full_like(x, 0.5)), b.add(whole, b.full_like(x, 1)), whole)
    zero = b.multiply(b.full_like(x, 0), b.sign(b.divide(x, y)))
    return _where_zero(b, y, b.divide(x, y), _where_zero(b, exact, zero, whole))


def truncated_quotient(b: OpBuilder, x: Value, y: Value) -> Value:
    """x / y without what is behind the point."""
    quotient = b.divide(x, y)
    return b.multiply(b.sign(quotient), b.floor(b.abs(quotient))) if is_differentiable(x.type) else quotient


# -- extrema and bounds


def extremum(b: OpBuilder, x: Value, y: Value, *, largest: bool) -> Value:
    """The larger or the smaller one. One that is not beaten gets the derivative, half of it in a tie; so both do where one is NaN."""
    share = b.select(b.compare("EQ", x, y), b.full_like(x, 0.5), b.full_like(x, 1))

    def unbeaten(own: Value, other: Value) -> Scaled:
        return b.select(b.compare("LT" if largest else "GT", own, other), b.full_like(own, 0), own), share

    return declared(b, b.maximum(x, y) if largest else b.minimum(x, y), unbeaten(x, y), unbeaten(y, x))


def clamp(b: OpBuilder, x: Value, low: Value | None, high: Value | None) -> Value:
    """x between bounds. The derivative goes to x on the bounds too, else to the bound that x is beyond, and nowhere where anything is NaN."""
    value, terms, one = x, list[Scaled](), b.full_like(x, 1)
    inside = b.compare("EQ", x, x)
    crossed = None if low is None or high is None else b.compare("LT", low, high)
    if low is not None:
        value, inside = b.maximum(value, low), b.and_(inside, b.compare("GE", x, low))
        below = b.compare("LT", x, low)
        terms.append((_where(b, below if crossed is None else b.and_(below, crossed), low), one))
    if high is not None:
        value, inside = b.minimum(value, high), b.and_(inside, b.compare("LE", x, high))
        above = b.compare("GT", x, high)
        terms.append((_where(b, above if low is None else b.or_(above, b.compare("LT", high, low)), high), one))
    return declared(b, value, (_where(b, inside, x), one), *terms)


def shared_extremum(b: OpBuilder, kind: core.Kind, x: Value, dims: Sequence[int]) -> Value:
    """An extremum along dimensions; all that are equal to it share the derivative, which is NaN where it is NaN."""
    value = b.reduce(kind, x, dims)
    return declared_sum(b, value, x, _shares(b, x, b.compare("EQ", x, _spread(b, value, x, dims)), dims), dims)


def overall_extremum(b: OpBuilder, kind: core.Kind, x: Value) -> Value:
    """An extremum of all elements; all that are equal to it share the derivative, and where it is NaN all NaN do."""
    dims = range(len(shape(x)))
    value = b.reduce(kind, x, dims)
    spread = _spread(b, value, x, dims)
    both = b.and_(b.compare("NE", x, x), b.compare("NE", spread, spread))
    winners = b.or_(b.compare("EQ", x, spread), both)
    return declared_sum(b, value, _where(b, winners, x), _shares(b, x, winners, dims), dims)


def _shares(b: OpBuilder, x: Value, winners: Value, dims: Sequence[int]) -> Value:
    ones = _number(b, x, winners)
    return b.divide(ones, _spread(b, b.reduce_sum(ones, dims), x, dims))


# -- products, lengths, spreads


def product(b: OpBuilder, x: Value, dims: Sequence[int]) -> Value:
    """The product along dimensions. Its derivative by an element is the product divided by that, unless there is a zero anywhere in x: then it is the
    product of the others."""
    ones = b.full_like(x, 1)
    zeros = b.reduce(core.Kind.max, _number(b, x, b.compare("EQ", x, b.full_like(x, 0))), range(len(shape(x))))
    some = b.compare("GT", b.broadcast_in_dim(zeros, [], shape(x)), b.full_like(x, 0))
    others = b.reduce(core.Kind.mul, b.select(some, x, ones), dims)
    quotient = _product_of_quotients(b, b.select(some, ones, x), dims, 2)
    return b.select(b.compare("GT", b.broadcast_in_dim(zeros, [], shape(others)), b.full_like(others, 0)), others, quotient)


def _product_of_quotients(b: OpBuilder, x: Value, dims: Sequence[int], order: int) -> Value:
    value = b.reduce(core.Kind.mul, x, dims)
    if not order:
        return value
    return declared_sum(b, value, x, b.divide(_spread(b, _product_of_quotients(b, x, dims, order - 1), x, dims), x), dims)


def variance(b: OpBuilder, x: Value, dims: Sequence[int], correction: float) -> Value:
    """The sum of squares around the mean divided by n - correction, with the derivative 2 (x - mean) / (n - correction)."""
    count = 1
    for d in dims:
        count *= shape(x)[d]
    total = b.reduce_sum(x, dims)
    centred = b.subtract(x, _spread(b, b.divide(total, b.full_like(total, count)), x, dims))
    squares = b.reduce_sum(b.multiply(centred, centred), dims)
    degrees = max(count - correction, 0)
    value = b.divide(squares, b.full_like(squares, degrees))
    return declared_sum(b, value, x, b.multiply(centred, b.full_like(x, 2 / degrees if degrees else float("inf"))), dims)


def norm(b: OpBuilder, x: Value, dims: Sequence[int], p: float) -> Value:
    """The p-norm along dimensions; where it is 0 its derivative is 0, the subgradient of least norm."""
    if p == 0:
        return b.like(ad.StopGradientOp, b.reduce_sum(_number(b, x, b.compare("NE", x, b.full_like(x, 0))), dims))
    if p in (float("inf"), -float("inf")):
        value = b.reduce(core.Kind.max if p > 0 else core.Kind.min, b.abs(x), dims)
        return declared_sum(b, value, x, _slope_of_extreme(b, x, value, dims), dims)
    if p == 1:
        return b.reduce_sum(absolute(b, x), dims)
    return _length(b, x, dims, p, 2)


def _length(b: OpBuilder, x: Value, dims: Sequence[int], p: float, order: int) -> Value:
    """The p-norm: its derivative by x is x |x|^(p - 2) / norm^(p - 1), put as PyTorch puts it for each range of p."""
    size, zero = absolute(b, x), b.full_like(x, 0)
    total = b.reduce_sum(b.multiply(x, x) if p == 2 else b.power(size, b.full_like(x, p)), dims)
    value = b.sqrt(total) if p == 2 else b.power(total, b.full_like(total, 1 / p))
    if not order:
        return value
    spread = _spread(b, _length(b, x, dims, p, order - 1), x, dims)
    if p == 2:  # the second derivative at 0 is NaN
        return declared_sum(b, value, x, _where_zero(b, spread, zero, b.divide(x, spread)), dims)
    direction = x if p > 2 else b.like(ad.StopGradientOp, sign(b, x))
    slope = b.multiply(direction, power_by(b, size, p - 2 if p > 2 else p - 1))
    if p < 1:
        slope = b.multiply(_where_zero(b, x, zero, slope), power_by(b, spread, 1 - p))
        return declared_sum(b, value, x, slope, dims)
    change = b.reduce_sum(declared(b, zero, (x, slope)), dims)
    scale = power_by(b, _length(b, x, dims, p, order - 1), p - 1)
    return declared(b, value, (_where_zero(b, value, b.full_like(value, 0), change), b.divide(b.full_like(scale, 1), scale)))


def _slope_of_extreme(b: OpBuilder, x: Value, value: Value, dims: Sequence[int]) -> Value:
    spread, size = _spread(b, value, x, dims), b.abs(x)
    both = b.and_(b.compare("NE", x, x), b.compare("NE", spread, spread))
    shares = _shares(b, x, b.or_(b.compare("EQ", size, spread), both), dims)
    return b.like(ad.StopGradientOp, b.multiply(sign(b, x), shares))


def logsumexp(b: OpBuilder, x: Value, dims: Sequence[int], order: int = 2) -> Value:
    """log(sum(exp(x))), with the derivative exp(x - logsumexp(x))."""
    top = b.like(ad.StopGradientOp, b.reduce(core.Kind.max, x, dims))
    top = b.select(b.compare("EQ", b.abs(top), b.full_like(top, float("inf"))), b.full_like(top, 0), top)
    value = b.add(b.log(b.reduce_sum(b.exponential(b.subtract(x, _spread(b, top, x, dims))), dims)), top)
    if not order:
        return value
    return declared_sum(b, value, x, b.exponential(b.subtract(x, _spread(b, logsumexp(b, x, dims, order - 1), x, dims))), dims)


def root(b: OpBuilder, x: Value) -> Value:
    """The square root of a sum of squares. At 0 its derivative is 0, the subgradient of least norm of a length: the root is taken of 1 there."""
    zero = b.compare("EQ", x, b.full_like(x, 0))
    return b.select(zero, b.full_like(x, 0), b.sqrt(b.select(zero, b.full_like(x, 1), x)))


def angle(b: OpBuilder, y: Value, x: Value) -> Value:
    """atan2; its derivative is 0 where the square of the radius is 0, and the second derivative there NaN."""
    square = b.add(b.multiply(x, x), b.multiply(y, y))
    inverse = _where_zero(b, square, b.full_like(x, 0), b.divide(b.full_like(x, 1), square))
    return declared(b, b.atan2(y, x), (y, b.multiply(x, inverse)), (x, b.multiply(b.negate(y), inverse)))

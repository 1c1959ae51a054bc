"""Elementwise ATen ops.

Where a function has a kink, it is written with the selection whose derivative is the one that PyTorch's autograd takes there:
the derivative of ``relu`` at 0 is 0, that of ``clamp`` at a bound is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, Results, Write, means
from wengert.frontends.aten.result_types.rules import asked, boolean, floating, promoted, real, same
from wengert.frontends.aten.result_types.shapes import divided
from wengert.frontends.kinks import angle
from wengert.ir.tensor_types import element, i1, is_boolean, is_complex, is_float, is_integer, is_unsigned

_UNARY: dict[str, Callable[[OpBuilder, Value], Value]] = {
    "abs": OpBuilder.abs,
    "acos": lambda b, x: b.like(chlo.AcosOp, x),
    "acosh": lambda b, x: b.like(chlo.AcoshOp, x),
    "asin": lambda b, x: b.like(chlo.AsinOp, x),
    "asinh": lambda b, x: b.like(chlo.AsinhOp, x),
    "atan": lambda b, x: b.like(chlo.AtanOp, x),
    "atanh": lambda b, x: b.like(chlo.AtanhOp, x),
    "bitwise_not": OpBuilder.not_,
    "ceil": OpBuilder.ceil,
    "cos": OpBuilder.cosine,
    "cosh": lambda b, x: b.like(chlo.CoshOp, x),
    "digamma": lambda b, x: b.like(chlo.DigammaOp, x),
    "erf": lambda b, x: b.like(chlo.ErfOp, x),
    "erfc": lambda b, x: b.like(chlo.ErfcOp, x),
    "erfinv": lambda b, x: b.like(chlo.ErfInvOp, x),
    "exp": OpBuilder.exponential,
    "expm1": OpBuilder.exponential_minus_one,
    "floor": OpBuilder.floor,
    "lgamma": lambda b, x: b.like(chlo.LgammaOp, x),
    "log": OpBuilder.log,
    "log1p": OpBuilder.log_plus_one,
    "neg": OpBuilder.negate,
    "round": OpBuilder.round_nearest_even,
    "rsqrt": OpBuilder.rsqrt,
    "sigmoid": OpBuilder.logistic,
    "sin": OpBuilder.sine,
    "sinh": lambda b, x: b.like(chlo.SinhOp, x),
    "sqrt": OpBuilder.sqrt,
    "tan": OpBuilder.tan,
    "tanh": OpBuilder.tanh,
}
"""Ops that are one of ours: operands are converted to the result's type first."""

_ROUNDING = {"ceil", "floor", "round"}
_RESULTS: dict[str, Results] = {"abs": real, "bitwise_not": promoted, "neg": promoted, **dict.fromkeys(_ROUNDING, same)}
"""The rules of those whose results for integers are integers."""


def _unary(name: str, build: Callable[[OpBuilder, Value], Value]) -> Write:
    def meaning(b: AtenBuilder, x: Value) -> Value:
        x = b.fitted(x, element(x) if is_complex(element(x)) else None)  # the absolute value of a complex number is real
        return x if name in _ROUNDING and not is_float(element(x)) else build(b, x)

    return meaning


for _name, _build in _UNARY.items():
    means(f"{_name}.default(self)", results=_RESULTS.get(_name, floating))(_unary(_name, _build))
means("_neg_view.default(self)", results=promoted)(_unary("neg", OpBuilder.negate))


def _binary(build: Callable[[OpBuilder, Value, Value], Value]) -> Write:
    def meaning(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
        return build(b, b.fitted(x), b.fitted(y))

    return meaning


for _names, (_rule, _build) in {
    ("mul.Tensor(self, other)", "mul.Scalar(self, other)"): (promoted, OpBuilder.multiply),
    ("div.Tensor(self, other)", "div.Scalar(self, other)"): (floating, OpBuilder.divide),
    ("maximum.default(self, other)",): (promoted, OpBuilder.maximum),
    ("minimum.default(self, other)",): (promoted, OpBuilder.minimum),
    ("atan2.default(self, other)",): (floating, angle),
    ("fmod.Tensor(self, other)", "fmod.Scalar(self, other)"): (promoted, OpBuilder.remainder),
    ("bitwise_and.Tensor(self, other)", "bitwise_and.Scalar(self, other)"): (promoted, OpBuilder.and_),
    ("bitwise_or.Tensor(self, other)", "bitwise_or.Scalar(self, other)"): (promoted, OpBuilder.or_),
    ("bitwise_xor.Tensor(self, other)", "bitwise_xor.Scalar(self, other)"): (promoted, OpBuilder.xor),
}.items():
    means(*_names, results=_rule)(_binary(_build))


# -- arithmetic


def _scaled(b: AtenBuilder, y: Value | Number, alpha: Number) -> Value:
    fitted = b.fitted(y)
    return fitted if alpha == 1 else b.multiply(fitted, b.full_like(fitted, alpha))


@means("add.Tensor(self, other, *, alpha=1)", "add.Scalar(self, other, alpha=1)", results=promoted)
def add(b: AtenBuilder, x: Value | Number, y: Value | Number, alpha: Number = 1) -> Value:
    """x + alpha y."""
    return b.add(b.fitted(x), _scaled(b, y, alpha))


@means("sub.Tensor(self, other, *, alpha=1)", "sub.Scalar(self, other, alpha=1)", results=promoted)
def sub(b: AtenBuilder, x: Value | Number, y: Value | Number, alpha: Number = 1) -> Value:
    """x - alpha y."""
    return b.subtract(b.fitted(x), _scaled(b, y, alpha))


@means("rsub.Tensor(self, other, *, alpha=1)", "rsub.Scalar(self, other, alpha=1)", results=promoted)
def rsub(b: AtenBuilder, x: Value | Number, y: Value | Number, alpha: Number = 1) -> Value:
    """y - alpha x."""
    return b.subtract(b.fitted(y), _scaled(b, x, alpha))


@means("reciprocal.default(self)", results=floating)
def reciprocal(b: AtenBuilder, x: Value) -> Value:
    """1 / x."""
    x = b.fitted(x)
    return b.divide(b.full_like(x, 1), x)


@means("div.Tensor_mode(self, other, *, rounding_mode)", "div.Scalar_mode(self, other, *, rounding_mode)", results=divided)
def div_rounded(b: AtenBuilder, x: Value | Number, y: Value | Number, rounding_mode: str | None = None) -> Value:
    """A quotient as it is, towards zero, or towards minus infinity."""
    x, y = b.fitted(x), b.fitted(y)
    if rounding_mode == "floor":
        return _floor_quotient(b, x, y)
    quotient = b.divide(x, y)
    return quotient if rounding_mode is None or is_integer(element(x)) else _truncated(b, quotient)


@means("floor_divide.default(self, other)", results=promoted)
def floor_divide(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
    """A quotient towards minus infinity."""
    return _floor_quotient(b, b.fitted(x), b.fitted(y))


def _floor_quotient(b: AtenBuilder, x: Value, y: Value) -> Value:
    # From the remainder, as PyTorch does: floor(x / y) is wrong where the quotient rounds up to an integer.
    rest = _floor_remainder(b, x, y)
    quotient = b.divide(b.subtract(x, rest), y)
    if is_integer(element(x)):
        return quotient
    exact = b.round_nearest_even(quotient)
    return b.select(b.compare("EQ", y, b.full_like(y, 0)), b.divide(x, y), exact)


def _floor_remainder(b: AtenBuilder, x: Value, y: Value) -> Value:
    rest = b.remainder(x, y)
    if is_integer(element(x)) and is_unsigned(element(x)):
        return rest
    zero = b.full_like(x, 0)
    wrong = b.and_(b.compare("NE", rest, zero), b.compare("NE", b.compare("LT", rest, zero), b.compare("LT", y, zero)))
    return b.select(wrong, b.add(rest, y), rest)


@means("remainder.Tensor(self, other)", "remainder.Scalar(self, other)", "remainder.Scalar_Tensor(self, other)", results=promoted)
def remainder(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
    """The remainder that has the sign of y."""
    return _floor_remainder(b, b.fitted(x), b.fitted(y))


@means("trunc.default(self)", results=same)
def trunc(b: AtenBuilder, x: Value) -> Value:
    """Towards zero."""
    return _truncated(b, x) if is_float(element(x)) else x


def _truncated(b: AtenBuilder, x: Value) -> Value:
    return b.select(b.compare("LT", x, b.full_like(x, 0)), b.ceil(x), b.floor(x))


@means("sign.default(self)", "sgn.default(self)", results=same)
def sign(b: AtenBuilder, x: Value) -> Value:
    """-1, 0 or 1."""
    return b.convert(x, element(x)) if is_boolean(element(x)) else b.sign(x)


@means("pow.Tensor_Scalar(self, exponent)", results=promoted)
def pow_number(b: AtenBuilder, x: Value, exponent: Number) -> Value:
    """A power; small whole exponents are products, so that their derivatives hold at 0 and below."""
    x = b.fitted(x)
    if exponent == 0.5:
        return b.sqrt(x)
    if exponent == -0.5:
        return b.rsqrt(x)
    if not isinstance(exponent, complex) and exponent == int(exponent) and abs(exponent) <= 16:
        product = _whole_power(b, x, int(abs(exponent)))
        return product if exponent >= 0 else b.divide(b.full_like(x, 1), product)
    return b.power(x, b.full_like(x, exponent))


def _whole_power(b: AtenBuilder, x: Value, exponent: int) -> Value:
    if exponent == 0:
        return b.full_like(x, 1)
    half = _whole_power(b, x, exponent // 2)
    square = b.multiply(half, half) if exponent > 1 else half
    return b.multiply(square, x) if exponent % 2 else square


@means("pow.Tensor_Tensor(self, exponent)", "pow.Scalar(self, exponent)", results=promoted)
def pow_tensor(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
    """A power with a computed exponent."""
    return b.power(b.fitted(x), b.fitted(y))


@means("log2.default(self)", results=floating)
def log2(b: AtenBuilder, x: Value) -> Value:
    """The logarithm to base 2."""
    return _logarithm(b, x, 2)


@means("log10.default(self)", results=floating)
def log10(b: AtenBuilder, x: Value) -> Value:
    """The logarithm to base 10."""
    return _logarithm(b, x, 10)


def _logarithm(b: AtenBuilder, x: Value, base: float) -> Value:
    x = b.fitted(x)
    return b.divide(b.log(x), b.full_like(x, log(base)))


@means("exp2.default(self)", results=floating)
def exp2(b: AtenBuilder, x: Value) -> Value:
    """2 to the power x."""
    x = b.fitted(x)
    return b.exponential(b.multiply(x, b.full_like(x, log(2))))


# -- comparison and logic


def _comparison(direction: str) -> Write:
    def meaning(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
        return b.compare(direction, b.compared(x), b.compared(y))

    return meaning


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    means(f"{_name}.Tensor(self, other)", f"{_name}.Scalar(self, other)", results=boolean)(_comparison(_name.upper()))


def _logical(build: Callable[[OpBuilder, Value, Value], Value]) -> Write:
    def meaning(b: AtenBuilder, x: Value, y: Value) -> Value:
        return build(b, b.expanded(truth(b, x), b.extents), b.expanded(truth(b, y), b.extents))

    return meaning


for _name, _build in {"and": OpBuilder.and_, "or": OpBuilder.or_, "xor": OpBuilder.xor}.items():
    means(f"logical_{_name}.default(self, other)", results=boolean)(_logical(_build))


def truth(b: AtenBuilder, x: Value) -> Value:
    """Whether each element is not zero."""
    return x if is_boolean(element(x)) else b.compare("NE", x, b.full_like(x, 0))


@means("logical_not.default(self)", results=boolean)
def logical_not(b: AtenBuilder, x: Value) -> Value:
    """Whether each element is zero."""
    return b.not_(truth(b, x))


@means("isnan.default(self)", results=boolean)
def isnan(b: AtenBuilder, x: Value) -> Value:
    """Whether each element is NaN."""
    return b.compare("NE", x, x)


@means("isinf.default(self)", results=boolean)
def isinf(b: AtenBuilder, x: Value) -> Value:
    """Whether each element is infinite."""
    if not is_float(element(x)):
        return b.full(0, b.type)
    return b.compare("EQ", b.abs(x), b.full_like(x, float("inf")))


@means("where.self(condition, self, other)", results=promoted)
def where(b: AtenBuilder, condition: Value, x: Value | Number, y: Value | Number) -> Value:
    """One or the other."""
    return b.select(b.fitted(truth(b, condition), i1), b.fitted(x), b.fitted(y))


# -- selections with a kink


@means("clamp.default(self, min=None, max=None)", "clamp.Tensor(self, min=None, max=None)", results=promoted)
def clamp(b: AtenBuilder, x: Value, low: Value | Number | None = None, high: Value | Number | None = None) -> Value:
    """x between bounds; its derivative at a bound is 1."""
    x = b.fitted(x)
    if low is not None:
        least = b.fitted(low)
        x = b.select(b.compare("LT", x, least), least, x)
    if high is not None:
        most = b.fitted(high)
        x = b.select(b.compare("GT", x, most), most, x)
    return x


@means("hardtanh.default(self, min_val=-1, max_val=1)", results=same)
def hardtanh(b: AtenBuilder, x: Value, low: Number = -1, high: Number = 1) -> Value:
    """x between bounds; its derivative at a bound is 0."""
    least, most = b.full_like(x, low), b.full_like(x, high)
    return b.select(b.compare("LE", x, least), least, b.select(b.compare("GE", x, most), most, x))


@means("relu.default(self)", results=same)
def relu(b: AtenBuilder, x: Value) -> Value:
    """The positive part; NaN stays."""
    zero = b.full_like(x, 0)
    return b.select(b.compare("LE", x, zero), zero, x)


@means("leaky_relu.default(self, negative_slope=0.01)", results=same)
def leaky_relu(b: AtenBuilder, x: Value, slope: Number = 0.01) -> Value:
    """x, or a fraction of it where it is not positive."""
    return b.select(b.compare("GT", x, b.full_like(x, 0)), x, b.multiply(x, b.full_like(x, slope)))


@means("elu.default(self, alpha=1, scale=1, input_scale=1)", results=same)
def elu(b: AtenBuilder, x: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Value:
    """x where it is positive, exp(x) - 1 elsewhere, scaled."""
    zero = b.full_like(x, 0)
    positive = b.compare("GT", x, zero)
    # The exponential never sees what would overflow: its derivative, times 0, would be NaN.
    below = b.multiply(b.select(positive, zero, x), b.full_like(x, input_scale))
    curved = b.multiply(b.multiply(b.exponential_minus_one(below), b.full_like(x, alpha)), b.full_like(x, scale))
    return b.select(positive, b.multiply(x, b.full_like(x, scale)), curved)


# -- smooth activations


@means("gelu.default(self, *, approximate='none')", results=same)
def gelu(b: AtenBuilder, x: Value, approximate: str = "none") -> Value:
    """x Phi(x), exactly or by the formula with tanh (Hendrycks and Gimpel 2016)."""
    if approximate == "tanh":
        cubed = b.multiply(b.multiply(x, x), x)
        inner = b.multiply(b.full_like(x, sqrt(2 / pi)), b.add(x, b.multiply(b.full_like(x, 0.044715), cubed)))
        curve = b.tanh(inner)
    else:
        curve = b.like(chlo.ErfOp, b.multiply(x, b.full_like(x, sqrt(0.5))))
    return b.multiply(b.multiply(b.full_like(x, 0.5), x), b.add(b.full_like(x, 1), curve))


@means("silu.default(self)", results=same)
def silu(b: AtenBuilder, x: Value) -> Value:
    """x sigmoid(x)."""
    return b.multiply(x, b.logistic(x))


# -- conversions


@means(
    "_to_copy.default(self, *, dtype=None)",
    "clone.default(self)",
    "alias.default(self)",
    "lift_fresh_copy.default(self)",
    "copy.default(self, src)",
    results=asked,
)
def copied(b: AtenBuilder, x: Value, source: Value | None = None, **_: Any) -> Value:
    """The operand with the result's dtype; ``copy`` has the value to take as its second argument."""
    return b.fitted(x if source is None else source)


@means("detach.default(self)", results=same)
def detach(b: AtenBuilder, x: Value) -> Value:
    """A constant for derivatives."""
    return b.stopped(x) if is_float(element(x)) or is_complex(element(x)) else x


@means("isfinite.default(self)", results=boolean)
def isfinite(b: AtenBuilder, x: Value) -> Value:
    """Whether each element is neither infinite nor NaN."""
    return b.one(hlo.IsFiniteOp, (x,), b.type) if is_float(element(x)) else b.full(1, b.type)

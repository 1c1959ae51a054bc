"""Special functions of two arguments and of orders, bits of numbers, and extremes that ignore NaN."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.rules import Given, Types, boolean, floating, promoted, same, same_floating
from wengert.frontends.aten.result_types.views import corners, upper_corners
from wengert.frontends.aten.special_functions.bessel import erfcx_value, log_ndtr
from wengert.frontends.kinks import declared
from wengert.ir.tensor_types import dtype_of, element, element_of, i32, is_float, is_unsigned, shape, tensor


@means("polygamma.default(n, self)", results=same_floating)
def polygamma(b: AtenBuilder, order: int, x: Value) -> Value:
    """The derivative of digamma of this order."""
    x = b.fitted(x)
    return b.like(chlo.PolygammaOp, b.full_like(x, order), x)


@means("special_zeta.default(self, other)", "special_zeta.other_scalar(self, other)", "special_zeta.self_scalar(self, other)", results=floating)
def zeta(b: AtenBuilder, x: Value | Number, q: Value | Number) -> Value:
    """The Hurwitz zeta function."""
    return b.like(chlo.ZetaOp, b.fitted(x), b.fitted(q))


@means("special_i1e.default(self)", results=floating)
def i1e(b: AtenBuilder, x: Value) -> Value:
    """The modified Bessel function of order 1, times exp(-|x|)."""
    return b.like(chlo.BesselI1eOp, b.fitted(x))


@means("hypot.default(self, other)", results=promoted)
def hypot(b: AtenBuilder, x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2) without overflow."""
    x, y = b.fitted(x), b.fitted(y)
    largest = b.stopped(b.maximum(b.abs(x), b.abs(y)))
    usual = b.and_(b.compare("GT", largest, b.full_like(x, 0)), b.compare("LT", largest, b.full_like(x, float("inf"))))
    scale = b.select(usual, largest, b.full_like(x, 1))
    u, v = b.divide(x, scale), b.divide(y, scale)
    return b.multiply(scale, b.sqrt(b.add(b.multiply(u, u), b.multiply(v, v))))


@means("special_ndtri.default(self)", results=floating)
def ndtri(b: AtenBuilder, p: Value) -> Value:
    """The inverse of the normal distribution function, by Newton's method on logarithms, so that small probabilities count."""
    p = b.fitted(p)
    half, zero, one = b.full_like(p, 0.5), b.full_like(p, 0), b.full_like(p, 1)
    upper = b.compare("GT", p, half)
    tail = b.select(upper, b.subtract(one, p), p)
    inside = b.and_(b.compare("GT", tail, zero), b.compare("LE", tail, half))
    q = b.stopped(b.select(inside, tail, half))
    # Where to begin: log(q) is -y^2 / 2 - log(-y sqrt(2 pi)) far out.
    far = b.compare("LT", q, b.full_like(q, 0.01))
    log_q = b.log(q)
    reach = b.subtract(b.multiply(b.full_like(q, -2), b.select(far, log_q, b.full_like(q, -9))), b.full_like(q, log(2 * pi)))
    outer = b.negate(b.sqrt(b.subtract(reach, b.log(reach))))
    inner = b.multiply(b.like(chlo.ErfInvOp, b.subtract(b.add(q, q), one)), b.full_like(q, sqrt(2)))
    y = b.select(far, outer, inner)
    for _ in range(3):
        # d log_ndtr(y) = sqrt(2 / pi) / erfcx(-y / sqrt(2)) dy
        slope = b.divide(b.full_like(y, sqrt(2 / pi)), erfcx_value(b, b.multiply(y, b.full_like(y, -sqrt(0.5)))))
        y = b.subtract(y, b.divide(b.subtract(b.stopped(log_ndtr(b, y)), log_q), slope))
    y = b.select(upper, b.negate(y), y)
    infinite = b.select(upper, b.full_like(y, float("inf")), b.full_like(y, float("-inf")))
    y = b.select(inside, y, b.select(b.compare("EQ", tail, zero), infinite, b.full_like(y, float("nan"))))
    # d ndtri(p) = sqrt(2 pi) exp(y^2 / 2) dp
    y = b.stopped(y)
    return declared(b, y, (p, b.multiply(b.full_like(y, sqrt(2 * pi)), b.exponential(b.multiply(half, b.multiply(y, y))))))


@means("round.decimals(self, *, decimals)", results=same)
def round_to(b: AtenBuilder, x: Value, *, decimals: int) -> Value:
    """x rounded to so many digits behind the point, or before it where the number is negative."""
    if not is_float(element(x)):
        return x
    scale = b.full_like(x, float(10 ** abs(decimals)))
    if decimals < 0:
        return b.multiply(b.round_nearest_even(b.divide(x, scale)), scale)
    return b.divide(b.round_nearest_even(b.multiply(x, scale)), scale)


# -- bits


@means("signbit.default(self)", results=boolean)
def signbit(b: AtenBuilder, x: Value) -> Value:
    """Whether the sign is negative; zeros and NaN have one too."""
    element_type = element(x)
    if not is_float(element_type):
        return b.full(0, b.type) if is_unsigned(element_type) else b.compare("LT", x, b.full_like(x, 0))
    integers = element_of(np.dtype(f"int{8 * dtype_of(element_type).itemsize}"))
    bits = b.one(hlo.BitcastConvertOp, (x,), tensor(shape(x), integers))
    return b.compare("LT", bits, b.full_like(bits, 0))


@means("copysign.Tensor(self, other)", "copysign.Scalar(self, other)", results=floating)
def copysign(b: AtenBuilder, x: Value, y: Value | Number) -> Value:
    """x with the sign of y; its derivative at x = 0 is 0."""
    x, y = b.fitted(x), b.fitted(y)
    size = b.abs(x)
    size = b.select(b.compare("EQ", x, b.full_like(x, 0)), b.stopped(size), size)
    return b.select(signbit(b, y), b.negate(size), size)


@means("nextafter.default(self, other)", results=promoted)
def nextafter(b: AtenBuilder, x: Value, y: Value) -> Value:
    """The next number from x towards y."""
    return b.like(chlo.NextAfterOp, b.fitted(x), b.fitted(y))


def _parts(given: Given) -> Types:
    """The first tensor, and integers in its shape."""
    (own,) = same(given)
    return own, tensor(own.get_shape(), i32)


@means("frexp.Tensor(self)", results=_parts)
def frexp(b: AtenBuilder, x: Value) -> tuple[Value, Value]:
    """A mantissa of [0.5, 1) in size and the exponent of two; the exponent is a constant to derivatives. What is zero or not finite has the exponent 0."""
    info = np.finfo(dtype_of(element(x)))
    integers = tensor(shape(x), element_of(np.dtype(f"int{info.bits}")))

    def integer(value: int) -> Value:
        return b.full(value, integers)

    def power(exponents: Value) -> Value:
        """Two to these powers, which are those of normal numbers."""
        bits = b.like(hlo.ShiftLeftOp, b.add(exponents, integer(info.maxexp - 1)), integer(info.nmant))
        return b.one(hlo.BitcastConvertOp, (bits,), x.type)

    size = b.abs(x)
    subnormal = b.compare("LT", size, b.full_like(x, float(info.smallest_normal)))
    raised = b.select(subnormal, b.multiply(x, b.full_like(x, 2.0 ** (info.nmant + 1))), x)
    bits = b.one(hlo.BitcastConvertOp, (b.stopped(raised),), integers)
    field = b.and_(b.like(hlo.ShiftRightLogicalOp, bits, integer(info.nmant)), integer(2 * info.maxexp - 1))
    exponent = b.subtract(field, b.select(subnormal, integer(info.maxexp + info.nmant - 1), integer(info.maxexp - 2)))
    has_one = b.and_(b.compare("NE", x, b.full_like(x, 0)), b.compare("LT", size, b.full_like(x, float("inf"))))
    exponent = b.select(has_one, exponent, integer(0))
    half = b.like(hlo.ShiftRightArithmeticOp, exponent, integer(1))
    mantissa = b.multiply(b.multiply(x, power(b.negate(half))), power(b.subtract(half, exponent)))
    return mantissa, b.convert(exponent, i32)


def _shift(cls: type[Operation]) -> Any:
    def meaning(b: AtenBuilder, x: Value | Number, y: Value | Number) -> Value:
        return b.like(cls, b.fitted(x), b.fitted(y))

    return meaning


for _side, _class in {"left": hlo.ShiftLeftOp, "right": hlo.ShiftRightArithmeticOp}.items():
    means(*(f"bitwise_{_side}_shift.{o}(self, other)" for o in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")), results=promoted)(_shift(_class))
    means(f"__{_side[0]}shift__.Tensor(self, other)", f"__{_side[0]}shift__.Scalar(self, other)", results=promoted)(_shift(_class))


# -- extremes


@means("fmax.default(self, other)", results=promoted)
def fmax(b: AtenBuilder, x: Value, y: Value) -> Value:
    """The larger one; a number rather than NaN. Where they are equal, x."""
    x, y = b.fitted(x), b.fitted(y)
    return b.select(b.or_(b.compare("GE", x, y), b.compare("NE", y, y)), x, y)


@means("fmin.default(self, other)", results=promoted)
def fmin(b: AtenBuilder, x: Value, y: Value) -> Value:
    """The smaller one, likewise."""
    x, y = b.fitted(x), b.fitted(y)
    return b.select(b.or_(b.compare("LE", x, y), b.compare("NE", y, y)), x, y)


# -- positions of triangles


@means("tril_indices.default(row, col, offset=0, *, dtype=None)", results=corners)
def tril_indices(b: AtenBuilder, rows: int, columns: int, offset: int = 0, **_: Any) -> Value:
    """Rows and columns of the lower triangle."""
    return b.constant(np.array(np.tril_indices(rows, offset, columns), dtype_of(b.element_type)))


@means("triu_indices.default(row, col, offset=0, *, dtype=None)", results=upper_corners)
def triu_indices(b: AtenBuilder, rows: int, columns: int, offset: int = 0, **_: Any) -> Value:
    """Rows and columns of the upper triangle."""
    return b.constant(np.array(np.triu_indices(rows, offset, columns), dtype_of(b.element_type)))

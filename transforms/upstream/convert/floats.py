"""Floating-point ``arith`` and ``math``.

At kinks the convention is that of the StableHLO ops that are written. ``maximumf`` and ``minimumf`` propagate NaN as StableHLO's; ``maxnumf`` and
``minnumf`` return the other operand. ``copysign`` has the derivative of the magnitude with the sign given; the sign itself has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.scalar_forms import CMPF
from wengert.ir.construction import unverified
from wengert.ir.tensor_types import dtype_of, element, float_limits, i1, i64, is_boolean, is_complex, is_float, rank, shape, tensor
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.upstream.convert.converter import Converter, Handler, Value, element_type, handles
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.convert.integers import bitcast, number_of, unsigned_type

Unary = Callable[[OpBuilder, Value], Value]
Binary = Callable[[OpBuilder, Value, Value], Value]
Ternary = Callable[[OpBuilder, Value, Value, Value], Value]


def handle_floats(unary: dict[str, Unary], binary: dict[str, Binary], ternary: dict[str, Ternary] | None = None) -> None:
    """Registers ops whose meaning is a function of a builder and their operands in one shape."""
    for name, make in {**unary, **binary, **(ternary or {})}.items():
        handles(name, elementwise=True)(_handler(make))


def _handler(make: Callable[..., Value]) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        return [make(c.b, *c.lifted(*c.operands(op)))]

    return handler


# -- constants


@handles("arith.constant", elementwise=True)
def _constant(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    value = op.attributes.get("value")
    type = element_type(op, op.results[0].type)
    if isinstance(value, IntegerAttr):
        number = cast("IntegerAttr[Any]", value).value.data
        return [c.b.scalar(bool(number) if is_boolean(type) else number, type)]
    if isinstance(value, FloatAttr):
        return [c.b.scalar(cast("FloatAttr[Any]", value).value.data, type)]
    if isinstance(value, DenseIntOrFPElementsAttr):
        return [dense_constant(c.b, cast("DenseIntOrFPElementsAttr[Any]", value))]
    raise refusal(op, "constants are numbers and dense<...>")


def dense_constant(b: OpBuilder, value: DenseIntOrFPElementsAttr[Any]) -> Value:
    """A dense constant; one of indices has elements of 64 bits."""
    type = value.type
    if isinstance(type.get_element_type(), IndexType):
        value = unverified(DenseIntOrFPElementsAttr, type=tensor(type.get_shape(), i64), data=value.data)
    elif not isinstance(type, TensorType):
        value = unverified(DenseIntOrFPElementsAttr, type=tensor(type.get_shape(), type.get_element_type()), data=value.data)
    return b.one(hlo.ConstantOp, (), cast(Attribute, value.type), value=value)


@handles("index.constant", elementwise=True)
def _index_constant(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.index(number_of(op, "value"))]


@handles("index.bool.constant", elementwise=True)
def _index_boolean(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.b.scalar(bool(number_of(op, "value")), element_type(op, op.results[0].type))]


@handles("complex.constant", elementwise=True)
def _complex_constant(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    parts = cast("ArrayAttr[FloatAttr[Any]]", op.attributes["value"]).data
    return [c.b.scalar(complex(parts[0].value.data, parts[1].value.data), element_type(op, op.results[0].type))]


# -- arith


def maxnum(b: OpBuilder, x: Value, y: Value) -> Value:
    """The larger operand, or the one that is a number."""
    return _number_of_two(b, x, y, b.maximum(x, y))


def minnum(b: OpBuilder, x: Value, y: Value) -> Value:
    """The smaller operand, or the one that is a number."""
    return _number_of_two(b, x, y, b.minimum(x, y))


def _number_of_two(b: OpBuilder, x: Value, y: Value, both: Value) -> Value:
    return b.select(b.compare("NE", x, x), y, b.select(b.compare("NE", y, y), x, both))


handle_floats(
    {"arith.negf": OpBuilder.negate},
    {
        "arith.addf": OpBuilder.add,
        "arith.subf": OpBuilder.subtract,
        "arith.mulf": OpBuilder.multiply,
        "arith.divf": OpBuilder.divide,
        "arith.remf": OpBuilder.remainder,
        "arith.maximumf": OpBuilder.maximum,
        "arith.minimumf": OpBuilder.minimum,
        "arith.maxnumf": maxnum,
        "arith.minnumf": minnum,
    },
)

_ORDERED = {"oeq": "EQ", "ogt": "GT", "oge": "GE", "olt": "LT", "ole": "LE", "une": "NE"}
_UNORDERED = {"ugt": "LE", "uge": "LT", "ult": "GE", "ule": "GT"}
"""The comparison that a predicate is the negation of."""


def compare(b: OpBuilder, predicate: str, x: Value, y: Value) -> Value:
    """A comparison by its name in ``arith.cmpf``."""
    if predicate in _ORDERED:
        return b.compare(_ORDERED[predicate], x, y)
    if predicate in _UNORDERED:
        return b.not_(b.compare(_UNORDERED[predicate], x, y))
    ordered = b.and_(b.compare("EQ", x, x), b.compare("EQ", y, y))
    if predicate in ("true", "false"):
        return b.full_like(ordered, predicate == "true")
    if predicate in ("ord", "uno"):
        return ordered if predicate == "ord" else b.not_(ordered)
    differs = b.or_(b.compare("LT", x, y), b.compare("GT", x, y))
    return differs if predicate == "one" else b.not_(differs)


@handles("arith.cmpf", elementwise=True)
def _cmpf(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [compare(c.b, CMPF[number_of(op, "predicate")], *c.lifted(*c.operands(op)))]


@handles("arith.select", elementwise=True)
def _select(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    condition, on_true, on_false = c.operands(op)
    chosen = constant_integer(condition)
    if rank(condition) == 0 and chosen is not None:
        return [on_true if chosen else on_false]
    if rank(condition):
        condition, on_true, on_false = c.lifted(condition, on_true, on_false)
    else:
        on_true, on_false = c.lifted(on_true, on_false)
    return [c.b.select(condition, on_true, on_false)]


# -- casts


@handles("arith.extf", "arith.truncf", "arith.convertf", "arith.sitofp", elementwise=True)
def _convert(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, type = c[op.operands[0]], element_type(op, op.results[0].type)
    converted = c.b.convert(x, type)
    return [c.b.negate(converted) if is_boolean(element(x)) else converted]


@handles("arith.uitofp", elementwise=True)
def _uitofp(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, type = c[op.operands[0]], element_type(op, op.results[0].type)
    return [c.b.convert(x if is_boolean(element(x)) else bitcast(c.b, x, unsigned_type(element(x))), type)]


@handles("arith.fptosi", elementwise=True)
def _fptosi(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.b.convert(c[op.operands[0]], element_type(op, op.results[0].type))]


@handles("arith.fptoui", elementwise=True)
def _fptoui(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    type: Any = element_type(op, op.results[0].type)
    x = c[op.operands[0]]
    return [c.b.convert(x, type) if is_boolean(type) else bitcast(c.b, c.b.convert(x, unsigned_type(type)), type)]


@handles("arith.bitcast", "complex.bitcast", "tensor.bitcast", elementwise=True)
def _bitcast(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, type = c[op.operands[0]], element_type(op, op.results[0].type)
    if is_complex(type) or is_complex(element(x)):
        raise refusal(op, "the bits of complex numbers are not read as other numbers")
    return [bitcast(c.b, x, type)]


# -- math


def of_class(cls: type[Operation]) -> Unary:
    """What an op of this class makes of one operand."""

    def make(b: OpBuilder, x: Value) -> Value:
        return b.like(cls, x)

    return make


def of_two(cls: type[Operation]) -> Binary:
    """What an op of this class makes of two operands of one type."""

    def make(b: OpBuilder, x: Value, y: Value) -> Value:
        return b.like(cls, x, y)

    return make


def copysign(b: OpBuilder, x: Value, y: Value) -> Value:
    """|x| with the sign of y: its sign bit, which -0 and NaN have too."""
    width = dtype_of(element(y)).itemsize * 8
    bits = bitcast(b, y, IntegerType(width))
    magnitude = b.abs(x)
    return b.select(b.compare("LT", bits, b.full_like(bits, 0)), b.negate(magnitude), magnitude)


def _truncate(b: OpBuilder, x: Value) -> Value:
    return b.select(b.compare("LT", x, b.full_like(x, 0)), b.ceil(x), b.floor(x))


def _is_normal(b: OpBuilder, x: Value) -> Value:
    magnitude = b.abs(x)
    least = float(float_limits(dtype_of(element(x))).smallest_normal)
    return b.and_(b.compare("GE", magnitude, b.full_like(x, least)), b.compare("NE", magnitude, b.full_like(x, math.inf)))


def _is_nan(b: OpBuilder, x: Value) -> Value:
    return b.compare("NE", x, x)


def _is_finite(b: OpBuilder, x: Value) -> Value:
    return b.one(hlo.IsFiniteOp, (x,), tensor(shape(x), i1))


def _clamp(b: OpBuilder, x: Value, low: Value, high: Value) -> Value:
    return b.minimum(b.maximum(x, low), high)


def _fma(b: OpBuilder, x: Value, y: Value, z: Value) -> Value:
    return b.add(b.multiply(x, y), z)


def _exp2(b: OpBuilder, x: Value) -> Value:
    return b.power(b.full_like(x, 2), x)


def _log2(b: OpBuilder, x: Value) -> Value:
    return b.divide(b.log(x), b.full_like(x, math.log(2)))


def _log10(b: OpBuilder, x: Value) -> Value:
    return b.divide(b.log(x), b.full_like(x, math.log(10)))


def _is_inf(b: OpBuilder, x: Value) -> Value:
    return b.compare("EQ", b.abs(x), b.full_like(x, math.inf))


handle_floats(
    {
        "math.absf": OpBuilder.abs,
        "math.acos": of_class(chlo.AcosOp),
        "math.acosh": of_class(chlo.AcoshOp),
        "math.asin": of_class(chlo.AsinOp),
        "math.asinh": of_class(chlo.AsinhOp),
        "math.atan": of_class(chlo.AtanOp),
        "math.atanh": of_class(chlo.AtanhOp),
        "math.cbrt": OpBuilder.cbrt,
        "math.ceil": OpBuilder.ceil,
        "math.cos": OpBuilder.cosine,
        "math.cosh": of_class(chlo.CoshOp),
        "math.erf": of_class(chlo.ErfOp),
        "math.erfc": of_class(chlo.ErfcOp),
        "math.exp": OpBuilder.exponential,
        "math.exp2": _exp2,
        "math.expm1": OpBuilder.exponential_minus_one,
        "math.floor": OpBuilder.floor,
        "math.isfinite": _is_finite,
        "math.isinf": _is_inf,
        "math.isnan": _is_nan,
        "math.isnormal": _is_normal,
        "math.log": OpBuilder.log,
        "math.log10": _log10,
        "math.log1p": OpBuilder.log_plus_one,
        "math.log2": _log2,
        "math.round": of_class(hlo.RoundNearestAfzOp),
        "math.roundeven": OpBuilder.round_nearest_even,
        "math.rsqrt": OpBuilder.rsqrt,
        "math.sin": OpBuilder.sine,
        "math.sinh": of_class(chlo.SinhOp),
        "math.sqrt": OpBuilder.sqrt,
        "math.tan": OpBuilder.tan,
        "math.tanh": OpBuilder.tanh,
        "math.trunc": _truncate,
    },
    {"math.atan2": OpBuilder.atan2, "math.copysign": copysign, "math.powf": OpBuilder.power},
    {"math.clampf": _clamp, "math.fma": _fma},
)


@handles("math.sincos", elementwise=True)
def _sincos(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x = c[op.operands[0]]
    return [c.b.sine(x), c.b.cosine(x)]


@handles("math.fpowi", "complex.powi", elementwise=True)
def _fpowi(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """A power with an integer exponent, which no derivative flows into: the sign of a negative base is that of the exponent's parity."""
    x, n = c.lifted(*c.operands(op))
    number = constant_integer(n)
    if number is not None and abs(number) <= 64:
        return [_integer_power(c.b, x, number)]
    if not is_float(element(x)):
        raise refusal(op, "the exponent of a complex power is not a constant between -64 and 64")
    return [c.b.power(x, c.b.convert(n, element(x)))]


def _integer_power(b: OpBuilder, x: Value, exponent: int) -> Value:
    result, square, rest = None, x, abs(exponent)
    while rest:
        if rest & 1:
            result = square if result is None else b.multiply(result, square)
        rest >>= 1
        square = b.multiply(square, square) if rest else square
    one = b.full_like(x, 1)
    if result is None:
        return one
    return result if exponent > 0 else b.divide(one, result)

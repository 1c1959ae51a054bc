"""Elementwise ops of StableHLO and CHLO, on floats, complex numbers, integers and booleans; conversions."""

from __future__ import annotations

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.table import step
from fuzz.tensors import DTYPES, FLOATS, INTEGERS, PART, Type, dense, integers_text

SMOOTH = (
    "cosine",
    "exponential",
    "exponential_minus_one",
    "logistic",
    "negate",
    "sine",
    "tanh",
    "chlo.asinh",
    "chlo.atan",
    "chlo.erf",
    "chlo.erfc",
    "chlo.square",
)
"""Functions that are finite and differentiable everywhere."""
POSITIVE = ("cbrt", "log", "log_plus_one", "rsqrt", "sqrt", "chlo.digamma", "chlo.lgamma", "chlo.bessel_i1e")
"""Functions that are so for positive numbers."""
WITHIN = ("tan", "chlo.acos", "chlo.asin", "chlo.atanh", "chlo.cosh", "chlo.sinh", "chlo.erf_inv", "chlo.tan")
"""Functions that are so near zero."""
KINKED = ("abs", "ceil", "floor", "round_nearest_afz", "round_nearest_even", "sign")
COMPLEX = (
    *("cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "negate", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
    *("chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.conj", "chlo.cosh", "chlo.sinh", "chlo.square"),
)


def full_name(name: str) -> str:
    return name if "." in name else f"stablehlo.{name}"


def within(g: Grower, x: Value) -> Value:
    """Between -0.8 and 0.8."""
    return g.one("stablehlo.multiply", [g.sine(x), g.splat(0.8, x.type)], x.type)


@step("float", 3)
def unary_float(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    bold = g.style.wild and g.chance(0.6)
    kind = g.integer(0, 9)
    if kind < 4:
        name = g.pick(SMOOTH)
        x = g.bounded(x) if name.startswith("exp") or name == "chlo.square" else x
    elif kind < 6:
        name, x = g.pick(POSITIVE), x if bold else g.positive(x)
    elif kind < 8:
        name, x = g.pick(WITHIN), x if bold else within(g, x)
    elif kind < 9:
        name, x = "chlo.acosh", x if bold else g.one("stablehlo.add", [g.positive(x), g.splat(1, x.type)], x.type)
    elif g.style.smooth:
        name = "negate"
    else:
        name = g.pick(KINKED)
    return [g.one(full_name(name), [x], x.type)]


@step("float", 3)
def binary_float(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    y = g.of(x.type)
    bold = g.style.wild and g.chance(0.6)
    name = g.pick(["add", "add", "subtract", "multiply", "multiply", "divide", "power", "atan2", "maximum", "minimum", "remainder"])
    if name == "multiply":
        x = g.bounded(x)
    elif name in ("divide", "atan2", "remainder"):
        if g.style.smooth and name == "remainder":
            name = "divide"
        y = y if bold else g.positive(y)
    elif name == "power":
        x, y = (x, y) if bold else (g.positive(x), g.bounded(y))
    elif name in ("maximum", "minimum") and g.style.smooth:
        y = distinct(g, y)
    return [g.one(f"stablehlo.{name}", [x, y], x.type)]


def distinct(g: Grower, x: Value) -> Value:
    """x with a ramp added, so that equal elements are not equal any more."""
    if not x.type.is_float:
        return x
    ramp = np.linspace(0.0, 0.71, max(x.type.size, 1))[: x.type.size].reshape(x.shape).astype(x.type.dtype)
    return g.one("stablehlo.add", [g.sine(x), g.constant(ramp, x.type)], x.type)


@step("special")
def special_function(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    # the derivative of rounding is by convention that of no rounding
    kind = g.integer(0, 2 if g.style.smooth else 3)
    if kind == 0:
        return [g.one("chlo.next_after", [x, g.of(x.type)], x.type)]
    if kind == 1:
        order = g.splat(g.integer(0, 3), x.type)
        return [g.one("chlo.polygamma", [order, g.positive(x)], x.type)]
    if kind == 2:
        return [g.one("chlo.zeta", [g.splat(g.integer(2, 4), x.type), g.positive(x)], x.type)]
    # a smaller range loses cotangents, and whether before they are added or after is nobody's mistake: the rule rounds them to the same format, as JAX's
    exponent, mantissa = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}[x.element]
    attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {g.integer(1, mantissa)} : i32"
    return [g.one("stablehlo.reduce_precision", [x], x.type, attributes)]


@step("float")
def classified(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    name = g.pick(["stablehlo.is_finite", "chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf"])
    p = g.one(name, [x], x.type.having("i1"))
    return [p, g.select(p, x, g.of(x.type))]


@step("select", 2)
def compared(g: Grower) -> list[Value]:
    x = g.value()
    y = g.of(x.type)
    direction = g.pick(["EQ", "NE"] if x.type.is_complex else ["EQ", "NE", "LT", "LE", "GT", "GE"])
    total = x.type.is_float and g.chance(0.15)
    p = g.compare(direction, x, y, "TOTALORDER" if total else None)
    kind = g.integer(0, 2)
    if kind == 0:
        return [p, g.select(p, x, y)]
    z = g.of_shape(x.shape)
    return [g.select(p, z, g.of(z.type)), p]


@step("select")
def scalar_select(g: Grower) -> list[Value]:
    x = g.value()
    return [g.select(g.of(Type("i1", ())), x, g.of(x.type))]


@step("select")
def clamped(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float or t.is_integer)
    bound = [x.type if g.chance(0.4) else Type(x.element, ()) for _ in range(2)]
    low, high = (g.of(t) for t in bound)
    if g.style.smooth:
        low, high = g.splat(-0.513, bound[0]), g.splat(0.517, bound[1])
    return [g.one("stablehlo.clamp", [low, x, high], x.type)]


# -- complex numbers


@step("complex", 2)
def unary_complex(g: Grower) -> list[Value]:
    z = g.value(lambda t: t.is_complex)
    name = g.pick(COMPLEX)
    if not (g.style.wild and g.chance(0.5)):
        z = g.bounded(z)
    return [g.one(full_name(name), [z], z.type)]


@step("complex", 2)
def binary_complex(g: Grower) -> list[Value]:
    z = g.value(lambda t: t.is_complex)
    w = g.of(z.type)
    name = g.pick(["add", "subtract", "multiply", "divide", "power"])
    if name in ("divide", "power") and not g.style.wild:
        w = g.one("stablehlo.add", [g.bounded(w), g.splat(2.5 + 0.3j, w.type)], w.type)
        z = g.one("stablehlo.add", [g.bounded(z), g.splat(2.2 - 0.2j, z.type)], z.type) if name == "power" else z
    return [g.one(f"stablehlo.{name}", [z, w], z.type)]


@step("complex", 2)
def parts(g: Grower) -> list[Value]:
    # a float is its own real part
    z = g.value(lambda t: t.is_complex or (t.is_float and g.chance(0.1)))
    name = g.pick(["real", "imag", "abs"])
    part = g.one(f"stablehlo.{name}", [z], z.type.having(PART.get(z.element, z.element)))
    return [part]


@step("complex", 2)
def from_parts(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.element in ("f32", "f64"))
    return [g.one("stablehlo.complex", [x, g.of(x.type)], x.type.having(f"complex<{x.element}>"))]


# -- regions on elements


@step("special")
def mapped(g: Grower) -> list[Value]:
    """A region of a few ops on each element of one or two operands."""
    x = g.value(lambda t: t.is_float)
    operands = [x, *([g.of(x.type)] if g.chance(0.5) else [])]
    scalar = Type(x.element, ())

    def body(inner: Grower, *elements: Value) -> list[Value]:
        y = inner.one("stablehlo.multiply", [elements[0], elements[-1]], scalar)
        return [inner.one(full_name(inner.pick(SMOOTH)), [inner.sine(y)], scalar) if inner.chance(0.8) else elements[-1]]

    region = g.combiner([scalar] * len(operands), body)
    return [g.one("stablehlo.map", operands, x.type, f"dimensions = {integers_text(range(x.type.rank))}", [region])]


@step("special")
def chlo_constant(g: Grower) -> list[Value]:
    type = g.random_type()
    return [g.one("chlo.constant", [], type, f"value = {dense(g.data(type), type)}")]


# -- integers and booleans


@step("integer", 2)
def unary_integer(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_integer or t.is_bool)
    names = ["not"]
    if x.type.is_integer:
        names += ["negate", "popcnt", "count_leading_zeros"]
    if x.element.startswith("i") and not x.type.is_bool:
        names += ["abs", "sign"]
    return [g.one(f"stablehlo.{g.pick(names)}", [x], x.type)]


@step("integer", 3)
def binary_integer(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_integer or t.is_bool)
    y = g.of(x.type)
    names = ["and", "or", "xor", "add", "multiply", "maximum", "minimum"]
    if x.type.is_integer:
        names += ["subtract", "divide", "remainder", "power", "shift_left", "shift_right_arithmetic", "shift_right_logical"]
    name = g.pick(names)
    if name == "divide" or name == "remainder":
        # the quotient by zero, and that of the lowest number by -1, is what each machine makes of it
        y = g.one("stablehlo.or", [g.one("stablehlo.and", [y, g.splat(7, y.type)], y.type), g.splat(1, y.type)], y.type)
    elif name == "power":
        y = g.one("stablehlo.and", [y, g.splat(3, y.type)], y.type)
    return [g.one(f"stablehlo.{name}", [x, y], x.type)]


# -- conversions


@step("convert", 2)
def converted(g: Grower) -> list[Value]:
    x = g.value()
    element = g.pick(g.style.elements) if g.chance(0.7) else g.pick(list(DTYPES))
    if x.type.is_complex and element in INTEGERS:
        x = g.one("stablehlo.real", [x], x.type.having(PART[x.element]))
    if x.type.is_float and element in INTEGERS:
        # what is out of range of the integers is what each machine makes of it
        return [g.converted(x, element)]
    return [g.one("stablehlo.convert", [x], x.type.having(element))]


@step("convert")
def bitcast(g: Grower) -> list[Value] | None:
    # the bits of a float change with it, while their derivative is zero
    x = g.value(lambda t: t.is_integer or (t.is_float and not g.style.smooth))
    width = x.type.dtype.itemsize
    element = g.pick([e for e in (*INTEGERS, *FLOATS) if e != x.element])
    other = DTYPES[element].itemsize
    if other == width:
        result = x.type.having(element)
    elif other < width:
        result = Type(element, (*x.shape, width // other))
    elif x.shape and x.shape[-1] == other // width:
        result = Type(element, x.shape[:-1])
    else:
        return None
    if not g.fits(result):
        return None
    y = g.one("stablehlo.bitcast_convert", [x], result)
    # bits of integers make any float
    return [g.select(g.one("stablehlo.is_finite", [y], result.having("i1")), y, g.of(result))] if result.is_float else [y]

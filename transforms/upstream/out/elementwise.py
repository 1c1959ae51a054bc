"""Elementwise StableHLO ops as ``arith``, ``math`` and ``complex``: on whole tensors, or inside of a ``linalg.generic`` where upstream has the op on
scalars only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.core import Kind
from wengert.ir.tensor_types import dtype_of, f32, i1, is_boolean, is_complex, is_float, is_unsigned, shape
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.writer import Out, Value, of_elements, signless

FLOATS: dict[str, str] = {
    "stablehlo.abs": "math.absf",
    "stablehlo.add": "arith.addf",
    "stablehlo.atan2": "math.atan2",
    "stablehlo.cbrt": "math.cbrt",
    "stablehlo.ceil": "math.ceil",
    "stablehlo.cosine": "math.cos",
    "stablehlo.divide": "arith.divf",
    "stablehlo.exponential": "math.exp",
    "stablehlo.exponential_minus_one": "math.expm1",
    "stablehlo.floor": "math.floor",
    "stablehlo.log": "math.log",
    "stablehlo.log_plus_one": "math.log1p",
    "stablehlo.maximum": "arith.maximumf",
    "stablehlo.minimum": "arith.minimumf",
    "stablehlo.multiply": "arith.mulf",
    "stablehlo.negate": "arith.negf",
    "stablehlo.power": "math.powf",
    "stablehlo.remainder": "arith.remf",
    "stablehlo.round_nearest_afz": "math.round",
    "stablehlo.round_nearest_even": "math.roundeven",
    "stablehlo.rsqrt": "math.rsqrt",
    "stablehlo.sine": "math.sin",
    "stablehlo.sqrt": "math.sqrt",
    "stablehlo.subtract": "arith.subf",
    "stablehlo.tan": "math.tan",
    "stablehlo.tanh": "math.tanh",
    "chlo.acos": "math.acos",
    "chlo.acosh": "math.acosh",
    "chlo.asin": "math.asin",
    "chlo.asinh": "math.asinh",
    "chlo.atan": "math.atan",
    "chlo.atanh": "math.atanh",
    "chlo.cosh": "math.cosh",
    "chlo.erf": "math.erf",
    "chlo.erfc": "math.erfc",
    "chlo.sinh": "math.sinh",
    "chlo.tan": "math.tan",
}
"""Ops on floats."""
SIGNED: dict[str, str] = {
    "stablehlo.abs": "math.absi",
    "stablehlo.add": "arith.addi",
    "stablehlo.and": "arith.andi",
    "stablehlo.count_leading_zeros": "math.ctlz",
    "stablehlo.divide": "arith.divsi",
    "stablehlo.maximum": "arith.maxsi",
    "stablehlo.minimum": "arith.minsi",
    "stablehlo.multiply": "arith.muli",
    "stablehlo.or": "arith.ori",
    "stablehlo.popcnt": "math.ctpop",
    "stablehlo.remainder": "arith.remsi",
    "stablehlo.shift_left": "arith.shli",
    "stablehlo.shift_right_arithmetic": "arith.shrsi",
    "stablehlo.shift_right_logical": "arith.shrui",
    "stablehlo.subtract": "arith.subi",
    "stablehlo.xor": "arith.xori",
}
"""Ops on integers with a sign."""
UNSIGNED = {"stablehlo.divide": "arith.divui", "stablehlo.maximum": "arith.maxui", "stablehlo.minimum": "arith.minui", "stablehlo.remainder": "arith.remui"}
"""Ops on integers without one, where they differ."""
BOOLEANS = {
    "stablehlo.add": "arith.ori",
    "stablehlo.and": "arith.andi",
    "stablehlo.maximum": "arith.ori",
    "stablehlo.minimum": "arith.andi",
    "stablehlo.multiply": "arith.andi",
    "stablehlo.or": "arith.ori",
    "stablehlo.xor": "arith.xori",
}
COMPLEX: dict[str, str] = {
    "stablehlo.abs": "abs",
    "stablehlo.add": "add",
    "stablehlo.complex": "create",
    "stablehlo.cosine": "cos",
    "stablehlo.divide": "div",
    "stablehlo.exponential": "exp",
    "stablehlo.exponential_minus_one": "expm1",
    "stablehlo.imag": "im",
    "stablehlo.log": "log",
    "stablehlo.log_plus_one": "log1p",
    "stablehlo.multiply": "mul",
    "stablehlo.negate": "neg",
    "stablehlo.power": "pow",
    "stablehlo.real": "re",
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.sign": "sign",
    "stablehlo.sine": "sin",
    "stablehlo.sqrt": "sqrt",
    "stablehlo.subtract": "sub",
    "stablehlo.tan": "tan",
    "stablehlo.tanh": "tanh",
    "chlo.conj": "conj",
}
"""Ops on complex numbers, which upstream has on scalars only."""

_PREDICATES = {
    "EQ": ("oeq", "eq", "eq"),
    "NE": ("une", "ne", "ne"),
    "LT": ("olt", "slt", "ult"),
    "LE": ("ole", "sle", "ule"),
    "GT": ("ogt", "sgt", "ugt"),
    "GE": ("oge", "sge", "uge"),
}


def inner(value: Value) -> Attribute:
    """The element type of a StableHLO value."""
    return cast(Any, value.type).element_type


def elementwise(out: Out, op: Operation, operands: Sequence[Value]) -> Value | None:
    """What an elementwise op becomes; None for another op. The operands are upstream values, tensors or all scalars."""
    special = _SPECIAL.get(op.name)
    result = _result(op, operands)
    kinds = [inner(operand) for operand in op.operands]
    if any(map(is_complex, [*kinds, inner(op.results[0])])):
        return _complex(out, op, operands, result)
    if special is not None:
        return special(out, op, operands)
    if not kinds:
        return None
    name = table_of(kinds[0]).get(op.name)
    return out.one(name, operands, result) if name is not None else None


def _result(op: Operation, operands: Sequence[Value]) -> Attribute:
    """The type of a result: a scalar's, if the operands are scalars."""
    type = signless(op.results[0].type)
    return cast(Any, type).element_type if operands and not any(isinstance(x.type, TensorType) for x in operands) else type


def table_of(kind: Attribute) -> dict[str, str]:
    """The names of ops on elements of a type."""
    if is_float(kind):
        return FLOATS
    if is_boolean(kind):
        return BOOLEANS
    return {**SIGNED, **UNSIGNED} if is_unsigned(kind) else SIGNED


_OF_KIND = {
    Kind.add: "stablehlo.add",
    Kind.mul: "stablehlo.multiply",
    Kind.max: "stablehlo.maximum",
    Kind.min: "stablehlo.minimum",
    Kind.and_: "stablehlo.and",
    Kind.or_: "stablehlo.or",
}


def combine(out: Out, kind: Kind, type: Attribute, x: Value, y: Value) -> Value:
    """Two scalars (or tensors) combined as a kind of reduction says; ``type`` is StableHLO's element type."""
    if is_complex(type):
        return out.one("complex.add" if kind is Kind.add else "complex.mul", (x, y), x.type)
    return out.one(table_of(type)[_OF_KIND[kind]], (x, y), x.type)


def _complex(out: Out, op: Operation, operands: Sequence[Value], result: Attribute) -> Value | None:
    name = COMPLEX.get(op.name)
    if op.name == "stablehlo.compare":
        name = {"EQ": "eq", "NE": "neq"}.get(str(cast(Any, op).comparison_direction.data))
    if op.name == "stablehlo.select":
        return _select(out, op, operands)
    if op.name == "stablehlo.convert":
        return _convert(out, op, operands)
    if name is None:
        return None
    if not isinstance(result, TensorType):
        return out.one(f"complex.{name}", operands, result)
    own = cast("TensorType[Any]", result)
    return out.mapped(operands, own, lambda given: out.one(f"complex.{name}", given, own.element_type))


def _compare(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    kind = inner(op.operands[0])
    row = _PREDICATES[str(cast(Any, op).comparison_direction.data)]
    return out.compare(row[0 if is_float(kind) else 2 if is_unsigned(kind) or is_boolean(kind) else 1], *operands)


def _select(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    condition, on_true, on_false = operands
    if isinstance(condition.type, TensorType) and not shape(condition):
        condition = out.element(condition)
    return out.one("arith.select", (condition, on_true, on_false), on_true.type)


def _convert(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    return converted(out, operands[0], inner(op.operands[0]), inner(op.results[0]))


def converted(out: Out, x: Value, before: Attribute, after: Attribute) -> Value:
    """A tensor or a scalar with elements of another of StableHLO's types, as ``stablehlo.convert`` converts them."""
    result = of_elements(x, signless(after))
    if signless(before) == signless(after):
        return x
    if is_complex(before) or is_complex(after):
        return _to_complex(out, x, before, after)
    if is_float(before) and is_float(after):
        wider = dtype_of(after).itemsize > dtype_of(before).itemsize
        if dtype_of(after).itemsize == dtype_of(before).itemsize:  # f16 and bf16
            x = out.one("arith.extf", (x,), of_elements(x, f32))
        return out.one("arith.extf" if wider else "arith.truncf", (x,), result)
    unsigned = is_unsigned(before) or is_boolean(before)
    if is_float(after):
        return out.one("arith.uitofp" if unsigned else "arith.sitofp", (x,), result)
    if is_boolean(after):
        return out.compare("une" if is_float(before) else "ne", x, out.full(0, x.type))
    if is_float(before):
        return out.one("arith.fptoui" if is_unsigned(after) else "arith.fptosi", (x,), result)
    if dtype_of(after).itemsize < dtype_of(before).itemsize and not is_boolean(before):
        return out.one("arith.trunci", (x,), result)
    return out.one("arith.extui" if unsigned else "arith.extsi", (x,), result)


def _to_complex(out: Out, x: Value, before: Attribute, after: Attribute) -> Value:
    """To a complex number, by its parts; from one, which loses the imaginary part."""
    if isinstance(x.type, TensorType):
        return out.mapped([x], of_elements(x, signless(after)), lambda given: _to_complex(out, given[0], before, after))
    part = cast(Any, before).element_type if is_complex(before) else before
    real = out.one("complex.re", (x,), part) if is_complex(before) else x
    if not is_complex(after):
        return converted(out, real, part, after)
    wanted = cast(Any, after).element_type
    imaginary = converted(out, out.one("complex.im", (x,), part), part, wanted) if is_complex(before) else out.zero(wanted)
    return out.one("complex.create", (converted(out, real, part, wanted), imaginary), after)


def _logistic(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    (x,) = operands
    one = out.full(1, x.type)
    return out.arith("divf", one, out.arith("addf", one, out.one("math.exp", (out.arith("negf", x),), x.type)))


def _clamp(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    x = operands[1]
    low, high = (v if v.type == x.type else out.filled(out.element(v), x.type) for v in (operands[0], operands[2]))
    table = table_of(inner(op.operands[1]))
    return out.one(table["stablehlo.minimum"], (out.one(table["stablehlo.maximum"], (low, x), x.type), high), x.type)


def _sign(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    """-1, 0, 1, and NaN for NaN: x itself where it is neither above nor below zero."""
    (x,) = operands
    of_floats = is_float(inner(op.operands[0]))
    zero, one, minus = (out.full(n, x.type) for n in (0, 1, -1))
    low = out.one("arith.select", (out.compare("olt" if of_floats else "slt", x, zero), minus, x), x.type)
    return out.one("arith.select", (out.compare("ogt" if of_floats else "sgt", x, zero), one, low), x.type)


def _not(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    return out.arith("xori", operands[0], out.full(True if is_boolean(inner(op.operands[0])) else -1, operands[0].type))


def _negate(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    (x,) = operands
    return out.arith("negf", x) if is_float(inner(op.operands[0])) else out.arith("subi", out.full(0, x.type), x)


def _is_finite(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    (x,) = operands
    return out.one("math.isfinite", (x,), of_elements(x, i1))


def _square(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    (x,) = operands
    return out.arith("mulf" if is_float(inner(op.operands[0])) else "muli", x, x)


def _bitcast(out: Out, op: Operation, operands: Sequence[Value]) -> Value:
    before, after = cast(Any, op.operands[0].type), cast(Any, op.results[0].type)
    if before.get_shape() != after.get_shape():
        raise refusal(op, "bits of elements of another width are not written")
    result = _result(op, operands)
    return operands[0] if operands[0].type == result else out.one("arith.bitcast", operands, result)


_SPECIAL: dict[str, Callable[[Out, Operation, Sequence[Value]], Value]] = {
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.clamp": _clamp,
    "stablehlo.compare": _compare,
    "stablehlo.convert": _convert,
    "stablehlo.is_finite": _is_finite,
    "stablehlo.logistic": _logistic,
    "stablehlo.negate": _negate,
    "stablehlo.not": _not,
    "stablehlo.select": _select,
    "stablehlo.sign": _sign,
    "chlo.square": _square,
}
"""Ops that are more than another name."""

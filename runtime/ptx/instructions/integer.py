"""Integer arithmetic: wrapping, wide and high products, carries, division, extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.runtime.interpreter.numerics.integers import divide, remainder
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.rounding import packed
from wengert.runtime.ptx.types import SIGNED, TYPES, UNSIGNED, Array, Scalar

_where: Any = np.where


def _multiply_add(x: Array, y: Array, z: Array) -> Array:
    return x * y + z


_WRAPPING: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mad": _multiply_add,
    "div": divide,
    "rem": remainder,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "abs": np.abs,
}
TYPE_NAMES = ("u16", "s16", "u32", "s32", "u64", "s64")
PAIRS = ("u16x2", "s16x2")
OPERANDS = {"neg": 1, "abs": 1, "mad": 3}


def build(context: Context, type: Scalar) -> Run:
    """add, sub, mul, mad, div, rem, min, max, neg and abs of integers."""
    opcode = context.instruction.opcode
    if opcode in ("mul", "mad"):
        return _product(context, type)
    if opcode in ("neg", "abs") and type.kind != "s":
        context.refuse(f".{type.name}")
    if opcode in ("min", "max") and type.name in ("s32", "s16x2") and context.flag("relu"):
        return _elementwise(context, _at_least_zero(_WRAPPING[opcode]), type, 2)
    if context.flag("sat"):
        if opcode not in ("add", "sub") or type.name != "s32":
            context.refuse(".sat")
        return _saturating(context, type)
    if opcode in ("add", "sub") and context.flag("cc"):
        return _carrying(context, type, carry_in=False, carry_out=True)
    return _elementwise(context, _WRAPPING[opcode], type, OPERANDS.get(opcode, 2))


def _elementwise(context: Context, function: Callable[..., Array], type: Scalar, count: int) -> Run:
    """A function of integers, or of the two halves of words."""
    if type.count == 1:
        return context.elementwise(function, type, *[type] * count)
    half: Any = np.int16 if type.kind == "s" else np.uint16

    def pairs(*words: Array) -> Array:
        low, high = (function(*[(x >> np.uint32(shift)).astype(np.uint16).view(half) for x in words]) for shift in (0, 16))
        return packed(low, high)

    return context.elementwise(pairs, TYPES["b32"], *[TYPES["b32"]] * count)


def _at_least_zero(function: Callable[..., Array]) -> Callable[..., Array]:
    def run(x: Array, y: Array) -> Array:
        result = function(x, y)
        return np.maximum(result, result.dtype.type(0))

    return run


def build_carrying(context: Context) -> Run:
    """addc, subc, madc, and mad with .cc."""
    type = context.type("u32", "s32", "u64", "s64")
    return _carrying(context, type, carry_in=True, carry_out=context.flag("cc"))


def _saturating(context: Context, type: Scalar) -> Run:
    function = _WRAPPING[context.instruction.opcode]
    limits = np.iinfo(np.int32)
    return context.elementwise(
        lambda x, y: np.clip(function(x.astype(np.int64), y.astype(np.int64)), limits.min, limits.max).astype(np.int32), type, type, type
    )


def _product(context: Context, type: Scalar) -> Run:
    opcode = context.instruction.opcode
    part = context.required("lo", "hi", "wide")
    if opcode == "mad" and context.flag("cc"):
        return _carrying(context, type, carry_in=False, carry_out=True, part=part)
    if part == "lo":
        return context.elementwise(_WRAPPING[opcode], type, *[type] * OPERANDS.get(opcode, 2))
    if part == "hi":
        high = high_product(type)
        if opcode == "mul":
            return context.elementwise(high, type, type, type)
        return context.elementwise(lambda x, y, z: high(x, y) + z, type, type, type, type)
    if type.bits == 64:
        context.refuse("a product of 128 bits")
    wide = TYPES[f"{type.kind}{2 * type.bits}"]
    if opcode == "mul":
        return context.elementwise(lambda x, y: x.astype(wide.dtype) * y.astype(wide.dtype), wide, type, type)
    return context.elementwise(lambda x, y, z: x.astype(wide.dtype) * y.astype(wide.dtype) + z, wide, type, type, wide)


def high_product(type: Scalar) -> Callable[[Array, Array], Array]:
    """The upper half of a product."""
    if type.bits == 64:
        return _high_signed if type.kind == "s" else _high_unsigned
    wide: Any = (SIGNED if type.kind == "s" else UNSIGNED)[2 * type.bits]
    return lambda x, y: ((x.astype(wide) * y.astype(wide)) >> wide.type(type.bits)).astype(type.dtype)


def _high_unsigned(x: Array, y: Array) -> Array:
    """By schoolbook multiplication of halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & low)
    return x1 * y1 + (middle >> half) + (other >> half)


def _high_signed(x: Array, y: Array) -> Array:
    """The unsigned one, less each factor where the other is negative."""
    u, v = x.view(np.uint64), y.view(np.uint64)
    zero = np.uint64(0)
    return (_high_unsigned(u, v) - _where(x < 0, v, zero) - _where(y < 0, u, zero)).view(np.int64)


# -- carries


def _carrying(context: Context, type: Scalar, *, carry_in: bool, carry_out: bool, part: str | None = None) -> Run:
    """A sum or a difference with the carry flag, in 32 or 64 bits; for products of the lower or upper half as the first term."""
    opcode = context.instruction.opcode
    product = opcode in ("mad", "madc")
    part = context.required("lo", "hi") if product and part is None else part
    context.finish(4 if product else 3)
    if type.bits not in (32, 64) or part == "wide":
        context.refuse()
    subtract = opcode.startswith("sub")
    word: Any = UNSIGNED[type.bits]
    unsigned = TYPES[f"u{type.bits}"]
    factors = [context.read(1 + k, type) for k in range(2 if product else 1)]
    last = context.read(len(context.operands) - 1, unsigned)
    write = context.write(0, unsigned)
    carry = context.machine.carry
    high = high_product(type)

    def run(lanes: Lanes) -> None:
        xs = [read(lanes) for read in factors]
        x = xs[0].view(word) if not product else (high(*xs) if part == "hi" else xs[0] * xs[1]).view(word)
        y = last(lanes)
        c = carry[lanes.index].astype(word) if carry_in else word.type(0)
        half = x - y if subtract else x + y
        result = half - c if subtract else half + c
        out = (x < y) | (half < c) if subtract else (half < x) | (result < half)
        write(lanes, result)
        if carry_out:
            carry[lanes.index] = out

    return run

"""Floating-point arithmetic: IEEE 754 where PTX demands it, one rounding of the f64 result where it allows an approximation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.runtime.ptx.fused import fma
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.rounding import MODES, add_odd, directed, flush, from_bf16, packed, to_bf16, unpacked
from wengert.runtime.ptx.types import TYPES, Array, Scalar

_where: Any = np.where
Function = Callable[..., Array]


def minimum(x: Array, y: Array) -> Array:
    """The lesser number; that which is a number if the other one is not; -0 is less than +0."""
    return _where((x < y) | ((x == y) & np.signbit(x)) | np.isnan(y), x, y)


def maximum(x: Array, y: Array) -> Array:
    """The greater number; that which is a number if the other one is not; +0 is greater than -0."""
    return _where((x > y) | ((x == y) & ~np.signbit(x)) | np.isnan(y), x, y)


def _with_nan(function: Function) -> Function:
    def run(x: Array, y: Array) -> Array:
        return _where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), function(x, y))

    return run


def _half_fma(x: Array, y: Array, z: Array) -> Array:
    """x y + z in f64 rounded to odd, for f16 and bf16 numbers: their products are exact."""
    return add_odd(x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64))


def _reciprocal(x: Array) -> Array:
    return x.dtype.type(1) / x


NEAREST: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "fma": fma,
    "sqrt": np.sqrt,
    "rcp": _reciprocal,
    "neg": np.negative,
    "abs": np.abs,
    "min": minimum,
    "max": maximum,
}
TYPE_NAMES = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2")
OPERANDS = {"fma": 3, "sqrt": 1, "rcp": 1, "neg": 1, "abs": 1}


def build(context: Context, type: Scalar) -> Run:
    """add, sub, mul, fma, div, rcp, sqrt, min, max, neg and abs of floats."""
    opcode = "fma" if context.instruction.opcode == "mad" else context.instruction.opcode
    if opcode in ("div", "rcp", "sqrt") and type.name not in ("f32", "f64"):
        context.refuse(f".{type.name}")
    mode = context.choice(*MODES) or "rn"
    approximate = context.flag("approx", "full") if opcode in ("div", "rcp", "sqrt") else False
    ftz = context.flag("ftz")
    saturate = opcode in ("add", "sub", "mul", "fma") and context.flag("sat")
    relu = opcode == "fma" and context.flag("relu")
    function = _function(context, opcode, type, mode, approximate)
    count = OPERANDS.get(opcode, 2)
    if type.bits == 16 or type.count == 2:
        return _narrow(context, type, _finished(function, ftz and type.kind == "f", saturate, relu), count)
    return context.elementwise(_finished(function, ftz, saturate, relu), type, *[type] * count)


def _function(context: Context, opcode: str, type: Scalar, mode: str, approximate: bool) -> Function:
    if opcode in ("min", "max"):
        if type.bits == 64:
            return NEAREST[opcode]  # there is no .NaN, which is left over then
        return _with_nan(NEAREST[opcode]) if context.flag("NaN") else NEAREST[opcode]
    if type.bits == 16 or type.count == 2:
        if mode != "rn":
            context.refuse(f".{mode} of halves")
        return _half_fma if opcode == "fma" else NEAREST[opcode]
    if approximate and type.bits == 64:
        if opcode != "rcp":
            context.refuse(".f64")
        return partial(_coarse, NEAREST[opcode])
    nearest = NEAREST[opcode]
    if mode == "rn":
        return nearest
    return lambda *xs: directed(opcode, nearest(*xs), mode, *xs)


def _coarse(function: Function, x: Array) -> Array:
    """``rcp.approx.ftz.f64`` and its like: the upper 32 bits of operand and result count."""
    upper = np.uint64(0xFFFFFFFF00000000)
    x = (x.view(np.uint64) & upper).view(np.float64)
    return (np.ascontiguousarray(function(x)).view(np.uint64) & upper).view(np.float64)


def _finished(function: Function, ftz: bool, saturate: bool, relu: bool) -> Function:
    """The function with subnormal numbers flushed, and its result in [0, 1], or at least 0."""
    if not (ftz or saturate or relu):
        return function

    def run(*operands: Array) -> Array:
        result = function(*map(flush, operands)) if ftz else function(*operands)
        result = flush(result) if ftz else result
        if saturate:
            result = saturated(result)
        return _where(result > 0, result, np.copysign(result.dtype.type(0), 1)) if relu else result

    return run


def saturated(x: Array) -> Array:
    """The nearest number of [0, 1]; NaN becomes 0."""
    one = x.dtype.type(1)
    return _where(x > 0, np.minimum(x, one), x.dtype.type(0))


# -- halves


def _narrow(context: Context, type: Scalar, function: Function, count: int) -> Run:
    """A function of f32 or f16 numbers on f16, bf16 or pairs of them, rounded once."""
    bits = TYPES["b32" if type.count == 2 else "b16"]
    rounded = to_bf16 if type.kind == "h" else _half_bits

    def single(*operands: Array) -> Array:
        numbers = [from_bf16(x) if type.kind == "h" else x.view(np.float16) for x in operands]
        return rounded(function(*numbers))

    def pair(*operands: Array) -> Array:
        halves = [unpacked(x, type) for x in operands]
        low, high = (rounded(function(*[half[k] for half in halves])) for k in range(2))
        return packed(low, high)

    return context.elementwise(pair if type.count == 2 else single, bits, *[bits] * count)


def _half_bits(x: Array) -> Array:
    return x.astype(np.float16).view(np.uint16)


# -- functions of one number


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _in_double(function: Function, x: Array) -> Array:
    return function(x.astype(np.float64))


APPROXIMATIONS: dict[str, Function] = {"ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "rsqrt": _rsqrt}


def build_approximation(context: Context) -> Run:
    """ex2, lg2, sin, cos, tanh and rsqrt: what f64 gives, rounded to the type."""
    opcode = context.instruction.opcode
    type = context.type(*TYPE_NAMES)
    context.required("approx")
    ftz = context.flag("ftz")
    exact = APPROXIMATIONS[opcode]
    if type.bits == 64:
        if opcode != "rsqrt":
            context.refuse(".f64")
        return context.elementwise(lambda x: _coarse(exact, x) if ftz else exact(x), type, type)
    if type.bits == 16 or type.count == 2:
        if opcode not in ("ex2", "tanh"):
            context.refuse(f".{type.name}")
        return _narrow(context, type, partial(_in_double, exact), 1)

    def function(x: Array) -> Array:
        return _in_double(exact, x).astype(np.float32)

    return context.elementwise(_finished(function, ftz, False, False), type, type)

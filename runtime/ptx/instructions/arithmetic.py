"""Opcodes of arithmetic, which mean integers or floats by their type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wengert.runtime.ptx.instructions import floating, integer
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.types import TYPES, Array

_INTEGERS = "`.u16 .s16 .u32 .s32 .u64 .s64`"
_FLOATS = "`.f32 .f64` with `.rn .rz .rm .rp`, `.f16 .f16x2 .bf16 .bf16x2` with `.rn`; `.ftz .sat`"


@models("add", family="Arithmetic", forms=f"{_INTEGERS}, `.u16x2 .s16x2`, `.sat.s32`, `.cc` of 32 and 64 bits; {_FLOATS}")
@models("sub", family="Arithmetic", forms=f"{_INTEGERS}, `.sat.s32`, `.cc` of 32 and 64 bits; {_FLOATS}")
@models("mul", family="Arithmetic", forms=f"`.lo .hi .wide` of {_INTEGERS}; {_FLOATS}")
@models("mad", family="Arithmetic", forms=f"`.lo .hi .wide` of {_INTEGERS}, `.cc`; `.f32 .f64` as `fma`")
@models("div", family="Arithmetic", forms=f"{_INTEGERS}; `.f32 .f64` with a rounding; `.approx .full` of `.f32`: as `.rn`; `.ftz`")
@models(
    "min",
    "max",
    family="Arithmetic",
    forms=f"{_INTEGERS}, `.u16x2 .s16x2`, `.relu` of `.s32 .s16x2`; `.f32 .f64 .f16 .f16x2 .bf16 .bf16x2`, `.ftz`, `.NaN` but of `.f64`",
)
@models("neg", "abs", family="Arithmetic", forms="`.s16 .s32 .s64`; `.f32 .f64 .f16 .f16x2 .bf16 .bf16x2`, `.ftz`")
def arithmetic(context: Context) -> Run:
    """Sums, products, quotients and extremes."""
    pairs = integer.PAIRS if context.instruction.opcode in ("add", "min", "max") else ()
    type = context.type(*floating.TYPE_NAMES, *integer.TYPE_NAMES, *pairs)
    return floating.build(context, type) if type.is_float else integer.build(context, type)


@models("fma", family="Arithmetic", forms="`.f32 .f64` with `.rn .rz .rm .rp`, `.f16 .f16x2 .bf16 .bf16x2` with `.rn`; `.ftz .sat .relu`; rounded once")
@models("rcp", "sqrt", family="Arithmetic", forms="`.f32 .f64` with a rounding; `.approx` of `.f32`: as `.rn`; `rcp.approx.ftz.f64`; `.ftz`")
def floats_only(context: Context) -> Run:
    """Instructions that integers do not have."""
    return floating.build(context, context.type(*floating.TYPE_NAMES))


@models("rem", family="Arithmetic", forms=_INTEGERS)
def integers_only(context: Context) -> Run:
    """The rest of a division, with the sign of the dividend."""
    return integer.build(context, context.type(*integer.TYPE_NAMES))


@models("addc", "subc", family="Arithmetic", forms="32 and 64 bits, `.cc`")
@models("madc", family="Arithmetic", forms="`.lo .hi` of 32 and 64 bits, `.cc`")
def carrying(context: Context) -> Run:
    """Sums with the carry of the instruction before."""
    return integer.build_carrying(context)


@models("ex2", "tanh", family="Arithmetic", forms="`.approx` of `.f32 .f16 .f16x2 .bf16 .bf16x2`, `.ftz`: f64 rounded to the type")
@models("lg2", "sin", "cos", family="Arithmetic", forms="`.approx.f32`, `.ftz`: f64 rounded to f32")
@models("rsqrt", family="Arithmetic", forms="`.approx` of `.f32 .f64`, `.ftz`: f64 rounded to the type")
def approximation(context: Context) -> Run:
    """Functions that hardware approximates."""
    return floating.build_approximation(context)


@models("copysign", family="Arithmetic", forms="`.f32 .f64`")
def copysign(context: Context) -> Run:
    """The sign of the first operand on the second one."""
    type = context.type("f32", "f64")
    return context.elementwise(lambda sign, magnitude: np.copysign(magnitude, sign), type, type, type)


@models("testp", family="Comparison and selection", forms="`.finite .infinite .number .notanumber .normal .subnormal` of `.f32 .f64`")
def testp(context: Context) -> Run:
    """What kind of number it is."""
    type = context.type("f32", "f64")
    tiny = np.finfo(type.dtype).smallest_normal

    def normal(x: Array) -> Array:
        return np.isfinite(x) & (np.abs(x) >= tiny)

    def number(x: Array) -> Array:
        return ~np.isnan(x)

    def subnormal(x: Array) -> Array:
        return (np.abs(x) < tiny) & (x != 0)

    functions: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": number,
        "notanumber": np.isnan,
        "normal": normal,
        "subnormal": subnormal,
    }
    return context.elementwise(functions[context.required(*functions)], TYPES["pred"], type)

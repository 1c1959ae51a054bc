"""Conversions between types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.floating import saturated
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.rounding import add_odd, adjusted, flush, from_bf16, packed, stepped, to_bf16
from wengert.runtime.ptx.types import TYPES, UNSIGNED, Array, Scalar

_where: Any = np.where
_TO_INTEGER: dict[str, Callable[[Array], Array]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
Function = Callable[[Array], Array]
_CONVERTED = (*(f"{kind}{bits}" for kind in "us" for bits in (8, 16, 32, 64)), "f16", "bf16", "f32", "f64")


@models(
    "cvt",
    family="Moves and conversions",
    forms="between `.u8` to `.u64`, `.s8` to `.s64`, `.f16 .bf16 .f32 .f64`; `.rn .rz .rm .rp`, `.rni .rzi .rmi .rpi`, `.sat .ftz .relu`; "
    "`.f16x2 .bf16x2` of two `.f32`; `.rna .rn` of `.tf32.f32`",
)
def convert(context: Context) -> Run:
    """The number in another type."""
    rounding = context.choice("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna")
    flags = [name for name in ("ftz", "sat", "relu") if context.flag(name)]
    source = context.type(*_CONVERTED)
    result = context.type(*_CONVERTED, "f16x2", "bf16x2", "tf32")
    if result.count == 2:
        return _to_pair(context, result, source, rounding or "rn", "relu" in flags)
    if result.kind == "t":
        if rounding not in ("rna", "rn") or source.name != "f32":
            context.refuse()
        return context.elementwise(lambda x: _to_tf32(x, rounding), TYPES["b32"], source)
    function = _between(context, source, result, rounding or ("rni" if not result.is_float else "rn"), flags)
    return context.elementwise(function, _stored(result), _stored(source))


def _stored(type: Scalar) -> Scalar:
    return TYPES["u16"] if type.kind == "h" else type


def _between(context: Context, source: Scalar, result: Scalar, rounding: str, flags: list[str]) -> Function:
    if source.is_float and result.is_float:
        return _float_to_float(context, source, result, rounding, flags)
    if source.is_float:
        if rounding not in _TO_INTEGER:
            context.refuse(f".{rounding} to an integer")
        if source.kind == "h":
            return lambda x: to_integer(from_bf16(x), result, rounding, "f32")
        return lambda x: to_integer(flush(x) if "ftz" in flags else x, result, rounding, source.name)
    if result.is_float:
        return lambda x: _integer_to_float(x, result, rounding)
    if "sat" in flags:
        own, limits = np.iinfo(source.dtype), np.iinfo(result.dtype)
        if limits.min <= own.min and own.max <= limits.max:
            context.refuse(".sat where every number has its like")
        return lambda x: _clamped(x, result)
    return lambda x: x.astype(result.dtype)


def _clamped(x: Array, result: Scalar) -> Array:
    """The nearest integer that the type has."""
    limits = np.iinfo(result.dtype)
    own = np.iinfo(x.dtype)
    return np.clip(x, x.dtype.type(max(limits.min, own.min)), x.dtype.type(min(limits.max, own.max))).astype(result.dtype)


def to_integer(x: Array, result: Scalar, rounding: str, source: str) -> Array:
    """A float as an integer, the nearest one that the type has; NaN is 0, or the highest bit alone for f64 and for 64 bits."""
    whole = _TO_INTEGER[rounding](x).astype(np.float64)
    limits = np.iinfo(result.dtype)
    low, high = float(limits.min), float(limits.max)
    inside = (whole > low) & (whole < high)
    number = _where(inside, whole, 0.0).astype(result.dtype)
    number = _where(whole >= high, result.dtype.type(limits.max), _where(whole <= low, result.dtype.type(limits.min), number))
    highest = np.array([1 << (result.bits - 1)], UNSIGNED[result.bits]).view(result.dtype)
    return _where(np.isnan(x), highest if source == "f64" or result.bits == 64 else result.dtype.type(0), number)


def _integer_to_float(x: Array, result: Scalar, mode: str) -> Array:
    """Rounded once: integers of 64 bits by their two halves, each of which f64 has."""
    if x.dtype.itemsize < 8:
        wide = x.astype(np.float64)
    else:
        if mode == "rn" and result.bits >= 32:
            return x.astype(result.dtype)
        high = (x >> x.dtype.type(32)).astype(np.float64) * 2.0**32
        low = (x & x.dtype.type(0xFFFFFFFF)).astype(np.float64)
        if result.bits == 64:
            nearest = high + low
            return adjusted_sum(nearest, high, low, mode)
        wide = add_odd(high, low)
    return _rounded(wide, result, mode)


def adjusted_sum(nearest: Array, high: Array, low: Array, mode: str) -> Array:
    """A sum of f64 numbers, the first one the larger, in another mode than to nearest."""
    error = (high - nearest) + low
    return stepped(nearest, -np.sign(error), mode)


def _rounded(x: Array, result: Scalar, mode: str) -> Array:
    """f64 or f32 numbers in a narrower type, or the same one."""
    if result.kind == "h":
        return to_bf16(x, mode)
    return adjusted(x.astype(result.dtype), x.astype(np.float64), mode)


def _float_to_float(context: Context, source: Scalar, result: Scalar, rounding: str, flags: list[str]) -> Function:
    integral = _TO_INTEGER.get(rounding)
    if rounding == "rna" or (integral and source != result):
        context.refuse(f".{rounding}")

    def run(x: Array) -> Array:
        x = from_bf16(x) if source.kind == "h" else x
        x = flush(x) if "ftz" in flags else x
        if integral:
            x = integral(x)
        x = saturated(x) if "sat" in flags else x
        x = _where(x > 0, x, np.copysign(x.dtype.type(0), 1)) if "relu" in flags else x
        converted = _rounded(x, result, "rn" if integral else rounding)
        return flush(converted) if "ftz" in flags and result.name == "f32" else converted

    return run


def _to_pair(context: Context, result: Scalar, source: Scalar, mode: str, relu: bool) -> Run:
    """Two f32 numbers as halves: the first operand is the upper one."""
    if source.name != "f32" or mode not in ("rn", "rz"):
        context.refuse()
    half = TYPES["bf16" if result.kind == "h" else "f16"]

    def run(high: Array, low: Array) -> Array:
        if relu:
            high, low = (_where(x > 0, x, np.float32(0)) for x in (high, low))
        return packed(_rounded(low, half, mode), _rounded(high, half, mode))

    return context.elementwise(run, TYPES["b32"], source, source)


def _to_tf32(x: Array, rounding: str) -> Array:
    """The upper 19 bits, ties away from zero or to even."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    added = np.uint32(0x1000) if rounding == "rna" else np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return _where(np.isfinite(x), (bits + added) & np.uint32(0xFFFFE000), bits)

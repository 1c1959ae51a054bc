"""Roundings that NumPy does not have: bf16, packed halves, directed modes, flushing of subnormal numbers.

The modes have the names of the PTX ISA: rn to nearest (ties to even), rna to nearest (ties away from zero), rz towards zero, rm down, rp up.
"""

from __future__ import annotations

from fractions import Fraction
from math import copysign, isfinite
from typing import Any

import numpy as np

from wengert.runtime.ptx.types import Array, Scalar

_where: Any = np.where  # its stubs cannot type elements that are Any
MODES = ("rn", "rz", "rm", "rp")


def flush(x: Array) -> Array:
    """Subnormal numbers of f32 and f16 as zeros with their signs; other types as they are."""
    if x.dtype.kind != "f" or x.dtype.itemsize == 8:
        return x
    return _where(np.abs(x) < np.finfo(x.dtype).smallest_normal, np.copysign(x.dtype.type(0), x), x)


# -- bf16 and halves


def from_bf16(bits: Array) -> Array:
    """f32 numbers of the bits of bf16 numbers."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(x: Array, mode: str = "rn") -> Array:
    """The bits of f32 or f64 numbers rounded to bf16."""
    single = x if x.dtype == np.float32 else to_odd_single(x)
    bits = np.ascontiguousarray(single).view(np.uint32)
    low = bits & np.uint32(0xFFFF)
    negative = (bits >> np.uint32(31)) != 0
    if mode == "rn":
        up = (low > 0x8000) | ((low == 0x8000) & ((bits >> np.uint32(16)) & 1 != 0))
    else:
        up = (low != 0) & {"rz": np.zeros_like(negative), "rm": negative, "rp": ~negative}[mode]
    high = (bits >> np.uint32(16)).astype(np.uint16) + (up & np.isfinite(single)).astype(np.uint16)
    return _where(np.isnan(single), np.uint16(0x7FFF), high)


def to_odd_single(x: Array) -> Array:
    """f64 numbers in f32, rounded to odd, so that a second rounding to fewer bits is the right one (Boldo and Melquiond 2008)."""
    nearest = x.astype(np.float32)
    towards = _where(np.abs(nearest.astype(np.float64)) > np.abs(x), np.nextafter(nearest, np.float32(0)), nearest)
    inexact = (towards.astype(np.float64) != x) & np.isfinite(x)
    bits = np.ascontiguousarray(towards).view(np.uint32)
    return (bits | inexact.astype(np.uint32)).view(np.float32)


def add_odd(x: Array, y: Array) -> Array:
    """The sum of f64 numbers rounded to odd: exact enough for a second rounding to at most 51 bits."""
    s = x + y
    t = s - x
    error = (x - (s - t)) + (y - t)
    bits = np.ascontiguousarray(s).view(np.int64)
    inexact = np.isfinite(s) & (error != 0) & (bits & 1 == 0)
    away = (error > 0) == (s > 0)
    return _where(inexact, bits + _where(away, 1, -1), bits).view(np.float64)


def unpacked(bits: Array, type: Scalar) -> tuple[Array, Array]:
    """The two halves of u32, low one first: f16 numbers, or f32 numbers of bf16 ones."""
    low, high = bits.astype(np.uint16), (bits >> np.uint32(16)).astype(np.uint16)
    return (from_bf16(low), from_bf16(high)) if type.kind == "h" else (low.view(np.float16), high.view(np.float16))


def packed(low: Array, high: Array) -> Array:
    """u32 of the bits of two halves."""
    return low.view(np.uint16).astype(np.uint32) | (high.view(np.uint16).astype(np.uint32) << np.uint32(16))


# -- directed modes


def adjusted(nearest: Array, exact: Array, mode: str) -> Array:
    """A number that was rounded to nearest, rounded in another mode; ``exact`` is what was rounded, in a wider type."""
    if mode == "rn":
        return nearest
    wide = nearest.astype(exact.dtype)
    return stepped(nearest, np.sign(_where(np.isnan(wide), 0, wide - exact)), mode)


def stepped(nearest: Array, side: Array, mode: str) -> Array:
    """A number that was rounded to nearest, in another mode; ``side`` is the sign of the rounding error."""
    if mode == "rn":
        return nearest
    infinite = nearest.dtype.type(np.inf)
    if mode == "rm":
        return _where(side > 0, np.nextafter(nearest, -infinite), nearest)
    if mode == "rp":
        return _where(side < 0, np.nextafter(nearest, infinite), nearest)
    outward = _where(np.signbit(nearest), side < 0, side > 0)
    return _where(outward, np.nextafter(nearest, nearest.dtype.type(0)), nearest)


def _error(name: str, result: Fraction, operands: list[Fraction]) -> Fraction:
    """A number of the sign of the result less the exact one."""
    if name == "sqrt":
        return result * result - operands[0]
    if name == "rcp":
        return result - 1 / operands[0]
    x, y = operands[:2]
    exact = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y, "fma": lambda: x * y + operands[2]}[name]()
    return result - exact


def directed(name: str, nearest: Array, mode: str, *operands: Array) -> Array:
    """The result of an operation in a directed mode, from that to nearest, by exact rational arithmetic, number for number."""
    values = np.broadcast_arrays(nearest, *operands)
    sides = np.zeros(len(values[0]))
    for at, (result, *xs) in enumerate(zip(*[v.tolist() for v in values])):
        sides[at] = _side(name, result, xs)
    result = stepped(values[0].copy(), sides, mode)
    if mode == "rm" and name in ("add", "sub", "fma"):
        cancelled = (result == 0) & (sides == 0) & ~_same_zeros(name, values[1:])
        result = _where(cancelled, -np.abs(result), result)
    return result


def _same_zeros(name: str, operands: Any) -> Array:
    """Where both terms are zeros of the same sign, so that the sum has it in every mode."""
    *factors, last = operands
    first = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    last = -last if name == "sub" else last
    return (first == 0) & (last == 0) & (np.signbit(first) == np.signbit(last))


def _side(name: str, result: float, operands: list[float]) -> int:
    if not all(map(isfinite, operands)) or result != result or (name in ("div", "rcp") and operands[-1] == 0) or (name == "sqrt" and operands[0] <= 0):
        return 0
    if not isfinite(result):
        return int(copysign(1, result))
    error = _error(name, Fraction(result), [Fraction(x) for x in operands])
    return (error > 0) - (error < 0)

"""Logic, shifts, bit fields, counts and permutations of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.program import Integer
from wengert.runtime.ptx.types import TYPES, UNSIGNED, Array, Scalar

_where: Any = np.where
_FAMILY = "Logic and bits"
_U32, _U64 = TYPES["u32"], TYPES["u64"]
_LOGIC: dict[str, Callable[..., Array]] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}


@models("and", "or", "xor", "not", family=_FAMILY, forms="`.pred .b16 .b32 .b64`")
def logic(context: Context) -> Run:
    """Bitwise logic."""
    type = context.type("pred", "b16", "b32", "b64")
    opcode = context.instruction.opcode
    return context.elementwise(_LOGIC[opcode], type, *[type] * (1 if opcode == "not" else 2))


@models("cnot", family=_FAMILY, forms="`.b16 .b32 .b64`")
def cnot(context: Context) -> Run:
    """1 where the operand is 0, else 0."""
    type = context.type("b16", "b32", "b64")
    return context.elementwise(lambda x: (x == 0).astype(type.dtype), type, type)


def shift_left(x: Array, amount: Array) -> Array:
    """x shifted by a u32 amount; 0 from the width on."""
    bits = 8 * x.dtype.itemsize
    return _where(amount >= bits, x.dtype.type(0), x << np.minimum(amount, bits - 1).astype(x.dtype))


def shift_right(x: Array, amount: Array) -> Array:
    """x shifted by a u32 amount; 0 or copies of the sign from the width on."""
    bits = 8 * x.dtype.itemsize
    shifted = x >> np.minimum(amount, bits - 1).astype(x.dtype)
    return shifted if x.dtype.kind == "i" else _where(amount >= bits, x.dtype.type(0), shifted)


@models("shl", family=_FAMILY, forms="`.b16 .b32 .b64`")
@models("shr", family=_FAMILY, forms="`.b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64`")
def shift(context: Context) -> Run:
    """Shifts; amounts from the width on are total."""
    words = ("b16", "b32", "b64")
    left = context.instruction.opcode == "shl"
    type = context.type(*words, *(() if left else ("u16", "u32", "u64", "s16", "s32", "s64")))
    return context.elementwise(shift_left if left else shift_right, type, type, _U32)


@models("shf", family=_FAMILY, forms="`.l .r` with `.wrap .clamp`, `.b32`")
def funnel(context: Context) -> Run:
    """32 bits of two registers side by side."""
    left = context.required("l", "r") == "l"
    wrap = context.required("wrap", "clamp") == "wrap"
    context.type("b32")

    def run(low: Array, high: Array, amount: Array) -> Array:
        both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        by = (amount & np.uint32(31) if wrap else np.minimum(amount, 32)).astype(np.uint64)
        return (((both << by) >> np.uint64(32)) if left else both >> by).astype(np.uint32)

    return context.elementwise(run, _U32, _U32, _U32, _U32)


@models("bfe", family=_FAMILY, forms="`.u32 .s32 .u64 .s64`")
def extract(context: Context) -> Run:
    """A field of bits, extended by its sign if the type is signed."""
    type = context.type("u32", "s32", "u64", "s64")
    bits = type.bits

    def unsigned(x: Array, start: Array, length: Array) -> Array:
        start, length = start & 255, np.minimum(length & 255, bits)
        mask = _ones(length, type)
        return shift_right(x, start) & mask

    def signed(x: Array, start: Array, length: Array) -> Array:
        start, length = (start & 255).astype(np.int64), (length & 255).astype(np.int64)
        last = np.minimum(start + length - 1, bits - 1)
        sign = _where(length == 0, 0, (x >> np.maximum(last, 0).astype(x.dtype)) & x.dtype.type(1))
        field = shift_right(x.view(UNSIGNED[bits]), start)
        have = np.clip(bits - start, 0, np.minimum(length, bits))
        mask = _ones(have, type)
        return _where(sign != 0, field | ~mask, field & mask).view(x.dtype)

    return context.elementwise(signed if type.kind == "s" else unsigned, type, type, _U32, _U32)


def _ones(length: Array, type: Scalar) -> Array:
    """So many low bits."""
    word: Any = UNSIGNED[type.bits]
    shifted = shift_left(np.ones_like(length, word), length)
    return shifted - word.type(1)


@models("bfi", family=_FAMILY, forms="`.b32 .b64`")
def insert(context: Context) -> Run:
    """A field of bits put into the second operand."""
    type = context.type("b32", "b64")

    def run(field: Array, x: Array, start: Array, length: Array) -> Array:
        start, length = start & 255, np.minimum(length & 255, type.bits)
        mask = shift_left(np.broadcast_to(_ones(length, type), np.broadcast_shapes(start.shape, length.shape)), start)
        return (x & ~mask) | (shift_left(field, start) & mask)

    return context.elementwise(run, type, type, type, _U32, _U32)


def _reversed(x: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    step = bits // 2
    word = x.dtype.type
    mask = (1 << bits) - 1
    while step:
        mask ^= (mask << step) & ((1 << bits) - 1)
        x = ((x >> word(step)) & word(mask)) | ((x & word(mask)) << word(step))
        step //= 2
    return x


@models("brev", family=_FAMILY, forms="`.b32 .b64`")
def reverse(context: Context) -> Run:
    """The bits in the other order."""
    type = context.type("b32", "b64")
    return context.elementwise(_reversed, type, type)


def _length(x: Array) -> Array:
    """The number of bits up to the highest one that is set: the exponent of the number, with care where f64 rounds."""
    high = (x >> np.uint64(32)).astype(np.float64)
    low = (x & np.uint64(0xFFFFFFFF)).astype(np.float64)
    return _where(high > 0, np.frexp(high)[1] + 32, np.frexp(low)[1]).astype(np.uint32)


@models("clz", family=_FAMILY, forms="`.b32 .b64`")
def leading_zeros(context: Context) -> Run:
    """The zeros above the highest bit."""
    type = context.type("b32", "b64")
    return context.elementwise(lambda x: np.uint32(type.bits) - _length(x.astype(np.uint64)), _U32, type)


@models("bfind", family=_FAMILY, forms="`.u32 .s32 .u64 .s64`, `.shiftamt`")
def find(context: Context) -> Run:
    """The position of the highest bit that is not like the sign; all ones if there is none."""
    amount = context.flag("shiftamt")
    type = context.type("u32", "s32", "u64", "s64")

    def run(x: Array) -> Array:
        x = _where(x < 0, ~x, x).astype(UNSIGNED[type.bits]).astype(np.uint64)
        at = _length(x) - np.uint32(1)
        return _where((x != 0) & amount, np.uint32(type.bits - 1) - at, at)

    return context.elementwise(run, _U32, type)


@models("popc", family=_FAMILY, forms="`.b32 .b64`")
def population(context: Context) -> Run:
    """The number of bits that are set."""
    type = context.type("b32", "b64")
    return context.elementwise(lambda x: np.bitwise_count(x).astype(np.uint32), _U32, type)


@models("lop3", family=_FAMILY, forms="`.b32`")
def three_inputs(context: Context) -> Run:
    """Any function of three bits, by its table."""
    type = context.type("b32")
    table = context.operands[4] if len(context.operands) == 5 else None
    if not isinstance(table, Integer):
        context.refuse()
    context.finish(5)
    reads = [context.read(k, type) for k in (1, 2, 3)]
    write = context.write(0, type)

    def run(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(1, np.uint32)
        for row in range(8):
            if table.value >> row & 1:
                result = result | ((a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c))
        return result

    return lambda lanes: write(lanes, run(*[read(lanes) for read in reads]))


@models("prmt", family=_FAMILY, forms="`.b32`")
def permute(context: Context) -> Run:
    """Four bytes picked from eight, or copies of their signs."""
    type = context.type("b32")

    def run(a: Array, b: Array, selector: Array) -> Array:
        both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        result = np.zeros(1, np.uint32)
        for byte in range(4):
            pick = (selector >> np.uint32(4 * byte)).astype(np.uint64) & np.uint64(15)
            value = (both >> ((pick & np.uint64(7)) * np.uint64(8))).astype(np.uint8)
            sign = _where(value >= 128, np.uint8(255), np.uint8(0))
            result = result | (_where(pick >= 8, sign, value).astype(np.uint32) << np.uint32(8 * byte))
        return result

    return context.elementwise(run, _U32, type, type, _U32)

"""The pass ``expand-random-bits``: the counter-based generators of ``rng_bit_generator`` as integer arithmetic on whole tensors.

Threefry-2x32 and Philox-4x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011), bit for bit as XLA and the
interpreter compute them. A block of random words is a function of a key and of the block's number, so all blocks are one nest. The state is the key
and a counter, which moves on by the number of blocks.

Before and after::

    %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY     counters = counter + iota
                                                                                  twenty rounds of add, shift, or, xor on the two halves of each
                                                                                  the halves, joined
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import RngAlgorithm
from wengert.ir.tensor_types import element, is_boolean, is_complex, shape, tensor, ui8, ui16, ui32, ui64
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter

WORDS = {8: ui8, 16: ui16, 32: ui32, 64: ui64}
"""The integers that bits are drawn as, by their width."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)
_PHILOX_STEPS = (0x9E3779B9, 0xBB67AE85)

Words = Sequence[Value]


@dataclass(frozen=True)
class ExpandRandomBitsPass(ModulePass):
    """Writes generators of random bits as integer arithmetic."""

    name = "expand-random-bits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        b = Rewriter(self.name)
        for generator in ops_of(op, hlo.RngBitGeneratorOp):
            if _is_known(generator):
                b.move_to(generator)
                b.replace(generator, _drawn(b, generator))

    def changes(self, module: ModuleOp) -> bool:
        return any(_is_known(op) for op in ops_of(module, hlo.RngBitGeneratorOp))


def _is_known(op: hlo.RngBitGeneratorOp) -> bool:
    """Whether this is a state and a type of numbers that the generators are defined for; others are refused when they run."""
    type = element(op.output)
    if is_boolean(type) or is_complex(type) or _width(type) not in WORDS:
        return False
    lengths = ((2,),) if op.rng_algorithm.data is RngAlgorithm.THREE_FRY else ((2,), (3,))
    return element(op.initial_state) == ui64 and shape(op.initial_state) in lengths


def _width(type: Attribute) -> int:
    """The bits of a number."""
    return int(getattr(type, "bitwidth", 0))


def _drawn(b: OpBuilder, op: hlo.RngBitGeneratorOp) -> list[Value]:
    """The next state and the numbers."""
    state = [b.reshape(b.slice(op.initial_state, [k], [k + 1]), []) for k in range(shape(op.initial_state)[0])]
    generate = _threefry_bits if op.rng_algorithm.data is RngAlgorithm.THREE_FRY else _philox_bits
    width = _width(element(op.output))
    blocks, words = generate(b, state, shape(op.output), width)
    if width < 32:
        words = b.convert(b.and_(words, b.full_like(words, (1 << width) - 1)), WORDS[width])
    numbers = words if words.type == op.output.type else b.one(hlo.BitcastConvertOp, (words,), op.output.type)
    return [_next_state(b, op.initial_state, blocks), numbers]


def _next_state(b: OpBuilder, state: Value, blocks: int) -> Value:
    """The state with its counter moved on; one of three words has a counter of 128 bits."""
    moved = b.add(state, b.constant(np.array([0, blocks, 0][: shape(state)[0]], np.uint64)))
    if shape(state) == (2,):
        return moved
    carry = b.reshape(b.compare("LT", b.slice(moved, [1], [2]), b.slice(state, [1], [2])), [])
    last = b.constant(np.array([0, 0, 1], np.uint64))
    return b.add(moved, b.multiply(last, _spread(b, b.convert(carry, ui64), [3])))


# -- Threefry


def _threefry_bits(b: OpBuilder, state: Words, extents: Sequence[int], width: int) -> tuple[int, Value]:
    """How many blocks are drawn, and the words. A block is one word of 64 bits. For 32 bits, numbers are drawn as pairs along the first even
    dimension (else along the largest one, where the last element of the last pair is left out): pair i is block i."""
    key, counter = state
    half, axis = list(extents), 0
    if width <= 32 and extents:
        axis = next((d for d, n in enumerate(extents) if n % 2 == 0), max(range(len(extents)), key=lambda d: extents[d]))
        half[axis] = -(-extents[axis] // 2)
    count = prod(half)
    blocks = b.reshape(_counters(b, counter, count), half)
    first, second = _threefry(b, [_spread(b, word, half) for word in _halves(b, key)], _halves(b, blocks))
    if width > 32:
        return count, _joined(b, first, second)
    if not extents:
        return count, first
    pairs = b.concatenate([b.reshape(x, [*half[: axis + 1], 1, *half[axis + 1 :]]) for x in (first, second)], axis + 1)
    whole = b.reshape(pairs, [2 * n if d == axis else n for d, n in enumerate(half)])
    return count, b.slice(whole, [0] * len(extents), extents)


def _threefry(b: OpBuilder, key: Words, block: Words) -> tuple[Value, Value]:
    """Twenty rounds on blocks of two words of 32 bits."""
    keys = [*key, b.xor(b.xor(key[0], key[1]), b.full_like(key[0], _PARITY))]
    x, y = b.add(block[0], keys[0]), b.add(block[1], keys[1])
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            x = b.add(x, y)
            y = b.xor(_rotated(b, y, by), x)
        x = b.add(x, keys[(group + 1) % 3])
        y = b.add(b.add(y, keys[(group + 2) % 3]), b.full_like(y, group + 1))
    return x, y


def _rotated(b: OpBuilder, x: Value, by: int) -> Value:
    left = b.like(hlo.ShiftLeftOp, x, b.full_like(x, by))
    return b.or_(left, b.like(hlo.ShiftRightLogicalOp, x, b.full_like(x, 32 - by)))


# -- Philox


def _philox_bits(b: OpBuilder, state: Words, extents: Sequence[int], width: int) -> tuple[int, Value]:
    """How many blocks are drawn, and the words, in order. A block is four words of 32 bits, or two of 64; its number has 128 bits, of which a
    state of two words has the upper ones as the key as well."""
    key, low, high = state[0], state[1], state[2 if len(state) > 2 else 0]
    count, words_in_block = prod(extents), 2 if width > 32 else 4
    blocks = -(-count // words_in_block)
    lows = _counters(b, low, blocks)
    highs = b.add(_spread(b, high, [blocks]), b.convert(b.compare("LT", lows, _spread(b, low, [blocks])), ui64))
    words = _philox(b, [_spread(b, word, [blocks]) for word in _halves(b, key)], [*_halves(b, lows), *_halves(b, highs)])
    if width > 32:
        words = [_joined(b, *words[:2]), _joined(b, *words[2:])]
    flat = b.reshape(b.concatenate([b.reshape(word, [blocks, 1]) for word in words], 1), [blocks * words_in_block])
    return blocks, b.reshape(b.slice(flat, [0], [count]), extents)


def _philox(b: OpBuilder, key: Words, block: Words) -> list[Value]:
    """Ten rounds on blocks of four words of 32 bits."""
    (k0, k1), (w, x, y, z) = key, block
    for _ in range(10):
        first, second = (b.multiply(b.convert(v, ui64), b.full(factor, tensor(shape(v), ui64))) for v, factor in zip((w, y), _PHILOX_FACTORS, strict=True))
        (low, high), (other_low, other_high) = _halves(b, first), _halves(b, second)
        w, x, y, z = b.xor(b.xor(other_high, x), k0), other_low, b.xor(b.xor(high, z), k1), low
        k0, k1 = (b.add(k, b.full_like(k, step)) for k, step in zip((k0, k1), _PHILOX_STEPS, strict=True))
    return [w, x, y, z]


# -- words


def _counters(b: OpBuilder, first: Value, count: int) -> Value:
    """The numbers of so many blocks, in order."""
    return b.add(_spread(b, first, [count]), b.iota(0, tensor([count], ui64)))


def _halves(b: OpBuilder, x: Value) -> list[Value]:
    """The low and the high 32 bits."""
    low = b.and_(x, b.full_like(x, 0xFFFFFFFF))
    high = b.like(hlo.ShiftRightLogicalOp, x, b.full_like(x, 32))
    return [b.convert(low, ui32), b.convert(high, ui32)]


def _joined(b: OpBuilder, low: Value, high: Value) -> Value:
    """Words of 64 bits."""
    low, high = b.convert(low, ui64), b.convert(high, ui64)
    return b.or_(low, b.like(hlo.ShiftLeftOp, high, b.full_like(high, 32)))


def _spread(b: OpBuilder, x: Value, extents: Sequence[int]) -> Value:
    """A scalar as often as there are elements."""
    return b.broadcast_in_dim(x, [], extents)

"""Random bits: the counter-based generators Threefry-2x32 and Philox-4x32, bit for bit as XLA computes them, and rng.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The state is a key and a counter; the
output state is the counter moved on by the number of blocks that were drawn.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import dtype_of, element, is_float, is_integer, shape
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.rules import Array, Function, Scope, evaluates, evaluates_in_scope

_U32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def _rotate(x: Array, by: int) -> Array:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def threefry2x32(key: tuple[Any, Any], block: tuple[Array, Array]) -> tuple[Array, Array]:
    """Twenty rounds of Threefry on blocks of two 32-bit words."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    x, y = block[0] + keys[0], block[1] + keys[1]
    for group, rotations in enumerate(((13, 15, 26, 6), (17, 29, 16, 24)) * 2 + ((13, 15, 26, 6),)):
        for by in rotations:
            x = x + y
            y = _rotate(y, by) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def philox4x32(key: tuple[Any, Any], block: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
    """Ten rounds of Philox on blocks of four 32-bit words."""
    k0, k1 = key
    a, b, c, d = block
    for _ in range(10):
        first, second = a.astype(np.uint64) * np.uint64(0xD2511F53), c.astype(np.uint64) * np.uint64(0xCD9E8D57)
        a, b, c, d = _high(second) ^ b ^ k0, _low(second), _high(first) ^ d ^ k1, _low(first)
        k0, k1 = k0 + np.uint32(0x9E3779B9), k1 + np.uint32(0xBB67AE85)
    return a, b, c, d


def _high(x: Any) -> Any:
    return (x >> _U32).astype(np.uint32)


def _low(x: Any) -> Any:
    return (x & _LOW).astype(np.uint32)


def _words(x: Array) -> tuple[Array, Array]:
    """The low and the high 32 bits."""
    return _low(x), _high(x)


def _joined(low: Array, high: Array) -> Array:
    return low.astype(np.uint64) | (high.astype(np.uint64) << _U32)


def threefry_bits(state: Array, extents: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """The next state (key, counter) and random words of at least ``width`` bits.

    A block gives one 64-bit word. For 32-bit words the array is drawn as pairs along its first even dimension (else its
    largest one, where the last element of the last pair is left out): pair i is the block number i.
    """
    key, counter = state[0], state[1]
    half, axis = list(extents), 0
    if width <= 32 and extents:
        axis = next((d for d, n in enumerate(extents) if n % 2 == 0), int(np.argmax(extents)))
        half[axis] = -(-extents[axis] // 2)
    count = prod(half)
    blocks = (counter + np.arange(count, dtype=np.uint64)).reshape(half)
    first, second = threefry2x32(_words(key), _words(blocks))
    after = np.array([key, counter + np.uint64(count)], np.uint64)
    if width > 32:
        return after, _joined(first, second)
    if not extents:
        return after, first
    pairs = np.stack([first, second], axis + 1).reshape([2 * h if d == axis else h for d, h in enumerate(half)])
    return after, np.take(pairs, np.arange(extents[axis]), axis)


def philox_bits(state: Array, extents: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """The next state (key, counter of 128 bits) and random words of at least ``width`` bits, in order.

    A state of two words is a counter whose high part is the key as well.
    """
    key, low, high = state[0], state[1], state[2 if len(state) > 2 else 0]
    count = prod(extents)
    blocks = -(-count // (2 if width > 32 else 4))
    lows = low + np.arange(blocks, dtype=np.uint64)
    highs = high + (lows < low).astype(np.uint64)
    a, b, c, d = philox4x32(_words(key), (*_words(lows), *_words(highs)))
    words = np.stack([_joined(a, b), _joined(c, d)] if width > 32 else [a, b, c, d], 1)
    end = low + np.uint64(blocks)
    after = [key, end, high + np.uint64(end < low)][: len(state)]
    return np.array(after, np.uint64), words.reshape(-1)[:count].reshape(extents)


_GENERATORS = {"THREE_FRY": threefry_bits, "PHILOX": philox_bits, "DEFAULT": philox_bits}


@evaluates(stablehlo.RngBitGeneratorOp)
def rng_bit_generator(op: stablehlo.RngBitGeneratorOp) -> Function:
    """The next state and random bits; DEFAULT is Philox, as XLA has it on the CPU."""
    generate, extents, dtype = _GENERATORS[op.rng_algorithm.data], shape(op.output), dtype_of(element(op.output))
    if dtype == np.bool_ or shape(op.initial_state) not in ((2,), (3,)) or dtype_of(element(op.initial_state)) != np.uint64:
        raise UnsupportedOpError(op, f"is supported from a state of 2 or 3 ui64 to numbers, not from {op.initial_state.type} to {op.output.type}")
    word = np.dtype(f"u{dtype.itemsize}")

    def run(state: Any) -> tuple[Array, Array]:
        after, words = generate(state, extents, 8 * dtype.itemsize)
        return after, words.astype(word).view(dtype)

    return run


@evaluates_in_scope(stablehlo.RngOp)
def rng(op: stablehlo.RngOp, scope: Scope) -> Function:
    """Numbers of a uniform distribution in [a, b), or of a normal one with mean a and deviation b.

    Which numbers is left to the backend; here every run draws the same ones.
    """
    extents, element_type = shape(op.result), element(op.result)
    dtype, normal = dtype_of(element_type), op.rng_distribution.data == "NORMAL"
    if not (is_float(element_type) or (is_integer(element_type) and not normal)):
        raise UnsupportedOpError(op, f"is not defined for this distribution of {element_type}")

    def run(a: Any, b: Any, _: Any) -> Array:
        if is_integer(element_type):
            return scope.generator.integers(int(a), max(int(b), int(a) + 1), extents).astype(dtype)
        if normal:
            return (float(a) + float(b) * scope.generator.standard_normal(extents)).astype(dtype)
        return (float(a) + (float(b) - float(a)) * scope.generator.random(extents)).astype(dtype)

    return run

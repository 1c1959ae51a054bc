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
from wengert.runtime.interpreter.meaning import Array, Function, Scope, evaluates, evaluates_in_scope

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

"""Device memory: one range of addresses, with a state for every byte.

Allocations lie 256 bytes apart from each other, so that an access beyond one of them hits no other. Addresses need more than 32 bits, so that a
program that loses the upper half of one is caught. An allocation is readable up to the next multiple of 16 bytes, as on a GPU, where a vector
load may read beyond the end; what it reads there is poison.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.runtime.ptx.errors import MemoryAccessError
from wengert.runtime.ptx.types import UNSIGNED, Array

READABLE, WRITABLE, INITIALIZED = 1, 2, 4
"""Bits of a byte's state."""

BASE = 0x7_0000_0000
"""The address of the first byte."""

POISON = 0xFF
"""What fresh memory is filled with: NaN in all float formats."""

_GAP = 256


def _padded(size: int) -> int:
    """The bytes of an allocation that can be read."""
    return -(-max(size, 1) // 16) * 16


def _extent(size: int) -> int:
    """The bytes from an allocation to the next one."""
    return -(-_padded(size) // 256) * 256 + _GAP


class ByteSpace:
    """Bytes with their states, seen as words of each width.

    Attributes:
        words: the contents by the width of a word in bytes.
        states: the states of the bytes, in words of the same widths.
    """

    def __init__(self, size: int):
        size = -(-size // 16) * 16
        self.size = size
        self.data: Array = np.zeros(size, np.uint8)
        self.state: Array = np.zeros(size, np.uint8)
        self.words: dict[int, Array] = {bits // 8: self.data.view(dtype) for bits, dtype in UNSIGNED.items()}
        self.states: dict[int, Array] = {bits // 8: self.state.view(dtype) for bits, dtype in UNSIGNED.items()}


class Memory(ByteSpace):
    """The memory of a device, of ``size`` bytes. Addresses are integers; 0 is never one.

    >>> memory = Memory(1 << 20)
    >>> x = memory.put(np.arange(3.0))
    >>> memory.read(x, (3,), np.float64).tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, size: int = 1 << 28):
        super().__init__(size)
        self._top = _GAP
        self._sizes: dict[int, int] = {}

    @property
    def used(self) -> int:
        """How many bytes from the beginning hold all allocations."""
        return self._top

    def allocate(self, size: int) -> int:
        """The address of ``size`` fresh bytes, a multiple of 256. They are poison until something is written there.

        Raises:
            MemoryAccessError: there is not enough memory left.
        """
        start = self._top
        top = start + _extent(size)
        if top > self.size:
            raise MemoryAccessError(f"{size} bytes do not fit in a memory of {self.size} bytes, of which {start} are taken")
        self._top = top
        self._sizes[start] = size
        padded = _padded(size)
        self.data[start : start + padded] = POISON
        self.state[start : start + size] = READABLE | WRITABLE
        self.state[start + size : start + padded] = READABLE | INITIALIZED
        return BASE + start

    def free(self, address: int) -> None:
        """Gives an allocation back: an access to it is an error from now on."""
        start = address - BASE
        if start not in self._sizes:
            raise MemoryAccessError(f"{address:#x} is not the address of an allocation")
        size = self._sizes.pop(start)
        self.state[start : start + _extent(size)] = 0
        self._top = max([s + _extent(n) for s, n in self._sizes.items()], default=_GAP)

    def put(self, array: Any) -> int:
        """The address of a fresh allocation with the contents of an array, in C order."""
        array = np.ascontiguousarray(array)
        address = self.allocate(array.nbytes)
        self.write(address, array)
        return address

    def write(self, address: int, array: Any) -> None:
        """Copies an array to an address.

        Raises:
            MemoryAccessError: the bytes there are not allocated.
        """
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        start = self._checked(address, len(data), WRITABLE)
        self.data[start : start + len(data)] = data
        self.state[start : start + len(data)] |= INITIALIZED

    def read(self, address: int, shape: Sequence[int] | int, dtype: Any) -> Array:
        """A copy of the contents at an address as an array.

        Raises:
            MemoryAccessError: the bytes there are not allocated, or nothing was written there.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        size = prod(shape) * np.dtype(dtype).itemsize
        start = self._checked(address, size, READABLE)
        unset = np.flatnonzero(~self.state[start : start + size] & INITIALIZED)
        if len(unset):
            raise MemoryAccessError(f"nothing was written to byte {unset[0]} of the {size} bytes at {address:#x}")
        return self.data[start : start + size].view(dtype).reshape(shape).copy()

    def contents(self, address: int, size: int) -> Array:
        """The bytes at an address as a view, poison included."""
        start = self._checked(address, size, READABLE)
        return self.data[start : start + size]

    def fill(self, address: int, size: int, byte: int) -> None:
        """Sets every byte to a value."""
        start = self._checked(address, size, WRITABLE)
        self.data[start : start + size] = byte
        self.state[start : start + size] |= INITIALIZED

    def poison(self, address: int, size: int) -> None:
        """Makes bytes what they were when they were allocated: reading them is an error until they are written."""
        start = self._checked(address, size, WRITABLE)
        self.data[start : start + size] = POISON
        self.state[start : start + size] &= ~np.uint8(INITIALIZED)

    def copy(self, source: int, target: int, size: int) -> None:
        """Copies bytes within the memory, with what is known of them."""
        to, start = self._checked(target, size, WRITABLE), self._checked(source, size, READABLE)
        self.data[to : to + size] = self.data[start : start + size].copy()
        known = self.state[start : start + size] & INITIALIZED
        self.state[to : to + size] = self.state[to : to + size] & ~np.uint8(INITIALIZED) | known

    def protect(self, address: int, size: int) -> None:
        """Forbids kernels to write here."""
        start = self._checked(address, size, WRITABLE)
        self.state[start : start + size] &= ~np.uint8(WRITABLE)

    def _checked(self, address: int, size: int, needed: int) -> int:
        """The position of bytes that all have a state."""
        start = address - BASE
        if start < 0 or start + size > self.size or not (self.state[start : start + size] & needed).all():
            raise MemoryAccessError(f"{size} bytes at {address:#x} are not allocated")
        return start

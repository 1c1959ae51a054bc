"""Loads and stores: from addresses of threads to words of memory, with all checks on the way.

A generic address is a global one, or lies in a window that shows the shared memory of the block or the local memory of the thread.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import Machine, ThreadFault, described
from wengert.runtime.ptx.memory import BASE, INITIALIZED, READABLE, WRITABLE
from wengert.runtime.ptx.races import Accesses, note_read, note_write
from wengert.runtime.ptx.types import UNSIGNED, Array

WINDOWS = {"shared": 0x1_0000_0000, "local": 0x2_0000_0000, "param": 0x3_0000_0000}
"""Generic addresses at which other spaces than the global one are seen, each 4 GiB long."""

_WINDOW = 1 << 32


def split_generic(addresses: Array, lanes: Lanes) -> list[tuple[str, Array, Lanes, Array]]:
    """The spaces that generic addresses lie in: for each the addresses there, the threads, and which of the elements they are."""
    parts: list[tuple[str, Array, Lanes, Array]] = []
    rest = np.ones(lanes.count, np.bool_)
    for space, start in WINDOWS.items():
        inside = (addresses >= np.uint64(start)) & (addresses < np.uint64(start + _WINDOW))
        if inside.any():
            parts.append((space, addresses[inside] - np.uint64(start), Lanes(lanes.numbers[inside]), np.flatnonzero(inside)))
            rest &= ~inside
    if rest.all():
        return [("global", addresses, lanes, np.arange(lanes.count))]
    if rest.any():
        parts.append(("global", addresses[rest], Lanes(lanes.numbers[rest]), np.flatnonzero(rest)))
    return parts


class AccessPath:
    """The path by which one instruction reaches one space: ``count`` words of ``width`` bytes at each address.

    Nobody looks at the words ``unread`` of what is loaded: they may lie behind a buffer, as LLVM loads four words where three are wanted.
    """

    def __init__(self, machine: Machine, space: str, width: int, count: int = 1, *, strong: bool = False, unread: frozenset[int] = frozenset()):
        self.machine = machine
        self.name = space
        self.width = width
        self.count = count
        self.size = width * count
        self.strong = strong
        self.unread = unread
        self.space = machine.spaces[space]
        self.stride = machine.strides.get(space, 0)
        self.dtype = UNSIGNED[8 * width]
        self.readable = self._mask(READABLE) if machine.checks.bounds else 0
        self.initialized = self._mask(INITIALIZED) if machine.checks.initialized else 0
        self.writable = self._mask(READABLE | WRITABLE) if machine.checks.bounds else 0

    def _mask(self, bits: int) -> int:
        return int.from_bytes(bytes([bits] * self.width), "little")

    # -- addresses

    def words(self, addresses: Array, lanes: Lanes) -> Array:
        """The positions of the first words among all words of the space, aligned and within it."""
        addresses = lanes.spread(addresses).astype(np.int64)
        start = addresses - BASE if self.name == "global" else addresses
        limit = self.stride or self.space.size
        outside = (start < 0) | (start > limit - self.size)
        if outside.any():
            at = int(np.argmax(outside))
            self._fault("out of bounds", f"{self.size} bytes at {int(addresses[at]) % (1 << 64):#x} lie outside of {self.name} memory", int(lanes.numbers[at]))
        misaligned = start & (self.size - 1)
        if misaligned.any():
            at = int(np.argmax(misaligned != 0))
            self._fault("misaligned", f"{self.size} bytes at {int(addresses[at]):#x} of {self.name} memory", int(lanes.numbers[at]))
        if self.stride:
            start = start + (self.machine.block_of[lanes.index] if self.name == "shared" else lanes.numbers) * self.stride
        return start // self.width

    def _fault(self, kind: str, message: str, lane: int) -> NoReturn:
        raise ThreadFault(kind, message, lane)

    # -- words

    def load(self, words: Array, lanes: Lanes) -> list[Array]:
        """The words at positions, and those that follow each."""
        self.check_read(words, lanes)
        data = self.space.words[self.width]
        return [data[words + k] for k in range(self.count)]

    def store(self, words: Array, lanes: Lanes, values: list[Array]) -> None:
        """Writes words at positions, and what follows each; where threads meet, that of the last one stays."""
        self.check_write(words, lanes)
        data = self.space.words[self.width]
        for k, value in enumerate(values):
            data[words + k] = value

    def check_read(self, words: Array, lanes: Lanes, *, atomic: bool = False) -> None:
        """Reports reads of words that are not there, that nobody wrote, or, unless they are part of an atomic update, that somebody may be writing."""
        for k in range(self.count):
            wanted = self.readable | (0 if k in self.unread else self.initialized)
            if not wanted:
                continue
            state = self.space.states[self.width][words + k]
            missing = (state & wanted) != wanted
            if missing.any():
                self._missing(state, missing, words + k, lanes, self.readable, "read")
        if not atomic:
            self._note(words, lanes, write=False)

    def check_write(self, words: Array, lanes: Lanes) -> None:
        """Reports writes to words that are not there or are constant, or that somebody may be using; the words are initialized then."""
        for k in range(self.count):
            state = self.space.states[self.width][words + k]
            if self.writable:
                missing = (state & self.writable) != self.writable
                if missing.any():
                    self._missing(state, missing, words + k, lanes, self._mask(READABLE), "write")
            if self.machine.checks.initialized:
                self.space.states[self.width][words + k] = state | self._mask(INITIALIZED)
        self._note(words, lanes, write=True)

    def forget(self, words: Array) -> None:
        """Makes words poison: they are being written to, and not yet there."""
        for k in range(self.count):
            self.space.states[self.width][words + k] &= np.invert(self.dtype.type(self._mask(INITIALIZED)))

    def _missing(self, state: Array, missing: Array, words: Array, lanes: Lanes, readable: int, what: str) -> NoReturn:
        at = int(np.argmax(missing))
        lane = int(lanes.numbers[at])
        place = f"{self.width} bytes at {self._address(int(words[at]), lane):#x} of {self.name} memory"
        if (int(state[at]) & readable) != readable:
            self._fault("out of bounds", f"a {what} of {place}, which belong to no {'allocation' if self.name == 'global' else 'variable'}", lane)
        if what == "write":
            self._fault("read only", f"a write of {place}, which are constant or behind the end of an allocation", lane)
        self._fault("uninitialized", f"a read of {place}, to which nothing was written", lane)

    def _address(self, word: int, lane: int) -> int:
        start = word * self.width
        return BASE + start if self.name == "global" else start % self.stride if self.stride else start

    # -- races

    def _note(self, words: Array, lanes: Lanes, *, write: bool) -> None:
        machine = self.machine
        unit = machine.units.get(self.name)
        if unit is None:
            return
        accesses = Accesses(machine.clocks, lanes.numbers, machine.launch_threads[lanes.index], self.strong)
        shadow = machine.shadows[self.name]
        note = note_write if write else note_read
        first = words * self.width // unit
        for k in range(max(self.size // unit, 1)):
            conflict = note(shadow, first + k, accesses)
            if conflict is not None:
                self._race(conflict, words, lanes, write)

    def _race(self, conflict: tuple[int, int], words: Array, lanes: Lanes, write: bool) -> NoReturn:
        at, other = conflict
        lane = int(lanes.numbers[at])
        address = self._address(int(words[at]), lane)
        who = described(*self.machine.coordinates(other))
        what = "written" if write else "read"
        self._fault("race", f"{self.size} bytes at {address:#x} of {self.name} memory are {what} while {who} may use them: no barrier lies between", lane)

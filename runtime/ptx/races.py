"""Data races: two accesses by different threads, at least one of them a write, that no barrier puts in order.

Happens-before is kept as vector clocks of warps within a block, after Flanagan and Freund, "FastTrack: efficient and precise dynamic race
detection" (PLDI 2009): ``clocks[b, w, v]`` is the time of warp v up to which warp w of block b knows what v has done. A barrier joins the clocks
of the warps that take part and starts a new time in each. Every unit of memory remembers its last write and two last readers as stamps: who, and
at what time. Threads of different blocks are never in order within a launch.

Atomic and volatile accesses do not race with each other. What memory fences order beyond that is not modelled.
"""

from __future__ import annotations

import numpy as np

from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import Array

_TIME_BITS = 24
_TIME = (1 << _TIME_BITS) - 1
_STRONG = 1 << _TIME_BITS
_THREAD = _TIME_BITS + 1
"""A stamp is the number of a thread from 1, whether the access was atomic or volatile, and the time, in this many bits."""


class Clocks:
    """The vector clocks of a batch of blocks of ``threads`` threads each (a multiple of the warp)."""

    def __init__(self, blocks: int, threads: int):
        self.threads = threads
        self.warps = threads // WARP
        self.clocks: Array = np.zeros((blocks, self.warps, self.warps), np.int64)
        self.restart()

    def restart(self) -> None:
        """Nobody knows of anybody: the beginning of a batch."""
        self.clocks[:] = np.eye(self.warps, dtype=np.int64)

    def join_blocks(self, blocks: Array) -> None:
        """All warps of these blocks meet."""
        joined = self.clocks[blocks].max(axis=1, keepdims=True)
        self.clocks[blocks] = joined + np.eye(self.warps, dtype=np.int64)

    def join(self, block: int, warps: Array) -> None:
        """Some warps of one block meet."""
        joined = self.clocks[block, warps].max(axis=0)
        self.clocks[block, warps] = joined
        self.clocks[block, warps, warps] += 1

    def join_threads(self, blocks: Array, warps: Array) -> None:
        """The threads of each of these warps meet."""
        self.clocks[blocks, warps, warps] += 1


class Shadow:
    """The accesses to each unit of a space in this launch."""

    def __init__(self, units: int):
        self.write: Array = np.zeros(units, np.int64)
        self.reads: tuple[Array, Array] = np.zeros(units, np.int64), np.zeros(units, np.int64)

    def clear(self) -> None:
        """Forgets everything."""
        for array in (self.write, *self.reads):
            array[:] = 0


class Accesses:
    """Accesses of the threads of a batch that happen at once: who makes them, and at what time.

    ``lanes`` are numbers in the batch, ``threads`` numbers in the launch; ``strong`` says that they are atomic or volatile.
    """

    def __init__(self, clocks: Clocks, lanes: Array, threads: Array, strong: bool):
        self.clocks = clocks
        self.threads = threads
        self.strong = strong
        self.block = lanes // clocks.threads
        self.warp = lanes % clocks.threads // WARP
        self.stamp: Array = ((threads + 1) << _THREAD) | (_STRONG if strong else 0) | clocks.clocks[self.block, self.warp, self.warp]

    def racing(self, stamps: Array) -> Array:
        """Where a stamp is that of another thread, at a time of which the accessing one does not know."""
        if not stamps.any():
            return np.zeros(len(stamps), np.bool_)
        other = (stamps >> _THREAD) - 1
        per_block = self.clocks.threads
        warp = other % per_block // WARP
        known = self.clocks.clocks[self.block, self.warp, warp] - (warp == self.warp)
        foreign = other // per_block != self.threads // per_block
        racing = (stamps != 0) & (other != self.threads) & (foreign | ((stamps & _TIME) > known))
        return racing & ((stamps & _STRONG) == 0) if self.strong else racing


def note_read(shadow: Shadow, units: Array, accesses: Accesses) -> tuple[int, int] | None:
    """Records reads; the position of one that races with a write, and the thread that wrote, if there is one."""
    before = shadow.write[units]
    first, second = shadow.reads
    newest = first[units]
    second[units] = np.where((newest >> _THREAD) != accesses.threads + 1, newest, second[units])
    first[units[::-1]] = accesses.stamp[::-1]
    differs = first[units] != accesses.stamp
    if differs.any():
        second[units[differs]] = accesses.stamp[differs]
    return _first(accesses.racing(before), before)


def note_write(shadow: Shadow, units: Array, accesses: Accesses) -> tuple[int, int] | None:
    """Records writes; the position of one that races with another access, and the thread that made it, if there is one."""
    before = shadow.write[units]
    conflict = _first(accesses.racing(before), before)
    shadow.write[units] = accesses.stamp
    if conflict is None and not accesses.strong:
        now = shadow.write[units]
        conflict = _first(now != accesses.stamp, now)
    for reads in shadow.reads:
        if conflict is None:
            readers = reads[units]
            conflict = _first(accesses.racing(readers), readers)
    return conflict


def _first(racing: Array, stamps: Array) -> tuple[int, int] | None:
    if not racing.any():
        return None
    at = int(np.argmax(racing))
    return at, (int(stamps[at]) >> _THREAD) - 1

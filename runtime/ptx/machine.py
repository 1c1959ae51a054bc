"""The state of a batch of blocks while a kernel runs on them: registers, shared and local memory, parameters, and the checks.

All threads of the batch are numbered through; a block has a multiple of 32 of these numbers, and those beyond its threads never run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from wengert.runtime.ptx.errors import Fault
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.linking import LinkedKernel
from wengert.runtime.ptx.memory import INITIALIZED, POISON, READABLE, WRITABLE, ByteSpace, Memory
from wengert.runtime.ptx.program import Place, Source
from wengert.runtime.ptx.races import Clocks, Shadow
from wengert.runtime.ptx.special import WARP, Extents, block_registers, coordinates, thread_registers
from wengert.runtime.ptx.types import UNSIGNED, Array, Scalar


@dataclass(frozen=True)
class Checks:
    """The checks while a kernel runs. An access outside of all memory is an error in any case, and so is a misaligned one.

    Attributes:
        bounds: accesses outside of allocations and variables, and writes to constants.
        initialized: reads of memory to which nothing was written.
        races: accesses of different threads to the same bytes that no barrier orders, unless both are atomic.
        barriers: barriers that some threads of the block do not reach, because they went elsewhere or ended.
        registers: reads of registers that were not written on the way taken.
    """

    bounds: bool = True
    initialized: bool = True
    races: bool = True
    barriers: bool = True
    registers: bool = True

    @classmethod
    def none(cls) -> Checks:
        """No checks."""
        return cls(False, False, False, False, False)


class ThreadFault(Exception):
    """A fault of one thread, before it is known in which instruction."""

    def __init__(self, kind: str, message: str, lane: int):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.lane = lane


class Machine:
    """A batch of ``blocks`` blocks of a kernel.

    Attributes:
        registers: an array over the threads of the batch by the name of a register: unsigned integers of its width, or booleans.
        special: the same for special registers.
        spaces: global, shared, local and parameter memory; those of blocks and threads lie one behind the other.
        defined: which threads have written a register, for registers that may be read too early.
        copies: asynchronous copies that have begun, and ``copy_groups`` how many groups of them each thread has closed.
        strides: how many bytes a block (of shared memory) or a thread (of local memory) has.
    """

    def __init__(self, kernel: LinkedKernel, source: Source, memory: Memory, grid: Extents, block: Extents, blocks: int, dynamic: int, checks: Checks):
        self.kernel = kernel
        self.source = source
        self.checks = checks
        self.grid, self.block = grid, block
        self.threads = int(np.prod(block))
        self.block_lanes = -(-self.threads // WARP) * WARP
        self.blocks = blocks
        self.lanes = blocks * self.block_lanes
        numbers = np.arange(self.lanes)
        self.everyone = Lanes(numbers)
        self.block_of: Array = numbers // self.block_lanes
        self.registers = {name: self._register(type) for name, type in kernel.registers.items()}
        self.defined: dict[str, Array] = {}
        self.carry: Array = np.zeros(self.lanes, np.bool_)
        self.copies: list[Any] = []
        self.copy_groups: Array = np.zeros(self.lanes, np.int64)
        self.special = self._special(dynamic)
        self.memory = memory
        self.spaces: dict[str, ByteSpace] = {"global": memory, "param": ByteSpace(max(16, sum(16 + (p.size or 0) for p, _ in kernel.parameters)))}
        self.strides: dict[str, int] = {}
        self._patterns: dict[str, Array] = {}
        shared = kernel.shared.ranges + (((kernel.dynamic_shared, kernel.dynamic_shared + dynamic),) if kernel.dynamic_shared is not None else ())
        self._place("shared", shared, blocks)
        self._place("local", kernel.local.ranges, self.lanes)
        self.clocks = Clocks(blocks, self.block_lanes)
        self.shadows: dict[str, Shadow] = {}
        self.units: dict[str, int] = {}
        self.launch_threads: Array = numbers
        self.first_block = 0

    @property
    def size(self) -> int:
        """About how many bytes the machine takes."""
        own = [space.size for name, space in self.spaces.items() if name != "global"]
        return 2 * sum(own) + sum(array.nbytes for array in self.registers.values())

    def _register(self, type: Scalar) -> Array:
        return np.zeros(self.lanes, np.bool_ if type.kind == "p" else UNSIGNED[type.bits])

    def _special(self, dynamic: int) -> dict[str, Array]:
        start = self.kernel.dynamic_shared
        total = dynamic + (self.kernel.shared.end if start is None else start)
        thread = np.arange(self.lanes) % self.block_lanes
        return thread_registers(thread, self.block, self.grid, (dynamic, total)) | block_registers(self.block_of, self.grid)

    def _place(self, space: str, ranges: tuple[tuple[int, int], ...], copies: int) -> None:
        stride = -(-max([end for _, end in ranges], default=0) // 128) * 128
        pattern = np.zeros(stride, np.uint8)
        for start, end in ranges:
            pattern[start:end] = READABLE | WRITABLE
        self.strides[space] = stride
        self._patterns[space] = pattern
        self.spaces[space] = ByteSpace(stride * copies)

    # -- a batch

    def begin(self, first_block: int, count: int, parameters: bytes) -> Lanes:
        """Puts the batch at blocks ``first_block`` and following, ``count`` of them; the threads that run."""
        self.first_block = first_block
        numbers = self.first_block + self.block_of
        for name, value in block_registers(numbers, self.grid).items():
            self.special[name][...] = value
        self.launch_threads = first_block * self.block_lanes + self.everyone.numbers
        for space, pattern in self._patterns.items():
            memory = self.spaces[space]
            if len(pattern):
                memory.state.reshape(-1, len(pattern))[:] = pattern
                memory.data[:] = POISON
        param = self.spaces["param"]
        param.data[: len(parameters)] = np.frombuffer(parameters, np.uint8)
        param.state[: len(parameters)] = READABLE | INITIALIZED
        for defined in self.defined.values():
            defined[:] = False
        self.copies = []
        self.copy_groups[:] = 0
        self.clocks.restart()
        if "shared" in self.shadows:
            self.shadows["shared"].clear()
        thread = self.everyone.numbers % self.block_lanes
        return Lanes(np.flatnonzero((thread < self.threads) & (self.block_of < count)))

    def note_width(self, space: str, width: int) -> None:
        """An instruction accesses a space in words of this width: races are looked for in units of the narrowest one."""
        if self.checks.races and space in ("global", "shared"):
            self.units[space] = min(width, self.units.get(space, width))

    def begin_launch(self) -> None:
        """What earlier launches did to memory is done."""
        used = {"global": self.memory.used if self.checks.bounds else self.memory.size, "shared": self.spaces["shared"].size}
        self.shadows = {space: Shadow(used[space] // unit + 1) for space, unit in self.units.items()}

    # -- faults

    def where(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The coordinates of a thread of the batch and of its block."""
        return self.coordinates(int(self.launch_threads[lane]))

    def coordinates(self, thread: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The coordinates of a thread of the launch and of its block."""
        x, y, z = coordinates(thread % self.block_lanes, self.block)
        bx, by, bz = coordinates(thread // self.block_lanes, self.grid)
        return (x, y, z), (bx, by, bz)

    def fault(self, place: Place, kind: str, message: str, lane: int) -> NoReturn:
        """Raises a fault at an instruction."""
        thread, block = self.where(lane)
        raise Fault(self.source.diagnostic(place, f"{kind}: {message}, by {described(thread, block)}"), kind, thread, block) from None


def described(thread: tuple[int, int, int], block: tuple[int, int, int]) -> str:
    """A thread in words."""
    return f"thread {shown(thread)} of block {shown(block)}"


def shown(extents: Any) -> str:
    """Coordinates in words."""
    return f"({', '.join(str(int(x)) for x in extents)})"

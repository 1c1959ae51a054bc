"""Emits transposed reads tile by tile.

A nest that reads with a stride along its innermost loop, but contiguously along another one, touches a new cache line for
every element, and often the same few cache sets. Such a nest runs over square tiles of these two loops, the two innermost ones:
the rows of a tile are loaded whole, transposed in registers (log2(n) stages of exchanges
between pairs of rows, as in Eklundh, "A fast computer method for matrix transposing", 1972), and kept on the stack, from
where the body reads lanes that are neighbours.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Operation

from wengert.dialects.kernel import LoadOp
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.context import Context, Load
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.schedule.tiles import is_tiled


class Tiles:
    """Emits the two innermost loops in tiles; ``slots`` are the places on the stack of each load's tile."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.slots: dict[Operation, str] = {}
        self._row = ""

    def allocate(self) -> None:
        """Makes room on the stack for the tiles that the schedule asks for."""
        for op in self.nest.loads if self.nest.schedule.tiled else ():
            if is_tiled(self.nest.placed, op):
                kind = vector(self.nest.loads[op].element.memory, self.nest.lanes)
                self.slots[op] = self.nest.out.alloca(f"[{self.nest.lanes} x {kind}]", 64)

    @contextmanager
    def rows(self) -> Generator[str]:
        """Loops over all tiles, and over the rows of each; yields the column at which lanes begin. The last tile starts early enough to end with its loop."""
        inner, lanes = self.nest.inner, self.nest.lanes
        with self._tiles(inner - 1) as row, self._tiles(inner) as column:
            for op, slot in self.slots.items():
                self._fill(self.nest.loads[op], slot, row, column)
            with self.nest.out.rotated_loop(lanes) as loop:
                self._row = loop.index
                with self.registers.scope({("index", inner - 1): self.nest.out.add(row, loop.index)}):
                    yield column

    def load(self, op: LoadOp, lanes: int) -> Value:
        """The current row of a load's tile."""
        element = self.nest.loads[op].element
        row = self.nest.out.offset(self.slots[op], vector(element.memory, lanes), self._row)
        return Memory(self.nest.exact(lanes), lanes).load_contiguous(element, row, 1)

    @contextmanager
    def _tiles(self, level: int) -> Generator[str]:
        """Loops over the tiles along one loop; yields the index at which each begins."""
        out, extent, lanes = self.nest.out, self.nest.extents[level], self.nest.lanes
        with out.rotated_loop(-(-extent // lanes) * lanes, step=lanes) as loop:
            yield loop.index if extent % lanes == 0 else out.intrinsic("umin", "i64", loop.index, extent - lanes)

    def _fill(self, load: Load, slot: str, row: str, column: str) -> None:
        lanes, align = self.nest.lanes, load.element.size
        kind = vector(load.element.memory, lanes)
        with self.registers.scope({("index", self.nest.inner - 1): row}):
            self.nest.index = column
            address = self.addresses.lanes(load.pointer, load.element, load.at).address
            lines = [self.nest.out.load(kind, address(lane), align) for lane in range(lanes)]
        for number, line in enumerate(self.nest.out.transposed(load.element.memory, lines)):
            self.nest.out.store(kind, line, self.nest.out.offset(slot, kind, number), align)

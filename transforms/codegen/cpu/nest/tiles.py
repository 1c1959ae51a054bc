"""Transposed reads, tile by tile.

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
from wengert.transforms.codegen.cpu.nest.loops import LoopEmitter, OpenLoop
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.schedule.tiles import is_tiled


class Tiles:
    """Runs the two innermost loops in tiles; ``slots`` are the places of those of each load."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses, loops: LoopEmitter):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.loops = loops
        self.slots: dict[Operation, str] = {}
        self._row = ""

    def allocate(self) -> None:
        """Room on the stack for the tiles that the schedule asks for."""
        for op in self.nest.loads if self.nest.schedule.tiled else ():
            if is_tiled(self.nest.placed, op):
                slot = self.slots[op] = self.nest.out.fresh()
                kind = vector(self.nest.loads[op].held.memory, self.nest.lanes)
                self.nest.out.lines.insert(0, f"{slot} = alloca [{self.nest.lanes} x {kind}], align 64")

    @contextmanager
    def rows(self) -> Generator[str]:
        """Loops over all tiles, and over the rows of each; the column at which lanes begin. The last tile of each loop starts early enough to end with it."""
        inner, lanes = self.nest.inner, self.nest.lanes
        row_loop, row = self._open(inner - 1)
        column_loop, column = self._open(inner)
        for op, slot in self.slots.items():
            self._fill(self.nest.loads[op], slot, row, column)
        loop = self.loops.open(0, [])
        self._row = loop.index
        with self.registers.scope({("index", inner - 1): self.nest.out.add(row, loop.index)}):
            yield column
        self.loops.close(loop, 1, lanes, [])
        self.loops.close(column_loop, lanes, self._rounded_up(inner), [])
        self.loops.close(row_loop, lanes, self._rounded_up(inner - 1), [])

    def load(self, op: LoadOp, lanes: int) -> Value:
        """The current row of a load's tile."""
        held = self.nest.loads[op].held
        row = self.nest.out.op(f"getelementptr {vector(held.memory, lanes)}, ptr {self.slots[op]}, i64 {self._row}")
        return Memory(self.nest.exact(lanes), lanes).load_contiguous(held, row, 1)

    def _open(self, level: int) -> tuple[OpenLoop, str]:
        loop, extent, lanes = self.loops.open(0, []), self.nest.extents[level], self.nest.lanes
        if extent % lanes == 0:
            return loop, loop.index
        return loop, self.nest.out.op(f"call i64 @llvm.umin.i64(i64 {loop.index}, i64 {extent - lanes})")

    def _rounded_up(self, level: int) -> int:
        return -(-self.nest.extents[level] // self.nest.lanes) * self.nest.lanes

    def _fill(self, load: Load, slot: str, row: str, column: str) -> None:
        lanes, align = self.nest.lanes, load.held.size
        kind = vector(load.held.memory, lanes)
        with self.registers.scope({("index", self.nest.inner - 1): row}):
            self.nest.index = column
            address = self.addresses.lanes(load.pointer, load.held, load.at).address
            lines = [self.nest.out.op(f"load {kind}, ptr {address(lane)}, align {align}") for lane in range(lanes)]
        for number, line in enumerate(self._transposed(lines, load.held.memory)):
            at = self.nest.out.op(f"getelementptr {kind}, ptr {slot}, i64 {number}") if number else slot
            self.nest.out.line(f"store {kind} {line}, ptr {at}, align {align}")

    def _transposed(self, lines: list[str], register: str) -> list[str]:
        """The columns of a square of registers as its rows: rows whose numbers differ in one bit exchange halves."""
        kind, n = vector(register, self.nest.lanes), self.nest.lanes
        bit = 1
        while bit < n:
            low = ", ".join(f"i32 {lane if not lane & bit else n + lane - bit}" for lane in range(n))
            high = ", ".join(f"i32 {lane + bit if not lane & bit else n + lane}" for lane in range(n))
            for row in range(n):
                if not row & bit:
                    pair = f"{kind} {lines[row]}, {kind} {lines[row + bit]}"
                    lines[row] = self.nest.out.op(f"shufflevector {pair}, <{n} x i32> <{low}>")
                    lines[row + bit] = self.nest.out.op(f"shufflevector {pair}, <{n} x i32> <{high}>")
            bit *= 2
        return lines

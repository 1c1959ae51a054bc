"""Transposed reads, tile by tile.

A nest that reads with a stride along its innermost loop, but contiguously along another one, touches a new cache line for
every element, and often the same few cache sets. Such a nest runs over square tiles of these two loops: the other loop is
moved next to the innermost one, the rows of a tile are loaded whole, transposed in registers (log2(n) stages of exchanges
between pairs of rows, as in Eklundh, "A fast computer method for matrix transposing", 1972), and kept on the stack, from
where the body reads lanes that are neighbours.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.nest.loops import NestLoops, OpenLoop
from wengert.transforms.codegen.cpu.nest.state import Load
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.schedule.tiles import is_tiled


class NestTiles(NestLoops):
    """Runs the two innermost loops in tiles."""

    def _find_tiles(self) -> None:
        """Room on the stack for the tiles."""
        if not self.schedule.tiled:
            return
        for op in self.loads:
            if is_tiled(self.placed, op):
                self.tiles[op] = self.out.fresh()
                kind = vector(self.loads[op].held.memory, self.lanes)
                self.out.lines.insert(0, f"{self.tiles[op]} = alloca [{self.lanes} x {kind}], align 64")

    def _open_tile_loop(self, level: int) -> tuple[OpenLoop, str]:
        loop = self._open_loop(0, [])
        if self.extents[level] % self.lanes == 0:
            return loop, loop.index
        return loop, self._add(f"call i64 @llvm.umin.i64(i64 {loop.index}, i64 {self.extents[level] - self.lanes})")

    def _rounded_up(self, level: int) -> int:
        return -(-self.extents[level] // self.lanes) * self.lanes

    def _fill_tile(self, load: Load, slot: str, row: str, column: str) -> None:
        kind, align = vector(load.held.memory, self.lanes), load.held.size
        self.scopes.append({("index", self.inner - 1): row})
        self.at_index = column
        address = self._lane_address(load.pointer, load.held, load.at).address
        lines = [self._add(f"load {kind}, ptr {address(lane)}, align {align}") for lane in range(self.lanes)]
        self.scopes.pop()
        for number, line in enumerate(self._transposed(lines, load.held.memory)):
            at = self._add(f"getelementptr {kind}, ptr {slot}, i64 {number}") if number else slot
            self.out.line(f"store {kind} {line}, ptr {at}, align {align}")

    def _transposed(self, lines: list[str], register: str) -> list[str]:
        """The columns of a square of registers as its rows: rows whose numbers differ in one bit exchange halves."""
        kind, n = vector(register, self.lanes), self.lanes
        bit = 1
        while bit < n:
            low = ", ".join(f"i32 {lane if not lane & bit else n + lane - bit}" for lane in range(n))
            high = ", ".join(f"i32 {lane + bit if not lane & bit else n + lane}" for lane in range(n))
            for row in range(n):
                if not row & bit:
                    pair = f"{kind} {lines[row]}, {kind} {lines[row + bit]}"
                    lines[row] = self._add(f"shufflevector {pair}, <{n} x i32> <{low}>")
                    lines[row + bit] = self._add(f"shufflevector {pair}, <{n} x i32> <{high}>")
            bit *= 2
        return lines

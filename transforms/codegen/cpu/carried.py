"""What a loop of the entry carries from trip to trip."""

from __future__ import annotations

from wengert.dialects import core
from wengert.transforms.bufferize.buffers import ALIGNMENT, Place, Space, byte_size, loop_layout
from wengert.transforms.codegen.cpu.cells import CELL_BYTES
from wengert.transforms.codegen.llvm.pointers import BlockPointers


class Carried:
    """What a loop carries: two buffers for each value, the one that is read and the one that the body writes. Large values swap
    theirs after each trip; small ones lie in cells and are copied, which costs nothing where cells become registers."""

    def __init__(self, code: BlockPointers, op: core.ForOp | core.WhileOp):
        self.code = code
        self.op = op
        scratch = code.place(code.buffers.scratch[op])
        offsets, end = loop_layout(op)
        sizes = [byte_size(value) for value in op.results]
        self.small = [0 < size <= CELL_BYTES for size in sizes]
        self.extra = code.entry.cell(ALIGNMENT)
        self.arena = code.offset(scratch, end + ALIGNMENT)
        self.constants = [code.pointer(value) for value in op.constant_operands]
        self.homes = [code.pointer(value) for value in op.results]
        self.fixed = len(op.body.block.args) - len(op.results)
        self.swaps = [self._swaps(number) for number in range(len(op.results))]
        self.current = [code.entry.cell(size) if small else home for small, size, home in zip(self.small, sizes, self.homes, strict=True)]
        self.spare = [
            here if not swaps else code.entry.cell(size) if small else code.offset(scratch, at)
            for small, swaps, size, here, at in zip(self.small, self.swaps, sizes, self.current, offsets, strict=True)
        ]
        for here, initial, size in zip(self.current, op.initial, sizes, strict=True):
            code.copy(code.pointer(initial), here, size)

    def _swaps(self, number: int) -> bool:
        """Whether the body leaves this value in its second buffer (not: in the one where it was)."""
        last = self.op.body.block.last_op
        assert last is not None
        inner = self.code.buffers.inner[self.op.body.block]
        return inner.places[last.operands[number]] != Place(Space.INPUT, self.fixed + number)

    def open(self, before: str, latch: str) -> None:
        """The pointers at the head of the loop, where they alternate."""
        for number in self._alternating():
            names = [f"%{self.code.entry.fresh()}" for _ in range(2)]
            self.code.entry.lines.append(f"{names[0]} = phi ptr [{self.current[number]}, %{before}], [{names[1]}, %{latch}]")
            self.code.entry.lines.append(f"{names[1]} = phi ptr [{self.spare[number]}, %{before}], [{names[0]}, %{latch}]")
            self.current[number], self.spare[number] = names

    def _alternating(self) -> list[int]:
        return [n for n in range(len(self.homes)) if self.swaps[n] and not self.small[n]]

    def step(self) -> None:
        """Ends a trip: what the body wrote into second cells is what the next one reads."""
        for current, spare, result in zip(self.current, self.spare, self.op.results, strict=True):
            if current != spare and byte_size(result) <= CELL_BYTES:
                self.code.copy(spare, current, byte_size(result))

    def finish(self) -> None:
        """Brings everything home."""
        for number, (home, current, result) in enumerate(zip(self.homes, self.current, self.op.results, strict=True)):
            if self.small[number]:
                self.code.copy(current, home, byte_size(result))
            elif self.swaps[number] and byte_size(result):
                label = self.code.entry.fresh("home")
                away = self.code.entry.op(f"icmp ne ptr {current}, {home}")
                self.code.entry.lines += [f"br i1 {away}, label %{label}.move, label %{label}.done", f"{label}.move:"]
                self.code.copy(current, home, byte_size(result))
                self.code.entry.lines += [f"br label %{label}.done", f"{label}.done:"]
        self.code.entry.release(dict.fromkeys((self.extra, *self.current, *self.spare)))

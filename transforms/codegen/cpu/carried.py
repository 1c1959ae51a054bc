"""What a loop of the entry carries from iteration to iteration."""

from __future__ import annotations

from wengert.dialects.kernel.buffers import ForOp, WhileOp
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, space_of
from wengert.transforms.codegen.cpu.pointers import BlockPointers


class Carried:
    """What a loop carries: two buffers for each value, the one that is read and the one that the body writes. Large values swap
    theirs after each iteration; small ones lie in cells and are copied, which costs nothing where cells become registers."""

    def __init__(self, code: BlockPointers, op: ForOp | WhileOp):
        self.code = code
        self.small = [space_of(buffer.type) is Space.STACK for buffer in op.now()]
        self.swaps = [buffer is not here for buffer, here in zip(op.written(), op.now(), strict=True)]
        self.sizes = [byte_size(buffer) for buffer in op.outs]
        code.base(op.arena)
        self.first = code.entry.cell(ALIGNMENT)
        self.arena = code.pointer(op.arena)
        self.constants = [code.pointer(buffer) for buffer in op.constants]
        self.homes = [code.pointer(buffer) for buffer in op.outs]
        self.current = [code.entry.cell(size) if small else home for small, size, home in zip(self.small, self.sizes, self.homes, strict=True)]
        spare = iter(op.spare)
        self.spare = [
            here if not swaps else code.entry.cell(size) if small else code.pointer(next(spare))
            for small, swaps, size, here in zip(self.small, self.swaps, self.sizes, self.current, strict=True)
        ]
        for here, initial, size in zip(self.current, op.initial, self.sizes, strict=True):
            code.copy(code.pointer(initial), here, size)

    def arguments(self) -> list[str]:
        """The addresses of what the loop's regions take, in this iteration."""
        following = [spare for spare, swaps in zip(self.spare, self.swaps, strict=True) if swaps]
        return [self.first, *self.constants, *self.current, *following, self.arena]

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
        """Ends an iteration: what the body wrote into second cells is what the next one reads."""
        for current, spare, size, small in zip(self.current, self.spare, self.sizes, self.small, strict=True):
            if small:
                self.code.copy(spare, current, size)

    def finish(self) -> None:
        """Brings everything home."""
        for number, (home, current, size) in enumerate(zip(self.homes, self.current, self.sizes, strict=True)):
            if self.small[number]:
                self.code.copy(current, home, size)
            elif self.swaps[number] and size:
                label = self.code.entry.fresh("home")
                away = self.code.entry.op(f"icmp ne ptr {current}, {home}")
                self.code.entry.lines += [f"br i1 {away}, label %{label}.move, label %{label}.done", f"{label}.move:"]
                self.code.copy(current, home, size)
                self.code.entry.lines += [f"br label %{label}.done", f"{label}.done:"]
        self.code.entry.release(dict.fromkeys((self.first, *self.current, *self.spare)))

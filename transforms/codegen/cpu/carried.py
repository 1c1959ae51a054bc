"""Carries the values of a loop of the entry from iteration to iteration."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects.kernel.buffers import ForOp, WhileOp
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, space_of
from wengert.transforms.codegen.cpu.pointers.buffers import BlockPointers
from wengert.transforms.codegen.llvm.builder import Operand


class Carried:
    """The carried values of a loop: two buffers for each, the one that is read and the one that the body writes. Large values swap
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
        """The addresses of the arguments of the loop's regions, in this iteration."""
        following = [spare for spare, swaps in zip(self.spare, self.swaps, strict=True) if swaps]
        return [self.first, *self.constants, *self.current, *following, self.arena]

    def carried(self) -> list[Operand]:
        """The pointers that alternate, in pairs, as what the loop carries."""
        return [("ptr", pointer) for number in self._alternating() for pointer in (self.current[number], self.spare[number])]

    def open(self, pointers: Sequence[str]) -> None:
        """The pointers at the head of the loop."""
        pairs = iter(pointers)
        for number in self._alternating():
            self.current[number], self.spare[number] = next(pairs), next(pairs)

    def following(self) -> list[str]:
        """The pointers of the next iteration: each pair exchanged."""
        return [pointer for number in self._alternating() for pointer in (self.spare[number], self.current[number])]

    def _alternating(self) -> list[int]:
        return [n for n in range(len(self.homes)) if self.swaps[n] and not self.small[n]]

    def step(self) -> None:
        """Ends an iteration: copies what the body wrote into second cells to where the next iteration reads."""
        for current, spare, size, small in zip(self.current, self.spare, self.sizes, self.small, strict=True):
            if small:
                self.code.copy(spare, current, size)

    def copy_home(self) -> None:
        """Copies the values of the last iteration to the loop's results, where they are not there already."""
        for number, (home, current, size) in enumerate(zip(self.homes, self.current, self.sizes, strict=True)):
            if self.small[number]:
                self.code.copy(current, home, size)
            elif self.swaps[number] and size:
                builder = self.code.entry.builder
                with builder.when(builder.icmp("ne", "ptr", current, home)):
                    self.code.copy(current, home, size)
        self.code.entry.release(dict.fromkeys((self.first, *self.current, *self.spare)))

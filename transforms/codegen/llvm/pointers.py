"""Where the values of a block lie, as pointers in the entry."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from wengert.transforms.bufferize.buffers import Buffers, Place, Space, byte_size
from wengert.transforms.codegen.cpu.cells import cells
from wengert.transforms.codegen.cpu.entry import EntryCode


class BlockPointers:
    """The values of one block: of the function, or of a region, whose inputs and outputs are pointers from around it."""

    def __init__(self, entry: EntryCode, block: Block, buffers: Buffers, inputs: Sequence[str], outputs: Sequence[str], arena: str, *, in_loop: bool):
        self.entry = entry
        self.block = block
        self.buffers = buffers
        self.inputs = inputs
        self.outputs = outputs
        self.arena = arena
        self.pointers: dict[Place, str] = {}
        self.cells = cells(buffers) if in_loop else {}

    def pointer(self, value: SSAValue) -> str:
        """The address of a value."""
        return self.place(self.buffers.places[value])

    def place(self, place: Place) -> str:
        """The address of a place."""
        if place.space is Space.INPUT:
            return self.inputs[place.at]
        if place.space is Space.OUTPUT:
            return self.outputs[place.at]
        found = self.pointers.get(place)
        if found is None:
            if place.at in self.cells and place.space is Space.ARENA:
                found = self.entry.cell(self.cells[place.at])
            elif place.space is Space.ARENA:
                found = self.offset(self.arena, place.at)
            else:
                found = self.entry.constant(place.at)
            self.pointers[place] = found
        return found

    def offset(self, pointer: str, count: int) -> str:
        return self.entry.op(f"getelementptr i8, ptr {pointer}, i64 {count}") if count else pointer

    def copy(self, source: str, target: str, count: int) -> None:
        if source != target and count:
            self.entry.lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {count}, i1 false)")

    def copy_outputs(self) -> None:
        """Values that are returned but lie elsewhere; all are read before any output is an input of the next trip."""
        for copy in self.buffers.copies:
            self.copy(self.pointer(copy.source), self.outputs[copy.output], byte_size(copy.source))

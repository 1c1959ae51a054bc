"""Computes the addresses of buffers: views are offsets in the arena, constants are in the table, small values on the stack."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from wengert.dialects.kernel.buffers import AllocOp, GlobalOp, ViewOp
from wengert.dialects.kernel.memory import Space, byte_size, space_of
from wengert.ir.attributes import int_of
from wengert.transforms.codegen.cpu.entry import EntryBuilder

ARENA = "%arena"
"""The entry's parameter for the arena."""


class BlockPointers:
    """The buffers of one block, as pointers in the entry. The block's arguments have the addresses ``arguments``; the others are computed where
    they are first used."""

    def __init__(self, entry: EntryBuilder, block: Block, arguments: Sequence[str]):
        self.entry = entry
        self.block = block
        self.pointers: dict[SSAValue, str] = dict(zip(block.args, arguments, strict=True))
        self._parts: dict[tuple[SSAValue, int], str] = {}
        self._constants: dict[SSAValue, int] = {}
        self._cells: list[str] = []

    def pointer(self, buffer: SSAValue) -> str:
        """The address of a buffer."""
        pointer = self.pointers.get(buffer)
        if pointer is None:
            pointer = self.pointers[buffer] = self._new_pointer(buffer)
        return pointer

    def _new_pointer(self, buffer: SSAValue) -> str:
        op = buffer.owner
        if isinstance(op, ViewOp):
            return self._part(op.source, int_of(op.offset))
        if isinstance(op, GlobalOp):
            return self.entry.constant(self._constants[buffer])
        assert isinstance(op, AllocOp)
        if space_of(buffer.type) is Space.ARENA:
            return ARENA
        cell = self.entry.cell(max(byte_size(buffer), 1))
        self._cells.append(cell)
        return cell

    def _part(self, source: SSAValue, at: int) -> str:
        """An address in the memory of a block, computed once for all views that begin there, except in a loop's own range."""
        if isinstance(source.owner, ViewOp):
            return self.offset(self.pointer(source), at)
        pointer = self._parts.get((source, at))
        if pointer is None:
            pointer = self._parts[source, at] = self.offset(self.pointer(source), at)
        return pointer

    def base(self, view: SSAValue) -> str:
        """The address of what a buffer is a view of."""
        assert isinstance(view.owner, ViewOp)
        return self.pointer(view.owner.source)

    def offset(self, pointer: str, count: int) -> str:
        """An address so many bytes further on."""
        return self.entry.offset(pointer, count)

    def copy(self, source: str, target: str, count: int) -> None:
        """Copies bytes, unless source and target are one."""
        if source != target and count:
            self.entry.builder.copy_bytes(source, target, count)

    def constant(self, op: GlobalOp) -> None:
        """Gives a constant the next place in the table."""
        self._constants[op.memref] = self.entry.next_constant()

    def release(self) -> None:
        """The cells of this block are not needed any more where the entry is now."""
        self.entry.release(self._cells)

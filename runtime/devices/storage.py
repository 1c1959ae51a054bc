"""The memory of a program on a device besides its inputs and results: one allocation for what the program allocates, one for what is constant."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from wengert.dialects.kernel.buffers import AllocOp, ForOp, GlobalOp, WhileOp
from wengert.dialects.kernel.memory import Space, aligned, bytes_of, space_of
from wengert.ir import elements
from wengert.ir.traversal import ops_of
from wengert.runtime.devices.interface import Buffer, Device
from wengert.runtime.devices.recording import MOST

ALIGNMENT = 256
"""Every buffer begins at a multiple of so many bytes, as the parts of an arena do."""
_NUMBER = np.dtype(np.int64)


class Storage:
    """The memory of a program.

    Attributes:
        scratch: the arena and the cells of loops that the host drives.
    """

    def __init__(self, function: FuncOp, device: Device):
        self._places: dict[SSAValue, tuple[int, int]] = {}
        self.scratch = device.allocate(self._placed([op.memref for op in ops_of(function, AllocOp)] + _cells(function)))
        globals = ops_of(function, GlobalOp)
        size = self._placed([op.memref for op in globals])
        counts = [op.iterations or 0 for op in ops_of(function, ForOp)]
        self._count = min(max(counts, default=0), MOST)
        self._numbers_at = size
        self._constants = device.allocate(size + self._count * _NUMBER.itemsize)
        self._constant = {op.memref for op in globals}
        if self._constants.size:
            device.write(self._constants, self._contents(globals))

    def _placed(self, values: list[SSAValue]) -> int:
        """Gives buffers their places, one after another; the bytes of them all."""
        at = 0
        for value in values:
            size = bytes_of(value.type)
            self._places[value] = (at, size)
            at += aligned(size, ALIGNMENT)
        return at

    def _contents(self, globals: list[GlobalOp]) -> np.ndarray:
        data = np.zeros(self._constants.size, np.uint8)
        for op in globals:
            value = np.ascontiguousarray(elements.to_numpy(op.value)).reshape(-1).view(np.uint8)
            at, _ = self._places[op.memref]
            data[at : at + value.size] = value
        data[self._numbers_at :] = np.arange(self._count, dtype=_NUMBER).view(np.uint8)
        return data

    def of(self, value: SSAValue) -> Buffer:
        """The memory of what an op allocates, of a constant, or of a cell."""
        return (self._constants if value in self._constant else self.scratch).part(*self._places[value])

    def number(self, iteration: int) -> Buffer | None:
        """Where the number of an iteration can be read, if it is small."""
        if iteration >= self._count:
            return None
        return self._constants.part(self._numbers_at + iteration * _NUMBER.itemsize, _NUMBER.itemsize)


def _cells(function: FuncOp) -> list[SSAValue]:
    """The arguments of loops' bodies that are memory of their own."""
    cells: list[SSAValue] = []
    for op in ops_of(function, ForOp, WhileOp):
        cells.append(op.body.block.args[0])
        cells += [argument for argument in (*op.now(), *op.next()) if space_of(argument.type) is Space.STACK]
    return cells

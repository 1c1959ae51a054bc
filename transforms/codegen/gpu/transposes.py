"""The kernel of a nest that reads something transposed, through squares of workgroup memory.

A group has ``side`` by ``side`` iterations of two loops. Its threads read what is transposed with neighbouring threads along the loop in which it is
contiguous, wait, and compute with neighbouring threads along the other one, in which everything else is. A row of a square is one element longer than its
side, so that a column of it does not lie in one bank of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from wengert.dialects.gpu import BarrierOp
from wengert.dialects.kernel.gpu_schedule import GpuSchedule
from wengert.transforms.codegen.gpu.body import Body
from wengert.transforms.codegen.gpu.code import Code, Index
from wengert.transforms.codegen.gpu.functions import Functions, register_type
from wengert.transforms.codegen.gpu.kernel import Ids, Kernel, Memory
from wengert.transforms.schedule.gpu.transposes import transposed_loads
from wengert.transforms.schedule.placement import Placement


class Transposed:
    """Writes the kernel.

    Args:
        placed: the nest with its loops in the order of its schedule.
        schedule: its schedule.
        memory: its buffers.
        finish: does the writes of an iteration, given what computes it.
    """

    def __init__(self, placed: Placement, schedule: GpuSchedule, memory: Memory, finish: Callable[[Functions, Body], None]):
        assert schedule.transpose is not None
        self.placed, self.memory, self.finish = placed, memory, finish
        self.side, self.group = schedule.transpose.side, schedule.group
        self.across, self.down = len(schedule.threads) - 1, schedule.threads.index(schedule.transpose.loop)
        self.loads = transposed_loads(placed.op, schedule.transpose.loop, schedule.threads[-1])
        self.around = [d for d in range(len(schedule.threads)) if d not in (self.across, self.down)]

    def kernel(self) -> Kernel:
        """The launch."""
        extents = self.placed.extents
        squares = [-(-extents[d] // self.side) for d in (self.down, self.across)]
        memory = [(self.side * (self.side + 1), register_type(load.result.type)) for load in self.loads]
        return Kernel(prod(extents[d] for d in self.around) * prod(squares), self.group, self._write, memory)

    def _write(self, functions: Functions, ids: Ids) -> None:
        code, extents, side = functions.code, self.placed.extents, self.side
        columns, rows = (-(-extents[d] // side) for d in (self.across, self.down))
        left = code.quotient(ids.group, columns)
        start = {self.across: code.times(code.remainder(ids.group, columns), side), self.down: code.times(code.remainder(left, rows), side)}
        around: dict[int, Index] = {}
        left = code.quotient(left, rows)
        for d in reversed(self.around):
            around[d] = code.remainder(left, extents[d])
            left = code.quotient(left, extents[d])
        fast, slow = code.remainder(ids.thread, side), code.quotient(ids.thread, side)
        for row in range(0, side, self.group // side):
            place = code.plus(slow, row)
            with code.when(self._inside(code, start, {self.down: fast, self.across: place})):
                body = self._body(functions, around, start, {self.down: fast, self.across: place})
                for load, square in zip(self.loads, ids.workgroup, strict=True):
                    code.store(body.evaluate(load.result), square, code.plus(code.times(place, side + 1), fast))
        code.act(BarrierOp)
        for row in range(0, side, self.group // side):
            place = code.plus(slow, row)
            with code.when(self._inside(code, start, {self.across: fast, self.down: place})):
                body = self._body(functions, around, start, {self.across: fast, self.down: place})
                for load, square in zip(self.loads, ids.workgroup, strict=True):
                    body.values[load.result] = [code.load(square, code.plus(code.times(fast, side + 1), place))]
                self.finish(functions, body)

    def _body(self, functions: Functions, around: dict[int, Index], start: dict[int, Index], places: dict[int, Index]) -> Body:
        """What computes one iteration, of which the square begins at ``start``."""
        body = Body(functions.code, functions, self.placed, self.memory.inputs)
        body.index.update({**around, **{d: functions.code.plus(start[d], at) for d, at in places.items()}})
        return body

    def _inside(self, code: Code, start: dict[int, Index], places: dict[int, Index]) -> SSAValue | None:
        """Whether there is such an iteration; None: there is."""
        ragged = [d for d in places if self.placed.extents[d] % self.side]
        conditions = [code.below(code.plus(start[d], places[d]), self.placed.extents[d]) for d in ragged]
        return code.both(conditions) if conditions else None

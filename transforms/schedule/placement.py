"""Places the ops of a nest: its loops in the order in which they run, and the loop in which each value of the body is computed.

Whatever does not depend on the inner loops is computed outside of them: the level of a value is the innermost loop that it depends on.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import STORE, Guard, IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.traversal import operands_of, ops_in, result_of
from wengert.transforms.analysis.loops import Loops, accesses


class Reduction(Struct, frozen=True, eq=False):
    """A write that combines: ``level`` is the innermost loop that its position depends on.

    ``in_registers``: the innermost loop is summed over; ``in_memory``: so is a loop outside of one that is not.
    """

    write: Write
    at: Position
    level: int
    in_registers: bool
    in_memory: bool


class Placement:
    """The ops of a nest, the loops in which they run, and the level of each (-1: outside of all loops)."""

    def __init__(self, op: NestOp, loops: Loops | None = None):
        self.op = op
        self.ops = ops_in(op.body.block)[:-1]
        self.writes = op.writes
        self.loops = loops or Loops(op.extents, accesses(self.ops, self.writes))
        self.extents = self.loops.extents
        self.inner = len(self.extents) - 1
        self.depth = self._depths()

    @classmethod
    def scheduled(cls, op: NestOp, schedule: Schedule) -> Placement:
        """The nest as its schedule orders and cuts the loops."""
        if not schedule.order and schedule.cut is None:
            return cls(op)
        loops = Loops.of(op)
        if schedule.order:
            loops.reorder(schedule.order)
        if (cut := schedule.cut) is not None:
            loops.cut(schedule.order.index(cut.loop) if schedule.order else cut.loop, cut.size, overlapping=cut.overlapping)
        return cls(op, loops)

    def _depths(self) -> dict[SSAValue, int]:
        depth: dict[SSAValue, int] = {}
        for op in self.ops:
            if type(op) is LoadOp:
                level = max(deepest(self.loops[op.at.data]), self.guard_depth(guards_of(op)))
                if op.base is not None:
                    level = max(level, depth[op.base])
            elif type(op) is IndexOp:
                level = deepest(self.loops[op.at.data])
            elif type(op) is WithinOp:
                level = self.guard_depth(op.where.data)
            else:
                level = max([depth[operand] for operand in operands_of(op)], default=-1)
            depth[result_of(op)] = level
        return depth

    def guard_depth(self, guards: tuple[Guard, ...]) -> int:
        """The innermost loop that guards depend on."""
        return max([deepest(self.loops[at]) for at, _, _ in guards], default=-1)

    @cached_property
    def levels(self) -> list[list[Operation]]:
        """The ops outside of all loops, then those of each loop."""
        levels: list[list[Operation]] = [[] for _ in range(self.inner + 2)]
        for op, level in zip(self.ops, self.depth.values(), strict=True):
            levels[level + 1].append(op)
        return levels

    @cached_property
    def guards(self) -> list[tuple[Guard, Position]]:
        """All guards of the body, and the positions that they are about."""
        guards = [guard for op in self.ops if isinstance(op, (LoadOp, WithinOp)) and op.where is not None for guard in op.where.data]
        return [(guard, self.loops[guard[0]]) for guard in dict.fromkeys(guards)]

    @cached_property
    def reductions(self) -> list[Reduction]:
        """The writes that combine what the nest computes, and nothing from before it."""
        return [self._reduction(write) for write in self.writes if write.kind != STORE and write.base is None and self.op.tied[write.target] < 0]

    def _reduction(self, write: Write) -> Reduction:
        at = self.loops[write.at]
        used = dimensions(at)
        level = max(used, default=-1)
        outside = any(d not in used for d in range(max(level, 0)))
        return Reduction(write, at, level, in_registers=level < self.inner, in_memory=outside)

    def is_straight(self, at: Position) -> bool:
        """Whether lanes of the innermost loop are neighbours in memory, or the same element."""
        affine = all(isinstance(atom, int) or self.inner not in dimensions(atom.expression) for atom, _ in at.terms)
        return affine and at.coefficient(self.inner) in (-1, 0, 1)

    def only_stores(self) -> bool:
        """Whether every iteration does nothing but store elements at positions of its own, so that it may run twice."""
        return all(write.kind == STORE and write.base is None for write in self.writes)


def guards_of(op: LoadOp) -> tuple[Guard, ...]:
    """The guards of a load."""
    return op.where.data if op.where is not None else ()


def deepest(at: Position) -> int:
    """The innermost loop that a position depends on, or -1."""
    deepest_so_far = -1
    for atom, _ in at.terms:
        level = atom if isinstance(atom, int) else deepest(atom.expression)
        if level > deepest_so_far:
            deepest_so_far = level
    return deepest_so_far

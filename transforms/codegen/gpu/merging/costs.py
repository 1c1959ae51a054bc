"""Estimates in cycles: what one group takes for parts of a program, and what the same takes as launches of their own.

A launch takes the host and the device some thousand cycles, a value that the host has to see many times that. One group has one processor: it does the work of
many groups one after another. So small work is better done by one group, and large work by many. The numbers are coarse: they decide
between a loop of some hundred elements, where one group is far better, and one of a hundred thousand, where it is far worse.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.gpu import BarrierOp, DeviceSpace, device_space
from wengert.ir.attributes import int_of
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.gpu.merging.parts import CasePart, CopyPart, ForPart, KernelPart, LoopPart, Part, WhilePart
from wengert.transforms.schedule.gpu.target import GpuTarget

_OP, _FUNCTION, _BARRIER, _SHARED = 4, 60, 40, 30
"""Cycles of an op, of a function such as exp, of a barrier, and of an access to memory of the group."""
_ITERATIONS = 16
"""How often a loop runs whose count is not known."""


def body_cost(block: Block, target: GpuTarget) -> float:
    """The cycles of one group for a block: accesses to global memory that follow one another without a loop are under way together."""
    cycles, accesses = 0.0, False
    for op in ops_in(block):
        if isinstance(op, memref.LoadOp):
            is_global = device_space(op.memref.type) is DeviceSpace.GLOBAL
            accesses = accesses or is_global
            cycles += _OP if is_global else _SHARED
        elif isinstance(op, scf.ForOp):
            cycles += _iterations(op) * (body_cost(op.body.block, target) + _OP)
        elif op.regions:
            cycles += max([body_cost(region.block, target) for region in op.regions if region.blocks], default=0.0)
        else:
            cycles += _BARRIER if isinstance(op, BarrierOp) else _FUNCTION if _is_function(op) else _OP
    return cycles + target.memory_cycles * accesses


def _is_function(op: Operation) -> bool:
    return isinstance(op, func.CallOp | arith.DivfOp) or op.name.startswith(f"{math.Math.name}.")


def _iterations(op: scf.ForOp) -> float:
    """How often a loop runs, about; one that begins at a thread's number counts from 0."""
    low, high, step = (_known(value) for value in (op.lb, op.ub, op.step))
    return _ITERATIONS if high is None else max(high - (low or 0), 0) / (step or 1)


def _known(value: SSAValue) -> int | None:
    return int_of(value.owner.value) if isinstance(value.owner, arith.ConstantOp) else None


class Costs:
    """Compares one group with many launches on a device; a launch takes ``launch`` cycles."""

    def __init__(self, target: GpuTarget, launch: float):
        self.target, self.launch = target, launch

    def pays(self, parts: Sequence[Part]) -> bool:
        """Whether one launch for all parts takes no longer than one for each, and the last part is not better apart."""
        last = parts[-1]
        return self._by_group(last) <= self._by_launches(last) and self.launch + self._together(parts) <= self._apart(parts)

    def _together(self, parts: Sequence[Part]) -> float:
        return sum([self._by_group(part) for part in parts])

    def _by_group(self, part: Part) -> float:
        if isinstance(part, KernelPart):
            rounds = part.groups if part.waits else -(-part.groups * part.threads // self.target.group)
            return rounds * part.cost
        if isinstance(part, CopyPart):
            return self.target.memory_cycles + part.target.count / self.target.group * 4 * _OP
        if isinstance(part, CasePart):
            return self.target.memory_cycles + max([self._together(branch) for branch in part.branches])
        once = self._together([*part.begin, *part.finish])
        return once + _count(part) * (self._together(_repeated(part)) + (_SHARED + _BARRIER) * isinstance(part, WhilePart))

    def _apart(self, parts: Sequence[Part]) -> float:
        return sum([self._by_launches(part) for part in parts])

    def _by_launches(self, part: Part) -> float:
        if isinstance(part, KernelPart):
            return self.launch + part.cost
        if isinstance(part, CopyPart):
            return self.launch
        if isinstance(part, CasePart):
            return self.target.readback_cycles + max([self._apart(branch) for branch in part.branches])
        # the host swaps buffers where a group copies them
        seen = self.target.readback_cycles * (isinstance(part, WhilePart) or not isinstance(part.count, int))
        inside = [*(part.condition if isinstance(part, WhilePart) else ()), *part.body]
        return self._apart([*part.begin, *part.finish]) + seen + _count(part) * (self._apart(inside) + seen * isinstance(part, WhilePart))


def _repeated(part: LoopPart) -> list[Part]:
    return [*(part.condition if isinstance(part, WhilePart) else ()), *part.body, *part.swap]


def _count(part: LoopPart) -> int:
    return part.count if isinstance(part, ForPart) and isinstance(part.count, int) else _ITERATIONS

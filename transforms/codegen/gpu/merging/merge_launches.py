"""The pass ``merge-launches``: what one work-group can do becomes one launch, loops and branches included.

A launch takes as long as some thousand instructions, and far longer where the host has to see a condition before it. Most kernels of small programs have
fewer instructions. The threads of one group can do them one after another: a barrier makes what one wrote visible to all threads in the next. A kernel of
fewer threads than the largest is done by the first threads, one of several groups by a loop over these, a copy by all threads.

Before and after::

    gpu.launch blocks(...) in (1, 1, 1) threads(...) in (64, 1, 1) { A }
    kernel.while %c: memref<i1, #kernel.space<stack>> carried(...) arena(...) {
      gpu.launch blocks(...) in (1, 1, 1) threads(...) in (32, 1, 1) { C }
      kernel.end
    } do {
      gpu.launch blocks(...) in (1, 1, 1) threads(...) in (64, 1, 1) { B }
      kernel.end %next
    }

    gpu.launch blocks(...) in (1, 1, 1) threads(%t, ...) in (64, 1, 1) workgroup(%c : memref<1xi1, 3>) {
      A
      gpu.barrier
      scf.while {
        scf.if %t < 32 { C }
        gpu.barrier
        %goes_on = memref.load %c[0]
        scf.condition(%goes_on)
      } do {
        B
        gpu.barrier
        copy what is carried
        gpu.barrier
      }
    }

All threads take the same way: counts, conditions and indices are read by all of them behind a barrier. Which launches are worth it is estimated in cycles
(:mod:`wengert.transforms.codegen.gpu.merging.costs`): the work of many groups takes one group longer, which must not be more than what launches take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from wengert.dialects.gpu import LaunchOp
from wengert.dialects.kernel.buffers import CopyOp, GlobalOp, ViewOp
from wengert.dialects.kernel.memory import bytes_of
from wengert.ir.construction import erase
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.gpu.merging.costs import Costs
from wengert.transforms.codegen.gpu.merging.masking import can_be_masked
from wengert.transforms.codegen.gpu.merging.parts import CopyPart, KernelPart, Part, kernels_in, kernels_in_branches
from wengert.transforms.codegen.gpu.merging.reading import NAMES, NotForOneGroupError, Reader
from wengert.transforms.codegen.gpu.merging.writing import group_threads, launch_of
from wengert.transforms.schedule.gpu.target import GPU_TARGETS

MOST_OPS = 1500
"""A kernel of more ops takes long to compile."""
MOST_WORKGROUP_BYTES = 16 << 10
"""Any device has so much memory for a group, and runs several groups with it."""
CELL_BYTES = 64
"""A cell has no more."""


@dataclass(frozen=True)
class MergeLaunchesPass(ModulePass):
    """Makes one launch of small kernels, loops and branches that follow one another, with barriers between them."""

    name = "merge-launches"

    target: str = "gpu"
    """As for the pass ``schedule``: how long a launch takes there."""

    launch_cycles: int = -1
    """How many cycles a launch takes, if it is not what the target has: with more, more is done by one group. With 0 launches stay as they are."""

    loops: bool = True
    """Whether loops and branches may be done by one group."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = GPU_TARGETS[self.target]
        launch = target.launch_cycles if self.launch_cycles < 0 else self.launch_cycles
        if launch:
            _Merging(Costs(target, launch), self.loops).merge_inside(op)


class _Merging:
    """Merges the launches of blocks."""

    def __init__(self, costs: Costs, loops: bool):
        self.costs, self.target, self.loops = costs, costs.target, loops
        self._new_run()

    def _new_run(self) -> None:
        self._reader = Reader(self.target)
        self._ops: list[Operation] = []
        self._parts: list[Part] = []

    def merge_inside(self, root: Operation) -> None:
        """Merges the launches in all blocks inside of an op."""
        for region in root.regions:
            for block in region.blocks:
                self._merge_in(block)

    def _merge_in(self, block: Block) -> None:
        for op in ops_in(block):
            if isinstance(op, NAMES) or self._take(op):
                continue
            self._finish_run()
            if isinstance(op, LaunchOp | CopyOp) or not self._take(op):
                self._new_run()
                if not isinstance(op, LaunchOp):
                    self.merge_inside(op)
        self._finish_run()
        _drop_unused(block)

    def _take(self, op: Operation) -> bool:
        """Lets an op join the run, if it can."""
        if op.regions and not isinstance(op, LaunchOp) and not self.loops:
            return False
        try:
            part = self._reader.part(op)
        except NotForOneGroupError:
            return False
        if not self._fits([*self._parts, part]):
            return False
        self._ops.append(op)
        self._parts.append(part)
        return True

    def _fits(self, parts: Sequence[Part]) -> bool:
        """Whether one launch may do all parts, and takes no longer than one for each."""
        kernels = kernels_in(parts)
        if sum(kernel.ops for kernel in kernels) > MOST_OPS or self._workgroup_bytes(kernels) > MOST_WORKGROUP_BYTES:
            return False
        threads = self._threads(parts)
        masked = [*kernels_in_branches(parts), *[kernel for kernel in kernels if kernel.threads < threads]]
        if any(kernel.waits and not can_be_masked(kernel.op.body.blocks[0]) for kernel in masked):
            return False
        if any(kernel.subgroups and kernel.threads < threads and kernel.threads % self.target.warp for kernel in kernels):
            return False
        return (len(parts) == 1 and isinstance(parts[0], KernelPart | CopyPart)) or self.costs.pays(parts)

    def _workgroup_bytes(self, kernels: Sequence[KernelPart]) -> int:
        """The memory of a group that the launch of these kernels needs at most: kernels share it."""
        most: Counter[Attribute] = Counter()
        for kernel in kernels:
            most |= Counter([buffer.type for buffer in kernel.op.workgroup_buffers])
        return sum([bytes_of(type) * count for type, count in most.items()]) + CELL_BYTES * len(self._reader.cells)

    def _threads(self, parts: Sequence[Part]) -> int:
        return group_threads(parts, self.target.warp, self.target.group)

    def _finish_run(self) -> None:
        """Puts one launch in the place of the ops of the run, where the last of them stands."""
        ops, parts, reader = self._ops, self._parts, self._reader
        self._new_run()
        plain = all(isinstance(part, KernelPart | CopyPart) for part in parts)
        if not parts or (plain and (len(parts) < 2 or not kernels_in(parts))):
            return
        launch_of(parts, reader, self._threads(parts), ops[-1])
        for op in ops:
            erase(op)


def _drop_unused(block: Block) -> None:
    """Erases what names memory or numbers of the host that nothing uses any more."""
    for op in reversed(ops_in(block)):
        if isinstance(op, ViewOp | GlobalOp | arith.ConstantOp) and op.results[0].first_use is None:
            erase(op)

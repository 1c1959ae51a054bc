"""Lists what the host's function of a program at the gpu level launches, how often, and what it runs by itself."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import gpu
from wengert.dialects.kernel import buffers
from wengert.ir.attributes import int_of
from wengert.ir.elements import splat_value
from wengert.ir.traversal import ops_in
from wengert.transforms.analysis.gpu.kernel_cost import KernelCost, kernel_cost


@dataclass(frozen=True)
class Launched:
    """The figures of a kernel, and how often it is launched with this grid."""

    cost: KernelCost
    times: int


@dataclass
class Launches:
    """The launches of one run of a program.

    Attributes:
        kernels: the launches by kernel and grid, in the order of the program.
        host: how often the host runs ops for which there is no kernel, by name.
        uncounted: whether there are loops whose iterations depend on data; these are counted once. Of a branch the one with most launches is counted.
    """

    kernels: list[Launched] = field(default_factory=list[Launched])
    host: collections.Counter[str] = field(default_factory=collections.Counter[str])
    uncounted: bool = False


def launches_of(module: ModuleOp, entry: str = "main") -> Launches:
    """The launches of a program after ``gpu-kernel-outlining``."""
    kernels = {
        (op.sym_name.data, kernel.sym_name.data): kernel
        for op in module.ops
        if isinstance(op, gpu.ModuleOp)
        for kernel in op.body.block.ops
        if isinstance(kernel, gpu.FuncOp)
    }
    (function,) = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == entry]
    walk = _Walk()
    walk.block(function.body.block, 1)
    made = [Launched(kernel_cost(kernels[module, name], groups), times) for (module, name, groups), times in walk.times.items()]
    return Launches(made, walk.host, walk.uncounted or any(launched.cost.uncounted for launched in made))


class _Walk:
    def __init__(self) -> None:
        self.times = collections.Counter[tuple[str, str, int]]()
        self.host = collections.Counter[str]()
        self.uncounted = False

    def block(self, block: Block, times: int) -> None:
        for op in ops_in(block):
            if isinstance(op, gpu.LaunchFuncOp):
                grid = gpu.grid_size(op)
                assert grid is not None, "a launch has a grid of constant size"
                self.times[op.module_name, op.kernel_name, grid[0] * grid[1] * grid[2]] += times
            elif isinstance(op, buffers.LaunchOp):
                self.host[_inner_name(op.kernel)] += times
            elif isinstance(op, buffers.CaseOp):
                self._case(op, times)
            else:
                count = self._iterations(op)
                for region in op.regions:
                    self.block(region.block, times * count)

    def _case(self, op: buffers.CaseOp, times: int) -> None:
        branches = list[_Walk]()
        for region in op.branches:
            branches.append(_Walk())
            branches[-1].block(region.block, times)
        costliest = max(branches, key=lambda branch: branch.times.total())
        self.times += costliest.times
        self.host += costliest.host
        self.uncounted |= any(branch.uncounted for branch in branches)

    def _iterations(self, op: Operation) -> int:
        if isinstance(op, buffers.StripLoopOp):
            return int_of(op.iterations)
        if isinstance(op, buffers.ForOp | buffers.WhileOp):
            known = _integer(op.count) if isinstance(op, buffers.ForOp) else None
            self.uncounted |= known is None
            return 1 if known is None else max(known, 0)
        return 1


def _integer(value: SSAValue) -> int | None:
    """The number that a buffer holds, where the text says it."""
    value, _ = buffers.location(value)
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if isinstance(loop, buffers.ForOp | buffers.WhileOp) and 1 <= value.index <= len(loop.constants):
            return _integer(loop.constants[value.index - 1])
        return None
    number = splat_value(value.owner.value) if isinstance(value.owner, buffers.GlobalOp) else None
    return None if number is None else int(number)


def _inner_name(op: Operation) -> str:
    """What an op that has no kernel computes."""
    inner = op.regions[0].block.first_op if op.regions else None
    return inner.name if inner is not None and op.name in ("kernel.native", "kernel.interpret") else op.name

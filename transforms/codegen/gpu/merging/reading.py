"""Reads ops of the host as parts of a program for one work-group.

Loops and branches of the host are closed: what a region calls its arguments are buffers around it. Here every buffer is a place: the arguments of regions
stand for what they are bound to, and cells of loops (small values that the host makes memory for) are bases of their own, which the launch makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects import arith, complex, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects.core.control import TapeType
from wengert.dialects.gpu import BarrierOp, LaunchOp, ShuffleOp, SubgroupReduceOp, block_size, device_memref, grid_size
from wengert.dialects.gpu.atomics import AtomicRMWOp, GenericAtomicRMWOp
from wengert.dialects.gpu.matrices import DeviceAsyncCopyOp, LdMatrixOp, MmaSyncOp
from wengert.dialects.kernel import buffers as host
from wengert.dialects.kernel.memory import Space, byte_size, bytes_of, is_on_device, space_of, value_type
from wengert.ir.tensor_types import shape_of_type
from wengert.ir.traversal import all_ops, operands_of, ops_in
from wengert.transforms.codegen.gpu.functions import UnsupportedError, register_type
from wengert.transforms.codegen.gpu.merging.costs import body_cost
from wengert.transforms.codegen.gpu.merging.parts import CasePart, CopyPart, ForPart, KernelPart, Memory, Part, WhilePart
from wengert.transforms.codegen.gpu.merging.places import Place
from wengert.transforms.schedule.gpu.target import GpuTarget

NAMES = (host.ViewOp, host.GlobalOp, host.AllocOp, host.EndOp, arith.ConstantOp)
"""Ops of the host that do nothing but name memory or numbers."""
_WRITES = (memref.StoreOp, AtomicRMWOp, GenericAtomicRMWOp)
_TOGETHER = (ShuffleOp, SubgroupReduceOp, MmaSyncOp, LdMatrixOp, DeviceAsyncCopyOp)
_SCALARS = (arith.ConstantOp, complex.ConstantOp)


class NotForOneGroupError(Exception):
    """An op of the host that one work-group cannot do, and why."""


class Reader:
    """Reads ops.

    Attributes:
        cells: the bases of the memory that a launch makes, with the types that they are used as.
        iterations: those of them that hold the number of an iteration.
    """

    def __init__(self, target: GpuTarget):
        self.target = target
        self.cells: dict[SSAValue, set[Attribute]] = {}
        self.iterations: set[SSAValue] = set()
        self._places: dict[SSAValue, Place] = {}

    def part(self, op: Operation) -> Part:
        """The part for an op of the host; a NotForOneGroupError if there is none."""
        if isinstance(op, LaunchOp):
            return self._kernel(op)
        if isinstance(op, host.CopyOp):
            return self._copy(op.source, op.target)
        if isinstance(op, host.ForOp):
            return self._for(op)
        if isinstance(op, host.WhileOp):
            return self._while(op)
        if isinstance(op, host.CaseOp):
            return self._case(op)
        raise NotForOneGroupError(f"'{op.name}'{f' of {op.kernel.name}' if isinstance(op, host.LaunchOp) else ''}")

    def _parts(self, block: Block) -> list[Part]:
        """The parts of a region's block, whose cells are memory of the launch."""
        parts: list[Part] = []
        for op in ops_in(block):
            if isinstance(op, host.AllocOp):
                self.cells[op.memref] = set()
            elif not isinstance(op, NAMES):
                parts.append(self.part(op))
        return parts

    # -- memory

    def _place(self, value: SSAValue) -> Place:
        base, at = host.location(value)
        known = self._places.get(base)
        return Place(base, at) if known is None else Place(known.base, known.at + at)

    def _memory(self, value: SSAValue) -> Memory:
        """A buffer as flat elements of the values that it holds."""
        type: Any = value_type(value.type)
        if isinstance(type, TapeType):
            raise NotForOneGroupError("a tape")
        try:
            element = register_type(type.element_type)
        except UnsupportedError as error:
            raise NotForOneGroupError(str(error)) from None
        return self._placed(value, device_memref(prod(shape_of_type(type)), element))

    def _placed(self, value: SSAValue, type: MemRefType[Any]) -> Memory:
        place = self._place(value)
        if place.base in self.cells and (place.at or bytes_of(type) > byte_size(place.base)):
            raise NotForOneGroupError("a part of a cell")
        if place.base in self.iterations and bytes_of(type) != byte_size(place.base):
            raise NotForOneGroupError("the number of an iteration as something else")
        if place.base in self.cells:
            self.cells[place.base].add(type)
        return Memory(place, type)

    def _cell(self, argument: SSAValue) -> None:
        self.cells[argument] = set()
        self._places[argument] = Place(argument, 0)

    def _bind(self, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        for argument, value in zip(arguments, values, strict=True):
            self._places[argument] = self._place(value)

    # -- kernels and copies

    def _kernel(self, op: LaunchOp) -> KernelPart:
        grid, block = grid_size(op), block_size(op)
        arguments = op.body.blocks[0].args
        if grid is None or block is None or grid[1:] != (1, 1) or block[1:] != (1, 1) or any(argument.first_use is not None for argument in arguments[6:12]):
            raise NotForOneGroupError("a grid of several dimensions, or a kernel that asks for its sizes")
        ops = all_ops(op)[1:]
        if op.private_buffers:
            raise NotForOneGroupError("a kernel with memory of its threads")
        buffers, scalars, written = dict[SSAValue, Memory](), list[SSAValue](), set[SSAValue]()
        for inner in ops:
            for value in operands_of(inner):
                if _is_inside(value, op):
                    continue
                type: Any = value.type
                if isinstance(type, MemRefType) and is_on_device(value.type):
                    if value not in buffers:
                        buffers[value] = self._placed(value, cast("MemRefType[Any]", type))
                    if not isinstance(inner, memref.LoadOp):
                        written.add(value)
                elif isinstance(value.owner, _SCALARS):
                    scalars.append(value)
                else:
                    raise NotForOneGroupError("a kernel that is given other values than buffers")
        waits, subgroups = (any(isinstance(inner, kinds) for inner in ops) for kinds in ((BarrierOp, *_TOGETHER), _TOGETHER))
        cost = body_cost(op.body.blocks[0], self.target)
        return KernelPart(op, grid[0], block[0], buffers, frozenset(written), scalars, waits, subgroups, len(ops), cost)

    def _copy(self, source: SSAValue, target: SSAValue) -> CopyPart:
        read, written = self._memory(source), self._memory(target)
        if read.type != written.type:
            raise NotForOneGroupError("a copy to a buffer of another type")
        return CopyPart(read, written)

    def _copies(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> list[Part]:
        """The copies that are needed to bring values elsewhere."""
        pairs = zip(sources, targets, strict=True)
        return [self._copy(source, target) for source, target in pairs if byte_size(source) and not self._place(source).same(self._place(target))]

    # -- loops and branches

    def _loop(self, op: host.ForOp | host.WhileOp) -> None:
        """Says where the arguments of a loop's regions lie."""
        spare = iter(op.spare)
        for region in op.regions:
            arguments = region.block.args
            self._bind(arguments[1 : 1 + len(op.constants)], op.constants)
            self._bind(arguments[-1:], [op.arena])
        self._cell(op.body.block.args[0])
        for argument, home in zip(op.now(), op.outs, strict=True):
            self._own(argument, home)
        for argument in op.next():
            self._own(argument, None if space_of(argument.type) is Space.STACK else next(spare))
        if isinstance(op, host.WhileOp):
            own = op.body.block.args
            carried = range(1 + len(op.constants), len(own) - 1)
            for number in (0, *carried):
                self._places[op.condition.block.args[number]] = self._places[own[number]]

    def _own(self, argument: SSAValue, home: SSAValue | None) -> None:
        """A buffer of a loop's body: a cell, or memory of the host."""
        if space_of(argument.type) is Space.STACK or home is None:
            self._cell(argument)
        else:
            self._bind([argument], [home])

    def _around(self, op: host.ForOp | host.WhileOp) -> tuple[SSAValue, list[Part], list[Part], list[Part], list[Part]]:
        """The parts that both kinds of loops have."""
        now, first = list(op.now()), op.body.block.args[0]
        swapped = [(end, argument) for argument, end in zip(now, op.written(), strict=True) if argument is not end]
        begin, finish = self._copies(op.initial, now), self._copies(now, op.outs)
        return first, begin, self._parts(op.body.block), self._copies([end for end, _ in swapped], [argument for _, argument in swapped]), finish

    def _for(self, op: host.ForOp) -> ForPart:
        count = op.iterations
        times = self._memory(op.count) if count is None else count
        self._loop(op)
        self.iterations.add(op.body.block.args[0])
        return ForPart(*self._around(op), times)

    def _while(self, op: host.WhileOp) -> WhilePart:
        self._loop(op)
        condition = self._parts(op.condition.block)
        return WhilePart(*self._around(op), condition, self._memory(op.body.block.args[0]))

    def _case(self, op: host.CaseOp) -> CasePart:
        index = self._memory(op.index)
        for region in op.branches:
            self._bind(region.block.args, operands_of(op)[1:])
        return CasePart(index, [self._parts(region.block) for region in op.branches])


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether a value is made inside of an op."""
    return any(parent is op for parent in _parents(value))


def _parents(value: SSAValue) -> Iterator[Operation]:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None and (op := block.parent_op()) is not None:
        yield op
        block = op.parent

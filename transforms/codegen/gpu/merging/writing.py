"""Writes parts of a program as the launch of one work-group.

The threads of the group do one part after another, with barriers where one reads what another wrote. What decides about control flow is the same in all
threads: counts, conditions and indices are read from memory by all of them, behind a barrier. Cells of loops are memory of the group, or of the thread if
there is one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects.gpu import BarrierOp, DeviceSpace, LaunchOp, TerminatorOp, device_memref
from wengert.dialects.gpu.text import ATTRIBUTIONS
from wengert.dialects.kernel.buffers import AllocOp, GlobalOp, ViewOp
from wengert.dialects.kernel.memory import Space, bytes_in, bytes_of
from wengert.ir.attributes import int_attr, segment_sizes
from wengert.ir.construction import add_argument, append, copy_op, erase, insert_before, replace_uses
from wengert.ir.tensor_types import i1, i64
from wengert.ir.traversal import all_ops, ops_in
from wengert.ir.traversal import result_of as result
from wengert.transforms.codegen.gpu.code import INDEX, Code, Index
from wengert.transforms.codegen.gpu.kernels_to_gpu import POSITIONS
from wengert.transforms.codegen.gpu.merging.masking import Masking
from wengert.transforms.codegen.gpu.merging.parts import (
    CasePart,
    CopyPart,
    ForPart,
    KernelPart,
    Memory,
    Part,
    WhilePart,
    accesses_of,
    all_parts,
    kernels_in,
    needs_barriers,
)
from wengert.transforms.codegen.gpu.merging.places import Access, Order, Place
from wengert.transforms.codegen.gpu.merging.reading import Reader
from wengert.transforms.codegen.gpu.scratch import ALIGNMENT


def group_threads(parts: Sequence[Part], warp: int, most: int) -> int:
    """The threads of a group for all parts: those of the largest kernel, or enough for the largest copy."""
    copied = max([part.target.count for part in all_parts(parts) if isinstance(part, CopyPart)], default=1)
    kernels = max([kernel.threads for kernel in kernels_in(parts)], default=1)
    return max(kernels, min(-(-copied // warp) * warp, most) if copied > warp else kernels)


def launch_of(parts: Sequence[Part], reader: Reader, threads: int, anchor: Operation) -> LaunchOp:
    """Puts a launch of one group in front of an op of the host. The launches that the parts were read from lose their bodies."""
    return _Writer(reader, threads, anchor).write(parts)


class _Writer:
    """Writes one launch."""

    def __init__(self, reader: Reader, threads: int, anchor: Operation):
        self.cells, self.iterations, self.threads, self.anchor = reader.cells, reader.iterations, threads, anchor
        one, size = (self._host_number(number) for number in (1, threads))
        self.launch = LaunchOp.of([one] * 3, [size, one, one])
        self.launch.location = anchor.location
        self.block = self.launch.body.blocks[0]
        self.code = Code(self.block)
        self.order = Order(lambda: self.code.act(BarrierOp), alone=threads == 1)
        self._thread: Index = self.block.args[3] if threads > 1 else 0
        self._numbers: dict[SSAValue, SSAValue] = {}
        self._taken: SSAValue | None = None
        """Whether the branch is taken that is being written, where it is one with barriers."""
        self._views: dict[tuple[SSAValue, int, Attribute], SSAValue] = {}
        self._host_cells: dict[SSAValue, SSAValue] = {}
        self._globals: dict[SSAValue, SSAValue] = {}
        self._workgroup: dict[Attribute, list[SSAValue]] = {}
        self._private: list[Operation] = []

    def _host_number(self, number: int) -> SSAValue:
        op = arith.ConstantOp.from_int_and_width(number, INDEX)
        insert_before(self.anchor, op)
        return result(op)

    def write(self, parts: Sequence[Part]) -> LaunchOp:
        """The launch of all parts."""
        wide = any(kernel.op.attributes.get(POSITIONS) != StringAttr("i32") for kernel in kernels_in(parts))
        self.launch.attributes[POSITIONS] = StringAttr("i64" if wide else "i32")
        self._all(parts)
        self.code.act(TerminatorOp)
        self.code.finish()
        first = self.block.first_op
        assert first is not None
        for op in self._private:
            insert_before(first, op)
        shared = len(self.block.args) - 12
        if shared:
            self.launch.properties[ATTRIBUTIONS] = int_attr(shared)
        insert_before(self.anchor, self.launch)
        return self.launch

    def _all(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, KernelPart):
                self._kernel(part)
            elif isinstance(part, CopyPart):
                self._copy(part)
            elif isinstance(part, ForPart):
                self._for(part)
            elif isinstance(part, WhilePart):
                self._while(part)
            else:
                self._case(part)

    # -- memory

    def _buffer(self, memory: Memory) -> SSAValue:
        """The buffer as the body uses it: a view of the host's memory, or a cell."""
        base, at = memory.place.base, memory.place.at
        key = (base, at, memory.type)
        made = self._views.get(key)
        if made is None:
            own = len(self.cells.get(base, ())) == 1
            made = self._views[key] = self._new_cell(memory.type) if own else self._new_view(self._allocated(base), at, memory.type)
        return made

    def _allocated(self, base: SSAValue) -> SSAValue:
        """Memory of the host. That is what a cell becomes whose bytes are elements of several types, which no memory of a group has."""
        if base not in self.cells:
            return base
        made = self._host_cells.get(base)
        if made is None:
            op = AllocOp.create(result_types=[bytes_in(bytes_of(base.type), Space.STACK)], properties={"alignment": int_attr(ALIGNMENT)})
            insert_before(self.anchor, op)
            made = self._host_cells[base] = op.memref
        return made

    def _new_view(self, base: SSAValue, at: int, type: MemRefType[Any]) -> SSAValue:
        owner = base.owner
        if isinstance(owner, GlobalOp) and owner.parent is not self.anchor.parent:
            if base not in self._globals:
                copy = owner.clone()
                insert_before(self.anchor, copy)
                self._globals[base] = copy.memref
            base = self._globals[base]
        view = ViewOp.create(operands=[base], result_types=[type], properties={"offset": int_attr(at)})
        insert_before(self.anchor, view)
        return view.memref

    def _new_cell(self, type: MemRefType[Any]) -> SSAValue:
        count = type.get_shape()[0]
        if self.threads == 1 and count == 1:
            own = device_memref(count, type.element_type, DeviceSpace.PRIVATE)
            op = memref.AllocaOp.create(result_types=[own], properties={"operandSegmentSizes": segment_sizes(0, 0)})
            self._private.append(op)
            return op.memref
        return add_argument(self.block, device_memref(count, type.element_type, DeviceSpace.WORKGROUP))

    def _workgroup_buffers(self, op: LaunchOp) -> list[SSAValue]:
        """Memory of the group for a kernel; another kernel, behind a barrier, may have used it before."""
        taken: dict[Attribute, int] = {}
        buffers: list[SSAValue] = []
        for buffer in op.workgroup_buffers:
            known, number = self._workgroup.setdefault(buffer.type, []), taken.get(buffer.type, 0)
            if number == len(known):
                known.append(add_argument(self.block, buffer.type))
            buffers.append(known[number])
            taken[buffer.type] = number + 1
        return buffers

    def _scalar(self, memory: Memory) -> SSAValue:
        """A number in memory, which all threads read; zero in a branch that is not taken."""
        if memory.place.base in self.iterations:
            return self._number(memory.place.base)
        self.order.add([memory.access(written=False)])
        buffer, code = self._buffer(memory), self.code
        return code.choose(self._taken, lambda: [code.load(buffer, 0)], lambda: [code.constant(0, memory.element)])[0]

    def _number(self, first: SSAValue) -> SSAValue:
        """The number of an iteration as an integer of 64 bits."""
        return self._numbers[first]

    # -- kernels and copies

    def _kernel(self, part: KernelPart) -> None:
        shared = self._workgroup_buffers(part.op)
        accesses = [access for access in part.accesses() if access.place.base not in self.iterations]
        self.order.add([*accesses, *[Access(Place(buffer, 0), bytes_of(buffer.type), written=True) for buffer in shared]])
        self._use_numbers(part)
        values: dict[SSAValue, SSAValue] = dict(zip(part.op.workgroup_buffers, shared, strict=True))
        values.update({value: self._buffer(memory) for value, memory in part.buffers.items() if memory.place.base not in self.iterations})
        values.update({value: self._constant(value) for value in part.scalars})
        total = part.groups * part.threads
        if part.groups == 1:
            self._body(part, 0, self._thread, values)
        elif part.waits or part.threads == self.threads:
            with self.code.loop(0, part.groups, 1) as loop:
                self._body(part, loop.index, self._thread, values)
                if part.waits:
                    self.code.act(BarrierOp)
        else:
            with self.code.loop(self._thread, total, self.threads) as loop:
                code = self.code
                self._body(part, code.quotient(loop.index, part.threads), code.remainder(loop.index, part.threads), values, all_threads=True)

    def _body(self, part: KernelPart, group: Index, thread: Index, values: dict[SSAValue, SSAValue], *, all_threads: bool = False) -> None:
        """The body of a group of a kernel, for the first threads if not all have a part in it."""
        code, block = self.code, part.op.body.blocks[0]
        zero = code.value(0)
        values = {**values, **dict(zip(block.args[:6], [code.value(group), zero, zero, code.value(thread), zero, zero], strict=True))}
        condition = self._where(code.below(thread, part.threads) if part.threads < self.threads and not all_threads else None)
        if condition is not None and part.waits:
            Masking(code, condition, values).write(block)
            return
        with code.when(condition):
            for op in ops_in(block)[:-1]:
                if isinstance(op, arith.ConstantOp):
                    values[op.result] = self._constant(op.result)
                else:
                    append(code.block, copy_op(op, values))

    def _where(self, condition: SSAValue | None) -> SSAValue | None:
        """Whether a thread does what is written: in the branch that is taken, where a condition holds; None: always."""
        conditions = [each for each in (self._taken, condition) if each is not None]
        return self.code.both(conditions) if conditions else None

    def _constant(self, value: SSAValue) -> SSAValue:
        """A constant that stands at the beginning, once."""
        op: Any = value.owner
        return self.code.literal(op.properties["value"], value.type, cast("type[Operation]", type(op)))

    def _use_numbers(self, part: KernelPart) -> None:
        """Replaces what a kernel reads of the numbers of iterations."""
        numbers = {value: memory.place.base for value, memory in part.buffers.items() if memory.place.base in self.iterations}
        for op in all_ops(part.op) if numbers else ():
            if isinstance(op, memref.LoadOp) and op.memref in numbers:
                replace_uses(op.res, self._number(numbers[op.memref]))
                erase(op)

    def _copy(self, part: CopyPart) -> None:
        count, code = part.target.count, self.code
        is_number = part.source.place.base in self.iterations
        self.order.add(part.accesses()[is_number:])
        source, target = None if is_number else self._buffer(part.source), self._buffer(part.target)

        def move(at: Index) -> None:
            code.store(self._number(part.source.place.base) if source is None else code.load(source, at), target, at)

        if count <= self.threads:
            with code.when(self._where(code.below(self._thread, count) if count < self.threads else None)):
                move(self._thread)
        else:
            with code.when(self._taken), code.loop(self._thread, count, self.threads) as loop:
                move(loop.index)

    # -- loops and branches

    def _for(self, part: ForPart) -> None:
        self._all(part.begin)
        count = self._count(part.count)
        self.order.settle()
        with self.code.loop(0, count, 1) as loop:
            self._numbers[part.first] = self.code.op(arith.IndexCastOp, [loop.index], i64)
            self._all(part.body)
            self._all(part.swap)
            self.order.settle()
        self._all(part.finish)

    def _count(self, count: int | Memory) -> Index:
        """How often a loop runs: never in a branch that is not taken."""
        code = self.code
        if isinstance(count, Memory):
            return code.op(arith.IndexCastOp, [self._scalar(count)], INDEX)
        return count if self._taken is None else code.op(arith.SelectOp, [self._taken, code.value(count), code.value(0)], INDEX)

    def _while(self, part: WhilePart) -> None:
        self._all(part.begin)
        self.order.settle()
        read: Sequence[Access] = ()

        def condition() -> SSAValue:
            nonlocal read
            self._all(part.condition)
            holds = self._scalar(part.holds)
            read = self.order.save()
            return holds

        def body() -> None:
            self._all([*part.body, *part.swap])
            self.order.settle()

        self.code.as_long_as(condition, body)
        self.order.restore(read)
        self._all(part.finish)

    def _case(self, part: CasePart) -> None:
        """One branch or another. Barriers stand outside of branches: each thread passes those of all branches, and acts in the one taken."""
        index = self._scalar(part.index)
        if self.threads == 1 or not any(needs_barriers(branch) for branch in part.branches):
            self.order.expect([access for branch in part.branches for access in accesses_of(branch)])
            around, self._taken = self._taken, None
            with self.code.when(around):
                self._pick(part, index, 0)
            self._taken = around
            return
        code, around, rest = self.code, self._taken, self._taken
        before, passed, after = self.order.save(), self.order.barriers, list[Access]()
        for number, parts in enumerate(part.branches):
            self.order.restore(before if self.order.barriers == passed else ())
            self._taken = rest
            if number < len(part.branches) - 1:
                chosen = code.compare("eq", index, code.constant(number, index.type))
                self._taken = self._where(chosen)
                rest = code.both([*([] if rest is None else [rest]), code.op(arith.XOrIOp, [chosen, code.constant(1, i1)], i1)])
            self._all(parts)
            after += self.order.save()
        self._taken = around
        self.order.restore(after)

    def _pick(self, part: CasePart, index: SSAValue, number: int) -> None:
        """The branches from this number on, none of which has barriers."""
        if number == len(part.branches) - 1:
            self._all(part.branches[number])
            return
        before, after = self.order.save(), list[Access]()

        def branch() -> None:
            self._all(part.branches[number])
            after.extend(self.order.save())

        def others() -> None:
            self.order.restore(before)
            self._pick(part, index, number + 1)
            after.extend(self.order.save())

        self.code.either(self.code.compare("eq", index, self.code.constant(number, index.type)), branch, others)
        self.order.restore(after)

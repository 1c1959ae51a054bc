"""Rewrites a kernel-level function on values into one on buffers (:mod:`wengert.dialects.kernel.buffers`), as it was placed.

Kernels are moved, not copied: each becomes the region of a launch. Reshapes and unwritten tensors leave nothing behind, since a view says
the type in which memory is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import FusedOp, InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.buffers.text import SEGMENTS
from wengert.dialects.kernel.memory import Space, byte_size, bytes_in, memref_of, space_of, value_type
from wengert.dialects.kernel.schedule import Schedule, ScheduleAttr
from wengert.ir.attributes import int_array, int_attr, ints, segment_sizes
from wengert.ir.construction import append, block_with, detach, insert_before
from wengert.ir.operations import set_operands
from wengert.ir.tensor_types import i1, i64, tensor
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.bufferize.layout import CELL_BYTES, MemoryLayout, Origin, Place, Range, loop_layout, stack_cells, swaps

ITERATION = memref_of(tensor((), i64), Space.STACK)
CONDITION = memref_of(tensor((), i1), Space.STACK)
_NOTHING, _RESULT = DictionaryAttr({}), DictionaryAttr({ops.RESULT: UnitAttr()})

RegionBuffers = tuple[Sequence[SSAValue], Sequence[SSAValue], SSAValue | None]
"""The buffers of a region's arguments and of its terminator's operands, and its arena."""


def rewrite(function: FuncOp, layout: MemoryLayout) -> FuncOp:
    """Replaces a function on values by one on buffers."""
    block = function.body.block
    last = block.last_op
    assert last is not None
    inputs = [memref_of(argument.type) for argument in block.args]
    outputs = [memref_of(value.type) for value in operands_of(last)]
    body = block_with([*inputs, *outputs])
    for new, old in zip(body.args, block.args, strict=False):
        new.name_hint = old.name_hint
    for result in body.args[len(inputs) :]:
        result.name_hint = "out"
    arena: SSAValue | None = None
    if layout.arena_bytes:
        alloc = ops.AllocOp.create(result_types=[bytes_in(layout.arena_bytes, Space.ARENA)], properties={"alignment": int_attr(layout.alignment)})
        alloc.memref.name_hint = "arena"
        append(body, alloc)
        arena = alloc.memref
    _BlockWriter(block, body, layout, body.args[: len(inputs)], body.args[len(inputs) :], arena).run(ReturnOp.create())
    properties = {
        **function.properties,
        "function_type": FunctionType.from_lists([*inputs, *outputs], []),
        "arg_attrs": _attributes(function, len(inputs), len(outputs)),
    }
    properties.pop("res_attrs", None)
    rewritten = FuncOp.create(properties=properties, attributes=function.attributes, regions=[Region(body)], location=function.location)
    insert_before(function, rewritten)
    detach(function)
    return rewritten


def _attributes(function: FuncOp, inputs: int, outputs: int) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments, and of results, which become arguments."""
    arguments = list(function.arg_attrs.data) if function.arg_attrs is not None else [_NOTHING] * inputs
    results = list(function.res_attrs.data) if function.res_attrs is not None else [_NOTHING] * outputs
    result_entries = [DictionaryAttr({**entry.data, ops.RESULT: UnitAttr()}) if entry.data else _RESULT for entry in results]
    return ArrayAttr([*arguments, *result_entries])


class _BlockWriter:
    """Writes the ops of a block on values to one on buffers. ``inputs`` and ``outputs`` are the buffers of the old block's arguments and of the
    operands of its terminator; ``in_loop``: its small values lie on the stack."""

    def __init__(
        self,
        old: Block,
        new: Block,
        layout: MemoryLayout,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        arena: SSAValue | None,
        *,
        in_loop: bool = False,
    ):
        self.old, self.new, self.layout = old, new, layout
        self.inputs, self.outputs, self.arena = inputs, outputs, arena
        self.in_loop = in_loop
        self.cells = stack_cells(layout) if in_loop else {}
        self.constants: dict[int, SSAValue] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.views: dict[tuple[SSAValue, int, int], SSAValue] = {}
        self.stack: dict[int, SSAValue] = {}

    def run(self, end: Operation) -> None:
        for op in ops_in(self.old):
            if isinstance(op, NestOp):
                self._nest(op)
            elif isinstance(op, MatmulOp | FusedOp | NativeOp | InterpretOp):
                self._launch(op, [self.buffer(value) for value in operands_of(op)])
            elif isinstance(op, core.ForOp | core.WhileOp):
                self._loop(op)
            elif isinstance(op, core.CaseOp):
                self._case(op)
            elif isinstance(op, StripMineOp):
                self._strips(op)
            elif isinstance(op, stablehlo.ConstantOp):
                self._constant(op)
        for copy in self.layout.copies:
            self._copy(self.buffer(copy.source), self.outputs[copy.output])
        append(self.new, end)

    def _add(self, op: Operation) -> SSAValue:
        append(self.new, op)
        return op.results[0]

    # -- buffers

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer that holds a value."""
        buffer = self.buffers.get(value)
        if buffer is None:
            buffer = self.buffers[value] = self._buffer(self.layout.places[value], value.type)
        return buffer

    def _buffer(self, place: Place, type: Attribute) -> SSAValue:
        if place.origin is Origin.ARENA:
            return self._cell(place.at, type) if place.at in self.cells else self._part(place.at, memref_of(type, Space.ARENA))
        base = (self.inputs if place.origin is Origin.INPUT else self.outputs if place.origin is Origin.OUTPUT else self.constants)[place.at]
        type_there = value_type(base.type)
        return base if type_there is type or type_there == type else self._view(base, 0, memref_of(type, space_of(base.type)))

    def _part(self, at: int, memref: Attribute) -> SSAValue:
        assert self.arena is not None
        return self._view(self.arena, at, memref)

    def _view(self, source: SSAValue, at: int, memref: Attribute) -> SSAValue:
        """A part of a buffer; one view for each type."""
        key = (source, at, id(memref))  # memrefs are shared
        view = self.views.get(key)
        if view is None:
            view = self.views[key] = self._new_view(source, at, memref)
        return view

    def _new_view(self, source: SSAValue, at: int, memref: Attribute) -> SSAValue:
        return self._add(ops.ViewOp.create(operands=[source], result_types=[memref], properties={"offset": int_attr(at)}))

    def _cell(self, at: int, type: Attribute) -> SSAValue:
        values = self.cells[at]
        cell = self.stack.get(at)
        if cell is None:
            alike = all(value.type == type for value in values)
            memref = memref_of(type, Space.STACK) if alike else bytes_in(max(map(byte_size, values)), Space.STACK)
            cell = self.stack[at] = self._add(ops.AllocOp.create(result_types=[memref], properties={"alignment": int_attr(self.layout.alignment)}))
        type_there = value_type(cell.type)
        return cell if type_there is type or type_there == type else self._view(cell, 0, memref_of(type, Space.STACK))

    def _range(self, part: Range | None) -> list[SSAValue]:
        """The scratch memory of an op in the arena, if it has some."""
        return [] if part is None else [self._part(part.at, bytes_in(part.bytes, Space.ARENA))]

    def _constant(self, op: stablehlo.ConstantOp) -> None:
        place = self.layout.places[op.output]
        constant = ops.GlobalOp.create(result_types=[memref_of(op.output.type, Space.CONSTANT)], properties={"value": op.value}, location=op.location)
        self.constants[place.at] = self._add(constant)

    def _copy(self, source: SSAValue, target: SSAValue) -> None:
        if ops.location(source) != ops.location(target):
            append(self.new, ops.CopyOp.create(operands=[source, target]))

    # -- kernels

    def _nest(self, op: NestOp) -> None:
        for result in op.results:
            if result in self.layout.initial:
                self._copy(self.buffer(self.layout.initial[result]), self.buffer(result))
        operands, inputs = operands_of(op), len(op.body.block.args)
        buffers = [self.buffer(value) for value in operands[:inputs]]
        if op.ties is not None:
            continued = {tie: self.buffer(result) for tie, result in zip(op.tied, op.results, strict=True) if tie >= 0}
            buffers += [continued[tie] for tie in range(len(operands) - inputs)]
        self._launch(op, buffers)

    def _launch(self, op: Operation, ins: Sequence[SSAValue]) -> None:
        outs = [self.buffer(result) for result in op.results]
        scratch = self._range(self.layout.scratch.get(op))
        block = block_with([value.type for value in operands_of(op)])
        detach(op)
        set_operands(op, block.args)
        append(block, op)
        self._add_bound(ops.LaunchOp, [ins, outs, scratch], [block], op)

    def _add_bound(self, cls: type[Operation], groups: Sequence[Sequence[SSAValue]], blocks: Iterable[Block], op: Operation, **properties: Attribute) -> None:
        op_on_buffers = cls.create(
            operands=[value for group in groups for value in group],
            properties={SEGMENTS: segment_sizes(*map(len, groups)), **properties},
            regions=[Region(block) for block in blocks],
            location=op.location,
        )
        append(self.new, op_on_buffers)

    # -- loops and branches

    def _region(
        self, old: Block, new: Block, buffers: tuple[Sequence[SSAValue], Sequence[SSAValue], SSAValue | None], end: Operation, *, in_loop: bool
    ) -> None:
        """Writes the ops of a region."""
        _BlockWriter(old, new, self.layout.inner[old], *buffers, in_loop=in_loop).run(end)

    def _loop(self, op: core.ForOp | core.WhileOp) -> None:
        part, (offsets, end) = self.layout.scratch[op], loop_layout(op, self.layout.inner[op.body.block], self.layout.alignment)
        (memory,) = self._range(part)
        constants, initial, outs = ([self.buffer(value) for value in values] for values in (op.constant_operands, op.initial, op.results))
        swapped = swaps(op, self.layout.inner[op.body.block])
        on_stack = [0 < byte_size(out) <= CELL_BYTES for out in outs]
        spare = [
            self._new_view(memory, at, memref_of(result.type, Space.ARENA))
            for at, result, swap, small in zip(offsets, op.results, swapped, on_stack, strict=True)
            if swap and not small
        ]
        inner = end + self.layout.alignment
        arena = self._new_view(memory, inner, bytes_in(part.bytes - inner, Space.ARENA))
        either = [memref_of(result.type, Space.STACK if small else Space.DEFAULT) for result, small in zip(op.results, on_stack, strict=True)]
        now = [two if swap or small else out.type for two, swap, small, out in zip(either, swapped, on_stack, outs, strict=True)]
        following = [two for two, swap in zip(either, swapped, strict=True) if swap]
        counted = isinstance(op, core.ForOp)
        arguments = [ITERATION if counted else CONDITION, *[value.type for value in constants], *now, *following, arena.type]
        blocks = [block_with(arguments) for _ in op.regions]
        if not counted:
            first, *taken = blocks[0].args[: 1 + len(constants) + len(outs)]
            self._region(op.condition.block, blocks[0], (taken, [first], blocks[0].args[-1]), ops.EndOp.create(), in_loop=True)
        body = blocks[-1].args
        written = self._written(body, 1 + len(constants), swapped)
        taken = body[0 if counted else 1 : 1 + len(constants) + len(outs)]
        self._region(op.body.block, blocks[-1], (taken, written, body[-1]), ops.EndOp.create(operands=written), in_loop=True)
        groups = [constants, initial, outs, spare, [arena]]
        if counted:
            self._add_bound(ops.ForOp, [[self.buffer(op.trip_count)], *groups], blocks, op)
        else:
            self._add_bound(ops.WhileOp, groups, blocks, op)

    def _written(self, body: Sequence[SSAValue], first: int, swapped: Sequence[bool]) -> list[SSAValue]:
        """The buffers in which the body of a loop leaves the carried values."""
        following = iter(body[first + len(swapped) :])
        return [next(following) if swap else body[first + number] for number, swap in enumerate(swapped)]

    def _case(self, op: core.CaseOp) -> None:
        index, ins, outs = self.buffer(op.index), [self.buffer(value) for value in op.inputs], [self.buffer(value) for value in op.results]
        arena = self._range(self.layout.scratch.get(op))
        blocks = [block_with([value.type for value in (*ins, *outs, *arena)]) for _ in op.branches]
        for branch, block in zip(op.branches, blocks, strict=True):
            taken, written, rest = block.args[: len(ins)], block.args[len(ins) : len(ins) + len(outs)], block.args[len(ins) + len(outs) :]
            self._region(branch.block, block, (taken, written, rest[0] if rest else None), ops.EndOp.create(), in_loop=self.in_loop)
        self._add_bound(ops.CaseOp, [[index], ins, outs, arena], blocks, op)

    def _strips(self, op: StripMineOp) -> None:
        old = op.body.block
        last = old.last_op
        assert last is not None
        ins, outs = [self.buffer(value) for value in op.inputs], [self.buffer(value) for value in op.outputs]
        arena = self._range(self.layout.scratch.get(op))
        strips = zip((*old.args, *operands_of(last)), (*ins, *outs), strict=True)
        block = block_with([*[memref_of(strip.type, space_of(whole.type)) for strip, whole in strips], *[value.type for value in arena]])
        taken, written, rest = block.args[: len(ins)], block.args[len(ins) : len(ins) + len(outs)], block.args[len(ins) + len(outs) :]
        schedule = op.schedule or ScheduleAttr(Schedule())
        in_loop = self.in_loop and schedule.data.parallel is None  # what threads share is a function of its own, with no use for the stack of the entry
        self._region(old, block, (taken, written, rest[0] if rest else None), ops.EndOp.create(), in_loop=in_loop)
        steps = int_array((*ints(op.input_steps), *ints(op.output_steps)))
        self._add_bound(ops.StripLoopOp, [ins, outs, arena], [block], op, iterations=op.iterations, steps=steps, schedule=schedule)

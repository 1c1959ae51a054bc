"""A kernel-level function as LLVM text: one function per distinct kernel, and an entry that calls them in order.

Loops and branches become basic blocks of the entry. A loop swaps two buffers for each carried value instead of copying;
what its body updates in place stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from wengert.dialects import core
from wengert.dialects.kernel import InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape
from wengert.transforms.bufferize.buffers import Buffers, assign, byte_size
from wengert.transforms.codegen.cpu.carried import Carried
from wengert.transforms.codegen.cpu.entry import CALLED_BACK, EntryCode
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.codegen.cpu.nest.emission import emit_nest
from wengert.transforms.codegen.cpu.polls import is_long, trips_between
from wengert.transforms.codegen.cpu.scratch import scratch_bytes
from wengert.transforms.codegen.llvm.pointers import BlockPointers
from wengert.transforms.schedule.choice import choose
from wengert.transforms.schedule.chunks import Split, parameters, prologue
from wengert.transforms.schedule.legality import check
from wengert.transforms.schedule.schedule_pass import choose_strips
from wengert.transforms.schedule.target import Target


class Code(Struct, frozen=True):
    """LLVM text, the buffers that it assumes, and the ops that the callback must run, by number; ``records``: there are tapes."""

    text: str
    buffers: Buffers
    interpreted: tuple[InterpretOp, ...]
    kernels: int
    symbols: tuple[str, ...]
    records: bool


def generate(module: ModuleOp, target: Target, *, strict: bool = False, flush: bool = False) -> Code:
    """The code of a kernel-level module with one function; ``flush``: subnormal numbers are zeros in it."""
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    block = function.body.block
    last = block.last_op
    assert last is not None
    buffers = assign(block, scratch_bytes(target))
    entry = EntryCode(target, strict, len(block.args), len(last.operands), len(buffers.constants), flush=flush)
    _BlockCode(entry, block, buffers, entry.inputs, entry.outputs, "%arena").run()
    return Code(entry.text(), buffers, tuple(entry.interpreted), len(entry.functions), tuple(entry.symbols), entry.uses_tapes)


class _BlockCode(BlockPointers):
    """The code of one block: of the function, or of a region, whose inputs and outputs are pointers from around it."""

    def __init__(
        self,
        entry: EntryCode,
        block: Block,
        buffers: Buffers,
        inputs: Sequence[str],
        outputs: Sequence[str],
        arena: str,
        *,
        in_loop: bool = False,
        alone: bool = True,
    ):
        super().__init__(entry, block, buffers, inputs, outputs, arena, in_loop=in_loop)
        self.in_loop = in_loop
        self.alone = alone  # not within a task: kernels may be tasks

    def run(self) -> None:
        for op in self.block.ops:
            for result in op.results:
                if result in self.buffers.initial and isinstance(op, NestOp):
                    self.copy(self.pointer(self.buffers.initial[result]), self.pointer(result), byte_size(result))
            if isinstance(op, NestOp):
                self._nest(op)
            elif isinstance(op, MatmulOp):
                self._product(op)
            elif isinstance(op, NativeOp):
                self._native(op)
            elif isinstance(op, InterpretOp):
                self._interpret(op)
            elif isinstance(op, core.ForOp):
                self._for(op)
            elif isinstance(op, core.WhileOp):
                self._while(op)
            elif isinstance(op, core.CaseOp):
                self._case(op)
            elif isinstance(op, StripMineOp):
                self._strips(op)
            if self.alone and is_long(op):
                self.entry.poll()
        self.copy_outputs()

    # -- kernels

    def _nest(self, op: NestOp) -> None:
        results = {self.buffers.places[value] for value in op.outputs}
        in_place = any(self.buffers.places[value] in results for value in op.inputs)
        schedule = _schedule_of(op, self.entry, in_place=in_place, parallel=self.alone)
        code = emit_nest(op, schedule, self.entry.target, "KERNEL", strict=self.entry.strict)
        name = self.entry.function(code.text)
        self.entry.helpers.update(code.functions)
        pointers = [self.pointer(value) for value in (*op.inputs, *op.outputs)]
        if code.split is not None:
            self.entry.job(name, pointers, code.split)
        else:
            self.entry.lines.append(f"call void @{name}({', '.join([f'ptr {p}' for p in pointers])})")

    def _product(self, op: MatmulOp) -> None:
        from wengert.transforms.codegen.cpu.matmul import declarations, emit_function, emit_task, parts
        from wengert.transforms.codegen.cpu.matmul_call import product_plan  # here, because programs without products do without it

        found = product_plan(op, self.entry.target)
        if found.empty:
            return
        cut = parts(found)
        name = self.entry.function(emit_function(found, "KERNEL", "internal") if cut is None else emit_task(cut, "KERNEL"))
        for symbol in found.symbols:
            self.entry.external(symbol, declarations(found).strip())
        pointers: list[str] = []
        for value, offset in zip((op.lhs, op.rhs), ints(op.offsets), strict=True):
            size = byte_size(value) // max(prod(shape(value)), 1)
            pointers.append(self.offset(self.pointer(value), offset * size))
        scratch = self.buffers.scratch.get(op)
        pointers.append(self.pointer(op.result))
        own = "null" if scratch is None else self.place(scratch)
        if cut is not None:
            self.entry.job(name, pointers, cut.cut, own, cut.scratch_bytes)
        else:
            self.entry.lines.append(f"call void @{name}({', '.join(f'ptr {p}' for p in [*pointers, own])})")

    def _native(self, op: NativeOp) -> None:
        kernel = native_kernel(op, self.entry.target)
        found = kernel.text(strict=self.entry.strict)
        name = self.entry.function(found.text)
        self.entry.helpers.update(found.helpers)
        for symbol, declaration in found.symbols.items():
            self.entry.external(symbol, declaration)
        scratch = self.buffers.scratch.get(op)
        pointers = [self.pointer(value) for value in (*op.inputs, *op.outputs)]
        own = "null" if scratch is None else self.place(scratch)
        if kernel.cut is not None:
            self.entry.job(name, pointers, kernel.cut, own, kernel.scratch_bytes())
            return
        pointers.append(own)
        if kernel.uses_tapes:
            self.entry.uses_tapes = True
            pointers.append("%tapes")
        call = f"@{name}({', '.join([f'ptr {p}' for p in pointers])})"
        if kernel.returns_status:
            self.entry.check(self.entry.op(f"call i32 {call}"))
        else:
            self.entry.lines.append(f"call void {call}")

    def _interpret(self, op: InterpretOp) -> None:
        """Calls back with an array of pointers to operands and results; any answer but :data:`CALLED_BACK` ends the entry."""
        number = len(self.entry.interpreted)
        self.entry.interpreted.append(op)
        values = [*op.inputs, *op.outputs]
        held = f"%{self.entry.fresh('buffers')}"
        self.entry.lines.insert(0, f"{held} = alloca [{max(len(values), 1)} x ptr]")
        for at, value in enumerate(values):
            slot = self.offset(held, 8 * at)
            self.entry.lines.append(f"store ptr {self.pointer(value)}, ptr {slot}")
        answer = self.entry.op(f"call i32 {self.entry.callback}(i64 {number}, ptr {held}, ptr %table)")
        self.entry.check(self.entry.op(f"xor i32 {answer}, {CALLED_BACK}"))

    # -- loops and branches

    def _region(self, block: Block, inputs: Sequence[str], outputs: Sequence[str], arena: str, *, in_loop: bool = False) -> None:
        inner = self.buffers.inner[block]
        code = _BlockCode(self.entry, block, inner, inputs, outputs, arena, in_loop=in_loop or self.in_loop, alone=self.alone)
        code.run()
        self.entry.release(dict.fromkeys(code.pointers.values()))

    def _label(self, label: str) -> None:
        self.entry.lines += [f"br label %{label}", f"{label}:"]

    def _strips(self, op: StripMineOp) -> None:
        inputs, outputs = [self.pointer(value) for value in op.inputs], [self.pointer(value) for value in op.outputs]
        scratch = self.buffers.scratch.get(op)
        arena = self.place(scratch) if scratch is not None else self.arena
        found = op.schedule.data if op.schedule is not None else choose_strips(op, self.entry.target, parallel=self.alone)
        cut = None if found.parallel is None else Split(op.trips.value.data, found.parallel.chunk, found.parallel.nanoseconds)
        if cut is None:
            self._strip_loop(op, inputs, outputs, arena, ("0", str(op.trips.value.data)))
            return
        lines, self.entry.lines = self.entry.lines, []
        free, self.entry.free_cells = self.entry.free_cells, {}
        names = [f"%p{n}" for n in range(len(inputs))], [f"%q{n}" for n in range(len(outputs))]
        pointers = [*names[0], *names[1]]
        _BlockCode(self.entry, self.block, self.buffers, [], [], "%scratch", alone=False)._strip_loop(op, *names, "%scratch", ("%begin", "%end"))
        body = "\n".join([*prologue(pointers, cut), *self.entry.lines])
        self.entry.lines, self.entry.free_cells = lines, free
        task = self.entry.function(f"define internal void @KERNEL({parameters(pointers, cut)}) nounwind {{\n{body}\nret void\n}}\n")
        self.entry.job(task, [*inputs, *outputs], cut, arena, self.buffers.inner[op.body.block].arena_bytes)

    def _strip_loop(self, op: StripMineOp, inputs: Sequence[str], outputs: Sequence[str], arena: str, trips: tuple[str, str]) -> None:
        lines, label = self.entry.lines, self.entry.fresh("strips")
        trip, following = f"%{self.entry.fresh()}", f"%{self.entry.fresh()}"
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        lines.append(f"{trip} = phi i64 [{trips[0]}, %{label}.before], [{following}, %{label}.latch]")
        here = [self._strip(*part, trip) for part in zip(inputs, op.inputs, ints(op.input_steps), strict=True)]
        there = [self._strip(*part, trip) for part in zip(outputs, op.outputs, ints(op.output_steps), strict=True)]
        self._region(op.body.block, here, there, arena)
        self._label(f"{label}.latch")
        lines.append(f"{following} = add nuw nsw i64 {trip}, 1")
        more = self.entry.op(f"icmp ult i64 {following}, {trips[1]}")
        lines += [f"br i1 {more}, label %{label}.head, label %{label}.after", f"{label}.after:"]

    def _strip(self, pointer: str, value: SSAValue, step: int, trip: str) -> str:
        """Where a trip's part of a value begins."""
        if step == 0:
            return pointer
        count = step * (byte_size(value) // prod(shape(value)))
        return self.entry.op(f"getelementptr [{count} x i8], ptr {pointer}, i64 {trip}")

    def _for(self, op: core.ForOp) -> None:
        lines, label = self.entry.lines, self.entry.fresh("for")
        loop = Carried(self, op)
        count = self.entry.op(f"load i64, ptr {self.pointer(op.trip_count)}")
        index, following = f"%{self.entry.fresh()}", f"%{self.entry.fresh()}"
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        lines.append(f"{index} = phi i64 [0, %{label}.before], [{following}, %{label}.latch]")
        loop.open(f"{label}.before", f"{label}.latch")
        more = self.entry.op(f"icmp slt i64 {index}, {count}")
        lines += [f"br i1 {more}, label %{label}.body, label %{label}.after", f"{label}.body:"]
        lines.append(f"store i64 {index}, ptr {loop.extra}")
        self._region(op.body.block, [loop.extra, *loop.constants, *loop.current], loop.spare, loop.arena, in_loop=True)
        loop.step()
        if self.alone:
            self.entry.poll_in_loop(index, trips_between(op.body.block))
        self._label(f"{label}.latch")
        lines.append(f"{following} = add nuw nsw i64 {index}, 1")
        lines += [f"br label %{label}.head", f"{label}.after:"]
        loop.finish()

    def _while(self, op: core.WhileOp) -> None:
        lines, label = self.entry.lines, self.entry.fresh("while")
        loop = Carried(self, op)
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        trip, following = f"%{self.entry.fresh()}", f"%{self.entry.fresh()}"
        lines.append(f"{trip} = phi i64 [0, %{label}.before], [{following}, %{label}.latch]")
        loop.open(f"{label}.before", f"{label}.latch")
        self._region(op.condition.block, [*loop.constants, *loop.current], [loop.extra], loop.arena, in_loop=True)
        more = self.entry.op(f"icmp ne i8 {self.entry.op(f'load i8, ptr {loop.extra}')}, 0")
        lines += [f"br i1 {more}, label %{label}.body, label %{label}.after", f"{label}.body:"]
        self._region(op.body.block, [*loop.constants, *loop.current], loop.spare, loop.arena, in_loop=True)
        loop.step()
        if self.alone:
            self.entry.poll_in_loop(trip, trips_between(op.body.block))
        self._label(f"{label}.latch")
        lines.append(f"{following} = add i64 {trip}, 1")
        lines += [f"br label %{label}.head", f"{label}.after:"]
        loop.finish()

    def _case(self, op: core.CaseOp) -> None:
        lines, label = self.entry.lines, self.entry.fresh("case")
        last = len(op.branches) - 1
        inputs, outputs = [self.pointer(value) for value in op.inputs], [self.pointer(value) for value in op.results]
        scratch = self.buffers.scratch.get(op)
        arena = self.place(scratch) if scratch is not None else self.arena
        index = self.entry.op(f"load i32, ptr {self.pointer(op.index)}")
        arms = " ".join(f"i32 {number}, label %{label}.{number}" for number in range(last))
        lines.append(f"switch i32 {index}, label %{label}.{last} [{arms}]")
        for number, branch in enumerate(op.branches):
            lines.append(f"{label}.{number}:")
            self._region(branch.block, inputs, outputs, arena)
            lines.append(f"br label %{label}.after")
        lines.append(f"{label}.after:")


def _schedule_of(op: NestOp, entry: EntryCode, *, in_place: bool, parallel: bool) -> Schedule:
    """The schedule that a nest has, if it can be obeyed, or one that is chosen now."""
    if op.schedule is None:
        return choose(op, entry.target, strict=entry.strict, in_place=in_place, parallel=parallel)
    check(op, op.schedule.data, strict=entry.strict, in_place=in_place, parallel=parallel)
    return op.schedule.data

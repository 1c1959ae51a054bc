"""Emits a program on buffers as LLVM text: one function per distinct kernel, and an entry that calls them in order.

Addresses follow from the ops (:mod:`wengert.dialects.kernel.buffers`). Loops and branches become basic blocks of the entry. A loop swaps
two buffers for each carried value instead of copying; values that its body updates in place stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.kernel import FusedOp, InterpretOp, MatmulOp, NativeOp, NestOp
from wengert.dialects.kernel.buffers import (
    AllocOp,
    CaseOp,
    CopyOp,
    EndOp,
    ForOp,
    GlobalOp,
    LaunchOp,
    StripLoopOp,
    ViewOp,
    WhileOp,
    element_size,
    is_result,
    runs_in_place,
    scratch_room,
)
from wengert.dialects.kernel.memory import byte_size
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import Elements, splat_value
from wengert.ir.location.places import error_at
from wengert.ir.traversal import all_ops, ops_in, ops_of
from wengert.transforms.bufferize.footprint import Footprint, footprint
from wengert.transforms.codegen.cpu.carried import Carried
from wengert.transforms.codegen.cpu.clock import EMPTY, WHOLE, Timed, is_timed
from wengert.transforms.codegen.cpu.copies import copy_cut, copy_task
from wengert.transforms.codegen.cpu.entry import EntryBuilder
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.codegen.cpu.native.base import OWN, finishing_task
from wengert.transforms.codegen.cpu.native.schedules import check_native
from wengert.transforms.codegen.cpu.nest.emission import emit_nest
from wengert.transforms.codegen.cpu.pointers.buffers import ARENA, BlockPointers
from wengert.transforms.codegen.cpu.pointers.frames import FRAME
from wengert.transforms.codegen.cpu.pointers.near_pointers import near_pointers
from wengert.transforms.codegen.cpu.polls import is_long, iterations_between
from wengert.transforms.codegen.cpu.shared_functions import Divided, SharedFunction
from wengert.transforms.codegen.cpu.symbols import CALL_BACK
from wengert.transforms.codegen.cpu.tasks import BEGIN, END, SCRATCH, begin_task, parameters
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.legality import check
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.schedule_pass import UNCOUNTED
from wengert.transforms.schedule.target import Target

_WITHOUT_CODE = (AllocOp, ViewOp, EndOp, ReturnOp)
"""Ops that say where buffers lie, and ends of blocks."""
_NUMBER = "arith.constant"
"""A number of the host's function: what takes it is the op that has no code."""


class ProgramText(Struct, frozen=True):
    """LLVM text, the memory that it needs, its constants, and the ops that it calls in the interpreter, by number; the functions that it declares and
    shares with other programs."""

    text: str
    memory: Footprint
    constants: tuple[GlobalOp, ...]
    interpreted: tuple[InterpretOp, ...]
    kernels: int
    symbols: tuple[str, ...]
    timed: tuple[Operation, ...] = ()
    shared: tuple[SharedFunction, ...] = ()


def generate(
    module: ModuleOp,
    target: Target,
    *,
    strict: bool = False,
    flush: bool = False,
    check_schedules: bool = True,
    debug_lines: bool = False,
    describe: bool = False,
    timed: Timed = "no",
    share: bool = False,
) -> ProgramText:
    """Emits the code of a module with one function on buffers.

    Args:
        module: the module.
        target: the processor.
        strict: sums keep their order.
        flush: subnormal numbers are zeros.
        debug_lines: instructions say the lines of the user's program that they come from.
        describe: comments say which ops each function is fused from.
        check_schedules: schedules may be written by hand, and what cannot be obeyed is an error; not where ``schedule`` has just chosen or checked them.
        timed: what of it is timed (:mod:`wengert.transforms.codegen.cpu.clock`).
        share: functions that other programs may call as well are left out of the text (:mod:`wengert.transforms.codegen.cpu.shared_functions`).
    """
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    block, constants = function.body.block, ops_of(function, GlobalOp)
    results = sum(is_result(function, number) for number in range(len(block.args)))
    notes = {"debug_lines": debug_lines, "describe": describe}
    entry = EntryBuilder(target, strict, len(block.args) - results, results, len(constants), flush=flush, timed=timed, **notes)
    entry.at(function.location)
    blocks = _BlockCode(entry, block, [*entry.inputs, *entry.outputs], check_schedules=check_schedules)
    with entry.timing(WHOLE):
        with entry.timing(EMPTY):
            pass
        blocks.run()
    clocked = () if entry.clock is None else tuple(entry.clock.ops)
    code = entry.divided() if share else Divided(entry.text(), ())
    interpreted, symbols = tuple(entry.interpreted), tuple(entry.symbols)
    return ProgramText(code.text, footprint(function), tuple(constants), interpreted, len(entry.functions), symbols, clocked, code.functions)


class _BlockCode(BlockPointers):
    """The code of one block: of the function, or of a region, whose buffers are pointers from around it."""

    def __init__(self, entry: EntryBuilder, block: Block, arguments: Sequence[str], *, alone: bool = True, check_schedules: bool = True):
        super().__init__(entry, block, arguments)
        self.alone = alone  # not within a task: kernels may be tasks
        self.check_schedules = check_schedules

    def run(self) -> None:
        clock = self.entry.clock if self.alone else None
        for op in ops_in(self.block):
            if clock is not None and clock.kernels and is_timed(op):
                with self.entry.timing(clock.number(op)):
                    self._op(op)
            else:
                self._op(op)
            if self.alone and is_long(op):
                self.entry.poll()

    def _op(self, op: Operation) -> None:
        if isinstance(op, LaunchOp):
            self._launch(op)
        elif isinstance(op, CopyOp):
            self._copy(op)
        elif isinstance(op, GlobalOp):
            self.constant(op)
        elif isinstance(op, ForOp):
            self._for(op)
        elif isinstance(op, WhileOp):
            self._while(op)
        elif isinstance(op, CaseOp):
            self._case(op)
        elif isinstance(op, StripLoopOp):
            self._strips(op)
        elif not isinstance(op, _WITHOUT_CODE) and op.name != _NUMBER:
            raise error_at(op, f"'{op.name}' has no code for a processor", "the interpreter runs kernels of devices: --backend interpreter")

    def _copy(self, op: CopyOp) -> None:
        cut = copy_cut(byte_size(op.source)) if self.alone else None
        source, target = self.pointer(op.source), self.pointer(op.target)
        if cut is None or source == target:
            self.copy(source, target, byte_size(op.source))
            return
        name = self.entry.function(copy_task(byte_size(op.source), cut, self.entry.target), op.location)
        self.entry.job(name, [source, target], cut)

    # -- kernels

    def _launch(self, op: LaunchOp) -> None:
        kernel = op.kernel
        self.entry.at(op.location)
        if isinstance(kernel, NestOp):
            self._nest(op, kernel)
        elif isinstance(kernel, MatmulOp):
            self._product(op, kernel)
        elif isinstance(kernel, FusedOp):
            self._fused(op, kernel)
        elif isinstance(kernel, NativeOp):
            self._native(op, kernel)
        else:
            assert isinstance(kernel, InterpretOp), f"{kernel.name} is no kernel"
            self._interpret(op, kernel)

    def _nest(self, op: LaunchOp, nest: NestOp) -> None:
        inputs = op.read[: len(nest.body.block.args)]
        schedule = Schedule() if nest.schedule is None else nest.schedule.data
        options = {"strict": self.entry.strict, "in_place": runs_in_place(op), "debug_lines": self.entry.debug_lines}
        code = emit_nest(self._placed(op, nest, schedule), schedule, self.entry.target, "KERNEL", **options)
        name = self.entry.function(code.text, op.location)
        self.entry.helpers.update(code.functions)
        pointers = [self.pointer(buffer) for buffer in (*inputs, *op.written)]
        if code.split is not None:
            self.entry.job(name, pointers, code.split)
        elif code.framed:
            self.entry.call_framed(name, pointers)
        else:
            self._call(name, pointers)

    def _placed(self, op: LaunchOp, nest: NestOp, schedule: Schedule) -> Placement:
        """A nest as its schedule asks for, if it can be obeyed; without one its loops run as they stand, one iteration after the other."""
        if not self.check_schedules:
            return Placement.scheduled(nest, schedule)
        return check(nest, schedule, strict=self.entry.strict, in_place=runs_in_place(op), parallel=self.alone)

    def _product(self, op: LaunchOp, product: MatmulOp) -> None:
        from wengert.transforms.codegen.cpu.matmul import (
            emit_function,
            emit_task,
            helpers,
            task_helpers,
        )  # here, because programs without products do without it
        from wengert.transforms.schedule.products.choice import schedule_of
        from wengert.transforms.schedule.products.legality import check as check_product
        from wengert.transforms.schedule.products.operands import product_of
        from wengert.transforms.schedule.products.plan import parts_of, plan_of

        what = product_of(product)
        schedule = schedule_of(product, what)
        if self.check_schedules:
            check_product(product, schedule, self.entry.target, parallel=self.alone, room=scratch_room(op))
        plan, parts = plan_of(what, schedule), parts_of(what, schedule)
        if plan.empty:
            return
        name = self.entry.function(emit_function(plan, "KERNEL", "internal") if parts is None else emit_task(parts, "KERNEL"), op.location)
        for symbol, text in (helpers(plan) if parts is None else task_helpers(parts)).items():
            if symbol in plan.symbols:
                self.entry.external(symbol, text.strip())
            else:
                self.entry.helpers[symbol] = text
        pointers = [self.offset(self.pointer(buffer), offset * element_size(buffer)) for buffer, offset in zip(op.read, ints(product.offsets), strict=True)]
        pointers += [self.pointer(buffer) for buffer in op.written]
        own = self._scratch(op)
        if parts is not None:
            self.entry.job(name, pointers, parts.cut, own, scratch_room(op))
        else:
            self._call(name, [*pointers, own])

    def _fused(self, op: LaunchOp, fused: FusedOp) -> None:
        """Calls a product with the array of the pointers that the nest has which finishes its rows."""
        from wengert.transforms.codegen.cpu.fused import emit_fused  # here, because programs without products do without it
        from wengert.transforms.schedule.products.epilogues import check_fused

        if self.check_schedules:
            check_fused(fused, self.entry.target, strict=self.entry.strict, parallel=self.alone, room=scratch_room(op))
        code = emit_fused(fused, self.entry.target, strict=self.entry.strict, debug_lines=self.entry.debug_lines)
        name = self.entry.function(code.text, op.location)
        self.entry.helpers.update(code.helpers)
        builder, buffers = self.entry.builder, [self.pointer(buffer) for buffer in (*op.read, *op.written)]
        more = builder.alloca(f"[{len(code.pointers)} x ptr]", 16)
        for slot, number in enumerate(code.pointers):
            builder.store("ptr", buffers[number], self.offset(more, 8 * slot))
        a, b = (self.offset(buffers[number], offset) for number, offset in zip(code.operands, code.offsets, strict=True))
        sums, own = buffers[len(op.read) + fused.target], self._scratch(op)
        if code.cut is not None:
            self.entry.job(name, [a, b, sums, more], code.cut, own, scratch_room(op))
        else:
            self._call(name, [a, b, sums, own, more])

    def _native(self, op: LaunchOp, native: NativeOp) -> None:
        if self.check_schedules and native.schedule is not None:
            check_native(native, self.entry.target, strict=self.entry.strict, parallel=self.alone, room=scratch_room(op))
        kernel = native_kernel(native, self.entry.target)
        code = kernel.text(strict=self.entry.strict)
        name = self.entry.function(code.text, op.location)
        self.entry.helpers.update(code.helpers)
        for symbol, declaration in code.symbols.items():
            self.entry.external(symbol, declaration)
        pointers = [self.pointer(buffer) for buffer in (*op.ins, *op.outs)]
        own = self._scratch(op)
        if kernel.cut is not None:
            common = kernel.common_bytes()
            if kernel.finishing_cuts:
                pointers.append(own)
            private = self.offset(own, common) if common else own, scratch_room(op) - common
            self.entry.job(name, pointers, kernel.cut, *private)
            for stage, cut in enumerate(kernel.finishing_cuts):
                self.entry.job(name + finishing_task(stage).removeprefix(OWN[:-1]), pointers, cut, *private)
            return
        pointers.append(own)
        if kernel.uses_tapes:
            self.entry.uses_tapes = True
            pointers.append("%tapes")
        if kernel.returns_status:
            self.entry.check(self.entry.builder.call(name, "i32", [("ptr", pointer) for pointer in pointers]))
        else:
            self._call(name, pointers)

    def _call(self, name: str, pointers: Sequence[str]) -> None:
        self.entry.builder.call_void(name, [("ptr", pointer) for pointer in pointers])

    def _scratch(self, op: LaunchOp) -> str:
        return "null" if op.scratch is None else self.pointer(op.scratch)

    def _interpret(self, op: LaunchOp, interpreted: InterpretOp) -> None:
        """Calls an op in the interpreter with an array of pointers to operands and results."""
        number = len(self.entry.interpreted)
        self.entry.interpreted.append(interpreted)
        buffers = [*op.ins, *op.outs]
        builder = self.entry.builder
        array = builder.alloca(f"[{max(len(buffers), 1)} x ptr]")
        for at, buffer in enumerate(buffers):
            slot = self.offset(array, 8 * at)
            builder.store("ptr", self.pointer(buffer), slot)
        self.entry.external(CALL_BACK, f"declare i32 @{CALL_BACK}(ptr, i64, ptr, ptr)")
        self.entry.check(builder.op(f"call i32 @{CALL_BACK}(ptr {self.entry.callback}, i64 {number}, ptr {array}, ptr %table)"))

    # -- loops and branches

    def _region(self, block: Block, arguments: Sequence[str]) -> None:
        code = _BlockCode(self.entry, block, arguments, alone=self.alone, check_schedules=self.check_schedules)
        code.run()
        code.release()

    def _strips(self, op: StripLoopOp) -> None:
        buffers = [self.pointer(buffer) for buffer in (*op.ins, *op.outs)]
        arena = [] if op.arena is None else [self.pointer(op.arena)]
        iterations, shared = int_of(op.iterations), op.schedule.data.parallel
        cut = None if shared is None else Split(iterations, shared.chunk, shared.nanoseconds)
        if cut is None:
            self._strip_loop(op, buffers, arena, ("0", str(iterations)))
            return
        pointers = [*[f"%p{n}" for n in range(len(op.ins))], *[f"%q{n}" for n in range(len(op.outs))]]
        constants = self.entry.coming_constants(sum(isinstance(inner, GlobalOp) for inner in all_ops(op)))
        names = [f"%c{number}" for number in range(len(constants))]  # by position, so that layers that are alike share a task
        with self.entry.task(dict(zip(constants, names, strict=True))) as builder:
            begin_task(builder, [*pointers, *names], cut)
            _BlockCode(self.entry, Block(), [], alone=False, check_schedules=self.check_schedules)._strip_loop(
                op, pointers, [SCRATCH][: len(arena)], (BEGIN, END)
            )
            builder.lines[:] = near_pointers(builder.lines, FRAME)
        task = self.entry.function(builder.definition("KERNEL", parameters(pointers, cut), attributes="nounwind"), op.location)
        buffers += constants.values()
        scratch_bytes = 0 if op.arena is None else byte_size(op.arena)
        self.entry.job(task, buffers, cut, arena[0] if arena else ARENA, scratch_bytes)

    def _strip_loop(self, op: StripLoopOp, pointers: Sequence[str], arena: Sequence[str], iterations: tuple[str, str]) -> None:
        with self.entry.builder.rotated_loop(iterations[1], start=iterations[0]) as loop:
            strips = [self._strip(*part, loop.index) for part in zip(pointers, (*op.ins, *op.outs), ints(op.steps), strict=True)]
            self._region(op.body.block, [*strips, *arena])

    def _strip(self, pointer: str, buffer: SSAValue, step: int, iteration: str) -> str:
        """The address at which an iteration's strip of a buffer begins."""
        return pointer if step == 0 else self.entry.builder.offset(pointer, f"[{step * element_size(buffer)} x i8]", iteration)

    def _for(self, op: ForOp) -> None:
        builder, values = self.entry.builder, Carried(self, op)
        count = builder.load("i64", self.pointer(op.count))
        with builder.loop(0, count, values.carried()) as loop:
            values.open(loop.values)
            builder.store("i64", loop.index, values.first)
            with self.entry.repeated(_known_count(op)):
                self._region(op.body.block, values.arguments())
            values.step()
            if self.alone:
                self.entry.poll_in_loop(loop.index, iterations_between(op.body.block))
            loop.carry(*values.following())
        values.copy_home()

    def _while(self, op: WhileOp) -> None:
        builder, values = self.entry.builder, Carried(self, op)
        with builder.while_loop([("i64", "0"), *values.carried()]) as loop:
            iteration, *pointers = loop.values
            values.open(pointers)
            self._region(op.condition.block, values.arguments())
            loop.test(builder.icmp("ne", "i8", builder.load("i8", values.first), 0))
            with self.entry.repeated(UNCOUNTED):
                self._region(op.body.block, values.arguments())
            values.step()
            if self.alone:
                self.entry.poll_in_loop(iteration, iterations_between(op.body.block))
            loop.carry(builder.binary("add", "i64", iteration, 1), *values.following())
        values.copy_home()

    def _case(self, op: CaseOp) -> None:
        arguments = [self.pointer(buffer) for buffer in (*op.ins, *op.outs, *([] if op.arena is None else [op.arena]))]
        index, last = self.entry.builder.load("i32", self.pointer(op.index)), len(op.branches) - 1
        with self.entry.builder.switch("i32", index) as switch:
            for number, branch in enumerate(op.branches):
                if number < last:
                    switch.case(number)
                else:
                    switch.default()
                self._region(branch.block, arguments)


def _known_count(op: ForOp) -> int:
    """How many iterations a loop has, as far as that is known."""
    number = op.count.owner
    return max(int(splat_value(cast("Elements", number.value))), 1) if isinstance(number, GlobalOp) else UNCOUNTED

"""A kernel-level function as LLVM text: one function per distinct kernel, and an entry that calls them in order.

The entry's ABI is ``i32 entry(ptr table, ptr arena)``. The table holds pointers: inputs, outputs, constants, and last the
callback ``i32 callback(i64 op, ptr buffers, ptr table)`` that runs an op in the interpreter, on an array of pointers to
its operands and results. The entry returns 0, or at once what the callback returned if that was not 0.

Loops and branches become basic blocks of the entry. A loop swaps two buffers for each carried value instead of copying;
what its body updates in place stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from wengert.dialects import core
from wengert.dialects.kernel import InterpretOp, MatmulOp, NativeOp, NestOp, StripsOp
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape
from wengert.transforms.lower.buffers import ALIGNMENT, Buffers, Place, Space, assign, byte_size, loop_layout
from wengert.transforms.lower.cpu_cells import CELL_BYTES, PROMOTE, cells
from wengert.transforms.lower.cpu_half import half_conversions
from wengert.transforms.lower.cpu_inline import marked
from wengert.transforms.lower.cpu_matmul import product_plan
from wengert.transforms.lower.cpu_nest import NestCode
from wengert.transforms.lower.cpu_parallel import strips_ns
from wengert.transforms.lower.cpu_scratch import scratch_bytes
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.matmul import declarations, emit_function, emit_task, parts
from wengert.transforms.lower.native import native_kernel
from wengert.transforms.lower.native.symbols import FREE
from wengert.transforms.lower.parallel import BLAS_HOLD, BLAS_RELEASE, DECLARATIONS, POOL_RUN, Split, parameters, prologue, split, start

ENTRY = "entry"
_END = "; end"
"""Stands where the entry is left, for what must be done there."""


@dataclass(frozen=True)
class Code:
    """LLVM text, the buffers that it assumes, and the ops that the callback must run, by number."""

    text: str
    buffers: Buffers
    interpreted: tuple[InterpretOp, ...]
    kernels: int
    symbols: tuple[str, ...]


def generate(module: ModuleOp, target: Target, *, strict: bool = False) -> Code:
    """The code of a kernel-level module with one function."""
    (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
    return _Generator(function.body.block, target, strict).run()


class _Generator:
    """What all blocks of a program share: the functions, the lines of the entry, and fresh names."""

    def __init__(self, block: Block, target: Target, strict: bool):
        self.block = block
        self.target = target
        self.strict = strict
        self.buffers = assign(block, scratch_bytes(target))
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.lines: list[str] = []
        self.uses_tapes = False
        self.frame = 0
        self.uses_cells = False
        self.interpreted: list[InterpretOp] = []
        self.symbols: dict[str, str] = {}
        self.count = 0

    def run(self) -> Code:
        last = self.block.last_op
        assert last is not None
        inputs, outputs = len(self.block.args), len(last.operands)
        self.constant_table = inputs + outputs
        self.callback = self.table(self.constant_table + len(self.buffers.constants))
        pointers = [self.table(number) for number in range(inputs + outputs)]
        _BlockCode(self, self.block, self.buffers, pointers[:inputs], pointers[inputs:], "%arena").run()
        ends = self._ends()
        body = "\n".join([text for line in [*self.lines, _END] for text in (ends if line is _END else [line])])
        promoted = f" {PROMOTE}" if self.uses_cells else ""
        entry = f"define i32 @{ENTRY}(ptr %table, ptr %arena) {self.target.attributes}{promoted} {{\n{body}\nret i32 0\n}}\n"
        kernels = marked({name: text.replace("@KERNEL", f"@{name}") for text, name in self.functions.items()}, entry)
        text = "\n".join([*self.helpers.values(), *kernels, entry])
        if not self.target.has_f16 and "half" in text:
            text += half_conversions()
        return Code(text, self.buffers, tuple(self.interpreted), len(self.functions), tuple(self.symbols))

    def fresh(self, name: str = "t") -> str:
        """A new name (without percent sign)."""
        self.count += 1
        return f"{name}{self.count}"

    def op(self, text: str) -> str:
        """Appends an instruction to the entry."""
        name = f"%{self.fresh()}"
        self.lines.append(f"{name} = {text}")
        return name

    def table(self, number: int) -> str:
        """A pointer of the table."""
        return self.op(f"load ptr, ptr {self.op(f'getelementptr ptr, ptr %table, i64 {number}')}")

    def cell(self, count: int) -> str:
        """A pointer to so many bytes on the stack, which become registers where no kernel that is called needs their address."""
        self.uses_cells = True
        name = f"%{self.fresh('cell')}"
        self.lines.insert(0, f"{name} = alloca [{count} x i8], align {ALIGNMENT}")
        return name

    def function(self, text: str) -> str:
        """The name of the function with this text, which is made once."""
        name = self.functions.get(text)
        if name is None:
            name = self.functions[text] = f"kernel{len(self.functions)}"
        return name

    def external(self, symbol: str, declaration: str) -> None:
        """Declares a function from outside of the program."""
        self.symbols[symbol] = self.helpers[symbol] = declaration

    def _ends(self) -> list[str]:
        """What must be done where the entry is left; what that needs is put at its beginning."""
        ends: list[str] = []
        if self.uses_tapes:
            self.lines[:0] = ["%tapes = alloca [2 x i64], align 16", "call void @llvm.memset.p0.i64(ptr %tapes, i8 0, i64 16, i1 false)"]
            ends.append(f"call void @{FREE}(ptr %tapes)")
        if any(symbol.startswith(("wg.blas.", "wg.lapack.")) for symbol in self.symbols):
            for symbol in (BLAS_HOLD, BLAS_RELEASE):
                self.external(symbol, DECLARATIONS[symbol])
            self.lines.insert(0, f"call void @{BLAS_HOLD}()")
            ends.append(f"call void @{BLAS_RELEASE}()")
        if self.frame:
            self.lines.insert(0, f"%frame = alloca [{self.frame} x ptr]")
        return ends


class _BlockCode:
    """The code of one block: of the function, or of a region, whose inputs and outputs are pointers from around it."""

    def __init__(
        self,
        generator: _Generator,
        block: Block,
        buffers: Buffers,
        inputs: Sequence[str],
        outputs: Sequence[str],
        arena: str,
        *,
        in_loop: bool = False,
        alone: bool = True,
    ):
        self.all = generator
        self.alone = alone  # not within a task: kernels may be tasks
        self.block = block
        self.buffers = buffers
        self.inputs = inputs
        self.outputs = outputs
        self.arena = arena
        self.pointers: dict[Place, str] = {}
        self.in_loop = in_loop
        self.cells = cells(buffers) if in_loop else {}

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
            elif isinstance(op, StripsOp):
                self._strips(op)
        self._copy_outputs()

    def _copy_outputs(self) -> None:
        """Values that are returned but lie elsewhere; all are read before any output is an input of the next trip."""
        for copy in self.buffers.copies:
            self.copy(self.pointer(copy.source), self.outputs[copy.output], byte_size(copy.source))

    # -- pointers

    def pointer(self, value: SSAValue) -> str:
        """The address of a value."""
        return self.place(self.buffers.places[value])

    def place(self, place: Place) -> str:
        """The address of a place."""
        if place.space is Space.INPUT:
            return self.inputs[place.at]
        if place.space is Space.OUTPUT:
            return self.outputs[place.at]
        found = self.pointers.get(place)
        if found is None:
            if place.at in self.cells and place.space is Space.ARENA:
                found = self.all.cell(self.cells[place.at])
            elif place.space is Space.ARENA:
                found = self.offset(self.arena, place.at)
            else:
                found = self.all.table(self.all.constant_table + place.at)
            self.pointers[place] = found
        return found

    def offset(self, pointer: str, count: int) -> str:
        return self.all.op(f"getelementptr i8, ptr {pointer}, i64 {count}") if count else pointer

    def copy(self, source: str, target: str, count: int) -> None:
        if source != target and count:
            self.all.lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {count}, i1 false)")

    # -- kernels

    def _nest(self, op: NestOp) -> None:
        results = {self.buffers.places[value] for value in op.outputs}
        in_place = any(self.buffers.places[value] in results for value in op.inputs)
        code = NestCode(op, self.all.target, self.all.strict, in_place, parallel=self.alone)
        name = self.all.function(code.text("KERNEL"))
        self.all.helpers.update(code.out.functions)
        pointers = [self.pointer(value) for value in (*op.inputs, *op.outputs)]
        if code.split is not None:
            self._job(name, pointers, code.split)
        else:
            self.all.lines.append(f"call void @{name}({', '.join([f'ptr {p}' for p in pointers])})")

    def _job(self, task: str, pointers: Sequence[str], cut: Split, scratch: str = "null", count: int = 0) -> None:
        """Runs a task by whoever has time; every thread but this one has ``count`` bytes of scratch memory of its own."""
        self.all.external(POOL_RUN, DECLARATIONS[POOL_RUN])
        self.all.frame = max(self.all.frame, len(pointers))
        self.all.lines += start(task, f"%{self.all.fresh('frame')}", pointers, cut, scratch, count)

    def _product(self, op: MatmulOp) -> None:
        found = product_plan(op, self.all.target)
        if found.empty:
            return
        cut = parts(found)
        name = self.all.function(emit_function(found, "KERNEL", "internal") if cut is None else emit_task(cut, "KERNEL"))
        for symbol in found.symbols:
            self.all.external(symbol, declarations(found).strip())
        pointers: list[str] = []
        for value, offset in zip((op.lhs, op.rhs), ints(op.offsets), strict=True):
            size = byte_size(value) // max(prod(shape(value)), 1)
            pointers.append(self.offset(self.pointer(value), offset * size))
        scratch = self.buffers.scratch.get(op)
        pointers.append(self.pointer(op.result))
        own = "null" if scratch is None else self.place(scratch)
        if cut is not None:
            self._job(name, pointers, cut.cut, own, cut.scratch_bytes)
        else:
            self.all.lines.append(f"call void @{name}({', '.join(f'ptr {p}' for p in [*pointers, own])})")

    def _native(self, op: NativeOp) -> None:
        kernel = native_kernel(op, self.all.target)
        found = kernel.text(strict=self.all.strict)
        name = self.all.function(found.text)
        self.all.helpers.update(found.helpers)
        for symbol, declaration in found.symbols.items():
            self.all.external(symbol, declaration)
        scratch = self.buffers.scratch.get(op)
        pointers = [self.pointer(value) for value in (*op.inputs, *op.outputs)]
        own = "null" if scratch is None else self.place(scratch)
        if kernel.cut is not None:
            self._job(name, pointers, kernel.cut, own, kernel.scratch_bytes())
            return
        pointers.append(own)
        if kernel.uses_tapes:
            self.all.uses_tapes = True
            pointers.append("%tapes")
        call = f"@{name}({', '.join([f'ptr {p}' for p in pointers])})"
        if kernel.returns_status:
            self._check(self.all.op(f"call i32 {call}"))
        else:
            self.all.lines.append(f"call void {call}")

    def _check(self, status: str) -> None:
        """Ends the entry with a status that is not 0."""
        bad, label = self.all.op(f"icmp ne i32 {status}, 0"), self.all.fresh("status")
        self.all.lines += [f"br i1 {bad}, label %{label}.bad, label %{label}.good", f"{label}.bad:", _END, f"ret i32 {status}", f"{label}.good:"]

    def _interpret(self, op: InterpretOp) -> None:
        """Calls back with an array of pointers to operands and results; a status that is not 0 ends the entry."""
        number = len(self.all.interpreted)
        self.all.interpreted.append(op)
        values = [*op.inputs, *op.outputs]
        held = f"%{self.all.fresh('buffers')}"
        self.all.lines.insert(0, f"{held} = alloca [{max(len(values), 1)} x ptr]")
        for at, value in enumerate(values):
            slot = self.offset(held, 8 * at)
            self.all.lines.append(f"store ptr {self.pointer(value)}, ptr {slot}")
        self._check(self.all.op(f"call i32 {self.all.callback}(i64 {number}, ptr {held}, ptr %table)"))

    # -- loops and branches

    def _region(self, block: Block, inputs: Sequence[str], outputs: Sequence[str], arena: str, *, in_loop: bool = False) -> None:
        inner = self.buffers.inner[block]
        _BlockCode(self.all, block, inner, inputs, outputs, arena, in_loop=in_loop or self.in_loop, alone=self.alone).run()

    def _label(self, label: str) -> None:
        self.all.lines += [f"br label %{label}", f"{label}:"]

    def _strips(self, op: StripsOp) -> None:
        inputs, outputs = [self.pointer(value) for value in op.inputs], [self.pointer(value) for value in op.outputs]
        scratch = self.buffers.scratch.get(op)
        arena = self.place(scratch) if scratch is not None else self.arena
        cut = split(op.trips.value.data, strips_ns(op, self.all.target))
        if cut is None:
            self._strip_loop(op, inputs, outputs, arena, ("0", str(op.trips.value.data)))
            return
        lines, self.all.lines = self.all.lines, []
        names = [f"%p{n}" for n in range(len(inputs))], [f"%q{n}" for n in range(len(outputs))]
        pointers = [*names[0], *names[1]]
        _BlockCode(self.all, self.block, self.buffers, [], [], "%scratch", alone=False)._strip_loop(op, *names, "%scratch", ("%begin", "%end"))
        body = "\n".join([*prologue(pointers, cut), *self.all.lines])
        self.all.lines = lines
        task = self.all.function(f"define internal void @KERNEL({parameters(pointers, cut)}) nounwind {{\n{body}\nret void\n}}\n")
        self._job(task, [*inputs, *outputs], cut, arena, self.buffers.inner[op.body.block].arena_bytes)

    def _strip_loop(self, op: StripsOp, inputs: Sequence[str], outputs: Sequence[str], arena: str, trips: tuple[str, str]) -> None:
        lines, label = self.all.lines, self.all.fresh("strips")
        trip, following = f"%{self.all.fresh()}", f"%{self.all.fresh()}"
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        lines.append(f"{trip} = phi i64 [{trips[0]}, %{label}.before], [{following}, %{label}.latch]")
        here = [self._strip(*part, trip) for part in zip(inputs, op.inputs, ints(op.input_steps), strict=True)]
        there = [self._strip(*part, trip) for part in zip(outputs, op.outputs, ints(op.output_steps), strict=True)]
        self._region(op.body.block, here, there, arena)
        self._label(f"{label}.latch")
        lines.append(f"{following} = add nuw nsw i64 {trip}, 1")
        more = self.all.op(f"icmp ult i64 {following}, {trips[1]}")
        lines += [f"br i1 {more}, label %{label}.head, label %{label}.after", f"{label}.after:"]

    def _strip(self, pointer: str, value: SSAValue, step: int, trip: str) -> str:
        """Where a trip's part of a value begins."""
        if step == 0:
            return pointer
        count = step * (byte_size(value) // prod(shape(value)))
        return self.all.op(f"getelementptr [{count} x i8], ptr {pointer}, i64 {trip}")

    def _for(self, op: core.ForOp) -> None:
        lines, label = self.all.lines, self.all.fresh("for")
        loop = _Carried(self, op)
        count = self.all.op(f"load i64, ptr {self.pointer(op.trip_count)}")
        index, following = f"%{self.all.fresh()}", f"%{self.all.fresh()}"
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        lines.append(f"{index} = phi i64 [0, %{label}.before], [{following}, %{label}.latch]")
        loop.open(f"{label}.before", f"{label}.latch")
        more = self.all.op(f"icmp slt i64 {index}, {count}")
        lines += [f"br i1 {more}, label %{label}.body, label %{label}.after", f"{label}.body:"]
        lines.append(f"store i64 {index}, ptr {loop.extra}")
        self._region(op.body.block, [loop.extra, *loop.constants, *loop.current], loop.spare, loop.arena, in_loop=True)
        loop.step()
        self._label(f"{label}.latch")
        lines.append(f"{following} = add nuw nsw i64 {index}, 1")
        lines += [f"br label %{label}.head", f"{label}.after:"]
        loop.finish()

    def _while(self, op: core.WhileOp) -> None:
        lines, label = self.all.lines, self.all.fresh("while")
        loop = _Carried(self, op)
        self._label(f"{label}.before")
        self._label(f"{label}.head")
        loop.open(f"{label}.before", f"{label}.latch")
        self._region(op.condition.block, [*loop.constants, *loop.current], [loop.extra], loop.arena, in_loop=True)
        more = self.all.op(f"icmp ne i8 {self.all.op(f'load i8, ptr {loop.extra}')}, 0")
        lines += [f"br i1 {more}, label %{label}.body, label %{label}.after", f"{label}.body:"]
        self._region(op.body.block, [*loop.constants, *loop.current], loop.spare, loop.arena, in_loop=True)
        loop.step()
        self._label(f"{label}.latch")
        lines += [f"br label %{label}.head", f"{label}.after:"]
        loop.finish()

    def _case(self, op: core.CaseOp) -> None:
        lines, label = self.all.lines, self.all.fresh("case")
        last = len(op.branches) - 1
        inputs, outputs = [self.pointer(value) for value in op.inputs], [self.pointer(value) for value in op.results]
        scratch = self.buffers.scratch.get(op)
        arena = self.place(scratch) if scratch is not None else self.arena
        index = self.all.op(f"load i32, ptr {self.pointer(op.index)}")
        arms = " ".join(f"i32 {number}, label %{label}.{number}" for number in range(last))
        lines.append(f"switch i32 {index}, label %{label}.{last} [{arms}]")
        for number, branch in enumerate(op.branches):
            lines.append(f"{label}.{number}:")
            self._region(branch.block, inputs, outputs, arena)
            lines.append(f"br label %{label}.after")
        lines.append(f"{label}.after:")


class _Carried:
    """What a loop carries: two buffers for each value, the one that is read and the one that the body writes. Large values swap
    theirs after each trip; small ones lie in cells and are copied, which costs nothing where cells become registers."""

    def __init__(self, code: _BlockCode, op: core.ForOp | core.WhileOp):
        self.code = code
        self.op = op
        scratch = code.place(code.buffers.scratch[op])
        offsets, end = loop_layout(op)
        sizes = [byte_size(value) for value in op.results]
        self.small = [0 < size <= CELL_BYTES for size in sizes]
        self.extra = code.all.cell(ALIGNMENT)
        self.arena = code.offset(scratch, end + ALIGNMENT)
        self.constants = [code.pointer(value) for value in op.constant_operands]
        self.homes = [code.pointer(value) for value in op.results]
        self.fixed = len(op.body.block.args) - len(op.results)
        self.swaps = [self._swaps(number) for number in range(len(op.results))]
        self.current = [code.all.cell(size) if small else home for small, size, home in zip(self.small, sizes, self.homes, strict=True)]
        self.spare = [
            here if not swaps else code.all.cell(size) if small else code.offset(scratch, at)
            for small, swaps, size, here, at in zip(self.small, self.swaps, sizes, self.current, offsets, strict=True)
        ]
        for here, initial, size in zip(self.current, op.initial, sizes, strict=True):
            code.copy(code.pointer(initial), here, size)

    def _swaps(self, number: int) -> bool:
        """Whether the body leaves this value in its second buffer (not: in the one where it was)."""
        last = self.op.body.block.last_op
        assert last is not None
        inner = self.code.buffers.inner[self.op.body.block]
        return inner.places[last.operands[number]] != Place(Space.INPUT, self.fixed + number)

    def open(self, before: str, latch: str) -> None:
        """The pointers at the head of the loop, where they alternate."""
        for number in self._alternating():
            names = [f"%{self.code.all.fresh()}" for _ in range(2)]
            self.code.all.lines.append(f"{names[0]} = phi ptr [{self.current[number]}, %{before}], [{names[1]}, %{latch}]")
            self.code.all.lines.append(f"{names[1]} = phi ptr [{self.spare[number]}, %{before}], [{names[0]}, %{latch}]")
            self.current[number], self.spare[number] = names

    def _alternating(self) -> list[int]:
        return [n for n in range(len(self.homes)) if self.swaps[n] and not self.small[n]]

    def step(self) -> None:
        """Ends a trip: what the body wrote into second cells is what the next one reads."""
        for current, spare, result in zip(self.current, self.spare, self.op.results, strict=True):
            if current != spare and byte_size(result) <= CELL_BYTES:
                self.code.copy(spare, current, byte_size(result))

    def finish(self) -> None:
        """Brings everything home."""
        for number, (home, current, result) in enumerate(zip(self.homes, self.current, self.op.results, strict=True)):
            if self.small[number]:
                self.code.copy(current, home, byte_size(result))
            elif self.swaps[number] and byte_size(result):
                label = self.code.all.fresh("home")
                away = self.code.all.op(f"icmp ne ptr {current}, {home}")
                self.code.all.lines += [f"br i1 {away}, label %{label}.move, label %{label}.done", f"{label}.move:"]
                self.code.copy(current, home, byte_size(result))
                self.code.all.lines += [f"br label %{label}.done", f"{label}.done:"]

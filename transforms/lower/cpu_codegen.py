"""A kernel-level function as LLVM text: one function per distinct kernel, and an entry that calls them in order.

The entry's ABI is ``i32 entry(ptr table, ptr arena)``. The table holds pointers: inputs, outputs, constants, and last the
callback ``i32 callback(i64 op, ptr table, ptr arena)`` that runs an op in the interpreter. The entry returns 0, or what
the callback returned if that was not 0, at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from wengert.dialects.kernel import InterpretOp, MatmulOp, NestOp
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape
from wengert.transforms.lower.buffers import Buffers, Place, Space, assign, byte_size
from wengert.transforms.lower.cpu_matmul import product_plan, scratch_bytes
from wengert.transforms.lower.cpu_nest import NestCode
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.matmul import declarations, emit_function

ENTRY = "entry"


@dataclass(frozen=True)
class Code:
    """LLVM text, the buffers that it assumes, and the ops that the callback must run, by number."""

    text: str
    buffers: Buffers
    interpreted: tuple[InterpretOp, ...]
    kernels: int
    inputs: int
    outputs: int
    calls_blas: bool


def generate(module: ModuleOp, target: Target, *, strict: bool = False) -> Code:
    """The code of a kernel-level module with one function."""
    return _Generator(module, target, strict).run()


class _Generator:
    def __init__(self, module: ModuleOp, target: Target, strict: bool):
        (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
        self.block = function.body.block
        self.target = target
        self.strict = strict
        self.buffers = assign(self.block, scratch_bytes(target))
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.lines: list[str] = []
        self.pointers: dict[object, str] = {}
        self.interpreted: list[InterpretOp] = []
        self.symbols: set[str] = set()
        self.count = 0
        self.inputs = len(self.block.args)
        last = self.block.last_op
        assert last is not None
        self.outputs = len(last.operands)

    def run(self) -> Code:
        for op in self.block.ops:
            if isinstance(op, NestOp):
                self._call(op)
            elif isinstance(op, MatmulOp):
                self._product(op)
            elif isinstance(op, InterpretOp):
                self._interpret(op)
        for copy in self.buffers.copies:
            self._copy(copy.source, copy.output)
        kernels = [text.replace("@KERNEL", f"@{name}") for text, name in self.functions.items()]
        text = "\n".join([*self.helpers.values(), *kernels, self._entry()])
        return Code(text, self.buffers, tuple(self.interpreted), len(self.functions), self.inputs, self.outputs, bool(self.symbols))

    def _entry(self) -> str:
        body = "\n".join(self.lines)
        return f"define i32 @{ENTRY}(ptr %table, ptr %arena) nounwind {{\n{body}\nret i32 0\n}}\n"

    def _table_size(self) -> int:
        return self.inputs + self.outputs + len(self.buffers.constants)

    # -- pointers

    def _pointer(self, value: SSAValue) -> str:
        return self._place(self.buffers.places[value])

    def _place(self, place: Place) -> str:
        found = self.pointers.get(place)
        if found is None:
            name = f"%b{len(self.pointers)}"
            if place.space is Space.ARENA:
                self.lines.append(f"{name} = getelementptr i8, ptr %arena, i64 {place.at}")
            else:
                number = place.at + {Space.INPUT: 0, Space.OUTPUT: self.inputs, Space.CONSTANT: self.inputs + self.outputs}[place.space]
                name = self._table(number, name)
            found = self.pointers[place] = name
        return found

    def _table(self, number: int, name: str) -> str:
        self.lines.append(f"{name}.at = getelementptr ptr, ptr %table, i64 {number}")
        self.lines.append(f"{name} = load ptr, ptr {name}.at")
        return name

    # -- calls

    def _call(self, op: NestOp) -> None:
        code = NestCode(op, self.target, self.strict)
        text = code.text("KERNEL")
        self.helpers.update(code.out.functions)
        name = self._function(text)
        arguments = [f"ptr {self._pointer(value)}" for value in (*op.inputs, *op.outputs)]
        self.lines.append(f"call void @{name}({', '.join(arguments)})")

    def _function(self, text: str) -> str:
        """The name of the function with this text, which is made once."""
        name = self.functions.get(text)
        if name is None:
            name = self.functions[text] = f"kernel{len(self.functions)}"
        return name

    def _product(self, op: MatmulOp) -> None:
        found = product_plan(op, self.target)
        if found.empty:
            return
        text = emit_function(found, "KERNEL", "internal")
        for symbol in found.symbols:
            self.symbols.add(symbol)
            self.helpers[symbol] = declarations(found)
        name = self._function(text)
        pointers = [self._shifted(value, offset) for value, offset in zip((op.lhs, op.rhs), ints(op.offsets), strict=True)]
        scratch = self.buffers.scratch.get(op)
        pointers += [self._pointer(op.result), "null" if scratch is None else self._place(scratch)]
        self.lines.append(f"call void @{name}({', '.join(f'ptr {p}' for p in pointers)})")

    def _shifted(self, value: SSAValue, offset: int) -> str:
        pointer = self._pointer(value)
        if offset == 0:
            return pointer
        self.count += 1
        size = byte_size(value) // prod(shape(value))
        self.lines.append(f"%shifted{self.count} = getelementptr i8, ptr {pointer}, i64 {offset * size}")
        return f"%shifted{self.count}"

    def _interpret(self, op: InterpretOp) -> None:
        if not self.interpreted:
            self._table(self._table_size(), "%callback")
        number = len(self.interpreted)
        self.interpreted.append(op)
        self.lines.append(f"%status{number} = call i32 %callback(i64 {number}, ptr %table, ptr %arena)")
        self.lines.append(f"%bad{number} = icmp ne i32 %status{number}, 0")
        self.lines.append(f"br i1 %bad{number}, label %failed{number}, label %next{number}")
        self.lines.append(f"failed{number}:")
        self.lines.append(f"ret i32 %status{number}")
        self.lines.append(f"next{number}:")

    def _copy(self, source: SSAValue, output: int) -> None:
        target = self._table(self.inputs + output, f"%copy{output}")
        self.lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {self._pointer(source)}, i64 {byte_size(source)}, i1 false)")


"""A kernel-level function as LLVM text: one function per distinct kernel, and an entry that calls them in order.

The entry's ABI is ``i32 entry(ptr table, ptr arena)``. The table holds pointers: inputs, outputs, constants, and last the
callback ``i32 callback(i64 op, ptr table, ptr arena)`` that runs an op in the interpreter. The entry returns 0, or what
the callback returned if that was not 0, at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from wengert.dialects.kernel import InterpretOp, NestOp
from wengert.transforms.lower.buffers import Buffers, Space, assign, byte_size
from wengert.transforms.lower.cpu_nest import NestCode
from wengert.transforms.lower.cpu_target import Target

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


def generate(module: ModuleOp, target: Target, *, strict: bool = False) -> Code:
    """The code of a kernel-level module with one function."""
    return _Generator(module, target, strict).run()


class _Generator:
    def __init__(self, module: ModuleOp, target: Target, strict: bool):
        (function,) = [op for op in module.ops if isinstance(op, FuncOp)]
        self.block = function.body.block
        self.target = target
        self.strict = strict
        self.buffers = assign(self.block)
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.lines: list[str] = []
        self.pointers: dict[object, str] = {}
        self.interpreted: list[InterpretOp] = []
        self.inputs = len(self.block.args)
        last = self.block.last_op
        assert last is not None
        self.outputs = len(last.operands)

    def run(self) -> Code:
        for op in self.block.ops:
            if isinstance(op, NestOp):
                self._call(op)
            elif isinstance(op, InterpretOp):
                self._interpret(op)
        for copy in self.buffers.copies:
            self._copy(copy.source, copy.output)
        kernels = [text.replace("@KERNEL(", f"@{name}(", 1) for text, name in self.functions.items()]
        text = "\n".join([*self.helpers.values(), *kernels, self._entry()])
        return Code(text, self.buffers, tuple(self.interpreted), len(self.functions), self.inputs, self.outputs)

    def _entry(self) -> str:
        body = "\n".join(self.lines)
        return f"define i32 @{ENTRY}(ptr %table, ptr %arena) nounwind {{\n{body}\nret i32 0\n}}\n"

    def _table_size(self) -> int:
        return self.inputs + self.outputs + len(self.buffers.constants)

    # -- pointers

    def _pointer(self, value: SSAValue) -> str:
        place = self.buffers.places[value]
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
        name = self.functions.get(text)
        if name is None:
            name = f"kernel{len(self.functions)}"
            self.functions[text] = name
        arguments = [f"ptr {self._pointer(value)}" for value in (*op.inputs, *op.outputs)]
        self.lines.append(f"call void @{name}({', '.join(arguments)})")

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


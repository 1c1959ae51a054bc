"""Native kernels: ops that are neither loop nests nor matrix products but have code of their own.

A kernel is chosen by the op's class and may refuse an op (by its element types, or a region that cannot be inlined); what
no kernel takes runs in the interpreter. The code is one LLVM function of pointers: the operands ``%p0, %p1, ...`` (the op's
operands, then what its regions use from outside), the results ``%q0, ...``, and ``%scratch``, memory that the kernel asked
for. Operands are never written, and results do not overlap them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.ir.tensor_types import bf16, c64, c128, element, f16, f32, f64, i1, i8, i16, i32, i64, shape, ui8, ui16, ui32, ui64
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.cpu_types import Element, element_of
from wengert.transforms.lower.native.code import Code


@dataclass(frozen=True)
class NativeText:
    """A function, its helpers by symbol, and the external functions that it calls, with their declarations."""

    text: str
    helpers: dict[str, str]
    symbols: dict[str, str]


class NativeKernel(ABC):
    """The code of one op."""

    takes: ClassVar[tuple[type[Operation], ...]] = ()

    def __init__(self, op: Any, target: Target):
        self.op = op
        self.target = target

    @classmethod
    @abstractmethod
    def supports(cls, op: Any) -> bool:
        """Whether there is code for this op."""

    def scratch_bytes(self) -> int:
        """How much memory the code needs while it runs."""
        return 0

    @abstractmethod
    def emit(self, code: Code) -> None:
        """Writes the body."""

    def text(self, *, strict: bool) -> NativeText:
        """The function, named ``@KERNEL``."""
        code = Code(self.target, strict=strict)
        self.emit(code)
        operands = [f"ptr %p{n}" for n in range(len(self.op.operands))]
        parameters = ", ".join([*operands, *[f"ptr %q{n}" for n in range(len(self.op.results))], "ptr %scratch"])
        body = "\n".join([*code.globals.values(), f"define internal void @KERNEL({parameters}) {self.target.attributes} {{", *code.out.lines, "ret void", "}"])
        return NativeText(body + "\n", code.out.functions, code.symbols)


_HELD = frozenset((f64, f32, f16, bf16, c64, c128, i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64))


def is_held(value: SSAValue) -> bool:
    """Whether the value is a tensor of static shape whose elements the code generator computes with."""
    type = value.type
    return isinstance(type, TensorType) and element(value) in _HELD and min(shape(value), default=0) >= 0


def held(value: SSAValue) -> Element:
    """The CPU's view of a tensor's element type."""
    return element_of(element(value))


_KERNELS: dict[type[Operation], type[NativeKernel]] = {}


def native(*ops: type[Operation]) -> Callable[[type[NativeKernel]], type[NativeKernel]]:
    """Registers a kernel class for op classes."""

    def register(kernel: type[NativeKernel]) -> type[NativeKernel]:
        for op in ops:
            assert op not in _KERNELS
            _KERNELS[op] = kernel
        return kernel

    return register


def kernel_class(op: Operation) -> type[NativeKernel] | None:
    """The class that has code for this op, if there is one."""
    found = _KERNELS.get(type(op))
    if found is None or not all([is_held(value) for value in (*op.operands, *op.results)]):
        return None
    return found if found.supports(op) else None

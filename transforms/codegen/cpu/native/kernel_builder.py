"""The builder of native functions: the LLVM builder with the properties of the processor and the program."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from wengert.transforms.codegen.cpu.tasks import BEGIN, END
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.module import ModuleBuilder
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.target import Target


class KernelBuilder(FunctionBuilder):
    """Writes the body of a function whose parameters are pointers: ``%p0...``, ``%q0...`` and ``%scratch``.

    Attributes:
        target: the processor.
        strict: whether sums of products may not contract.
        cut: how the parallel loops are cut into chunks, if the function is a task.
    """

    def __init__(self, target: Target, *, strict: bool, cut: Split | None = None, module: ModuleBuilder | None = None):
        super().__init__(module)
        self.target = target
        self.cut = cut
        self.strict = strict

    def scalars(self, lanes: int = 1) -> Scalars:
        """Scalar functions on so many lanes."""
        return Scalars(self, lanes, not self.strict)

    def memory(self, lanes: int = 1, active: int | None = None) -> Memory:
        """Loads and stores of so many lanes, of which the first ``active`` are active."""
        return Memory(self.scalars(lanes), lanes if active is None else active)

    def broadcast(self, element: Element, value: Value, lanes: int) -> Value:
        """A value in every lane."""
        if isinstance(value, tuple):
            return self.splat(element.register, value[0], lanes), self.splat(element.register, value[1], lanes)
        return self.splat(element.register, value, lanes)

    def call_external(self, symbol: str, pointers: Sequence[str]) -> None:
        """Calls a function from outside of the module, of pointers, that returns nothing."""
        self.module.external(symbol, "void", ["ptr"] * len(pointers))
        self.call_void(symbol, [("ptr", pointer) for pointer in pointers])

    def constant_at(self, type: str, value: str | int | float) -> str:
        """The address of a constant of this function, for routines that take all arguments by address."""
        name = "KERNEL.constant." + "".join([c if c.isalnum() else "_" for c in f"{type}.{value}"])
        return self.constant(name, type, str(value), linkage="private unnamed_addr")

    def byte(self, pointer: str, count: Index) -> str:
        """The address so many bytes further on."""
        return self.offset(pointer, "i8", count)

    def fail(self, condition: str, *, unless: bool = False) -> None:
        """Ends a function that returns a status if the condition holds, or unless it does."""
        with self.leaving(condition, unless=unless):
            self.line("ret i32 1")

    @contextmanager
    def parallel_loops(self, extents: Sequence[int]) -> Generator[list[Index]]:
        """Nested loops over a box whose points are independent: all of them, or those of this chunk if the function is a task."""
        if self.cut is None:
            with self.loops(extents) as indices:
                yield indices
            return
        with self.loop(BEGIN, END) as loop:
            rest: Index = loop.index
            indices = list[Index]()
            for extent in reversed(extents):
                if len(indices) == len(extents) - 1:
                    indices.insert(0, rest)
                elif extent == 1:
                    indices.insert(0, 0)
                else:
                    indices.insert(0, self.binary("urem", "i64", rest, extent))
                    rest = self.binary("udiv", "i64", rest, extent)
            yield indices

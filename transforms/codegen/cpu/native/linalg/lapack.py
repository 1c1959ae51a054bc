"""Emits calls of LAPACK for each matrix of a batch, with workspace in the arena.

LAPACK is column-major: a row-major matrix goes to scratch memory transposed, and results come back so. Factorizations of matrices
of small order are generated: in loops (:mod:`wengert.transforms.codegen.cpu.native.linalg.small_matrices`), or, where there are many, in vector
lanes (:mod:`wengert.transforms.codegen.cpu.native.linalg.batched_matrices`).

Workspaces are at least what LAPACK's documentation asks for, with room for blocks of 64 columns.
"""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

from wengert.dialects.kernel.memory import aligned
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import NativeKernel
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.batched_matrices import MOST_ELEMENTS
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import group_count, lanes_of
from wengert.transforms.codegen.cpu.native.linalg.substitution import PREFIX
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.symbols import symbol
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

BLOCK = 64
_STEP_NS = 0.5
"""One of the m n k steps of a factorization of a small matrix."""
I32 = Element("i", "i32", "i32", 4)


class Factorization(NativeKernel):
    """One routine over all matrices of a batch. ``spaces`` are the pieces of scratch memory, in elements or i32 numbers."""

    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        self.m, self.n = shape(self.matrices(op))[-2:]
        self.k = min(self.m, self.n)
        self.batch = prod(shape(self.matrices(op))[:-2])
        self.element = value_element(op.operands[0])
        self.part = Element("f", self.element.memory, self.element.register, self.element.part_size)
        self.prefix = PREFIX[element_type(op.operands[0])]
        self.spaces: dict[str, int] = {}
        self.lanes = 1

    @classmethod
    def matrices(cls, op: Any) -> Any:
        """The operand whose dimensions are the batch, rows and columns."""
        return op.operands[0]

    @classmethod
    def supports(cls, op: Any) -> bool:
        return element_type(op.operands[0]) in PREFIX and 0 not in shape(cls.matrices(op))[-2:]

    @property
    def is_complex(self) -> bool:
        return self.element.kind == "c"

    def space(self, name: str, count: int, size: int) -> None:
        """Asks for scratch memory."""
        self.spaces[name] = aligned(count * size)

    def scratch_bytes(self) -> int:
        return sum(self.spaces.values())

    def parallel_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), self.batch * _STEP_NS * self.m * self.n * self.k / self.lanes

    def places(self, builder: KernelBuilder) -> dict[str, str]:
        """The addresses of the pieces of scratch memory."""
        addresses: dict[str, str] = {}
        offset = 0
        for name, size in self.spaces.items():
            addresses[name] = builder.byte("%scratch", offset)
            offset += size
        return addresses

    def try_lanes(self) -> None:
        """Asks for scratch memory for groups of matrices, if they are small and many."""
        if 1 < self.m * self.n <= MOST_ELEMENTS:
            self.lanes = lanes_of(self.element, self.target, self.batch)
        if self.lanes > 1:
            self.space("group", self.lanes * self.m * self.n, self.element.size)

    def emit(self, builder: KernelBuilder) -> None:
        places = self.places(builder)
        with builder.parallel_loops([self.batch]) as (number,):
            operands = [self.matrix(builder, f"%p{n}", operand, number) for n, operand in enumerate(self.op.operands)]
            results = [self.matrix(builder, f"%q{n}", result, number) for n, result in enumerate(self.op.results)]
            self.run(builder, operands, results, places)

    def matrix(self, builder: KernelBuilder, pointer: str, value: Any, number: Index) -> str:
        """The address of one matrix (or vector, or number) of a batch."""
        count = prod(shape(value)[len(shape(self.matrices(self.op))) - 2 :])
        return builder.address(pointer, value_element(value), builder.multiply(number, count))

    def run(self, builder: KernelBuilder, operands: list[str], results: list[str], places: dict[str, str]) -> None:
        """The routine on one matrix."""
        self.factor(builder, operands[0], results, places)

    @abstractmethod
    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        """Factors one matrix."""

    # -- pieces

    def transpose(
        self, builder: KernelBuilder, rows: int, columns: int, source: str, target: str, *, back: bool = False, element: Element | None = None
    ) -> None:
        """A row-major matrix to column-major order, or back."""
        there, here = (columns, 1), (1, rows)
        first, second = (here, there) if back else (there, here)
        copy_box(builder, element or self.element, [rows, columns], source, first, target, second)

    def call(self, builder: KernelBuilder, routine: str, *arguments: str | int) -> None:
        """Calls a routine: numbers are passed by address, single letters as characters."""
        pointers: list[str] = []
        for argument in arguments:
            if isinstance(argument, int):
                pointers.append(builder.constant_at("i32", argument))
            elif len(argument) == 1:
                pointers.append(builder.constant_at("i8", ord(argument)))
            else:
                pointers.append(argument)
        builder.call_external(symbol("lapack", f"{self.prefix}{routine}"), pointers)

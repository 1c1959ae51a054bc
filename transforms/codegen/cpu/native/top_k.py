"""Emits top_k: in one pass that keeps a few, or by sorting."""

from __future__ import annotations

from math import prod
from typing import cast

from wengert.dialects import chlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import is_complex, rank, shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.merge_sort import COMPARING_NS, MergeSort
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.schedule.target import Target

FEW = 32
"""Up to so many of a row's elements are found by keeping the best so far."""


@native(chlo.TopKOp)
class TopK(MergeSort):
    """The first k of a row, stable; floats in their total order, as in XLA: -NaN < -inf < ... < -0 < 0 < ... < NaN.

    A few are found in one pass that keeps the best so far in order; most elements are not better than the last of them.
    """

    def __init__(self, op: chlo.TopKOp, target: Target):
        super().__init__(op, target)
        self.elements = (value_element(op.operand), value_element(op.indices))
        self.n, self.k = shape(op.operand)[-1], int_of(op.k)
        self.rows = prod(shape(op.operand)[:-1])
        self.largest = op.largest is None or bool(int_of(op.largest))

    @classmethod
    def supports(cls, op: chlo.TopKOp) -> bool:
        return not is_complex(element_type(op.operand)) and rank(op.operand) > 0

    def scratch_bytes(self) -> int:
        return 0 if self.k <= FEW else super().scratch_bytes()

    def parallel_work(self) -> tuple[int, float]:
        return self.rows, self.rows * (COMPARING_NS * self.n if self.k <= FEW else self.sorting_ns())

    def before(self, builder: KernelBuilder, x: list[Value], y: list[Value]) -> str:
        element, scalars = self.elements[0], builder.scalars()
        a, b = (cast(str, values[0]) for values in ((x, y) if self.largest else (y, x)))
        if element.kind == "b":
            return scalars.binary("and", "i1", a, scalars.binary("xor", "i1", b, "true"))
        return (
            scalars.float_function("total_gt", [a, b], element) if element.kind == "f" else cast(str, scalars.apply("gt", [a, b], [element, element], element))
        )

    def emit(self, builder: KernelBuilder) -> None:
        if self.rows * self.k == 0:
            return
        element = self.elements[0]
        with builder.parallel_loops([self.rows]) as (row,):
            source = builder.address("%p0", element, builder.multiply(row, self.n))
            results = [builder.address(f"%q{number}", e, builder.multiply(row, self.k)) for number, e in enumerate(self.elements)]
            if self.k <= FEW:
                self._keep_best(builder, source, results)
            else:
                self._sort_all(builder, source, results)

    def _sort_all(self, builder: KernelBuilder, source: str, results: list[str]) -> None:
        element, row = self.elements[0], self.copies(builder)[0]
        with builder.loop(0, self.n) as loop:
            value = builder.memory().load(element, builder.address(source, element, loop.index))
            self.store(builder, row, loop.index, [value, self._number(builder, loop.index)])
        for e, place, result in zip(self.elements, self.sort_row(builder), results, strict=True):
            copy_box(builder, e, [self.k], place, [1], result, [1])

    def _number(self, builder: KernelBuilder, index: Index) -> str:
        register = self.elements[1].register
        return str(index) if register == "i64" or isinstance(index, int) else builder.cast("trunc", index, "i64", register)

    def _keep_best(self, builder: KernelBuilder, source: str, results: list[str]) -> None:
        """The results hold the best so far, in order; ``count`` of them are there."""
        element = self.elements[0]
        with builder.loop(0, self.n) as loop:
            mine: list[Value] = [builder.memory().load(element, builder.address(source, element, loop.index)), self._number(builder, loop.index)]
            count = builder.intrinsic("smin", "i64", loop.index, self.k)
            room = builder.icmp("slt", "i64", count, self.k)
            label = builder.label("keep")
            builder.line(f"br i1 {room}, label %{label}.insert, label %{label}.compare")
            builder.line(f"{label}.compare:")
            kept = self.load(builder, results, self.k - 1)
            builder.line(f"br i1 {self.before(builder, mine, kept)}, label %{label}.insert, label %{label}.after")
            builder.line(f"{label}.insert:")
            free = builder.intrinsic("smin", "i64", count, self.k - 1)
            self.slide(builder, results, 0, free, mine)
            builder.line(f"br label %{label}.after")
            builder.line(f"{label}.after:")

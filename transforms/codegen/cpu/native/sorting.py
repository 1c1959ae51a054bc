"""Emits sort by any comparator, and top_k: a stable merge sort, bottom up, with the comparator inlined.

Each row is gathered into contiguous scratch memory (one array per operand), runs of a few elements are sorted by insertion,
and runs are merged between two such copies until one is left, which goes to its place in the results. An element goes
before another only if the comparator says so, so equal elements keep their order.
"""

from __future__ import annotations

from math import prod
from typing import cast

from wengert.dialects import chlo, stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import is_complex, rank, shape
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.regions import is_inlinable
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

_COMPARING_NS = 1.0
"""Comparing and moving one element."""
RUN = 8
"""Runs of so many elements are sorted by insertion."""


class MergeSort(NativeKernel):
    """Sorts rows of tuples; a subclass defines the tuples, and which of two comes first."""

    elements: tuple[Element, ...]
    n: int

    def scratch_bytes(self) -> int:
        return 2 * self._half()

    def _half(self) -> int:
        return sum(aligned(self.n * e.size) for e in self.elements)

    def before(self, builder: KernelBuilder, x: list[Value], y: list[Value]) -> str:
        """Whether x must come before y."""
        raise NotImplementedError

    def copies(self, builder: KernelBuilder) -> list[list[str]]:
        """The two places for a row, as an address for each part of a tuple."""
        places: list[list[str]] = []
        at = 0
        for _ in range(2):
            places.append([])
            for e in self.elements:
                places[-1].append(builder.byte("%scratch", at))
                at += aligned(self.n * e.size)
        return places

    def load(self, builder: KernelBuilder, row: list[str], index: Index) -> list[Value]:
        return [builder.memory().load(e, builder.address(p, e, index)) for e, p in zip(self.elements, row, strict=True)]

    def store(self, builder: KernelBuilder, row: list[str], index: Index, values: list[Value]) -> None:
        for e, p, value in zip(self.elements, row, values, strict=True):
            builder.memory().store(e, value, builder.address(p, e, index))

    def sorting_ns(self) -> float:
        """Estimates the nanoseconds of one row."""
        return _COMPARING_NS * len(self.elements) * self.n * max(self.n, 2).bit_length()

    def sort_row(self, builder: KernelBuilder) -> list[str]:
        """Sorts the row in the first place; returns where it lies afterwards."""
        first, second = self.copies(builder)
        if self.n < 2:
            return first
        run = min(RUN, self.n)
        with builder.loop(0, self.n, step=run) as loop:
            self._insertion(builder, first, loop.index, self._smaller(builder, builder.add(loop.index, run)))
        width = run
        while width < self.n:
            with builder.loop(0, self.n, step=2 * width) as loop:
                middle = self._smaller(builder, builder.add(loop.index, width))
                self._merge(builder, first, second, loop.index, middle, self._smaller(builder, builder.add(loop.index, 2 * width)))
            first, second, width = second, first, 2 * width
        return first

    def _smaller(self, builder: KernelBuilder, index: Index) -> str:
        return builder.intrinsic("smin", "i64", index, self.n)

    def _insertion(self, builder: KernelBuilder, row: list[str], start: Index, end: Index) -> None:
        with builder.loop(builder.add(start, 1), end) as loop:
            mine = self.load(builder, row, loop.index)
            self.slide(builder, row, start, loop.index, mine)

    def slide(self, builder: KernelBuilder, row: list[str], start: Index, free: Index, mine: list[Value]) -> None:
        """Puts a tuple into the sorted elements from ``start`` up to the place ``free``, moving those that it goes before."""
        with builder.while_loop([("i64", str(free))]) as loop:
            place = loop.values[0]
            loop.test(builder.icmp("sgt", "i64", place, start))
            other = self.load(builder, row, builder.add(place, -1))
            loop.test(self.before(builder, mine, other))
            self.store(builder, row, place, other)
            loop.carry(str(builder.add(place, -1)))
        self.store(builder, row, loop.values[0], mine)

    def _merge(self, builder: KernelBuilder, source: list[str], target: list[str], start: Index, middle: Index, end: Index) -> None:
        """Merges [start, middle) and [middle, end): the left element goes first unless the right one must.

        An exhausted run is compared by whichever of its neighbours is still in the row, and the result is not used.
        """
        with builder.loop(start, end, [("i64", str(start)), ("i64", str(middle))]) as loop:
            i, j = loop.values
            last = builder.add(end, -1)
            left = self.load(builder, source, builder.intrinsic("smin", "i64", i, last))
            right = self.load(builder, source, builder.intrinsic("smin", "i64", j, last))
            right_first = self.before(builder, right, left)
            left_over = builder.icmp("slt", "i64", i, middle)
            right_over = builder.icmp("slt", "i64", j, end)
            wanted = builder.select(left_over, "i1", right_first, "true")
            takes_right = builder.select(right_over, "i1", wanted, "false")
            values: list[Value] = []
            for e, x, y in zip(self.elements, right, left, strict=True):
                values.append(builder.scalars().apply("select", [takes_right, x, y], [e, e, e], e))
            self.store(builder, target, loop.index, values)
            step = builder.cast("zext", takes_right, "i1", "i64")
            loop.carry(builder.binary("add nsw", "i64", i, builder.binary("sub nsw", "i64", "1", step)), builder.binary("add nsw", "i64", j, step))


@native(stablehlo.SortOp)
class Sort(MergeSort):
    """All rows along the dimension, one by one."""

    def __init__(self, op: stablehlo.SortOp, target: Target):
        super().__init__(op, target)
        extents = shape(op.inputs[0])
        axis = int_of(op.dimension) % len(extents) if op.dimension is not None else len(extents) - 1
        self.elements = tuple([value_element(value) for value in op.inputs])
        self.outer, self.n, self.inner = prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])

    @classmethod
    def supports(cls, op: stablehlo.SortOp) -> bool:
        return rank(op.inputs[0]) > 0 and is_inlinable(op.comparator)

    def parallel_work(self) -> tuple[int, float]:
        rows = self.outer * self.inner
        return rows, rows * self.sorting_ns()

    def before(self, builder: KernelBuilder, x: list[Value], y: list[Value]) -> str:
        return cast(str, self.inline(builder, 1, self.op.comparator, [side for pair in zip(x, y, strict=True) for side in pair])[0])

    def emit(self, builder: KernelBuilder) -> None:
        if self.outer * self.n * self.inner == 0:
            return
        with builder.parallel_loops([self.outer, self.inner]) as (outer, inner):
            start = builder.add(builder.multiply(outer, self.n * self.inner), inner)
            for number, (e, place) in enumerate(zip(self.elements, self.copies(builder)[0], strict=True)):
                copy_box(builder, e, [self.n], builder.address(f"%p{number}", e, start), [self.inner], place, [1])
            for number, (e, place) in enumerate(zip(self.elements, self.sort_row(builder), strict=True)):
                copy_box(builder, e, [self.n], place, [1], builder.address(f"%q{number}", e, start), [self.inner])


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
        return self.rows, self.rows * (_COMPARING_NS * self.n if self.k <= FEW else self.sorting_ns())

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

"""Emits sort by any comparator: rows one by one, or a few long rows by ranges.

Threads share many rows as they are, and few by ranges: each range is sorted, and neighbouring ones are merged in stages, where the elements of a range of the
*result* are those of two ranges of the sources that a binary search tells (merge path: N. Deo and D. Sarkar, "Parallel algorithms for merging and sorting",
Information Sciences 56, 1991). A comparator that is no order, such as ``<`` where there are NaNs, may lead the search elsewhere than merging does. So each
range looks whether it ends where the next one begins; if all do, the result is that of merging in one go, and if not, the row is sorted again in one go. As
ranges have the lengths of runs, both are what a row that is not cut would become.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import prod
from typing import cast

from msgspec import Struct

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.kernel.schedule import Cut
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.codegen.cpu.native.base import STEPS, Cuttable, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.merge_sort import COMPARING_NS, RUN, Merged, MergeSort, merges
from wengert.transforms.codegen.cpu.native.regions import is_inlinable
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.target import Target

FEW_ROWS = 16
"""More rows than these are enough for all threads."""
MOST_RANGES = 16
"""Each doubling is one more stage, which LLVM compiles in 10 ms."""
_FLAG_BYTES = aligned(8)


@native(stablehlo.SortOp)
class Sort(MergeSort):
    """All rows along the dimension, one by one, or a few long ones by ranges."""

    def __init__(self, op: stablehlo.SortOp, target: Target):
        super().__init__(op, target)
        extents = shape(op.inputs[0])
        axis = int_of(op.dimension) % len(extents) if op.dimension is not None else len(extents) - 1
        self.elements = tuple([value_element(value) for value in op.inputs])
        self.outer, self.n, self.inner = prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])

    @classmethod
    def supports(cls, op: stablehlo.SortOp) -> bool:
        return rank(op.inputs[0]) > 0 and is_inlinable(op.comparator)

    def before(self, builder: KernelBuilder, x: list[Value], y: list[Value]) -> str:
        return cast(str, self.inline(builder, 1, self.op.comparator, [side for pair in zip(x, y, strict=True) for side in pair])[0])

    # -- how rows are shared

    @property
    def _rows(self) -> int:
        return self.outer * self.inner

    def cuttable(self) -> Mapping[int, Cuttable]:
        return {STEPS: Cuttable(self.n if self._rows else 0, RUN, equal=False)}

    def choose_cut(self) -> Cut | None:
        if not 0 < self._rows < FEW_ROWS:
            return None
        chunks = min(wanted_chunks(self._rows * self.sorting_ns()) // self._rows, MOST_RANGES)
        if chunks < 2 or self.n < 2 * RUN:
            return None
        runs, most = -(-self.n // (RUN * chunks)), self.n // (2 * RUN)
        return Cut(STEPS, RUN << min((runs - 1).bit_length(), most.bit_length() - 1))  # runs that one sort would merge to as well

    @cached_property
    def _range(self) -> int:
        """The elements of a range; 0 if rows are not cut."""
        return 0 if self.schedule.cut is None else self.schedule.cut.size

    @property
    def _ranges(self) -> int:
        return -(-self.n // self._range)

    @cached_property
    def _widths(self) -> list[int]:
        """The lengths of the runs that are merged, stage by stage."""
        return [self._range << stage for stage in range((self._ranges - 1).bit_length())]

    def common_bytes(self) -> int:
        return aligned(self._rows * (2 * self._half() + _FLAG_BYTES)) if self._range else 0

    def scratch_bytes(self) -> int:
        return self.common_bytes() if self._range else super().scratch_bytes()

    def parallel_work(self) -> tuple[int, float]:
        if not self._range:
            return self._rows, self._rows * self.sorting_ns()
        return self._rows * self._ranges, self._rows * len(self.elements) * self.n * COMPARING_NS * self._range.bit_length()

    def finishing(self) -> Sequence[tuple[int, float]]:
        if not self._range or self._rows * self.n == 0:
            return ()
        merging = self._rows * self._ranges, self._rows * len(self.elements) * self.n * COMPARING_NS
        return [*[merging] * len(self._widths), (self._rows, 0.0)]

    # -- code

    def emit(self, builder: KernelBuilder) -> None:
        if self._rows * self.n == 0:
            return
        if self._range:
            self._sort_ranges(builder, self.common(builder))
            return
        with builder.parallel_loops([self.outer, self.inner]) as (outer, inner):
            self._sort_whole(builder, self._start(builder, outer, inner), SCRATCH)

    def _sort_whole(self, builder: KernelBuilder, start: Index, memory: str) -> None:
        """Sorts a row in one go."""
        copies = self.copies(builder, memory)
        for number, (e, place) in enumerate(zip(self.elements, copies[0], strict=True)):
            copy_box(builder, e, [self.n], builder.address(f"%p{number}", e, start), [self.inner], place, [1])
        for number, (e, place) in enumerate(zip(self.elements, self.sort_part(builder, copies, 0, self.n, self.n), strict=True)):
            copy_box(builder, e, [self.n], place, [1], builder.address(f"%q{number}", e, start), [self.inner])

    def _start(self, builder: KernelBuilder, outer: Index, inner: Index) -> Index:
        return builder.add(builder.multiply(outer, self.n * self.inner), inner)

    @contextmanager
    def _each_range(self, builder: KernelBuilder, common: str) -> Generator[_Range]:
        """Goes through the ranges of all rows."""
        with builder.parallel_loops([self.outer, self.inner, self._ranges]) as (outer, inner, number):
            start, row = builder.multiply(number, self._range), self._row(builder, common, outer, inner)
            yield _Range(row, start, self._smaller(builder, builder.add(start, self._range), self.n))

    def _row(self, builder: KernelBuilder, common: str, outer: Index, inner: Index) -> _Row:
        number = builder.linear([(outer, self.inner)], inner)
        memory = builder.byte(common, builder.multiply(number, 2 * self._half() + _FLAG_BYTES))
        return _Row(self._start(builder, outer, inner), memory, builder.byte(memory, 2 * self._half()))

    def _sort_ranges(self, builder: KernelBuilder, common: str) -> None:
        with self._each_range(builder, common) as part:
            builder.line(f"store atomic i64 0, ptr {part.row.flag} monotonic, align 8")
            copies = self.copies(builder, part.row.memory)
            for number, (e, place) in enumerate(zip(self.elements, copies[0], strict=True)):
                with builder.loop(part.start, part.end) as loop:
                    source = builder.address(f"%p{number}", e, builder.linear([(loop.index, self.inner)], part.row.start))
                    builder.memory().store(e, builder.memory().load(e, source), builder.address(place, e, loop.index))
            self.sort_part(builder, copies, part.start, part.end, self._range)

    def emit_finish(self, builder: KernelBuilder, stage: int, common: str) -> None:
        if stage < len(self._widths):
            self._merge_ranges(builder, stage, common)
            return
        with builder.parallel_loops([self.outer, self.inner]) as (outer, inner):
            row = self._row(builder, common, outer, inner)
            with builder.conditional(builder.icmp("ne", "i64", builder.load("i64", row.flag), 0)) as branches:
                self._sort_whole(builder, row.start, row.memory)
                branches.otherwise()

    def _merge_ranges(self, builder: KernelBuilder, stage: int, common: str) -> None:
        """Merges runs two by two, by ranges of what is made of them."""
        width, is_last = self._widths[stage], stage == len(self._widths) - 1
        levels = merges(self._range) + stage
        with self._each_range(builder, common) as part:
            copies = self.copies(builder, part.row.memory)
            pair = builder.multiply(builder.binary("udiv", "i64", part.start, 2 * width), 2 * width)
            middle = self._smaller(builder, builder.add(pair, width), self.n)
            runs = Merged(copies[levels % 2], middle, self._smaller(builder, builder.add(pair, 2 * width), self.n))
            first, past = (self.heads(builder, runs, pair, builder.binary("sub nsw", "i64", place, pair)) for place in (part.start, part.end))
            results = [builder.address(f"%q{number}", e, part.row.start) for number, e in enumerate(self.elements)]
            target, step = (results, self.inner) if is_last else (copies[1 - levels % 2], 1)
            left, _ = self._merge(builder, runs, target, (part.start, part.end), first, step)
            with builder.conditional(builder.icmp("ne", "i64", left, past[0])) as branches:
                builder.line(f"store atomic i64 1, ptr {part.row.flag} monotonic, align 8")
                branches.otherwise()


class _Row(Struct, frozen=True):
    """A row that is sorted by ranges: where it begins in its tensor, the memory of its two copies, and a flag: it is to be sorted in one go."""

    start: Index
    memory: str
    flag: str


class _Range(Struct, frozen=True):
    """A range of a row."""

    row: _Row
    start: Index
    end: Index

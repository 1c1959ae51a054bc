"""Emits a stable merge sort of tuples, bottom up, with the comparator inlined.

Each row is gathered into contiguous scratch memory (one array per operand), runs of a few elements are sorted by insertion, and runs are merged between two
such copies until one is left. An element goes before another only if the comparator says so, so equal elements keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.dialects.kernel.memory import aligned
from wengert.transforms.codegen.cpu.native.base import NativeKernel
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element

COMPARING_NS = 1.0
"""Comparing and moving one element."""
RUN = 8
"""Runs of so many elements are sorted by insertion."""


class Merged(Struct, frozen=True):
    """Two runs that are merged, one behind the other: where they lie, where the right one begins, and where it ends."""

    source: Sequence[str]
    middle: Index
    end: Index


def merges(length: int) -> int:
    """How often the runs of so many elements are merged two by two, each time from one place to the other."""
    return max(-(-length // RUN) - 1, 0).bit_length()


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

    def copies(self, builder: KernelBuilder, memory: str = SCRATCH) -> list[list[str]]:
        """The two places for a row, as an address for each part of a tuple."""
        places: list[list[str]] = []
        at = 0
        for _ in range(2):
            places.append([])
            for e in self.elements:
                places[-1].append(builder.byte(memory, at))
                at += aligned(self.n * e.size)
        return places

    def load(self, builder: KernelBuilder, row: Sequence[str], index: Index) -> list[Value]:
        return [builder.memory().load(e, builder.address(p, e, index)) for e, p in zip(self.elements, row, strict=True)]

    def store(self, builder: KernelBuilder, row: Sequence[str], index: Index, values: list[Value]) -> None:
        for e, p, value in zip(self.elements, row, values, strict=True):
            builder.memory().store(e, value, builder.address(p, e, index))

    def sorting_ns(self) -> float:
        """Estimates the nanoseconds of one row."""
        return COMPARING_NS * len(self.elements) * self.n * max(self.n, 2).bit_length()

    def sort_row(self, builder: KernelBuilder) -> Sequence[str]:
        """Sorts the row in the first place; returns where it lies afterwards."""
        return self.sort_part(builder, self.copies(builder), 0, self.n, self.n)

    def sort_part(self, builder: KernelBuilder, places: list[list[str]], start: Index, end: Index, length: int) -> Sequence[str]:
        """Sorts [start, end) of a row, no more than ``length`` elements, in the first place; returns where they lie afterwards."""
        first, second = places
        if length > 1:
            with builder.loop(start, end, step=min(RUN, length)) as loop:
                self._insertion(builder, first, loop.index, self._smaller(builder, builder.add(loop.index, RUN), end))
        if not merges(length):
            return first
        with builder.loop(0, merges(length), [("ptr", place) for place in (*first, *second)]) as level:
            source, target = level.values[: len(first)], level.values[len(first) :]
            width = builder.binary("shl", "i64", RUN, level.index)
            two = builder.binary("shl", "i64", width, 1)
            rounded = builder.add(builder.binary("sub nsw", "i64", end, start), builder.add(two, -1))
            with builder.loop(0, builder.binary("udiv", "i64", rounded, two)) as pair:
                left = builder.add(start, builder.multiply(pair.index, two))
                middle = self._smaller(builder, builder.add(left, width), end)
                past = self._smaller(builder, builder.add(left, two), end)
                self._merge(builder, Merged(source, middle, past), target, (left, past), (left, middle))
            level.carry(*target, *source)
        return level.values[: len(first)]

    def _smaller(self, builder: KernelBuilder, x: Index, y: Index) -> str:
        return builder.intrinsic("smin", "i64", x, y)

    def _insertion(self, builder: KernelBuilder, row: Sequence[str], start: Index, end: Index) -> None:
        with builder.loop(builder.add(start, 1), end) as loop:
            mine = self.load(builder, row, loop.index)
            self.slide(builder, row, start, loop.index, mine)

    def slide(self, builder: KernelBuilder, row: Sequence[str], start: Index, free: Index, mine: list[Value]) -> None:
        """Puts a tuple into the sorted elements from ``start`` up to the place ``free``, moving those that it goes before."""
        with builder.while_loop([("i64", str(free))]) as loop:
            place = loop.values[0]
            loop.test(builder.icmp("sgt", "i64", place, start))
            other = self.load(builder, row, builder.add(place, -1))
            loop.test(self.before(builder, mine, other))
            self.store(builder, row, place, other)
            loop.carry(str(builder.add(place, -1)))
        self.store(builder, row, loop.values[0], mine)

    def _merge(
        self, builder: KernelBuilder, runs: Merged, target: Sequence[str], places: tuple[Index, Index], heads: tuple[Index, Index], step: int = 1
    ) -> Sequence[str]:
        """Writes the elements at some places, the first of which is one of the heads of both runs: the left one unless the right one must go first. Returns
        the heads after them.

        An exhausted run is compared by whichever of its neighbours is still in the row, and the result is not used.
        """
        (start, end), last = places, builder.add(runs.end, -1)
        with builder.loop(start, end, [("i64", str(head)) for head in heads]) as loop:
            i, j = loop.values
            left = self.load(builder, runs.source, builder.intrinsic("smin", "i64", i, last))
            right = self.load(builder, runs.source, builder.intrinsic("smin", "i64", j, last))
            right_first = self.before(builder, right, left)
            left_over = builder.icmp("slt", "i64", i, runs.middle)
            right_over = builder.icmp("slt", "i64", j, runs.end)
            wanted = builder.select(left_over, "i1", right_first, "true")
            takes_right = builder.select(right_over, "i1", wanted, "false")
            values: list[Value] = []
            for e, x, y in zip(self.elements, right, left, strict=True):
                values.append(builder.scalars().apply("select", [takes_right, x, y], [e, e, e], e))
            self.store(builder, target, builder.multiply(loop.index, step), values)
            taken = builder.cast("zext", takes_right, "i1", "i64")
            loop.carry(builder.binary("add nsw", "i64", i, builder.binary("sub nsw", "i64", "1", taken)), builder.binary("add nsw", "i64", j, taken))
        return loop.values

    def heads(self, builder: KernelBuilder, runs: Merged, start: Index, count: Index) -> tuple[Index, Index]:
        """The heads of two runs, the left one of which begins at ``start``, where ``count`` of their elements have been taken.

        So many of them are the left run's as there are left elements that go before the right ones that would be taken instead: a binary search.
        """
        least = builder.intrinsic("smax", "i64", 0, builder.binary("sub nsw", "i64", count, builder.binary("sub nsw", "i64", runs.end, runs.middle)))
        most = self._smaller(builder, count, builder.binary("sub nsw", "i64", runs.middle, start))
        with builder.while_loop([("i64", least), ("i64", most)]) as loop:
            low, high = loop.values
            loop.test(builder.icmp("slt", "i64", low, high))
            guess = builder.binary("lshr", "i64", builder.add(low, high), 1)
            left = self.load(builder, runs.source, builder.add(start, guess))
            opposite = builder.binary("sub nsw", "i64", builder.add(builder.add(runs.middle, count), -1), guess)
            right_first = self.before(builder, self.load(builder, runs.source, opposite), left)
            loop.carry(builder.select(right_first, "i64", low, builder.add(guess, 1)), builder.select(right_first, "i64", guess, high))
        taken = loop.values[0]
        return builder.add(start, taken), builder.binary("sub nsw", "i64", builder.add(runs.middle, count), taken)

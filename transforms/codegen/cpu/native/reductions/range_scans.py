"""Emits running combinations of long lines by ranges, which threads share.

A line is cut into ranges, and a range into blocks of B elements (G. E. Blelloch, "Prefix sums and their applications", 1990). First every block is combined,
then it is gone through again from what all blocks before it come to::

    total[j]   = x[j B] + ... + x[j B + B - 1]
    y[j B + i] = (total[0] + ... + total[j - 1]) + x[j B] + ... + x[j B + i]

The blocks of a range run side by side: each waits for its own sum only, not for the others. Which elements are combined first follows from the shape, and so
the results do not depend on how many threads there are; sums of floats are rounded otherwise than one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from msgspec import Struct

from wengert.dialects.kernel.memory import aligned
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.reductions.folds import flat, grouped
from wengert.transforms.codegen.cpu.native.reductions.kernels import neutral_value
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.chunks import wanted_chunks

BLOCKS = 8
"""Blocks of a range: so many sums at once hide how long one addition takes."""
FEW_LINES = 16
"""More lines than these fill registers and threads by themselves."""
TOTAL_NS, STEP_NS = 0.2, 0.5
"""Combining one element into the total of its block, and into the running combination."""
_PART_BYTES = 8
"""What is kept for a register of a total."""


class RangeScan(Struct, frozen=True):
    """Running combinations of ``outer * inner`` lines of n elements, by ranges of ``size``; the last range has the rest as well.

    Attributes:
        element, kind: what is combined, and how.
        outer, n, inner: the operand's extents before, along and behind the dimension.
        reverse: whether lines begin at their last element.
        size: the elements of a range, a multiple of ``BLOCKS``.
    """

    element: Element
    kind: str
    outer: int
    n: int
    inner: int
    reverse: bool
    size: int

    @property
    def ranges(self) -> int:
        """How many ranges a line has."""
        return self.n // self.size

    @property
    def _parts(self) -> int:
        """The registers of a value."""
        return 2 if self.element.kind == "c" else 1

    def bytes_of_totals(self) -> int:
        """The bytes in which totals are kept: for each range, of its blocks and of all of it."""
        return aligned(self.outer * self.inner * self.ranges * (BLOCKS + 1) * self._parts * _PART_BYTES)

    def work(self, nanoseconds: float) -> tuple[int, float]:
        """The iterations, one for each range, and how long they take if each element takes so long."""
        lines = self.outer * self.inner
        return lines * self.ranges, nanoseconds * lines * self.n

    # -- the totals

    def emit_totals(self, builder: KernelBuilder, totals: str) -> None:
        """Combines every block, and every range."""
        with builder.parallel_loops([self.outer, self.inner, self.ranges]) as (outer, inner, number):
            start, first = self._start(builder, outer, inner), builder.multiply(number, self.size)
            nothing = neutral_value(builder, self.kind, self.element, 1)
            blocks = self._through(builder, start, first, [nothing] * BLOCKS, stored=False)
            total = blocks[0]
            for block in blocks[1:]:
                total = builder.scalars().combine(self.kind, total, block, self.element)
            place = self._place(builder, totals, outer, inner, number)
            for slot, value in enumerate([*blocks, total]):
                for part, register in enumerate(flat([value])):
                    builder.store(self.element.register, register, self._slot(builder, place, slot, part))

    def _place(self, builder: KernelBuilder, totals: str, outer: Index, inner: Index, number: Index) -> str:
        """The address of a range's totals."""
        range_number = builder.linear([(outer, self.inner * self.ranges), (inner, self.ranges)], number)
        return builder.byte(totals, builder.multiply(range_number, (BLOCKS + 1) * self._parts * _PART_BYTES))

    def _slot(self, builder: KernelBuilder, place: str, slot: int, part: int) -> str:
        return builder.byte(place, (slot * self._parts + part) * _PART_BYTES)

    def _total(self, builder: KernelBuilder, place: str, slot: int) -> Value:
        parts = [builder.load(self.element.register, self._slot(builder, place, slot, part)) for part in range(self._parts)]
        return grouped(parts, [self.element])[0]

    # -- the running combinations

    def emit_running(self, builder: KernelBuilder, totals: str) -> None:
        """Goes through every block from what comes before it, and through the rest behind the last one."""
        scalars, element = builder.scalars(), self.element
        with builder.parallel_loops([self.outer, self.inner, self.ranges]) as (outer, inner, number):
            start, first = self._start(builder, outer, inner), builder.multiply(number, self.size)
            nothing = neutral_value(builder, self.kind, element, 1)
            with builder.loop(0, number, [(element.register, part) for part in flat([nothing])]) as loop:
                before = grouped(loop.values, [element])[0]
                total = self._total(builder, self._place(builder, totals, outer, inner, loop.index), BLOCKS)
                loop.carry(*flat([scalars.combine(self.kind, before, total, element)]))
            place = self._place(builder, totals, outer, inner, number)
            blocks = [grouped(loop.values, [element])[0]]
            for slot in range(BLOCKS - 1):
                blocks.append(scalars.combine(self.kind, blocks[-1], self._total(builder, place, slot), element))
            last = self._through(builder, start, first, blocks, stored=True)[-1]
            if rest := self.n - self.ranges * self.size:
                is_last = builder.icmp("eq", "i64", number, self.ranges - 1)
                with builder.loop(0, builder.select(is_last, "i64", rest, 0), [(element.register, part) for part in flat([last])]) as loop:
                    at = builder.add(builder.add(first, self.size), loop.index)
                    loop.carry(*flat([self._next(builder, start, at, grouped(loop.values, [element])[0], stored=True)]))

    def _start(self, builder: KernelBuilder, outer: Index, inner: Index) -> Index:
        """The index of a line's first element."""
        return builder.linear([(outer, self.n * self.inner)], builder.add(inner, (self.n - 1) * self.inner if self.reverse else 0))

    def _through(self, builder: KernelBuilder, start: Index, first: Index, values: Sequence[Value], *, stored: bool) -> list[Value]:
        """Combines the elements of neighbouring blocks, the first of which begins at element ``first`` of the line, side by side."""
        elements, length = [self.element] * len(values), self.size // BLOCKS
        with builder.loop(0, length, [(self.element.register, part) for part in flat(values)]) as loop:
            following: list[Value] = []
            for number, value in enumerate(grouped(loop.values, elements)):
                at = builder.add(builder.add(first, loop.index), number * length)
                following.append(self._next(builder, start, at, value, stored=stored))
            loop.carry(*flat(following))
        return grouped(loop.values, elements)

    def _next(self, builder: KernelBuilder, start: Index, at: Index, total: Value, *, stored: bool) -> Value:
        """Combines one more element of a line, and writes what has been combined."""
        element, scalars, memory, distance = self.element, builder.scalars(), builder.memory(), builder.multiply(at, self.inner)
        index = builder.binary("sub nsw", "i64", start, distance) if self.reverse else builder.add(start, distance)
        total = scalars.combine(self.kind, total, memory.load(element, builder.address("%p0", element, index)), element)
        if stored:
            kept = scalars.narrowed(cast("str", total), element.narrow) if element.narrow else total
            memory.store(element, kept, builder.address("%q0", element, index))
        return total


def size_of_ranges(outer: int, n: int, inner: int) -> int | None:
    """The elements of a range, where lines are few and long enough to be cut; None where they are not."""
    lines = outer * inner
    if not 0 < lines < FEW_LINES:
        return None
    chunks = wanted_chunks((TOTAL_NS + STEP_NS) * prod((outer, n, inner)))
    size = n // max(chunks // lines, 2) // BLOCKS * BLOCKS
    return size if chunks > 1 and size else None

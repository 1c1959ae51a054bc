"""Moves several matrices into lanes, one in each lane of a register, and back, and emits sums of products of their elements.

A group of ``lanes`` matrices that follow one another in memory is copied to scratch memory such that the same element of all of
them lies side by side; squares of elements are transposed in registers on the way. Then an algorithm for one matrix, written on
registers instead of numbers, does them all without a horizontal operation. Where they must go different ways (a pivot), each
lane chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from wengert.dialects.kernel.memory import aligned
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

BLOCK = 4
"""So many sums are computed side by side: shared operands are loaded once, and the additions of one sum do not wait for each other alone."""

Place = tuple[str, Index]
"""Elements along a sum: the address of the first one, and the step to the next, in elements."""


def lanes_of(element: Element, target: Target, batch: int) -> int:
    """The number of matrices of a batch that are computed at once; 1 if there are too few of them, or they are complex."""
    lanes = target.vector_bytes // element.size
    return lanes if element.kind == "f" and batch >= lanes else 1


def group_count(batch: int, lanes: int) -> int:
    """The number of whole groups in a batch."""
    return batch // lanes


def group_bytes(count: int, lanes: int, element: Element) -> int:
    """The scratch memory of so many elements of a group."""
    return aligned(count * lanes * element.size)


class MatrixLanes:
    """Appends code on elements of ``lanes`` matrices that lie side by side."""

    def __init__(self, builder: KernelBuilder, element: Element, lanes: int):
        self.builder = builder
        self.element = element
        self.lanes = lanes
        self.scalars = builder.scalars(lanes)
        self.memory = builder.memory(lanes)
        self.kind = self.scalars.type(element.register)

    # -- a group of matrices

    @contextmanager
    def groups(self, batch: int) -> Generator[Index]:
        """The first matrix of each group. Matrices that are left over make a group with some of the last one before.

        Both are then written by the same thread, one after the other.
        """
        builder, count = self.builder, group_count(batch, self.lanes)
        with builder.parallel_loops([count]) as (number,):
            if batch % self.lanes == 0:
                yield builder.multiply(number, self.lanes)
                return
            last = builder.icmp("eq", "i64", number, count - 1)
            with builder.loop(0, builder.select(last, "i64", 2, 1)) as part:
                yield self._at_most(builder.multiply(builder.add(number, part.index), self.lanes), batch - self.lanes)

    def gather(self, count: int, source: str, target: str) -> None:
        """``count`` elements of each matrix, the first of which lies at ``source``, to scratch memory."""
        builder = self.builder
        if count < self.lanes:
            with builder.loop(0, count) as loop:
                start = builder.address(source, self.element, loop.index)
                value = self.memory.load_lanes(self.element, lambda lane: builder.address(start, self.element, lane * count))
                assert isinstance(value, str)
                self.store(value, self.address(target, loop.index))
            return
        with self._squares(count) as index:
            start = builder.address(source, self.element, index)
            rows = [self.load(builder.address(start, self.element, lane * count)) for lane in range(self.lanes)]
            place = self.address(target, index)
            for number, column in enumerate(self.builder.transposed(self.element.register, rows)):
                self.store(column, self.address(place, number))

    def scatter(self, count: int, source: str, target: str) -> None:
        """The same back."""
        builder = self.builder
        if count < self.lanes:
            with builder.loop(0, count) as loop:
                start = builder.address(target, self.element, loop.index)
                value = self.load(self.address(source, loop.index))
                self.memory.store_lanes(self.element, value, lambda lane: builder.address(start, self.element, lane * count))
            return
        with self._squares(count) as index:
            place = self.address(source, index)
            columns = [self.load(self.address(place, number)) for number in range(self.lanes)]
            start = builder.address(target, self.element, index)
            for lane, row in enumerate(self.builder.transposed(self.element.register, columns)):
                self.store(row, builder.address(start, self.element, lane * count))

    @contextmanager
    def _squares(self, count: int) -> Generator[Index]:
        """Where squares of elements begin; the last one early enough to end with the matrix."""
        with self.builder.loop(0, -(-count // self.lanes) * self.lanes, step=self.lanes) as loop:
            yield loop.index if count % self.lanes == 0 else self._at_most(loop.index, count - self.lanes)

    def _at_most(self, index: Index, limit: int) -> str:
        return self.builder.intrinsic("umin", "i64", index, limit)

    # -- elements

    def address(self, pointer: str, index: Index) -> str:
        """The address of an element of all matrices."""
        return self.builder.offset(pointer, self.kind, index)

    def load(self, address: str) -> str:
        """All lanes at an address."""
        return self.builder.load(self.kind, address, self.element.size)

    def store(self, value: str, address: str) -> None:
        """All lanes to an address."""
        self.builder.store(self.kind, value, address, self.element.size)

    # -- sums of products

    def less_products(self, totals: Sequence[str], start: Index, end: Index, shared: Place, others: Sequence[Place]) -> list[str]:
        """Each total less the sum, from ``start`` up to ``end``, of the shared elements times those of its own."""
        builder = self.builder
        with builder.loop(start, end, [(self.kind, total) for total in totals]) as loop:
            offsets = {step: builder.multiply(loop.index, step) for step in (shared[1], *[step for _, step in others])}
            x = self.load(self.address(shared[0], offsets[shared[1]]))
            rest: list[str] = []
            for total, (place, step) in zip(loop.values, others, strict=True):
                product = self._float("multiply", x, self.load(self.address(place, offsets[step])))
                rest.append(self._float("subtract", total, product))
            loop.carry(*rest)
        return loop.values

    def _float(self, function: str, x: str, y: str) -> str:
        return self.scalars.float_function(function, (x, y), self.element)

    def divided(self, x: str, y: str) -> str:
        """x / y."""
        return self._float("divide", x, y)

    def in_blocks(self, start: Index, end: Index, body: Callable[[Index, int], None]) -> None:
        """``body(first, count)`` for blocks of indices, and for the rest one by one."""
        builder = self.builder
        if isinstance(start, int) and isinstance(end, int):
            middle: Index = start + (end - start) // BLOCK * BLOCK
        else:
            length = builder.binary("sub nsw", "i64", end, start)
            middle = builder.add(start, builder.binary("and", "i64", length, -BLOCK))
        if not (isinstance(middle, int) and middle == start):
            with builder.loop(start, middle, step=BLOCK) as block:
                body(block.index, BLOCK)
        if not (isinstance(middle, int) and middle == end):
            with builder.loop(middle, end) as single:
                body(single.index, 1)

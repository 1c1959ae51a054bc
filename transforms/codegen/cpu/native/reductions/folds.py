"""Emits folds: every element of the result combines many elements of the operands, in order.

A fold runs over the result's elements, several at a time in the lanes of a register (along the last dimension), and for each
over the positions that it folds: the dimensions of a reduce, or the positions within a window. What it has so far stays in
registers. This serves whatever a loop nest cannot express: regions of any kind, several operands at once, positions of
extreme elements. Which elements an operand's dimension contributes is said by an :class:`Axis`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import prod

from msgspec import Struct

from wengert.transforms.codegen.cpu.native.base import NativeKernel
from wengert.transforms.codegen.cpu.native.boxes import strides_of
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element, vector

ENOUGH_ROWS = 16
"""So many rows of a result are shared as they are; fewer are cut into pieces."""
PIECE = 64
"""A piece of a row is a multiple of so many elements: whole registers, whole cache lines."""
MOST_PIECES = 64
UNROLLED = 9
"""Up to so many positions are written out instead of looped over."""


class Axis(Struct, frozen=True):
    """One operand dimension of ``extent`` elements, ``base - 1`` holes between them: at result index o and fold index f it is
    read at position ``o * out_step + f * fold_step - low``, if there is an element there."""

    extent: int
    out: int | None = None
    fold: int | None = None
    out_step: int = 1
    fold_step: int = 1
    low: int = 0
    base: int = 1


class Lanes(Struct, frozen=True):
    """The elements of the result that are computed together: ``active`` of ``count`` lanes, from ``index`` on. The windows of ``interior`` ones
    lie within the operand's dimension that the lanes are along."""

    count: int
    active: int
    index: list[Index]
    interior: bool = False


def flat(values: Sequence[Value]) -> list[str]:
    """The registers of some values."""
    return [part for value in values for part in (value if isinstance(value, tuple) else (value,))]


def grouped(names: Sequence[str], elements: Sequence[Element]) -> list[Value]:
    """Registers as values of these element types."""
    source = iter(names)
    return [(next(source), next(source)) if element.kind == "c" else next(source) for element in elements]


class Fold(NativeKernel):
    """The loops of a fold; a subclass defines the state and how elements are combined into it."""

    out: tuple[int, ...]
    folded: tuple[int, ...]
    axes: tuple[Axis, ...]
    operands: tuple[Element, ...]
    state: tuple[Element, ...]
    most_lanes: int = 64
    first_index: Index = 0
    """The position in the operand of the element that was loaded last (of the first lane, if no lane reads beyond the operand)."""

    @abstractmethod
    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        """The state before the first element."""

    @abstractmethod
    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        """The state after the elements at a fold position; ``inside`` is the mask of lanes in which there are any (None: all)."""

    @abstractmethod
    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        """Writes results."""

    # -- loops

    def parallel_work(self) -> tuple[int, float]:
        widest = max(element.size for element in (*self.operands, *self.state))
        lanes = max(min(self.target.vector_bytes // widest, self.most_lanes), 1)
        return prod(self.out[:-1]) * max(self.pieces + 1, 1), prod(self.out) * prod(self.folded) * len(self.operands) / lanes

    @cached_property
    def pieces(self) -> int:
        """Into how many pieces of equal width a row of the result is cut for threads, where there are few rows; what is left is one more. 0: it is not."""
        rows = prod(self.out[:-1])
        if not self.out or not 0 < rows < ENOUGH_ROWS:
            return 0
        first, last = self._interior()
        return (last - first) // self.piece

    @cached_property
    def piece(self) -> int:
        """The width of a piece: whole cache lines of bytes, and whole registers."""
        first, last = self._interior()
        return -(-(last - first) * prod(self.out[:-1]) // MOST_PIECES // PIECE) * PIECE or PIECE

    def emit(self, builder: KernelBuilder) -> None:
        if 0 in self.out:
            return
        if self.cut is None or self.pieces == 0:
            with builder.parallel_loops(self.out[:-1]) as outer:
                self.elements(builder, outer)
            return
        (first, last), width = self._interior(), self.piece
        with (
            builder.parallel_loops([*self.out[:-1], self.pieces + 1]) as (*outer, number),
            builder.conditional(builder.icmp("ult", "i64", number, self.pieces)) as branches,
        ):
            start, count = builder.add(builder.multiply(number, width), first), self._lanes(builder, width)
            with builder.loop(start, builder.add(start, width), step=count) as inner:
                self._element(builder, Lanes(count, count, [*outer, inner.index], True))
            branches.otherwise()
            for begin, end, interior in ((0, first, False), (first + self.pieces * width, last, True), (last, self.out[-1], False)):
                self._row(builder, outer, begin, end, interior=interior)

    def elements(self, builder: KernelBuilder, outer: list[Index]) -> None:
        """The elements of the result at these outer indices: a row, or the only one."""
        if not self.out:
            self._element(builder, Lanes(1, 1, []))
            return
        first, last = self._interior()
        for start, end, interior in ((0, first, False), (first, last, True), (last, self.out[-1], False)):
            self._row(builder, outer, start, end, interior=interior)

    def _row(self, builder: KernelBuilder, outer: list[Index], start: int, end: int, *, interior: bool) -> None:
        """The elements of a row from ``start`` to ``end``."""
        if start == end:
            return
        count = self._lanes(builder, end - start)
        whole = start + (end - start) // count * count
        if whole == start + count:
            self._element(builder, Lanes(count, count, [*outer, start], interior))
        else:
            with builder.loop(start, whole, step=count) as inner:
                self._element(builder, Lanes(count, count, [*outer, inner.index], interior))
        if whole < end:
            self._element(builder, Lanes(count, end - whole, [*outer, whole], interior))

    def _interior(self) -> tuple[int, int]:
        """The elements of a row whose windows lie within the operand, along the row."""
        first, last = 0, self.out[-1]
        for axis in self.axes:
            if axis.out == len(self.out) - 1 and self._guarded(axis) and axis.out_step > 0:
                if axis.base > 1 or axis.extent == 0:
                    return 0, 0
                reach = (self.folded[axis.fold] - 1) * axis.fold_step if axis.fold is not None else 0
                first = max(first, -(-axis.low // axis.out_step))
                last = min(last, (axis.extent - 1 - reach + axis.low) // axis.out_step + 1)
        return (first, last) if first < last else (0, 0)

    def _lanes(self, builder: KernelBuilder, extent: int) -> int:
        widest = max([4, *[min(element.part_size if element.kind == "c" else element.size, 8) for element in (*self.operands, *self.state)]])
        count = min(builder.target.vector_bytes // widest, self.most_lanes)
        while count > 1 and count // 2 >= extent:
            count //= 2
        return max(count, 1)

    def element_at(self, builder: KernelBuilder, index: list[Index]) -> None:
        """One element of the result."""
        self._element(builder, Lanes(1, 1, index, interior=True))

    def _element(self, builder: KernelBuilder, lanes: Lanes) -> None:
        state = self.start(builder, lanes.count)
        if 0 not in self.folded:
            state = self._fold(builder, lanes, [], state)
        self.finish(builder, lanes, state)

    def _fold(self, builder: KernelBuilder, lanes: Lanes, at: list[Index], state: list[Value]) -> list[Value]:
        level = len(at)
        if level == len(self.folded):
            inside, values = self._load(builder, lanes, at)
            return self.step(builder, lanes, state, values, at, inside)
        if prod(self.folded) <= UNROLLED or self.folded[level] == 1:
            for position in range(self.folded[level]):
                state = self._fold(builder, lanes, [*at, position], state)
            return state
        kinds = [vector(e.register, lanes.count) for e in self.state for _ in range(2 if e.kind == "c" else 1)]
        with builder.loop(0, self.folded[level], list(zip(kinds, flat(state), strict=True))) as loop:
            following = self._fold(builder, lanes, [*at, loop.index], grouped(loop.values, self.state))
            loop.carry(*flat(following))
        return grouped(loop.values, self.state)

    # -- elements

    def _load(self, builder: KernelBuilder, lanes: Lanes, at: list[Index]) -> tuple[str | None, list[Value]]:
        """The operands' elements at a fold position, and the mask of lanes in which there are any."""
        if any(axis.extent == 0 for axis in self.axes):
            return builder.scalars(lanes.count).constant("i1", "false"), [self._nothing(e, lanes.count) for e in self.operands]
        last = len(self.out) - 1
        steps = strides_of([axis.extent for axis in self.axes])
        index: Index = 0
        uniform: list[str] = []
        moving: list[tuple[Axis, int, Index]] = []
        for axis, stride in zip(self.axes, steps, strict=True):
            position = self._position(builder, axis, lanes, at)
            guarded = self._guarded(axis) and not (axis.out == last and lanes.interior)
            if axis.out == last and lanes.count > 1 and guarded:
                moving.append((axis, stride, position))
                continue
            if guarded:
                position, bit = _inside(builder, axis, position)
                uniform.append(bit)
            index = builder.add(index, builder.multiply(position, stride))
        step = sum(axis.out_step * stride for axis, stride in zip(self.axes, steps, strict=True) if axis.out == last and self.out)
        bit = _all(builder, uniform)
        self.first_index = index
        if moving:
            return self._load_moving(builder, lanes, index, step - sum(a.out_step * s for a, s, _ in moving), moving, bit)
        values = [self.load_lanes(builder, lanes, f"%p{n}", e, index, step) for n, e in enumerate(self.operands)]
        return (None if bit is None else builder.splat("i1", bit, lanes.count)), values

    def _position(self, builder: KernelBuilder, axis: Axis, lanes: Lanes, at: list[Index]) -> Index:
        terms: list[tuple[Index, Index]] = []
        if axis.out is not None:
            terms.append((lanes.index[axis.out], axis.out_step))
        if axis.fold is not None:
            terms.append((at[axis.fold], axis.fold_step))
        return builder.linear(terms, -axis.low)

    def _guarded(self, axis: Axis) -> bool:
        high = -axis.low
        if axis.out is not None:
            high += (self.out[axis.out] - 1) * axis.out_step
        if axis.fold is not None:
            high += (self.folded[axis.fold] - 1) * axis.fold_step
        return axis.base > 1 or axis.low > 0 or high > axis.extent - 1

    def load_lanes(self, builder: KernelBuilder, lanes: Lanes, pointer: str, element: Element, index: Index, step: int) -> Value:
        """Elements from an index on, ``step`` apart from lane to lane."""
        address = builder.address(pointer, element, index)
        if lanes.count == 1:
            return builder.memory().load(element, address)
        if step == 0:
            return builder.broadcast(element, builder.memory().load(element, address), lanes.count)
        memory = builder.memory(lanes.count, lanes.active)
        if step == 1 and (lanes.active == lanes.count or element.size >= 4):
            return memory.load_contiguous(element, address, 1)
        return memory.load_lanes(element, lambda lane: builder.address(address, element, lane * step))

    def _load_moving(
        self, builder: KernelBuilder, lanes: Lanes, index: Index, step: int, moving: Sequence[tuple[Axis, int, Index]], bit: str | None
    ) -> tuple[str, list[Value]]:
        """Loads lane by lane, where some lanes may lie beyond the operand."""
        mask = "zeroinitializer"
        places: list[Index] = []
        memory = builder.memory(lanes.count, lanes.active)
        for lane in range(lanes.active):
            place, bits = builder.add(index, lane * step), [] if bit is None else [bit]
            for axis, stride, first in moving:
                position, inside = _inside(builder, axis, builder.add(first, lane * axis.out_step))
                place = builder.add(place, builder.multiply(position, stride))
                bits.append(inside)
            inside_all = _all(builder, bits)
            assert inside_all is not None
            mask = memory.insert("i1", mask, inside_all, lane)
            places.append(place)

        def load(number: int, element: Element) -> Value:
            return memory.load_lanes(element, lambda lane: builder.address(f"%p{number}", element, places[lane]))

        return mask, [load(number, element) for number, element in enumerate(self.operands)]

    def _nothing(self, element: Element, lanes: int) -> Value:
        kind = "zeroinitializer" if lanes > 1 else {"f": "0.0", "c": "0.0", "b": "false"}.get(element.kind, "0")
        return (kind, kind) if element.kind == "c" else kind

    # -- results

    def out_index(self, builder: KernelBuilder, lanes: Lanes) -> Index:
        """The number of the first lane's element in the result."""
        return builder.linear(list(zip(lanes.index, strides_of(self.out), strict=True)))

    def store(self, builder: KernelBuilder, lanes: Lanes, number: int, element: Element, value: Value) -> None:
        """Writes a result's elements."""
        address = builder.address(f"%q{number}", element, self.out_index(builder, lanes))
        if lanes.count == 1:
            builder.memory().store(element, value, address)
        else:
            builder.memory(lanes.count, lanes.active).store_contiguous(element, value, address, 1)


def _inside(builder: KernelBuilder, axis: Axis, position: Index) -> tuple[Index, str]:
    """The number of the element at a position (0 if there is none), and whether there is one."""
    reach = (axis.extent - 1) * axis.base + 1
    if isinstance(position, int):
        there = 0 <= position < reach and position % axis.base == 0
        return (position // axis.base if there else 0), "true" if there else "false"
    bit = builder.icmp("ult", "i64", position, reach)
    number: Index = position
    if axis.base > 1:
        rest = builder.binary("urem", "i64", position, axis.base)
        bit = builder.binary("and", "i1", bit, builder.icmp("eq", "i64", rest, 0))
        number = builder.binary("udiv", "i64", position, axis.base)
    return builder.select(bit, "i64", number, 0), bit


def _all(builder: KernelBuilder, bits: Sequence[str]) -> str | None:
    if not bits or all(bit == "true" for bit in bits):
        return "true" if bits else None
    every = bits[0]
    for bit in bits[1:]:
        every = builder.binary("and", "i1", every, bit)
    return every


def merged(extents: Sequence[int], dropped: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Axis, ...]]:
    """The kept and folded dimensions of a reduction, neighbours of one kind joined, and the operand's axes."""
    groups: list[tuple[bool, int]] = []
    for d, n in enumerate(extents):
        folds = d in dropped
        if groups and groups[-1][0] == folds:
            groups[-1] = (folds, groups[-1][1] * n)
        else:
            groups.append((folds, n))
    kept = [n for folds, n in groups if not folds]
    folded = [n for folds, n in groups if folds]
    axes: list[Axis] = []
    counts = [0, 0]
    for folds, n in groups:
        axes.append(Axis(n, fold=counts[1]) if folds else Axis(n, out=counts[0]))
        counts[folds] += 1
    return tuple(kept), tuple(folded), tuple(axes)

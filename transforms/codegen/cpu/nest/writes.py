"""Emits the writes of a nest: stores, and combinations with what a result holds already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from xdsl.ir import SSAValue

from wengert.dialects.kernel import STORE, Write
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.ir.tensor_types import type_of
from wengert.transforms.analysis.loops import MOST_PHASES
from wengert.transforms.codegen.cpu.long_code import begins_block
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.context import Context, of_parts, parts_of
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.codegen.llvm.vector_builder import real_value


class Writes:
    """Writes elements at the current point of the loops."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.all = nest.placed.writes
        self._early: set[int] = set()

    def emit(self, lanes: int, active: int) -> None:
        """Emits the writes of one iteration, of so many lanes of which the first ``active`` are, but for those that have been emitted early."""
        memory = Memory(self.nest.arithmetic(lanes), active)
        mixed = self._mixed(lanes, active)
        for group in mixed:
            self._write_neighbours(memory, [self.all[number] for number in group])
        done = self._early.union(*mixed)
        self._early.clear()
        for number, write in enumerate(self.all):
            if begins_block(number):
                self.nest.out.next_block()
            if number not in done:
                self._write(memory, write)

    def emit_early(self, lanes: int, active: int, values: Iterable[SSAValue]) -> None:
        """Emits the stores of values that have just been computed, where no load after them can read what they overwrite."""
        if self.nest.in_place:
            return
        memory, mixed = Memory(self.nest.arithmetic(lanes), active), {number for group in self._mixed(lanes, active) for number in group}
        for value in values:
            for number in self._plain.get(value, ()):
                if number not in mixed:
                    self._write(memory, self.all[number])
                    self._early.add(number)

    @cached_property
    def _plain(self) -> dict[SSAValue, list[int]]:
        """The numbers of the writes that store a value whatever is computed else, by the value; all of those to one result do, so that their order is free."""
        others = {w.target for w in self.all if w.kind != STORE or w.base is not None or w.condition is not None or self.nest.op.tied[w.target] >= 0}
        plain: dict[SSAValue, list[int]] = {}
        for number, write in enumerate(self.all):
            if write.target not in others:
                plain.setdefault(write.value, []).append(number)
        return plain

    def _mixed(self, lanes: int, active: int) -> list[list[int]]:
        """The writes that are emitted together."""
        return self._neighbours if 1 < lanes == active else []

    def _write(self, memory: Memory, write: Write) -> None:
        element, at = element_of(write.value.type), self.nest.placed.loops[write.at]
        if write.base is not None or write.condition is not None or (self.nest.op.tied[write.target] >= 0 and write.kind != STORE):
            self._write_computed(memory, write, element, at)
            return
        if write.kind != STORE and self.nest.inner >= 0 and self.nest.inner not in dimensions(at):
            return
        value = self.registers.get(write.value, memory.lanes)
        if memory.lanes > 1:
            self._write_lanes(memory, write, element, at, value)
            return
        address = self.addresses.address(f"%q{write.target}", element, at)
        if self._combines(write):
            value = rounded(memory.scalars, element, memory.scalars.combine(write.kind, memory.load(element, address), value, element))
        memory.store(element, value, address)

    def _combines(self, write: Write) -> bool:
        """Whether a write adds to what other iterations have written."""
        return write.kind != STORE and len(dimensions(self.nest.placed.loops[write.at])) < len(self.nest.extents)

    def _write_lanes(self, memory: Memory, write: Write, element: Element, at: Position, value: Value) -> None:
        where = self.addresses.lanes(f"%q{write.target}", element, at)
        combining = self._combines(write)
        if where.step in (1, -1):
            first = where.first if where.step == 1 else self.addresses.last(where, element, memory.active)
            if combining:
                old = memory.load_contiguous(element, first, where.step)
                value = rounded(memory.scalars, element, memory.scalars.combine(write.kind, old, value, element))
            memory.store_contiguous(element, value, first, where.step)
            return
        addresses = [where.address(lane) for lane in range(memory.active)]
        if combining:
            old = memory.load_lanes(element, addresses.__getitem__)
            value = rounded(memory.scalars, element, memory.scalars.combine(write.kind, old, value, element))
        memory.store_lanes(element, value, addresses.__getitem__)

    # -- several writes that fill rows together

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        """Groups of writes (by number) that fill neighbouring elements, in their order: whole rows of up to four elements, else two or four of a row."""
        op, inner, loops = self.nest.op, self.nest.inner, self.nest.placed.loops
        groups: dict[tuple[int, Position], dict[int, int]] = {}
        for number, write in enumerate(self.all):
            at, element = loops[write.at], element_of(write.value.type)
            plain = (write.kind == STORE or op.tied[write.target] < 0) and write.base is None and write.condition is None and at.is_affine()
            if plain and at.coefficient(inner) > 1 and element.kind != "c":
                groups.setdefault((write.target, at.shifted(-at.offset)), {})[at.offset] = number
        rows: list[list[int]] = []
        for (target, at), group in groups.items():
            step, offsets, element = at.coefficient(inner), sorted(group), element_of(type_of(op.outputs[target]).element_type)
            if len(group) == step == offsets[-1] - offsets[0] + 1 <= MOST_PHASES and op.tied[target] < 0:
                rows.append([group[offset] for offset in offsets])
            elif element.size in (4, 8) and not element.narrow and self.nest.lanes * element.size >= 16 and offsets[-1] - offsets[0] < step:
                rows += _runs(group)
        return rows

    def _write_neighbours(self, memory: Memory, group: list[Write]) -> None:
        element, at = element_of(group[0].value.type), self.nest.placed.loops[group[0].at]
        values = [real_value(self.registers.get(write.value, memory.lanes)) for write in group]
        if self._combines(group[0]):
            values = [self._with_old(memory, write, element, value) for write, value in zip(group, values, strict=True)]
        where = self.addresses.lanes(f"%q{group[0].target}", element, at)
        if at.coefficient(self.nest.inner) == len(group) and self.nest.op.tied[group[0].target] < 0:
            memory.store_interleaved(element, values, where.first)
        else:
            memory.store_rows(element, values, where.address)

    def _with_old(self, memory: Memory, write: Write, element: Element, value: str) -> str:
        """A value combined with the elements at its place, whose step is positive."""
        where = self.addresses.lanes(f"%q{write.target}", element, self.nest.placed.loops[write.at])
        assert where.step is not None
        old = memory.load_strided(element, where.first, where.step) or memory.load_lanes(element, where.address)
        return real_value(rounded(memory.scalars, element, memory.scalars.combine(write.kind, old, value, element)))

    # -- writes to computed positions

    def _write_computed(self, memory: Memory, write: Write, element: Element, at: Position) -> None:
        """A write to a computed position, or one that combines with what its result held before the nest."""
        value = self.registers.get(write.value, memory.lanes)
        depth, inner = self.nest.placed.depth, self.nest.inner
        varying = [scalar for scalar in (write.base, write.condition) if scalar is not None and depth[scalar] == inner]
        if memory.lanes > 1 and not varying:
            where = self.addresses.lanes(self.addresses.based(f"%q{write.target}", element, write.base), element, at)
            if where.step == 1:
                self._modify(memory, write, element, value, where.first)
                return
        single = Memory(self.nest.arithmetic(1), 1)
        for lane in range(memory.active):
            if memory.lanes == 1:
                self._modify(single, write, element, value, self.addresses.address(self.addresses.based(f"%q{write.target}", element, write.base), element, at))
                continue
            pointer = self._lane_pointer(memory, write, element, lane, varies=write.base in varying)
            address = self.addresses.address(pointer, element, at, self.nest.out.add(self.nest.index, lane))
            part = of_parts([memory.extract(element.register, p, lane) for p in parts_of(value)])
            self._modify(single, write, element, part, address, (memory, lane))

    def _lane_pointer(self, memory: Memory, write: Write, element: Element, lane: int, *, varies: bool) -> str:
        """The pointer of a write moved by its computed position in one lane."""
        pointer = f"%q{write.target}"
        if not varies:
            return self.addresses.based(pointer, element, write.base)
        assert write.base is not None
        offsets = self.registers.get(write.base, memory.lanes)
        assert isinstance(offsets, str)
        kind = element_of(write.base.type).register
        return self.addresses.computed(pointer, element, kind, memory.extract(kind, offsets, lane))

    def _modify(self, memory: Memory, write: Write, element: Element, value: Value, address: str, lane: tuple[Memory, int] | None = None) -> None:
        """Reads, combines and writes elements from an address on; leaves them as they are where the condition fails."""
        scalars = memory.scalars
        if write.kind == STORE and write.condition is None:
            _put(memory, element, value, address)
            return
        old = memory.load(element, address) if memory.lanes == 1 else memory.load_contiguous(element, address, 1)
        new = value if write.kind == STORE else rounded(scalars, element, scalars.combine(write.kind, old, value, element))
        if write.condition is not None:
            bit = self._condition(write, scalars.lanes, lane)
            new = of_parts([scalars.select(bit, element.register, x, y) for x, y in zip(parts_of(new), parts_of(old), strict=True)])
        _put(memory, element, new, address)

    def _condition(self, write: Write, lanes: int, lane: tuple[Memory, int] | None) -> str:
        """The condition under which an element is written, in so many lanes, or in one of them."""
        assert write.condition is not None
        if lane is not None and self.nest.placed.depth[write.condition] == self.nest.inner:
            mask = self.registers.get(write.condition, lane[0].lanes)
            assert isinstance(mask, str)
            return lane[0].extract("i1", mask, lane[1])
        single = self.registers.get(write.condition, 1)
        assert isinstance(single, str)
        return single if lanes == 1 else self.nest.out.splat("i1", single, lanes)


def _put(memory: Memory, element: Element, value: Value, address: str) -> None:
    if memory.lanes == 1:
        memory.store(element, value, address)
    else:
        memory.store_contiguous(element, value, address, 1)


def _runs(group: Mapping[int, int]) -> list[list[int]]:
    """Groups of four or two numbers whose offsets are neighbours."""
    runs: list[list[int]] = []
    left = sorted(group)
    while left:
        count = next(n for n in (4, 2, 1) if left[n - 1 : n] == [left[0] + n - 1])
        if count > 1:
            runs.append([group[offset] for offset in left[:count]])
        left = left[count:]
    return runs


def rounded(scalars: Scalars, element: Element, value: Value) -> Value:
    """A value rounded to its 16-bit type, if it has one."""
    return scalars.narrowed(value, element.narrow) if element.narrow and isinstance(value, str) else value

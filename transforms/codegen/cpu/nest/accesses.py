"""The loads and writes of a nest: contiguous, strided, guarded, or to computed positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf

from msgspec.structs import replace
from xdsl.ir import SSAValue

from wengert.dialects.kernel import STORE, Guard, LoadOp, Write
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.ir.tensor_types import type_of
from wengert.transforms.codegen.cpu.nest.guards import NestGuards, lane_mask
from wengert.transforms.codegen.cpu.nest.state import Lanes, Load, parts_of, unit
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element, element_of, literal, splat, vector
from wengert.transforms.codegen.llvm.vector_builder import one
from wengert.transforms.fuse.views import result
from wengert.transforms.kernel.loops import MOST_PHASES
from wengert.transforms.schedule.placement import deepest

NEAR = 2
"""A masked load may begin so many registers before the array, or behind it; only few of them do."""


class NestAccesses(NestGuards):
    """Reads and writes elements at the current point of the loops."""

    # -- addresses before the innermost loop

    def _prepare_inner(self, level: int) -> None:
        """Computes the addresses that the innermost loop starts from, at the level that they depend on."""
        for op in self.levels[-1]:
            if (load := self.loads.get(op)) is not None and load.base is None and op not in self.tiles:
                self._prepare(load.pointer, load.held, load.at, level)
                if load.guards and max(deepest(self._outer(load.at)), self._guard_depth(self._outer_guards(load.guards))) == level:
                    self._inside_base(load.pointer, load.held, load.at, load.guards)
        for write in self.writes:
            at = self.loops[write.at]
            if write.base is None and (write.kind == STORE or at.coefficient(self.inner)):
                self._prepare(f"%q{write.target}", element_of(write.value.type), at, level)

    def _prepare(self, pointer: str, held: Element, at: Position, level: int) -> None:
        outer = self._outer(at)
        if deepest(outer) == level:
            self._inner_base(pointer, held, at)

    def _outer_guards(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        """The guards that all trips of the innermost loop share."""
        return tuple([guard for guard in guards if self.inner not in dimensions(self.loops[guard[0]])])

    def _inside_base(self, pointer: str, held: Element, at: Position, guards: tuple[Guard, ...]) -> str:
        """The address that the innermost loop starts from, or the array's own where an outer guard fails.

        What is masked is not read, but an address without memory behind it costs a processor some hundred cycles all the same.
        """
        base, shared = self._inner_base(pointer, held, at), self._outer_guards(guards)
        if not shared:
            return base
        key = ("inside", pointer, self._outer(at), shared)
        found = self._lookup(key)
        if found is None:
            found = self.scopes[-1][key] = self._add(f"select i1 {self._within(shared, 1)}, ptr {base}, ptr {pointer}")
        return found  # pyright: ignore[reportReturnType]

    def _prepare_based(self, value: SSAValue) -> None:
        """Moves the pointers of the innermost loop that a computed position shifts, as soon as it is known."""
        last = self.op.body.block.last_op
        for use in value.uses:
            user = use.operation
            if (load := self.loads.get(user)) is not None and load.base is value and self.depth[result(user)] == self.inner:
                self._based(load.pointer, load.held, value)
            elif user is last and use.index >= len(self.writes):
                for write in self.writes:
                    if write.base is value:
                        self._based(f"%q{write.target}", element_of(write.value.type), value)

    def _based(self, pointer: str, held: Element, base: SSAValue | None) -> str:
        """The pointer moved by a computed position that does not depend on the innermost loop."""
        if base is None:
            return pointer
        key = ("based", pointer, base)
        found = self._lookup(key)
        if found is None:
            offset = self._get(base, 1)
            assert isinstance(offset, str)
            found = self.scopes[-1][key] = self._add(f"getelementptr {unit(held)}, ptr {pointer}, {base.type} {offset}")
        return found  # pyright: ignore[reportReturnType]

    # -- reading and writing

    def _lane_address(self, pointer: str, held: Element, at: Position) -> Lanes:
        """How the lanes of an access lie: a first address and the step from lane to lane, if there is one."""
        index = self.at_index
        if any(not isinstance(atom, int) and self.inner in dimensions(atom.expression) for atom, _ in at.terms):
            return Lanes("", None, self._divided_address(pointer, held, at))
        step = at.coefficient(self.inner)
        base = self._inner_base(pointer, held, at)
        offset = self._times(index, step)
        first = base if offset == 0 else self._add(f"getelementptr {unit(held)}, ptr {base}, i64 {offset}")
        return Lanes(first, step, lambda lane: first if lane * step == 0 else self._add(f"getelementptr {unit(held)}, ptr {first}, i64 {lane * step}"))

    def _divided_address(self, pointer: str, held: Element, at: Position) -> Callable[[int], str]:
        """The addresses of lanes whose positions are quotients or remainders."""
        index = self.at_index
        if isinstance(index, int):
            return lambda lane: self._address(pointer, held, at, index + lane)
        numbers, number = self._lane_numbers(at)
        memory = Memory(Scalars(self.out, self.lanes, False), self.lanes)
        kind = number.register
        return lambda lane: self._add(f"getelementptr {unit(held)}, ptr {pointer}, {kind} {memory.extract(kind, numbers, lane)}")

    def _load(self, op: LoadOp, lanes: int, active: int) -> Value:
        load = self.loads[op]
        unknown = self._unknown(load.guards)
        if unknown is None:
            zero = splat(load.held.register, literal(0, load.held), lanes)
            return (zero, zero) if load.held.kind == "c" else zero
        load = replace(load, guards=unknown)
        pointer, held, at, guards, base = load.pointer, load.held, load.at, load.guards, load.base
        if lanes == 1:
            return self._load_scalar(self._based(pointer, held, base), held, at, guards, pointer)
        memory = Memory(Scalars(self.out, lanes, False), active)
        if op in self.tiles:
            row = self._add(f"getelementptr {vector(held.memory, lanes)}, ptr {self.tiles[op]}, i64 {self.tile_row}")
            return memory.load_contiguous(held, row, 1)
        if base is not None and self.depth[base] == self.inner:
            return self._load_scattered(memory, pointer, held, at, guards, base)
        pointer = self._based(pointer, held, base)
        if guards:
            return self._load_guarded(memory, load, pointer)
        where = self._lane_address(pointer, held, at)
        if where.step == 1:
            return memory.load_contiguous(held, where.first, 1)
        if where.step == -1:
            return memory.load_contiguous(held, self._last_address(where, held, active), -1)
        if where.step is not None:
            lowest = where.first if where.step > 0 else self._last_address(where, held, active)
            if (found := memory.load_strided(held, lowest, where.step)) is not None:
                return found
        return memory.load_lanes(held, where.address)

    def _last_address(self, where: Lanes, held: Element, active: int) -> str:
        assert where.step is not None
        return self._add(f"getelementptr {unit(held)}, ptr {where.first}, i64 {where.step * (active - 1)}") if active > 1 else where.first

    def _load_scattered(self, memory: Memory, pointer: str, held: Element, at: Position, guards: tuple[Guard, ...], base: SSAValue) -> Value:
        """A load whose computed position is another one in every lane."""
        offsets = self._get(base, memory.lanes)
        assert isinstance(offsets, str)
        where = self._lane_address(pointer, held, at)
        inner = self._guard_depth(guards) == self.inner
        mask = self._within(guards, memory.lanes if inner else 1) if guards else ""

        def address(lane: int) -> str:
            offset = memory.extract(str(base.type), offsets, lane)
            found = self._add(f"getelementptr {unit(held)}, ptr {where.address(lane)}, {base.type} {offset}")
            if not guards:
                return found
            bit = memory.extract("i1", mask, lane) if inner else mask
            return self._add(f"select i1 {bit}, ptr {found}, ptr {pointer}")

        return memory.load_lanes(held, address)

    def _load_scalar(self, pointer: str, held: Element, at: Position, guards: tuple[Guard, ...], safe: str) -> Value:
        memory = Memory(Scalars(self.out, 1, False), 1)
        address = self._address(pointer, held, at)
        if guards:
            inside = self._within(guards, 1)
            address = self._add(f"select i1 {inside}, ptr {address}, ptr {safe}")
        return memory.load(held, address)

    def _load_guarded(self, memory: Memory, load: Load, pointer: str) -> Value:
        lanes, held, at, guards = self.lanes, load.held, load.at, load.guards
        inner = self._guard_depth(guards) == self.inner
        if inner and (inside := self._lanes_inside(guards)) is not None:
            return self._load_chosen(memory, load, pointer, inside)
        mask = self._within(guards, lanes if inner else 1)
        if self._is_straight(at) and at.coefficient(self.inner) == 1 and held.size in (4, 8) and held.kind != "c" and not held.narrow:
            wide = mask if inner else self._splat("i1", mask, lanes)
            if memory.active < lanes:
                wide = memory.scalars.binary("and", "i1", wide, memory.active_mask())
            return memory.load_contiguous(held, self._inside_address(memory, load, pointer, wide), 1, wide)
        where = self._lane_address(pointer, held, at)
        if where.step == 0:
            return self._load_for_all(memory, load, pointer, where.first, mask if inner else self._splat("i1", mask, lanes))

        def address(lane: int) -> str:
            bit = memory.extract("i1", mask, lane) if inner else mask
            return self._add(f"select i1 {bit}, ptr {where.address(lane)}, ptr {pointer}")

        return memory.load_lanes(held, address)

    def _load_chosen(self, memory: Memory, load: Load, pointer: str, inside: list[bool]) -> Value:
        """The lanes that are known to be inside."""
        where = self._lane_address(pointer, load.held, load.at)
        chosen = [lane for lane in range(memory.active) if inside[lane]]
        if where.step == 1 and load.held.size in (4, 8) and load.held.kind != "c" and not load.held.narrow and len(chosen) > 1:
            return memory.load_contiguous(load.held, where.first, 1, lane_mask([lane in chosen for lane in range(self.lanes)]))
        return memory.load_lanes(load.held, where.address, chosen)

    def _load_for_all(self, memory: Memory, load: Load, pointer: str, address: str, mask: str) -> Value:
        """One element in all lanes, where the guards of any lane let it be read; the first of the array is there always."""
        if load.at.terms or load.at.offset:
            some = self._add(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({memory.scalars.type('i1')} {mask})")
            address = self._add(f"select i1 {some}, ptr {address}, ptr {pointer}")
        found = memory.load(load.held, address if load.at.terms or load.at.offset else pointer)
        if isinstance(found, tuple):
            return self._splat(load.held.register, found[0], self.lanes), self._splat(load.held.register, found[1], self.lanes)
        return self._splat(load.held.register, found, self.lanes)

    def _inside_address(self, memory: Memory, load: Load, pointer: str, mask: str) -> str:
        """Where the lanes of a masked load begin: close to the array, whatever the guards say."""
        base = self._inside_base(pointer, load.held, load.at, load.guards)
        first = base if self.at_index == 0 else self._add(f"getelementptr {unit(load.held)}, ptr {base}, i64 {self.at_index}")
        if self._excess(load.guards) <= NEAR * self.lanes:
            return first
        kind = memory.scalars.type("i1")
        some = self._add(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({kind} {mask})")
        return self._add(f"select i1 {some}, ptr {first}, ptr {pointer}")

    def _excess(self, guards: tuple[Guard, ...]) -> float:
        """How many trips the innermost loop is ever away from those that its guards let through, before them or after them."""
        last = self.extents[self.inner] - 1
        first_inside, last_inside = 0, last
        for expression, low, high in guards:
            at = self.loops[expression]
            if self.inner not in dimensions(at):
                continue
            if at.terms != ((self.inner, 1),):
                return inf
            first_inside, last_inside = max(first_inside, low - at.offset), min(last_inside, high - 1 - at.offset)
        return max(first_inside, last - last_inside)

    def _write_all(self, scalars: Scalars, active: int) -> None:
        """The writes of one trip: stores, and combinations with what a result holds already."""
        memory = Memory(scalars, active)
        mixed = self._neighbours if 1 < scalars.lanes == active else []
        for group in mixed:
            self._write_neighbours(memory, [self.writes[number] for number in group])
        done = {number for group in mixed for number in group}
        for write in [write for number, write in enumerate(self.writes) if number not in done] if done else self.writes:
            held = element_of(write.value.type)
            at = self.loops[write.at]
            if write.base is not None or write.condition is not None or (self.op.tied[write.target] >= 0 and write.kind != STORE):
                self._write_computed(memory, write, held, at)
                continue
            combining = self._combines(write)
            if write.kind != STORE and self.inner >= 0 and self.inner not in dimensions(at):
                continue
            value = self._get(write.value, scalars.lanes)
            pointer = f"%q{write.target}"
            if scalars.lanes == 1:
                address = self._address(pointer, held, at)
                if combining:
                    value = rounded(scalars, held, scalars.combine(write.kind, memory.load(held, address), value, held))
                memory.store(held, value, address)
            else:
                self._write_lanes(memory, write, held, at, value, combining)

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        """The numbers of writes that together fill neighbouring elements, in their order: whole rows of up to four, else two or four of a row."""
        groups: dict[tuple[int, Position], dict[int, int]] = {}
        for number, write in enumerate(self.writes):
            at, held = self.loops[write.at], element_of(write.value.type)
            plain = (write.kind == STORE or self.op.tied[write.target] < 0) and write.base is None and write.condition is None and at.is_affine()
            if plain and at.coefficient(self.inner) > 1 and held.kind != "c":
                groups.setdefault((write.target, at.shifted(-at.offset)), {})[at.offset] = number
        found: list[list[int]] = []
        for (target, at), group in groups.items():
            step, offsets, held = at.coefficient(self.inner), sorted(group), element_of(type_of(self.op.outputs[target]).element_type)
            if len(group) == step == offsets[-1] - offsets[0] + 1 <= MOST_PHASES and self.op.tied[target] < 0:
                found.append([group[offset] for offset in offsets])
            elif held.size in (4, 8) and not held.narrow and self.lanes * held.size >= 16 and offsets[-1] - offsets[0] < step:
                found += _runs(group)
        return found

    def _write_neighbours(self, memory: Memory, group: list[Write]) -> None:
        held, at = element_of(group[0].value.type), self.loops[group[0].at]
        values = [one(self._get(write.value, memory.lanes)) for write in group]
        if self._combines(group[0]):
            values = [self._with_old(memory, write, held, value) for write, value in zip(group, values, strict=True)]
        where = self._lane_address(f"%q{group[0].target}", held, at)
        if at.coefficient(self.inner) == len(group) and self.op.tied[group[0].target] < 0:
            memory.store_interleaved(held, values, where.first)
        else:
            memory.store_rows(held, values, where.address)

    def _combines(self, write: Write) -> bool:
        """Whether a write adds to what other trips have written."""
        return write.kind != STORE and len(dimensions(self.loops[write.at])) < len(self.extents)

    def _with_old(self, memory: Memory, write: Write, held: Element, value: str) -> str:
        """A value combined with the elements that it will be written on, whose step is positive."""
        where = self._lane_address(f"%q{write.target}", held, self.loops[write.at])
        assert where.step is not None
        old = memory.load_strided(held, where.first, where.step) or memory.load_lanes(held, where.address)
        return one(rounded(memory.scalars, held, memory.scalars.combine(write.kind, old, value, held)))

    def _write_computed(self, memory: Memory, write: Write, held: Element, at: Position) -> None:
        """A write to a computed position, or one that combines with what its result held before the nest."""
        value = self._get(write.value, memory.lanes)
        varying = [scalar for scalar in (write.base, write.condition) if scalar is not None and self.depth[scalar] == self.inner]
        if memory.lanes > 1 and not varying:
            where = self._lane_address(self._based(f"%q{write.target}", held, write.base), held, at)
            if where.step == 1:
                self._modify(memory, write, held, value, where.first)
                return
        one = Memory(Scalars(self.out, 1, not self.strict), 1)
        for lane in range(memory.active):
            pointer = f"%q{write.target}"
            if memory.lanes == 1:
                self._modify(one, write, held, value, self._address(self._based(pointer, held, write.base), held, at))
                continue
            if write.base in varying:
                assert write.base is not None
                offsets = self._get(write.base, memory.lanes)
                assert isinstance(offsets, str)
                pointer = self._add(f"getelementptr {unit(held)}, ptr {pointer}, {write.base.type} {memory.extract(str(write.base.type), offsets, lane)}")
            else:
                pointer = self._based(pointer, held, write.base)
            address = self._address(pointer, held, at, self._plus(self.at_index, lane))
            part = tuple([memory.extract(held.register, p, lane) for p in parts_of(value)])
            self._modify(one, write, held, (part[0], part[1]) if len(part) == 2 else part[0], address, (memory, lane))

    def _modify(self, memory: Memory, write: Write, held: Element, value: Value, address: str, lane: tuple[Memory, int] | None = None) -> None:
        """Reads, combines and writes elements from an address on; leaves them as they are where the condition fails."""
        scalars = memory.scalars
        if write.kind == STORE and write.condition is None:
            self._put(memory, held, value, address)
            return
        old = memory.load(held, address) if memory.lanes == 1 else memory.load_contiguous(held, address, 1)
        found = value if write.kind == STORE else rounded(scalars, held, scalars.combine(write.kind, old, value, held))
        if write.condition is not None:
            if lane is not None and self.depth[write.condition] == self.inner:
                mask = self._get(write.condition, lane[0].lanes)
                assert isinstance(mask, str)
                bit = lane[0].extract("i1", mask, lane[1])
            else:
                single = self._get(write.condition, 1)
                assert isinstance(single, str)
                bit = single if scalars.lanes == 1 else self._splat("i1", single, scalars.lanes)
            kept = [scalars.select(bit, held.register, x, y) for x, y in zip(parts_of(found), parts_of(old), strict=True)]
            found = (kept[0], kept[1]) if len(kept) == 2 else kept[0]
        self._put(memory, held, found, address)

    def _put(self, memory: Memory, held: Element, value: Value, address: str) -> None:
        if memory.lanes == 1:
            memory.store(held, value, address)
        else:
            memory.store_contiguous(held, value, address, 1)

    def _write_lanes(self, memory: Memory, write: Write, held: Element, at: Position, value: Value, combining: bool) -> None:
        where = self._lane_address(f"%q{write.target}", held, at)
        if where.step in (1, -1):
            first = where.first if where.step == 1 else self._last_address(where, held, memory.active)
            if combining:
                old = memory.load_contiguous(held, first, where.step)
                value = rounded(memory.scalars, held, memory.scalars.combine(write.kind, old, value, held))
            memory.store_contiguous(held, value, first, where.step)
            return
        addresses = [where.address(lane) for lane in range(memory.active)]
        if combining:
            old = memory.load_lanes(held, addresses.__getitem__)
            value = rounded(memory.scalars, held, memory.scalars.combine(write.kind, old, value, held))
        memory.store_lanes(held, value, addresses.__getitem__)


def _runs(group: Mapping[int, int]) -> list[list[int]]:
    """The numbers at neighbouring offsets, four or two at a time."""
    found: list[list[int]] = []
    left = sorted(group)
    while left:
        count = next(n for n in (4, 2, 1) if left[n - 1 : n] == [left[0] + n - 1])
        if count > 1:
            found.append([group[offset] for offset in left[:count]])
        left = left[count:]
    return found


def rounded(scalars: Scalars, held: Element, value: Value) -> Value:
    """A value rounded to its 16-bit type, if it has one."""
    return scalars.narrowed(value, held.narrow) if held.narrow and isinstance(value, str) else value

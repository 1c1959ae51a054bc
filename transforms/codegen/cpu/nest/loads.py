"""Emits the loads of a nest: contiguous, strided, guarded, or at computed positions."""

from __future__ import annotations

from math import inf

from msgspec.structs import replace
from xdsl.ir import SSAValue

from wengert.dialects.kernel import Guard, LoadOp
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.context import Context, Load, of_parts, parts_of
from wengert.transforms.codegen.cpu.nest.guards import Guards, lane_mask
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.memory import Memory, is_maskable
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import element_of, literal, splat

NEAR = 2
"""A masked load may begin so many registers before the array, or behind it; only few of them do."""


class Loads:
    """Reads elements at the current point of the loops."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses, guards: Guards):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.guards = guards

    def emit(self, op: LoadOp, lanes: int, active: int) -> Value:
        """The elements of a load, in registers of so many lanes."""
        load = self.nest.loads[op]
        unknown = self.guards.unknown(load.guards)
        if unknown is None:
            zero = splat(load.element.register, literal(0, load.element), lanes)
            return (zero, zero) if load.element.kind == "c" else zero
        load = replace(load, guards=unknown)
        element, base = load.element, load.base
        if lanes == 1:
            return self._scalar(self.addresses.based(load.pointer, element, base), load)
        memory = Memory(self.nest.exact(lanes), active)
        if base is not None and self.nest.placed.depth[base] == self.nest.inner:
            return self._scattered(memory, load, base)
        pointer = self.addresses.based(load.pointer, element, base)
        if load.guards:
            return self._guarded(memory, load, pointer)
        return self._plain(memory, load, pointer)

    def _plain(self, memory: Memory, load: Load, pointer: str) -> Value:
        element, where = load.element, self.addresses.lanes(pointer, load.element, load.at)
        if where.step == 1:
            return memory.load_contiguous(element, where.first, 1)
        if where.step == -1:
            return memory.load_contiguous(element, self.addresses.last(where, element, memory.active), -1)
        if where.step is not None:
            lowest = where.first if where.step > 0 else self.addresses.last(where, element, memory.active)
            if (blended := memory.load_strided(element, lowest, where.step)) is not None:
                return blended
        return memory.load_lanes(element, where.address)

    def _scalar(self, pointer: str, load: Load) -> Value:
        memory = Memory(self.nest.exact(1), 1)
        address = self.addresses.address(pointer, load.element, load.at)
        if load.guards:
            inside = self.guards.all_hold(load.guards, 1)
            address = self.nest.out.select(inside, "ptr", address, load.pointer)
        return memory.load(load.element, address)

    def _scattered(self, memory: Memory, load: Load, base: SSAValue) -> Value:
        """A load whose computed position is another one in every lane."""
        offsets = self.registers.get(base, memory.lanes)
        assert isinstance(offsets, str)
        where = self.addresses.lanes(load.pointer, load.element, load.at)
        inner, kind = self._varies(load.guards), element_of(base.type).register
        mask = self.guards.all_hold(load.guards, memory.lanes if inner else 1) if load.guards else ""

        def address(lane: int) -> str:
            offset = memory.extract(kind, offsets, lane)
            lane_address = self.addresses.computed(where.address(lane), load.element, kind, offset)
            if not load.guards:
                return lane_address
            bit = memory.extract("i1", mask, lane) if inner else mask
            return self.nest.out.select(bit, "ptr", lane_address, load.pointer)

        return memory.load_lanes(load.element, address)

    def _varies(self, guards: tuple[Guard, ...]) -> bool:
        """Whether guards depend on the innermost loop."""
        return self.nest.placed.guard_depth(guards) == self.nest.inner

    # -- guarded loads in lanes

    def _guarded(self, memory: Memory, load: Load, pointer: str) -> Value:
        lanes, element, at = self.nest.lanes, load.element, load.at
        inner = self._varies(load.guards)
        if inner and (inside := self.guards.lanes_inside(load.guards)) is not None:
            return self._known_lanes(memory, load, pointer, inside)
        mask = self.guards.all_hold(load.guards, lanes if inner else 1)
        if self.nest.placed.is_straight(at) and at.coefficient(self.nest.inner) == 1 and is_maskable(element):
            wide = mask if inner else self.nest.out.splat("i1", mask, lanes)
            if memory.active < lanes:
                wide = memory.scalars.binary("and", "i1", wide, memory.active_mask())
            return memory.load_contiguous(element, self._near_address(memory, load, pointer, wide), 1, wide)
        where = self.addresses.lanes(pointer, element, at)
        if where.step == 0:
            return self._same_in_all_lanes(memory, load, pointer, where.first, mask if inner else self.nest.out.splat("i1", mask, lanes))

        def address(lane: int) -> str:
            bit = memory.extract("i1", mask, lane) if inner else mask
            return self.nest.out.select(bit, "ptr", where.address(lane), pointer)

        return memory.load_lanes(element, address)

    def _known_lanes(self, memory: Memory, load: Load, pointer: str, inside: list[bool]) -> Value:
        """A load whose guards are known, by lane: only the lanes where they hold are read."""
        where = self.addresses.lanes(pointer, load.element, load.at)
        chosen = [lane for lane in range(memory.active) if inside[lane]]
        if where.step == 1 and is_maskable(load.element) and len(chosen) > 1:
            return memory.load_contiguous(load.element, where.first, 1, lane_mask([lane in chosen for lane in range(self.nest.lanes)]))
        if where.step is not None and len(chosen) > 1:
            lowest = where.address(chosen[0] if where.step > 0 else chosen[-1])
            if (blended := memory.load_strided(load.element, lowest, where.step, chosen)) is not None:
                return blended
        return memory.load_lanes(load.element, where.address, chosen)

    def _same_in_all_lanes(self, memory: Memory, load: Load, pointer: str, address: str, mask: str) -> Value:
        """One element in all lanes, read if the guards of any lane hold; the first element of the array can always be read."""
        fixed = not load.at.terms and not load.at.offset
        if not fixed:
            address = self.nest.out.select(memory.scalars.any(mask), "ptr", address, pointer)
        one = memory.load(load.element, pointer if fixed else address)
        return of_parts([self.nest.out.splat(load.element.register, part, self.nest.lanes) for part in parts_of(one)])

    def _near_address(self, memory: Memory, load: Load, pointer: str, mask: str) -> str:
        """The address at which the lanes of a masked load begin: close to the array, whether the guards hold or not."""
        base, index = self.base_inside(load, pointer), self.nest.index
        first = self.nest.out.address(base, load.element, index)
        if self._excess(load.guards) <= NEAR * self.nest.lanes:
            return first
        return self.nest.out.select(memory.scalars.any(mask), "ptr", first, pointer)

    def base_inside(self, load: Load, pointer: str) -> str:
        """The address that the innermost loop starts from, or the array's own where an outer guard fails.

        Masked lanes are not read, but at an address that is not mapped they still cost a processor some hundred cycles.
        """
        base, shared = self.addresses.inner_base(pointer, load.element, load.at), self.guards.shared(load.guards)
        if not shared:
            return base
        key = ("inside", pointer, self.addresses.outer(load.at), shared)
        return self.registers.once(key, lambda: self.nest.out.select(self.guards.all_hold(shared, 1), "ptr", base, pointer))

    def _excess(self, guards: tuple[Guard, ...]) -> float:
        """The largest distance of an iteration of the innermost loop from those in which its guards hold."""
        inner, loops = self.nest.inner, self.nest.placed.loops
        last = self.nest.extents[inner] - 1
        first_inside, last_inside = 0, last
        for expression, low, high in guards:
            at: Position = loops[expression]
            if inner not in dimensions(at):
                continue
            if at.terms != ((inner, 1),):
                return inf
            first_inside, last_inside = max(first_inside, low - at.offset), min(last_inside, high - 1 - at.offset)
        return max(first_inside, last - last_inside)

"""Emits reductions: totals in registers over the innermost loop, on the stack across several loops, and their writes."""

from __future__ import annotations

from wengert.dialects.kernel.positions import dimensions
from wengert.ir.tensor_types import size
from wengert.transforms.codegen.cpu.nest.addresses import Addresses, unit
from wengert.transforms.codegen.cpu.nest.context import Context, of_parts, parts_of
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.cpu.nest.writes import rounded
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value, neutral
from wengert.transforms.codegen.llvm.types import Element, element_of, float_literal, splat, vector
from wengert.transforms.schedule.placement import Reduction


class Reductions:
    """Keeps the totals of the writes that combine, and writes them to results."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses
        self.all = nest.placed.reductions
        self.in_registers = [r for r in self.all if r.in_registers]
        self.slots: dict[Reduction, str] = {}

    # -- totals in registers

    def neutral(self, reduction: Reduction, lanes: int) -> Value:
        """The value with which a total begins."""
        element = element_of(reduction.write.value.type)
        text = splat(element.register, neutral(reduction.write.kind, element), lanes)
        return (text, splat(element.register, float_literal(0.0, element.register), lanes)) if element.kind == "c" else text

    def start(self) -> list[Value]:
        """The totals before the innermost loop."""
        return [self._load_slot(r) if r in self.slots else self.neutral(r, self.nest.lanes) for r in self.in_registers]

    def finish(self, totals: list[Value]) -> None:
        """Stores the totals after the innermost loop: on the stack, or in the results."""
        for reduction, total in zip(self.in_registers, totals, strict=True):
            if reduction in self.slots:
                self._store_slot(reduction, total)
            else:
                self._write(reduction, total)

    def combined(self, totals: list[Value], active: int) -> list[Value]:
        """The totals after an iteration of so many active lanes."""
        scalars = self.nest.arithmetic(self.nest.lanes)
        after: list[Value] = []
        for reduction, total in zip(self.in_registers, totals, strict=True):
            value = self.registers.get(reduction.write.value, self.nest.lanes)
            if active < self.nest.lanes:
                value = self._masked(scalars, reduction, value, active)
            after.append(scalars.combine(reduction.write.kind, total, value, element_of(reduction.write.value.type)))
        return after

    def _masked(self, scalars: Scalars, reduction: Reduction, value: Value, active: int) -> Value:
        """The value with the neutral element in the lanes that are not active.

        For sums that is -0.0 here, which changes no total. LLVM (22) takes a lane of 0 / 0 for a lane of zeros, and so leaves
        a choice of 0.0 for it out, though it is NaN; what an idle lane loads is 0.
        """
        mask, element = Memory(scalars, active).active_mask(), element_of(reduction.write.value.type)
        least = neutral(reduction.write.kind, element)
        fill = splat(element.register, float_literal(-0.0, element.register) if least == float_literal(0.0, element.register) else least, self.nest.lanes)
        return of_parts([scalars.select(mask, element.register, part, fill) for part in parts_of(value)])

    def merged(self, sets: list[list[Value]]) -> list[Value]:
        """The totals of several accumulators as those of one."""
        scalars = self.nest.arithmetic(self.nest.lanes)
        while len(sets) > 1:
            first, second = sets.pop(0), sets.pop(0)
            sets.append([scalars.combine(r.write.kind, x, y, element_of(r.write.value.type)) for r, x, y in zip(self.in_registers, first, second, strict=True)])
        return sets[0]

    def halved(self, totals: list[Value]) -> list[Value]:
        """Totals in pairs of registers combined into one register."""
        lanes = self.nest.lanes
        half = lanes // 2
        scalars = self.nest.arithmetic(half)

        def part(element: Element, value: Value, first: int) -> Value:
            return of_parts([self.nest.out.shuffle(element.register, lanes, x, "poison", range(first, first + half)) for x in parts_of(value)])

        after: list[Value] = []
        for reduction, total in zip(self.in_registers, totals, strict=True):
            element = element_of(reduction.write.value.type)
            after.append(scalars.combine(reduction.write.kind, part(element, total, 0), part(element, total, half), element))
        return after

    # -- totals on the stack, which live across several loops

    def open_slot(self, reduction: Reduction) -> None:
        """Makes a slot on the stack for a total, and stores the neutral element in it."""
        element = element_of(reduction.write.value.type)
        kind = vector(element.register, self.nest.lanes)
        if reduction not in self.slots:
            self.slots[reduction] = self.nest.out.alloca(f"[{2 if element.kind == 'c' else 1} x {kind}]", 64)
        self._store_slot(reduction, self.neutral(reduction, self.nest.lanes))

    def close_slot(self, reduction: Reduction) -> None:
        """Writes the total of a slot to the result."""
        self._write(reduction, self._load_slot(reduction))

    def _slot_parts(self, reduction: Reduction, kind: str) -> list[str]:
        slot = self.slots[reduction]
        if element_of(reduction.write.value.type).kind != "c":
            return [slot]
        return [slot, self.nest.out.offset(slot, kind, 1)]

    def _store_slot(self, reduction: Reduction, value: Value) -> None:
        kind = vector(element_of(reduction.write.value.type).register, self.nest.lanes)
        for place, part in zip(self._slot_parts(reduction, kind), parts_of(value), strict=True):
            self.nest.out.store(kind, part, place)

    def _load_slot(self, reduction: Reduction) -> Value:
        kind = vector(element_of(reduction.write.value.type).register, self.nest.lanes)
        return of_parts([self.nest.out.load(kind, place) for place in self._slot_parts(reduction, kind)])

    # -- results

    def _write(self, reduction: Reduction, value: Value) -> None:
        """Folds the lanes and writes the total, combining it with what is there if outer loops are reduced too."""
        element, kind = element_of(reduction.write.value.type), reduction.write.kind
        wide = self.nest.arithmetic(self.nest.lanes)
        part = Element("f", element.memory, element.register, element.part_size) if element.kind == "c" else element
        total = of_parts([wide.horizontal(kind, register, part) for register in parts_of(value)])
        single = self.nest.arithmetic(1)
        memory = Memory(single, 1)
        address = self.addresses.address(f"%q{reduction.write.target}", element, reduction.at)
        if reduction.in_memory:
            total = single.combine(kind, memory.load(element, address), total, element)
        memory.store(element, rounded(single, element, total), address)

    def fill_results(self, iteration: str = "") -> None:
        """Fills the results that accumulate in memory with neutral elements (all results if the loops have no iterations).

        Within an iteration of the outermost loop only the block of elements that it combines is filled.
        """
        extents = self.nest.extents
        for reduction in {reduction.write.target: reduction for reduction in self.all}.values():
            count = size(self.nest.op.outputs[reduction.write.target])
            reduces = len(dimensions(reduction.at)) < len(extents)
            accumulates = reduction.in_memory or (not reduction.in_registers and reduces)
            if count and (0 in extents or accumulates):
                pointer = f"%q{reduction.write.target}"
                if iteration:
                    count //= extents[0]
                    element = element_of(reduction.write.value.type)
                    pointer = self.nest.out.offset(pointer, f"[{count} x {unit(element)}]", iteration)
                self._fill(pointer, reduction, count)

    def _fill(self, pointer: str, reduction: Reduction, count: int) -> None:
        element = element_of(reduction.write.value.type)
        lanes = max(self.nest.target.vector_bytes // max(element.size, 1), 1)
        iterations, rest = divmod(count, lanes)
        scalars, value = self.nest.exact(lanes), self.neutral(reduction, lanes)
        if iterations:
            with self.nest.out.rotated_loop(iterations * lanes, step=lanes) as loop:
                address = self.nest.out.address(pointer, element, loop.index)
                Memory(scalars, lanes).store_contiguous(element, value, address, 1)
        if rest:
            address = self.nest.out.address(pointer, element, iterations * lanes)
            Memory(scalars, rest).store_contiguous(element, value, address, 1)

"""The loops of a nest, the totals of its reductions, and where they go."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from wengert.dialects.kernel.positions import dimensions
from wengert.ir.tensor_types import size
from wengert.transforms.codegen.cpu.nest.accesses import NestAccesses, rounded
from wengert.transforms.codegen.cpu.nest.state import Reduction, parts_of, unit
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value, neutral
from wengert.transforms.codegen.llvm.types import Element, float_literal, splat, vector


class OpenLoop(Struct, frozen=True):
    """An open loop: its label, its index and the index after a trip, and carried registers with their values after one."""

    label: str
    index: str
    following: str
    carried: list[tuple[str, str]]


class NestLoops(NestAccesses):
    """Opens and closes loops, and keeps the accumulators of reductions."""

    def _fresh_label(self, name: str) -> str:
        self.labels += 1
        return f"{name}{self.labels}"

    def _open_loop(self, start: int | str, starts: list[tuple[str, str]]) -> OpenLoop:
        """Opens a loop from ``start`` with registers that are carried around: (type, initial value)."""
        label = self._fresh_label("loop")
        before, latch = f"{label}.before", f"{label}.latch"
        index, following = self.out.fresh(), self.out.fresh()
        self.out.line(f"br label %{before}")
        self.out.line(f"{before}:")
        self.out.line(f"br label %{label}")
        self.out.line(f"{label}:")
        self.out.line(f"{index} = phi i64 [{start}, %{before}], [{following}, %{latch}]")
        carried: list[tuple[str, str]] = []
        for kind, initial in starts:
            name, after = self.out.fresh(), self.out.fresh()
            self.out.line(f"{name} = phi {kind} [{initial}, %{before}], [{after}, %{latch}]")
            carried.append((name, after))
        return OpenLoop(label, index, following, carried)

    def _close_loop(self, loop: OpenLoop, step: int, end: int | str, finals: list[tuple[str, str]]) -> None:
        """Closes a loop; ``finals`` are the (type, value) that the carried registers have after a trip."""
        for (_, after), (kind, value) in zip(loop.carried, finals, strict=True):
            self.out.line(f"{after} = {_copy(kind, value)}")
        self.out.line(f"br label %{loop.label}.latch")
        self.out.line(f"{loop.label}.latch:")
        self.out.line(f"{loop.following} = add nuw nsw i64 {loop.index}, {step}")
        test = self.out.fresh()
        self.out.line(f"{test} = icmp ult i64 {loop.following}, {end}")
        self.out.line(f"br i1 {test}, label %{loop.label}, label %{loop.label}.after")
        self.out.line(f"{loop.label}.after:")

    # -- reductions

    def _neutral(self, reduction: Reduction, lanes: int) -> Value:
        held = reduction.element
        text = splat(held.register, neutral(reduction.write.kind, held), lanes)
        return (text, splat(held.register, float_literal(0.0, held.register), lanes)) if held.kind == "c" else text

    def _open_slot(self, reduction: Reduction) -> None:
        """A place on the stack for an accumulator that lives across several loops."""
        kind = vector(reduction.element.register, self.lanes)
        if not reduction.slot:
            reduction.slot = self.out.fresh()
            count = 2 if reduction.element.kind == "c" else 1
            self.out.lines.insert(0, f"{reduction.slot} = alloca [{count} x {kind}], align 64")
        self._store_slot(reduction, self._neutral(reduction, self.lanes))

    def _slotparts_of(self, reduction: Reduction) -> list[str]:
        kind = vector(reduction.element.register, self.lanes)
        parts = [reduction.slot]
        if reduction.element.kind == "c":
            parts.append(self._add(f"getelementptr {kind}, ptr {reduction.slot}, i64 1"))
        return parts

    def _store_slot(self, reduction: Reduction, value: Value) -> None:
        kind = vector(reduction.element.register, self.lanes)
        for place, part in zip(self._slotparts_of(reduction), parts_of(value), strict=True):
            self.out.line(f"store {kind} {part}, ptr {place}")

    def _load_slot(self, reduction: Reduction) -> Value:
        kind = vector(reduction.element.register, self.lanes)
        found = [self._add(f"load {kind}, ptr {place}") for place in self._slotparts_of(reduction)]
        return (found[0], found[1]) if len(found) == 2 else found[0]

    def _finish_reduction(self, reduction: Reduction, value: Value) -> None:
        """Folds the lanes and writes the total, combining it with what is there if outer loops are reduced too."""
        held, kind = reduction.element, reduction.write.kind
        wide = Scalars(self.out, self.lanes, not self.strict)
        if isinstance(value, tuple):
            part = Element("f", held.memory, held.register, held.part_size)
            total: Value = (wide.horizontal(kind, value[0], part), wide.horizontal(kind, value[1], part))
        else:
            total = wide.horizontal(kind, value, held)
        one = Scalars(self.out, 1, not self.strict)
        memory = Memory(one, 1)
        address = self._address(f"%q{reduction.write.target}", held, reduction.at)
        if reduction.in_memory:
            total = one.combine(kind, memory.load(held, address), total, held)
        memory.store(held, rounded(one, held, total), address)

    def _fill_results(self, trip: str = "") -> None:
        """Neutral elements into the results that accumulate in memory (into all of them if the loops have no trips).

        Within a trip of the outermost loop it is only the block of elements that this trip combines.
        """
        for reduction in {reduction.write.target: reduction for reduction in self.reductions}.values():
            outputs = size(self.op.outputs[reduction.write.target])
            empty = 0 in self.extents
            accumulates = reduction.in_memory or (not reduction.in_registers and self._reduces(reduction))
            if outputs and (empty or accumulates):
                pointer = f"%q{reduction.write.target}"
                if trip:
                    outputs //= self.extents[0]
                    pointer = self._add(f"getelementptr [{outputs} x {unit(reduction.element)}], ptr {pointer}, i64 {trip}")
                self._fill(pointer, reduction, outputs)

    def _reduces(self, reduction: Reduction) -> bool:
        return len(dimensions(reduction.at)) < len(self.extents)

    def _fill(self, pointer: str, reduction: Reduction, count: int) -> None:
        lanes = max(self.target.vector_bytes // max(reduction.element.size, 1), 1)
        trips, rest = divmod(count, lanes)
        scalars = Scalars(self.out, lanes, False)
        value = self._neutral(reduction, lanes)
        if trips:
            loop = self._open_loop(0, [])
            address = self._add(f"getelementptr {unit(reduction.element)}, ptr {pointer}, i64 {loop.index}")
            Memory(scalars, lanes).store_contiguous(reduction.element, value, address, 1)
            self._close_loop(loop, lanes, trips * lanes, [])
        if rest:
            address = self._add(f"getelementptr {unit(reduction.element)}, ptr {pointer}, i64 {trips * lanes}")
            Memory(scalars, rest).store_contiguous(reduction.element, value, address, 1)


def regroup(names: Iterable[str], like: Value) -> Value:
    """The next one or two names, as a value of the same form as another."""
    source = iter(names)
    return (next(source), next(source)) if isinstance(like, tuple) else next(source)


def _copy(kind: str, value: str) -> str:
    """An instruction whose result is the value (LLVM has no move)."""
    return f"bitcast {kind} {value} to {kind}"

"""A loop nest as one LLVM function: scalar outer loops around an explicitly vectorised innermost one.

Every value of the body is computed at the level of the innermost loop that it depends on, so what is invariant leaves the
inner loops without an optimisation pass. At the innermost level a register holds several lanes; the last trips, which do
not fill it, run once more with fewer active lanes.

A reduction over inner loops accumulates in registers (several of them, if the body is light) and is folded at the end; one
over outer loops with an inner one kept accumulates in the result itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import STORE, ApplyOp, ConstantOp, Guard, IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel_positions import Position, Quotient, dimensions, span
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import element, size
from wengert.transforms.lower.cpu_loops import Loops
from wengert.transforms.lower.cpu_memory import Memory
from wengert.transforms.lower.cpu_scalars import Scalars, Value, neutral
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.cpu_types import Element, element_of, literal, splat, vector
from wengert.transforms.lower.math import Emitter
from wengert.transforms.lower.views import result

LIGHT_BODY = 12
"""Bodies of at most so many ops get several accumulators per reduction."""
ACCUMULATORS = 4

_I64 = Element("i", "i64", "i64", 8)
_I32 = Element("i", "i32", "i32", 4)


@dataclass
class _Reduction:
    """A write that combines: ``level`` is the innermost loop that its position depends on."""

    write: Write
    at: Position
    element: Element
    level: int
    in_registers: bool
    in_memory: bool
    slot: str = ""


class NestCode:
    """Generates the function of one nest."""

    def __init__(self, op: NestOp, target: Target, strict: bool, in_place: bool = False):
        self.op = op
        self.in_place = in_place
        self.target = target
        self.strict = strict
        self.out = Emitter(prefix="%v")
        self.ops = [inner for inner in op.body.block.ops if inner is not op.body.block.last_op]
        self.writes = op.writes
        self.loops = Loops(op.extents, _accesses(self.ops, self.writes))
        self.extents = self.loops.extents
        self.inner = len(self.extents) - 1
        self.pointers = {arg: f"%p{number}" for number, arg in enumerate(op.body.block.args)}
        self.loads = {op: self._described(op) for op in self.ops if isinstance(op, LoadOp)}
        self.depth = self._depths()
        self.levels: list[list[Operation]] = [[] for _ in range(self.inner + 2)]
        for op, level in zip(self.ops, self.depth.values(), strict=True):
            self.levels[level + 1].append(op)
        self.reductions = [self._reduction(write) for write in self.writes if write.kind != STORE and write.base is None and self.op.tied[write.target] < 0]
        self.lanes = self._lanes()
        self.scopes: list[dict[object, object]] = [{}]
        self.labels = 0
        self.at_index: str | int = 0

    # -- analysis

    def _depths(self) -> dict[SSAValue, int]:
        depth: dict[SSAValue, int] = {}
        for op in self.ops:
            if isinstance(op, LoadOp):
                load = self.loads[op]
                found = max(_deepest(load.at), self._guard_depth(load.guards))
                if load.base is not None:
                    found = max(found, depth[load.base])
            elif isinstance(op, IndexOp):
                found = _deepest(self.loops[op.at.data])
            elif isinstance(op, WithinOp):
                found = self._guard_depth(op.where.data)
            else:
                found = max([depth[operand] for operand in op.operands], default=-1)
            depth[result(op)] = found
        return depth

    def _described(self, op: LoadOp) -> _Load:
        source, base = (*op.operands, None)[:2]
        assert source is not None
        return _Load(self.pointers[source], element_of(result(op).type), self.loops[op.at.data], op.where.data if op.where is not None else (), base)

    def _guard_depth(self, guards: tuple[Guard, ...]) -> int:
        return max([_deepest(self.loops[at]) for at, _, _ in guards], default=-1)

    def _reduction(self, write: Write) -> _Reduction:
        at = self.loops[write.at]
        used = dimensions(at)
        level = max(used, default=-1)
        held = element_of(element(self.op.outputs[write.target]))
        outside = any(d not in used for d in range(max(level, 0)))
        return _Reduction(write, at, held, level, in_registers=level < self.inner, in_memory=outside)

    def _lanes(self) -> int:
        if self.inner < 0:
            return 1
        if self.strict and any(r.in_registers and r.element.kind in "fc" and r.write.kind in ("add", "mul") for r in self.reductions):
            return 1
        types = [element_of(result(op).type) for op in self.levels[-1]]
        types += [element_of(write.value.type) for write in self.writes]
        widest = max([_register_bytes(held) for held in types], default=4)
        lanes = max(self.target.vector_bytes // widest, 1)
        while lanes > 1 and lanes // 2 >= self.extents[self.inner]:
            lanes //= 2
        return lanes

    # -- structure

    def text(self, name: str) -> str:
        """The definition of the function."""
        pointers = [f"ptr %p{n}" for n in range(len(self.op.inputs))] + [f"ptr %q{n}" for n in range(len(self.op.outputs))]
        self._fill_results()
        if 0 not in self.extents:
            self._level(-1)
        body = "\n".join(self.out.lines)
        return f"define internal void @{name}({', '.join(pointers)}) {self.target.attributes} {{\n{body}\nret void\n}}\n"

    def _level(self, level: int) -> None:
        """The code at the body of one loop (-1: of the function), inner loops included."""
        if level < self.inner or self.inner < 0:
            for op in self.levels[level + 1]:
                self._emit(op, 1, 1)
        if self.inner < 0:
            self._write_all(Scalars(self.out, 1, not self.strict), 1)
            return
        self._prepare_inner(level)
        finishing = [r for r in self.reductions if r.in_registers and r.level == level]
        for reduction in finishing:
            if level + 1 < self.inner:
                self._open_slot(reduction)
        if level + 1 == self.inner:
            self._inner_loop(finishing)
        else:
            self._outer_loop(level + 1)
            for reduction in finishing:
                held = self._load_slot(reduction)
                self._finish_reduction(reduction, held)

    def _fresh_label(self, name: str) -> str:
        self.labels += 1
        return f"{name}{self.labels}"

    def _outer_loop(self, level: int) -> None:
        loop = self._open_loop(0, [])
        self.scopes.append({("index", level): loop.index})
        self._level(level)
        self.scopes.pop()
        self._close_loop(loop, 1, self.extents[level], [])

    def _open_loop(self, start: int, starts: list[tuple[str, str]]) -> _Loop:
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
        return _Loop(label, index, following, carried)

    def _close_loop(self, loop: _Loop, step: int, end: int, finals: list[tuple[str, str]]) -> None:
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

    # -- the innermost loop

    def _inner_loop(self, reductions: list[_Reduction]) -> None:
        """All trips of the innermost loop, and the reductions that end with it."""
        active = [r for r in self.reductions if r.in_registers]
        totals: list[Value] = [self._load_slot(r) if r.slot else self._neutral(r, self.lanes) for r in active]
        extent, lanes = self.extents[self.inner], self.lanes
        trips, rest = divmod(extent, lanes)
        done = 0
        copies = ACCUMULATORS if active and len(self.ops) <= LIGHT_BODY and trips >= 2 * ACCUMULATORS and not (self.strict and lanes == 1) else 1
        if copies > 1:
            totals = self._trips(active, totals, done, trips // copies, copies)
            done, trips = done + trips // copies * copies * lanes, trips % copies
        if rest and trips and self._repeatable():
            self._clamped_trips(trips + 1, extent - lanes)
            return
        totals = self._trips(active, totals, done, trips, 1)
        if rest:
            totals = self._body(active, totals, extent - rest, rest)
        for reduction, total in zip(active, totals, strict=True):
            if reduction.slot:
                self._store_slot(reduction, total)
            else:
                self._finish_reduction(reduction, total)

    def _repeatable(self) -> bool:
        """Whether iterations may run twice, and the body is so long that it had better be generated once."""
        plain = all(write.kind == STORE and write.base is None for write in self.writes)
        return plain and not self.in_place and self.lanes > 1 and len(self.ops) > LIGHT_BODY

    def _clamped_trips(self, trips: int, last: int) -> None:
        """Trips of whole registers, the last of which starts early enough to end with the loop."""
        loop = self._open_loop(0, [])
        at = self._add(f"call i64 @llvm.umin.i64(i64 {loop.index}, i64 {last})")
        self._body([], [], at, self.lanes)
        self._close_loop(loop, self.lanes, trips * self.lanes, [])

    def _trips(self, active: list[_Reduction], totals: list[Value], start: int, trips: int, copies: int) -> list[Value]:
        """``trips`` trips of ``copies`` registers each, from index ``start`` on."""
        lanes = self.lanes
        if trips == 0:
            return totals
        sets = [totals] + [[self._neutral(r, lanes) for r in active] for _ in range(copies - 1)]
        if trips == 1:
            sets = [self._body(active, sets[c], start + c * lanes, lanes) for c in range(copies)]
            return self._merged(active, sets)
        kinds = [vector(r.element.register, lanes) for r in active]
        flat = [(kind, part) for values in sets for kind, value in zip(kinds, values, strict=True) for part in _parts(value)]
        loop = self._open_loop(start, flat)
        names = iter([name for name, _ in loop.carried])
        inside: list[list[Value]] = [[_regroup(names, value) for value in values] for values in sets]
        found: list[list[Value]] = []
        for copy in range(copies):
            at = loop.index if copy == 0 else self._add(f"add nuw nsw i64 {loop.index}, {copy * lanes}")
            found.append(self._body(active, inside[copy], at, lanes))
        finals = [(kind, part) for values in found for kind, value in zip(kinds, values, strict=True) for part in _parts(value)]
        self._close_loop(loop, lanes * copies, start + trips * copies * lanes, finals)
        after = iter([name for _, name in loop.carried])
        return self._merged(active, [[_regroup(after, value) for value in values] for values in found])

    def _merged(self, active: list[_Reduction], sets: list[list[Value]]) -> list[Value]:
        scalars = Scalars(self.out, self.lanes, not self.strict)
        while len(sets) > 1:
            first, second = sets.pop(0), sets.pop(0)
            sets.append([scalars.combine(r.write.kind, x, y, r.element) for r, x, y in zip(active, first, second, strict=True)])
        return sets[0]

    def _body(self, active: list[_Reduction], totals: list[Value], at: str | int, lanes: int) -> list[Value]:
        """One trip of the innermost loop at an index, with so many active lanes; the totals after it."""
        self.scopes.append({("index", self.inner): at})
        self.at_index = at
        for op in self.levels[-1]:
            self._emit(op, self.lanes, lanes)
        scalars = Scalars(self.out, self.lanes, not self.strict)
        self._write_all(scalars, lanes)
        found: list[Value] = []
        for reduction, total in zip(active, totals, strict=True):
            value = self._get(reduction.write.value, self.lanes)
            if lanes < self.lanes:
                value = self._masked(scalars, reduction, value, lanes)
            found.append(scalars.combine(reduction.write.kind, total, value, reduction.element))
        self.scopes.pop()
        return found

    def _masked(self, scalars: Scalars, reduction: _Reduction, value: Value, active: int) -> Value:
        """The value with the neutral element in the lanes that are not active."""
        mask = Memory(scalars, active).active_mask()
        register = reduction.element.register
        fill = splat(register, neutral(reduction.write.kind, reduction.element), self.lanes)
        if isinstance(value, tuple):
            return scalars.select(mask, register, value[0], fill), scalars.select(mask, register, value[1], fill)
        return scalars.select(mask, register, value, fill)

    # -- reductions

    def _neutral(self, reduction: _Reduction, lanes: int) -> Value:
        text = splat(reduction.element.register, neutral(reduction.write.kind, reduction.element), lanes)
        return (text, text) if reduction.element.kind == "c" else text

    def _open_slot(self, reduction: _Reduction) -> None:
        """A place on the stack for an accumulator that lives across several loops."""
        kind = vector(reduction.element.register, self.lanes)
        if not reduction.slot:
            reduction.slot = self.out.fresh()
            count = 2 if reduction.element.kind == "c" else 1
            self.out.lines.insert(0, f"{reduction.slot} = alloca [{count} x {kind}], align 64")
        self._store_slot(reduction, self._neutral(reduction, self.lanes))

    def _slot_parts(self, reduction: _Reduction) -> list[str]:
        kind = vector(reduction.element.register, self.lanes)
        parts = [reduction.slot]
        if reduction.element.kind == "c":
            parts.append(self._add(f"getelementptr {kind}, ptr {reduction.slot}, i64 1"))
        return parts

    def _store_slot(self, reduction: _Reduction, value: Value) -> None:
        kind = vector(reduction.element.register, self.lanes)
        for place, part in zip(self._slot_parts(reduction), _parts(value), strict=True):
            self.out.line(f"store {kind} {part}, ptr {place}")

    def _load_slot(self, reduction: _Reduction) -> Value:
        kind = vector(reduction.element.register, self.lanes)
        found = [self._add(f"load {kind}, ptr {place}") for place in self._slot_parts(reduction)]
        return (found[0], found[1]) if len(found) == 2 else found[0]

    def _finish_reduction(self, reduction: _Reduction, value: Value) -> None:
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
        memory.store(held, _rounded(one, held, total), address)

    def _fill_results(self) -> None:
        """Neutral elements into the results that accumulate in memory (into all of them if the loops have no trips)."""
        for reduction in self.reductions:
            outputs = size(self.op.outputs[reduction.write.target])
            empty = 0 in self.extents
            accumulates = reduction.in_memory or (not reduction.in_registers and self._reduces(reduction))
            if outputs and (empty or accumulates):
                self._fill(f"%q{reduction.write.target}", reduction, outputs)

    def _reduces(self, reduction: _Reduction) -> bool:
        return len(dimensions(reduction.at)) < len(self.extents)

    def _fill(self, pointer: str, reduction: _Reduction, count: int) -> None:
        lanes = max(self.target.vector_bytes // max(reduction.element.size, 1), 1)
        trips, rest = divmod(count, lanes)
        scalars = Scalars(self.out, lanes, False)
        value = self._neutral(reduction, lanes)
        if trips:
            loop = self._open_loop(0, [])
            address = self._add(f"getelementptr {_unit(reduction.element)}, ptr {pointer}, i64 {loop.index}")
            Memory(scalars, lanes).store_contiguous(reduction.element, value, address, 1)
            self._close_loop(loop, lanes, trips * lanes, [])
        if rest:
            address = self._add(f"getelementptr {_unit(reduction.element)}, ptr {pointer}, i64 {trips * lanes}")
            Memory(scalars, rest).store_contiguous(reduction.element, value, address, 1)

    # -- values

    def _add(self, text: str) -> str:
        name = self.out.fresh()
        self.out.line(f"{name} = {text}")
        return name

    def _lookup(self, key: object) -> object | None:
        for scope in reversed(self.scopes):
            found = scope.get(key)
            if found is not None:
                return found
        return None

    def _get(self, value: SSAValue, lanes: int) -> Value:
        """A value of the body in registers of so many lanes."""
        if lanes > 1 and self.depth[value] < self.inner:
            wide = self._lookup((value, lanes))
            if wide is None:
                wide = self.scopes[-1][value, lanes] = self._widen(value, lanes)
            return wide  # pyright: ignore[reportReturnType]
        found = self._lookup(value)
        assert found is not None, "a value is used before it is computed"
        return found  # pyright: ignore[reportReturnType]

    def _widen(self, value: SSAValue, lanes: int) -> Value:
        """A scalar in every lane."""
        owner = value.owner
        found = self._lookup(value)
        register = element_of(value.type).register
        parts = _parts(found)  # pyright: ignore[reportArgumentType]
        if isinstance(owner, ConstantOp):
            wide = [splat(register, part, lanes) for part in parts]
        else:
            wide = [self._splat(register, part, lanes) for part in parts]
        return (wide[0], wide[1]) if len(wide) == 2 else wide[0]

    def _splat(self, register: str, scalar: str, lanes: int) -> str:
        kind = vector(register, lanes)
        first = self._add(f"insertelement {kind} poison, {register} {scalar}, i32 0")
        return self._add(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def _emit(self, op: Operation, lanes: int, active: int) -> None:
        value = result(op)
        if isinstance(op, ConstantOp):
            found: Value = self._constant(op)
        elif isinstance(op, ApplyOp):
            scalars = Scalars(self.out, lanes, not self.strict)
            arguments = tuple(op.operands)
            operands = [self._get(operand, lanes) for operand in arguments]
            found = scalars.apply(op.function.data, operands, [element_of(o.type) for o in arguments], element_of(value.type))
        elif isinstance(op, IndexOp):
            found = self._index(op, lanes)
        elif isinstance(op, WithinOp):
            found = self._within(op.where.data, lanes)
        else:
            assert isinstance(op, LoadOp)
            found = self._load(op, lanes, active)
        self.scopes[-1][value] = found
        if lanes == 1 and self.inner >= 0 and self.depth[value] < self.inner:
            self._prepare_based(value)
        if lanes == 1 and self.inner >= 0 and self.lanes > 1 and not isinstance(op, ConstantOp) and self._used_inside(value):
            self.scopes[-1][value, self.lanes] = self._widen(value, self.lanes)

    def _used_inside(self, value: SSAValue) -> bool:
        """Whether the innermost loop uses the value in all lanes."""
        last = self.op.body.block.last_op
        for use in value.uses:
            user = use.operation
            if (user is last and use.index >= len(self.writes)) or isinstance(user, LoadOp):
                continue
            if user is last or self.depth[result(user)] == self.inner:
                return True
        return False

    def _constant(self, op: ConstantOp) -> Value:
        held = element_of(op.result.type)
        value = splat_value(op.value)
        if held.kind == "c":
            return literal(value.real, held), literal(value.imag, held)
        return literal(value, held)

    # -- positions

    def _scalar_position(self, at: Position, inner: str | int | None = None) -> str | int:
        """A position as an i64; ``inner`` stands for the index of the innermost loop."""
        key = ("position", at, inner)
        found = self._lookup(key)
        if found is None:
            total: str | int = at.offset
            for atom, c in at.terms:
                if isinstance(atom, int):
                    value = inner if atom == self.inner and inner is not None else self._lookup(("index", atom))
                else:
                    value = self._divided(
                        self._scalar_position(atom.expression, inner), atom.divisor, isinstance(atom, Quotient), span(atom.expression, self.extents)[0]
                    )
                total = self._plus(total, self._times(value, c))  # pyright: ignore[reportArgumentType]
            found = self.scopes[-1][key] = total
        return found  # pyright: ignore[reportReturnType]

    def _divided(self, value: str | int, divisor: int, quotient: bool, least: int) -> str | int:
        if isinstance(value, int):
            return value // divisor if quotient else value % divisor
        lift = -(least // divisor) if least < 0 else 0
        value = self._plus(value, lift * divisor)
        found = self._add(f"{'udiv' if quotient else 'urem'} i64 {value}, {divisor}")
        return self._plus(found, -lift) if quotient else found

    def _plus(self, x: str | int, y: str | int) -> str | int:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0:
            return y
        return x if y == 0 else self._add(f"add nsw i64 {x}, {y}")

    def _times(self, x: str | int, factor: int) -> str | int:
        if isinstance(x, int):
            return x * factor
        return x if factor == 1 else self._add(f"mul nsw i64 {x}, {factor}")

    def _address(self, pointer: str, held: Element, at: Position, inner: str | int | None = None) -> str:
        offset = self._scalar_position(at, inner)
        return pointer if offset == 0 else self._add(f"getelementptr {_unit(held)}, ptr {pointer}, i64 {offset}")

    def _inner_base(self, pointer: str, held: Element, at: Position) -> str:
        """The address without the innermost loop's term, computed where the outer loops allow."""
        outer = self._outer(at)
        key = ("base", pointer, outer)
        found = self._lookup(key)
        if found is None:
            found = self.scopes[-1][key] = self._address(pointer, held, outer)
        return found  # pyright: ignore[reportReturnType]

    def _outer(self, at: Position) -> Position:
        return Position(at.offset, tuple([term for term in at.terms if term[0] != self.inner]))

    def _prepare_inner(self, level: int) -> None:
        """Computes the addresses that the innermost loop starts from, at the level that they depend on."""
        for op in self.levels[-1]:
            if (load := self.loads.get(op)) is not None and load.base is None:
                self._prepare(load.pointer, load.held, load.at, level)
        for write in self.writes:
            at = self.loops[write.at]
            if write.base is None and (write.kind == STORE or at.coefficient(self.inner)):
                self._prepare(f"%q{write.target}", element_of(write.value.type), at, level)

    def _prepare(self, pointer: str, held: Element, at: Position, level: int) -> None:
        outer = self._outer(at)
        if _deepest(outer) == level:
            self._inner_base(pointer, held, at)

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
            found = self.scopes[-1][key] = self._add(f"getelementptr {_unit(held)}, ptr {pointer}, {base.type} {offset}")
        return found  # pyright: ignore[reportReturnType]

    # -- reading and writing

    def _lane_address(self, pointer: str, held: Element, at: Position) -> _Lanes:
        """How the lanes of an access lie: a first address and the step from lane to lane, if there is one."""
        index = self.at_index
        if any(not isinstance(atom, int) and self.inner in dimensions(atom.expression) for atom, _ in at.terms):
            return _Lanes("", None, lambda lane: self._address(pointer, held, at, self._plus(index, lane)))
        step = at.coefficient(self.inner)
        base = self._inner_base(pointer, held, at)
        offset = self._times(index, step)
        first = base if offset == 0 else self._add(f"getelementptr {_unit(held)}, ptr {base}, i64 {offset}")
        return _Lanes(first, step, lambda lane: first if lane * step == 0 else self._add(f"getelementptr {_unit(held)}, ptr {first}, i64 {lane * step}"))

    def _load(self, op: LoadOp, lanes: int, active: int) -> Value:
        load = self.loads[op]
        pointer, held, at, guards, base = load.pointer, load.held, load.at, load.guards, load.base
        if lanes == 1:
            return self._load_scalar(self._based(pointer, held, base), held, at, guards, pointer)
        memory = Memory(Scalars(self.out, lanes, False), active)
        if base is not None and self.depth[base] == self.inner:
            return self._load_scattered(memory, pointer, held, at, guards, base)
        pointer = self._based(pointer, held, base)
        if guards:
            return self._load_guarded(memory, pointer, held, at, guards)
        where = self._lane_address(pointer, held, at)
        if where.step == 1:
            return memory.load_contiguous(held, where.first, 1)
        if where.step == -1:
            return memory.load_contiguous(held, self._last_address(where, held, active), -1)
        return memory.load_lanes(held, where.address)

    def _last_address(self, where: _Lanes, held: Element, active: int) -> str:
        return self._add(f"getelementptr {_unit(held)}, ptr {where.first}, i64 {1 - active}") if active > 1 else where.first

    def _load_scattered(self, memory: Memory, pointer: str, held: Element, at: Position, guards: tuple[Guard, ...], base: SSAValue) -> Value:
        """A load whose computed position is another one in every lane."""
        offsets = self._get(base, memory.lanes)
        assert isinstance(offsets, str)
        where = self._lane_address(pointer, held, at)
        inner = self._guard_depth(guards) == self.inner
        mask = self._within(guards, memory.lanes if inner else 1) if guards else ""

        def address(lane: int) -> str:
            offset = memory.extract(str(base.type), offsets, lane)
            found = self._add(f"getelementptr {_unit(held)}, ptr {where.address(lane)}, {base.type} {offset}")
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

    def _load_guarded(self, memory: Memory, pointer: str, held: Element, at: Position, guards: tuple[Guard, ...]) -> Value:
        lanes = self.lanes
        inner = self._guard_depth(guards) == self.inner
        mask = self._within(guards, lanes if inner else 1)
        where = self._lane_address(pointer, held, at)
        if where.step == 1 and held.size in (4, 8) and held.kind != "c" and not held.narrow:
            wide = mask if inner else self._splat("i1", mask, lanes)
            if memory.active < lanes:
                wide = memory.scalars.binary("and", "i1", wide, memory.active_mask())
            return memory.load_contiguous(held, where.first, 1, wide)

        def address(lane: int) -> str:
            bit = memory.extract("i1", mask, lane) if inner else mask
            return self._add(f"select i1 {bit}, ptr {where.address(lane)}, ptr {pointer}")

        return memory.load_lanes(held, address)

    def _write_all(self, scalars: Scalars, active: int) -> None:
        """The writes of one trip: stores, and combinations with what a result holds already."""
        memory = Memory(scalars, active)
        for write in self.writes:
            held = element_of(write.value.type)
            at = self.loops[write.at]
            if write.base is not None or (self.op.tied[write.target] >= 0 and write.kind != STORE):
                self._write_computed(memory, write, held, at)
                continue
            combining = write.kind != STORE and len(dimensions(at)) < len(self.extents)
            if write.kind != STORE and self.inner >= 0 and self.inner not in dimensions(at):
                continue
            value = self._get(write.value, scalars.lanes)
            pointer = f"%q{write.target}"
            if scalars.lanes == 1:
                address = self._address(pointer, held, at)
                if combining:
                    value = _rounded(scalars, held, scalars.combine(write.kind, memory.load(held, address), value, held))
                memory.store(held, value, address)
            else:
                self._write_lanes(memory, write, held, at, value, combining)

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
                pointer = self._add(f"getelementptr {_unit(held)}, ptr {pointer}, {write.base.type} {memory.extract(str(write.base.type), offsets, lane)}")
            else:
                pointer = self._based(pointer, held, write.base)
            address = self._address(pointer, held, at, self._plus(self.at_index, lane))
            part = tuple([memory.extract(held.register, p, lane) for p in _parts(value)])
            self._modify(one, write, held, (part[0], part[1]) if len(part) == 2 else part[0], address, (memory, lane))

    def _modify(self, memory: Memory, write: Write, held: Element, value: Value, address: str, lane: tuple[Memory, int] | None = None) -> None:
        """Reads, combines and writes elements from an address on; leaves them as they are where the condition fails."""
        scalars = memory.scalars
        if write.kind == STORE and write.condition is None:
            self._put(memory, held, value, address)
            return
        old = memory.load(held, address) if memory.lanes == 1 else memory.load_contiguous(held, address, 1)
        found = value if write.kind == STORE else _rounded(scalars, held, scalars.combine(write.kind, old, value, held))
        if write.condition is not None:
            if lane is not None and self.depth[write.condition] == self.inner:
                mask = self._get(write.condition, lane[0].lanes)
                assert isinstance(mask, str)
                bit = lane[0].extract("i1", mask, lane[1])
            else:
                single = self._get(write.condition, 1)
                assert isinstance(single, str)
                bit = single if scalars.lanes == 1 else self._splat("i1", single, scalars.lanes)
            kept = [scalars.select(bit, held.register, x, y) for x, y in zip(_parts(found), _parts(old), strict=True)]
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
                value = _rounded(memory.scalars, held, memory.scalars.combine(write.kind, old, value, held))
            memory.store_contiguous(held, value, first, where.step)
            return
        addresses = [where.address(lane) for lane in range(memory.active)]
        if combining:
            old = memory.load_lanes(held, addresses.__getitem__)
            value = _rounded(memory.scalars, held, memory.scalars.combine(write.kind, old, value, held))
        memory.store_lanes(held, value, addresses.__getitem__)

    # -- numbers from indices

    def _lane_numbers(self, at: Position) -> tuple[str, Element]:
        """A position in every lane, in the narrowest integer that holds it."""
        low, high = span(at, self.extents)
        margin = abs(at.coefficient(self.inner)) * self.lanes
        held = _I32 if low - margin >= -(2**31) and high + margin < 2**31 else _I64
        scalars = Scalars(self.out, self.lanes, False)
        memory = Memory(scalars, self.lanes)
        kind = scalars.type(held.register)
        if any(not isinstance(atom, int) and self.inner in dimensions(atom.expression) for atom, _ in at.terms):
            found = "zeroinitializer"
            for lane in range(self.lanes):
                number = self._narrow(self._scalar_position(at, self._plus(self.at_index, lane)), held)
                found = memory.insert(held.register, found, number, lane)
            return found, held
        step = at.coefficient(self.inner)
        start = self._narrow(self._scalar_position(at, self.at_index), held)
        first = self._splat(held.register, start, self.lanes)
        steps = ", ".join(f"{held.register} {lane * step}" for lane in range(self.lanes))
        return self._add(f"add {kind} {first}, <{steps}>"), held

    def _narrow(self, number: str | int, held: Element) -> str:
        if isinstance(number, int):
            return str(number)
        return number if held is _I64 else self._add(f"trunc i64 {number} to i32")

    def _index(self, op: IndexOp, lanes: int) -> Value:
        at, target = self.loops[op.at.data], element_of(op.result.type)
        if lanes == 1:
            inner = self.at_index if self.inner >= 0 and self.inner in dimensions(at) else None
            return Scalars(self.out, 1, False).convert(str(self._scalar_position(at, inner)), _I64, target)
        number, held = self._lane_numbers(at)
        return Scalars(self.out, lanes, False).convert(number, held, target)

    def _within(self, guards: tuple[Guard, ...], lanes: int) -> str:
        """Whether all guards hold, in every lane."""
        key = ("within", guards, lanes)
        found = self._lookup(key)
        if found is None:
            scalars = Scalars(self.out, lanes, False)
            parts = [self._one_guard(scalars, self.loops[at], low, high) for at, low, high in guards]
            while len(parts) > 1:
                parts.append(scalars.binary("and", "i1", parts.pop(0), parts.pop(0)))
            found = self.scopes[-1][key] = parts[0]
        return found  # pyright: ignore[reportReturnType]

    def _one_guard(self, scalars: Scalars, at: Position, low: int, high: int) -> str:
        """low <= at < high, as one unsigned comparison."""
        shifted = at.shifted(-low)
        if scalars.lanes > 1 and self.inner in dimensions(at):
            number, held = self._lane_numbers(shifted)
            return scalars.compare("ult", held.register, number, scalars.constant(held.register, high - low))
        inner = self.at_index if self.inner >= 0 and self.inner in dimensions(at) else None
        number = self._scalar_position(shifted, inner)
        bit = self._add(f"icmp ult i64 {number}, {high - low}")
        return bit if scalars.lanes == 1 else self._splat("i1", bit, scalars.lanes)


@dataclass(frozen=True)
class _Load:
    """A load in terms of the generated loops: base pointer, element, position, guards, computed position."""

    pointer: str
    held: Element
    at: Position
    guards: tuple[Guard, ...]
    base: SSAValue | None


@dataclass(frozen=True)
class _Loop:
    """An open loop: its label, its index and the index after a trip, and carried registers with their values after one."""

    label: str
    index: str
    following: str
    carried: list[tuple[str, str]]


class _Lanes:
    """Where the lanes of an access lie."""

    def __init__(self, first: str, step: int | None, address: object):
        self.first = first
        self.step = step
        self.address = address  # pyright: ignore[reportUnannotatedClassAttribute]


def _accesses(ops: Iterable[Operation], writes: Iterable[Write]) -> list[Position]:
    found = [write.at for write in writes]
    for op in ops:
        if isinstance(op, LoadOp | IndexOp):
            found.append(op.at.data)
        if isinstance(op, LoadOp | WithinOp) and op.where is not None:
            found += [at for at, _, _ in op.where.data]
    return found


def _deepest(at: Position) -> int:
    return max(dimensions(at), default=-1)


def _register_bytes(held: Element) -> int:
    if held.kind == "b":
        return 1
    return 8 if held.register in ("double", "i64") else 4 if held.register in ("float", "i32") else held.part_size


def _unit(held: Element) -> str:
    """The LLVM type whose size is that of one element."""
    return f"[2 x {held.memory}]" if held.kind == "c" else held.memory


def _parts(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _regroup(names: Iterable[str], like: Value) -> Value:
    source = iter(names)
    return (next(source), next(source)) if isinstance(like, tuple) else next(source)


def _copy(kind: str, value: str) -> str:
    """An instruction whose result is the value (LLVM has no move)."""
    return f"bitcast {kind} {value} to {kind}"


def _rounded(scalars: Scalars, held: Element, value: Value) -> Value:
    return scalars.narrowed(value, held.narrow) if held.narrow and isinstance(value, str) else value

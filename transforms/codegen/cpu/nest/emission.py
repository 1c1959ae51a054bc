"""A loop nest as one LLVM function: scalar outer loops around an explicitly vectorised innermost one.

Every value of the body is computed at the level of the innermost loop that it depends on, so what is invariant leaves the
inner loops without an optimisation pass. At the innermost level a register holds several lanes; the last trips, which do
not fill it, run once more with fewer active lanes.

A reduction over inner loops accumulates in registers (several of them, if the body is light) and is folded at the end; one
over outer loops with an inner one kept accumulates in the result itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import ApplyOp, ConstantOp, Guard, IndexOp, LoadOp, WithinOp
from wengert.dialects.kernel.positions import dimensions
from wengert.dialects.kernel.schedule import Piece, Version
from wengert.ir.elements import splat_value
from wengert.ir.traversal import operands_of
from wengert.transforms.codegen.cpu.nest.loops import regroup
from wengert.transforms.codegen.cpu.nest.state import INDEX, Reduction, parts_of
from wengert.transforms.codegen.cpu.nest.tiles import NestTiles
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.scalars import Scalars, Value, neutral
from wengert.transforms.codegen.llvm.types import element_of, float_literal, literal, splat, vector
from wengert.transforms.codegen.llvm.vector_builder import one
from wengert.transforms.fuse.views import result
from wengert.transforms.schedule.chunks import Split, parameters, prologue
from wengert.transforms.schedule.versions import Throughout, always, answers


class NestCode(NestTiles):
    """Generates the function of one nest."""

    # -- structure

    def text(self, name: str) -> str:
        """The definition of the function."""
        pointers = [f"%p{n}" for n in range(len(self.op.inputs))] + [f"%q{n}" for n in range(len(self.op.outputs))]
        if self.split is None:
            self._fill_results()
        self._find_tiles()
        if 0 not in self.extents:
            self._level(-1)
        body = "\n".join([*prologue(pointers, self.split), *self.out.lines])
        return f"define internal void @{name}({parameters(pointers, self.split)}) {self.target.attributes} {{\n{body}\nret void\n}}\n"

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
        elif self.tiles and level + 2 == self.inner:
            self._tile_loops()
        else:
            self._outer_loop(level + 1)
            for reduction in finishing:
                held = self._load_slot(reduction)
                self._finish_reduction(reduction, held)

    def _outer_loop(self, level: int) -> None:
        if level == 0 and self.split is not None:
            self._dealt_loop(self.split)
            return
        loop = self._open_loop(0, [])
        self.scopes.append({("index", level): loop.index})
        self._level(level)
        self.scopes.pop()
        self._close_loop(loop, 1, self.extents[level], [])

    def _dealt_loop(self, split: Split) -> None:
        """The trips of the outermost loop that belong to this chunk."""
        loop = self._open_loop("%begin", [])
        at = loop.index
        if split.step != 1:
            at = self._add(f"call i64 @llvm.umin.i64(i64 {self._times(at, split.step)}, i64 {split.last})")
        self.scopes.append({("index", 0): at})
        self._fill_results(at)
        self._level(0)
        self.scopes.pop()
        self._close_loop(loop, 1, "%end", [])

    def _tile_loops(self) -> None:
        """The two innermost loops; the last tile of each starts early enough to end with the loop."""
        row_loop, row = self._open_tile_loop(self.inner - 1)
        column_loop, column = self._open_tile_loop(self.inner)
        for op, slot in self.tiles.items():
            self._fill_tile(self.loads[op], slot, row, column)
        loop = self._open_loop(0, [])
        self.tile_row = loop.index
        self.scopes.append({("index", self.inner - 1): self._plus(row, loop.index)})
        for op in self.levels[self.inner]:
            self._emit(op, 1, 1)
        self._prepare_inner(self.inner - 1)
        self._body([], [], column, self.lanes)
        self.scopes.pop()
        self._close_loop(loop, 1, self.lanes, [])
        self._close_loop(column_loop, self.lanes, self._rounded_up(self.inner), [])
        self._close_loop(row_loop, self.lanes, self._rounded_up(self.inner - 1), [])

    # -- the innermost loop

    def _inner_loop(self, reductions: list[Reduction]) -> None:
        """All trips of the innermost loop, and the reductions that end with it."""
        active = [r for r in self.reductions if r.in_registers]
        if self.schedule.version is not None:
            self._in_two_versions(self.schedule.version)
            return
        self._all_trips(active)

    def _in_two_versions(self, version: Version) -> None:
        """The innermost loop for the trips of outer loops for which these guards have the usual answers throughout, and for all others."""
        usual: dict[Guard, Throughout] = {}
        for guard, at in self._guards:
            if guard in version.holds or guard in version.fails:
                usual[guard] = always(guard, at, self.inner, self.extents, answer=guard in version.holds)
        tests: list[str] = []
        for position, bound, answer in dict.fromkeys(usual.values()):
            tests.append(self._add(f"icmp {'ult' if answer else 'uge'} i64 {self._scalar_position(position)}, {bound}"))
        while len(tests) > 1:
            tests.append(self._add(f"and i1 {tests.pop(0)}, {tests.pop(0)}"))
        label = self._fresh_label("version")
        self.out.line(f"br i1 {tests[0]}, label %{label}.usual, label %{label}.edge")
        for name, known in (("usual", {guard: test.answer for guard, test in usual.items()}), ("edge", dict[Guard, bool]())):
            self.out.line(f"{label}.{name}:")
            self.scopes.append({})
            self.answers = self.known = known
            self._all_trips([])
            self.scopes.pop()
            self.out.line(f"br label %{label}.after")
        self.out.line(f"{label}.after:")
        self.answers = self.known = {}

    def _all_trips(self, active: list[Reduction]) -> None:
        """The innermost loop, and the reductions that end with it."""
        totals: list[Value] = [self._load_slot(r) if r.slot else self._neutral(r, self.lanes) for r in active]
        extent, lanes = self.extents[self.inner], self.lanes
        if self.schedule.pieces:
            self._piecewise(self.schedule.pieces)
            return
        trips, rest = divmod(extent, lanes)
        done = 0
        copies = self.schedule.accumulators
        if copies > 1:
            totals = self._trips(active, totals, done, trips // copies, copies)
            done, trips = done + trips // copies * copies * lanes, trips % copies
        if rest and self.schedule.remainder == "repeated":
            self._clamped_trips(trips + 1, extent - lanes)
            return
        totals = self._trips(active, totals, done, trips, 1)
        if rest and self.paired and not any(r.slot for r in active):
            totals = self._halves(active, totals)
            self.lanes //= 2
            if rest >= self.lanes:
                totals = self._body(active, totals, extent - rest, self.lanes)
                rest -= self.lanes
        if rest:
            totals = self._body(active, totals, extent - rest, rest)
        for reduction, total in zip(active, totals, strict=True):
            if reduction.slot:
                self._store_slot(reduction, total)
            else:
                self._finish_reduction(reduction, total)
        self.lanes = lanes

    def _halves(self, active: list[Reduction], totals: list[Value]) -> list[Value]:
        """Totals in pairs of registers combined into one register."""
        half = self.lanes // 2
        scalars = Scalars(self.out, half, not self.strict)

        def part(reduction: Reduction, value: Value, first: int) -> Value:
            kind = vector(reduction.element.register, self.lanes)
            order = ", ".join(f"i32 {lane}" for lane in range(first, first + half))
            found = [self._add(f"shufflevector {kind} {x}, {kind} poison, <{half} x i32> <{order}>") for x in parts_of(value)]
            return (found[0], found[1]) if len(found) == 2 else found[0]

        return [scalars.combine(r.write.kind, part(r, total, 0), part(r, total, half), r.element) for r, total in zip(active, totals, strict=True)]

    def _piecewise(self, cut: Sequence[Piece]) -> None:
        """The innermost loop piece by piece. A trip takes a whole register, so the last of a piece may repeat some of what is done."""
        extent, lanes = self.extents[self.inner], self.lanes
        for piece in cut:
            trips = -(-piece.length // lanes)
            start = min(piece.start, extent - trips * lanes) if piece.masked else piece.start
            known = {} if piece.masked else {guard: answer for guard, answer in answers(self._guards, self.inner, piece).items() if answer is not None}
            self.known = {**self.answers, **known}
            if not piece.masked and piece.length % lanes:
                self._clamped_trips(trips, piece.stop - lanes, start)
            else:
                self._trips([], [], start, trips, 1)
        self.known = self.answers

    def _clamped_trips(self, trips: int, last: int, start: int = 0) -> None:
        """Trips of whole registers, the last of which starts early enough to end with the loop, or with a piece of it."""
        loop = self._open_loop(start, [])
        at = self._add(f"call i64 @llvm.umin.i64(i64 {loop.index}, i64 {last})")
        self._body([], [], at, self.lanes)
        self._close_loop(loop, self.lanes, start + trips * self.lanes, [])

    def _trips(self, active: list[Reduction], totals: list[Value], start: int, trips: int, copies: int) -> list[Value]:
        """``trips`` trips of ``copies`` registers each, from index ``start`` on."""
        lanes = self.lanes
        if trips == 0:
            return totals
        sets = [totals] + [[self._neutral(r, lanes) for r in active] for _ in range(copies - 1)]
        if trips == 1:
            sets = [self._body(active, sets[c], start + c * lanes, lanes) for c in range(copies)]
            return self._merged(active, sets)
        kinds = [vector(r.element.register, lanes) for r in active]
        flat = [(kind, part) for values in sets for kind, value in zip(kinds, values, strict=True) for part in parts_of(value)]
        loop = self._open_loop(start, flat)
        names = iter([name for name, _ in loop.carried])
        inside: list[list[Value]] = [[regroup(names, value) for value in values] for values in sets]
        found: list[list[Value]] = []
        for copy in range(copies):
            at = loop.index if copy == 0 else self._add(f"add nuw nsw i64 {loop.index}, {copy * lanes}")
            found.append(self._body(active, inside[copy], at, lanes))
        finals = [(kind, part) for values in found for kind, value in zip(kinds, values, strict=True) for part in parts_of(value)]
        self._close_loop(loop, lanes * copies, start + trips * copies * lanes, finals)
        after = iter([name for _, name in loop.carried])
        return self._merged(active, [[regroup(after, value) for value in values] for values in found])

    def _merged(self, active: list[Reduction], sets: list[list[Value]]) -> list[Value]:
        scalars = Scalars(self.out, self.lanes, not self.strict)
        while len(sets) > 1:
            first, second = sets.pop(0), sets.pop(0)
            sets.append([scalars.combine(r.write.kind, x, y, r.element) for r, x, y in zip(active, first, second, strict=True)])
        return sets[0]

    def _body(self, active: list[Reduction], totals: list[Value], at: str | int, lanes: int) -> list[Value]:
        """One trip of the innermost loop at an index, with so many active lanes; the totals after it."""
        self.scopes.append({("index", self.inner): at})
        self.at_index = at
        throughout = self.known
        self.known = {**throughout, **self._known_in_trip(lanes)}
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
        self.known = throughout
        return found

    def _masked(self, scalars: Scalars, reduction: Reduction, value: Value, active: int) -> Value:
        """The value with the neutral element in the lanes that are not active.

        For sums that is -0.0 here, which changes no total. LLVM (22) takes a lane of 0 / 0 for a lane of zeros, and so leaves
        a choice of 0.0 for it out, though it is NaN; what an idle lane loads is 0.
        """
        mask = Memory(scalars, active).active_mask()
        register = reduction.element.register
        least = neutral(reduction.write.kind, reduction.element)
        fill = splat(register, float_literal(-0.0, register) if least == float_literal(0.0, register) else least, self.lanes)
        if isinstance(value, tuple):
            return scalars.select(mask, register, value[0], fill), scalars.select(mask, register, value[1], fill)
        return scalars.select(mask, register, value, fill)

    # -- the body

    def _emit(self, op: Operation, lanes: int, active: int) -> None:
        value = result(op)
        if isinstance(op, ConstantOp):
            found: Value = self._constant(op)
        elif isinstance(op, ApplyOp) and (chosen := self._known_choice(op)) is not None:
            found = self._get(chosen, lanes)
        elif isinstance(op, ApplyOp):
            scalars = Scalars(self.out, lanes, not self.strict)
            arguments = operands_of(op)
            operands = [self._get(operand, lanes) for operand in arguments]
            if (at := self.contracted.get(op)) is not None and self.depth[arguments[at]] == self.depth[value]:
                found = self._contracted(scalars, op, at, operands[1 - at], lanes)
            else:
                found = scalars.apply(op.function.data, operands, [element_of(o.type) for o in arguments], element_of(value.type))
        elif isinstance(op, IndexOp):
            found = self._index(op, lanes)
        elif isinstance(op, WithinOp):
            unknown = self._unknown(op.where.data)
            found = self._within(unknown, lanes) if unknown else splat("i1", "false" if unknown is None else "true", lanes)
        else:
            assert isinstance(op, LoadOp)
            found = self._load(op, lanes, active)
        self.scopes[-1][value] = found
        if lanes == 1 and self.inner >= 0 and self.depth[value] < self.inner:
            self._prepare_based(value)
        if lanes == 1 and self.inner >= 0 and self.lanes > 1 and not isinstance(op, ConstantOp) and self._used_inside(value):
            self.scopes[-1][value, self.lanes] = self._widen(value, self.lanes)

    def _contracted(self, scalars: Scalars, op: ApplyOp, at: int, other: Value, lanes: int) -> Value:
        """x y + z, z - x y or x y - z, where the product is operand ``at``."""
        product = op.operands[at].owner
        assert isinstance(product, ApplyOp)
        x, y = [one(self._get(factor, lanes)) for factor in product.operands]
        z, register = one(other), element_of(result(op).type).register
        if op.function.data == "subtract":
            z, x = (z, scalars.negate(register, x)) if at else (scalars.negate(register, z), x)
        return scalars.intrinsic("fmuladd", register, x, y, z)

    def _known_choice(self, op: ApplyOp) -> SSAValue | None:
        """What a selection takes, where its guards are known for this piece of the innermost loop."""
        if not self.known or op.function.data != "select" or not isinstance(guard := op.operands[0].owner, WithinOp):
            return None
        unknown = self._unknown(guard.where.data)
        return op.operands[2] if unknown is None else None if unknown else op.operands[1]

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

    def _index(self, op: IndexOp, lanes: int) -> Value:
        at, target = self.loops[op.at.data], element_of(op.result.type)
        if lanes == 1:
            inner = self.at_index if self.inner >= 0 and self.inner in dimensions(at) else None
            return Scalars(self.out, 1, False).convert(str(self._scalar_position(at, inner)), INDEX, target)
        number, held = self._lane_numbers(at)
        return Scalars(self.out, lanes, False).convert(number, held, target)

"""A loop nest under generation: its loops, the level of every value, and registers, addresses and indices on demand.

What has been computed is remembered per loop: a table of scopes, the innermost last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects.facts import Effort
from wengert.dialects.kernel import STORE, ApplyOp, ConstantOp, Guard, IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel.positions import Position, Quotient, dimensions, span
from wengert.dialects.scalar_functions import effort
from wengert.ir.tensor_types import element
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element, element_of, splat, vector
from wengert.transforms.fuse.views import result
from wengert.transforms.schedule.chunks import Split, wanted_chunks
from wengert.transforms.schedule.contraction import shared_products
from wengert.transforms.schedule.loops import Loops, crossed_loop, sums_short_rows
from wengert.transforms.schedule.parallel import NestWork, most_work
from wengert.transforms.schedule.target import Target

INDEX = Element("i", "i64", "i64", 8)
SHORT_INDEX = Element("i", "i32", "i32", 4)
PAIRED_TRIPS = 64
"""A nest of fewer registers in all does them one at a time, and so does one whose innermost loop has fewer and ends within a pair."""
FOURFOLD_TRIPS = 2048
"""A nest of at least so many registers in all does four at a time, if its functions are long chains and nothing else is in the way."""
FOURFOLD_OPS = 16
"""Sums of f32 over a body of fewer ops do two."""
PAIRED_OPS = 64
"""So does a body of more ops, whose values would not stay in registers."""
PAIRED_FUNCTIONS = 2
"""So does a body with more functions of many instructions, or with one that takes more than a polynomial: its machine code is long already."""


class Reduction(Struct):
    """A write that combines: ``level`` is the innermost loop that its position depends on."""

    write: Write
    at: Position
    element: Element
    level: int
    in_registers: bool
    in_memory: bool
    slot: str = ""


class Load(Struct, frozen=True):
    """A load in terms of the generated loops: base pointer, element, position, guards, computed position."""

    pointer: str
    held: Element
    at: Position
    guards: tuple[Guard, ...]
    base: SSAValue | None


class Lanes(Struct, frozen=True):
    """Where the lanes of an access lie: the first address, the step from lane to lane if there is one, and every address."""

    first: str
    step: int | None
    address: Callable[[int], str]


class NestState:
    """What the parts of the generator share."""

    def __init__(self, op: NestOp, target: Target, strict: bool, in_place: bool = False, *, parallel: bool = False):
        self.op = op
        self.in_place = in_place
        self.target = target
        self.strict = strict
        self.out = FunctionBuilder()
        self.ops = ops_in(op.body.block)[:-1]
        self.writes = op.writes
        self.contracted = {} if strict else shared_products(self.ops, self.writes)
        self.loops = Loops(op.extents, accesses(self.ops, self.writes))
        crossed = None if in_place else crossed_loop(self.loops, self.ops, self.writes)
        if crossed is not None:
            self.loops.move_inward(crossed)
        elif sums_short_rows(self.loops, self.writes) and all(tie < 0 for tie in op.tied):
            self.loops.swap_innermost()
        self.crossed = crossed is not None
        self.tiles: dict[Operation, str] = {}
        self.tile_row = ""
        self.pointers: dict[SSAValue, str] = {arg: f"%p{number}" for number, arg in enumerate(op.body.block.args)}
        self._place_ops()
        self.split = self._deal() if parallel and wanted_chunks(most_work(op)) > 1 else None
        self.levels: list[list[Operation]] = [[] for _ in range(self.inner + 2)]
        for inner, level in zip(self.ops, self.depth.values(), strict=True):
            self.levels[level + 1].append(inner)
        self.reductions = [self._reduction(write) for write in self.writes if write.kind != STORE and write.base is None and self.op.tied[write.target] < 0]
        lanes, self.paired = self._lanes()
        self.together = (4 if self._in_fours(lanes) else 2) if self.paired else 1
        self.lanes = self.together * lanes
        self.scopes: list[dict[object, object]] = [{}]
        self.labels = 0
        self.at_index: str | int = 0
        self.known: Mapping[Guard, bool] = {}
        self.answers: Mapping[Guard, bool] = {}

    # -- analysis

    def _place_ops(self) -> None:
        """Where everything stands in the loops as they are now."""
        self.extents = self.loops.extents
        self.inner = len(self.extents) - 1
        self.loads: dict[Operation, Load] = {load: self._described(load) for load in self.ops if isinstance(load, LoadOp)}
        self.depth = self._depths()

    def work(self) -> NestWork:
        """What the nest costs, and how it may be dealt out."""
        return NestWork(self.op, self.ops, self.writes, self.loops, self.depth, self.target)

    def _deal(self) -> Split | None:
        """How the trips of the outermost loop are dealt out to threads; that may be a new one."""
        before = len(self.extents)
        found = self.work().deal(tiled=self.crossed, in_place=self.in_place)
        if len(self.loops.extents) != before:
            self._place_ops()
        return found

    def _depths(self) -> dict[SSAValue, int]:
        depth: dict[SSAValue, int] = {}
        for op in self.ops:
            if isinstance(op, LoadOp):
                load = self.loads[op]
                found = max(deepest(load.at), self._guard_depth(load.guards))
                if load.base is not None:
                    found = max(found, depth[load.base])
            elif isinstance(op, IndexOp):
                found = deepest(self.loops[op.at.data])
            elif isinstance(op, WithinOp):
                found = self._guard_depth(op.where.data)
            else:
                found = max([depth[operand] for operand in operands_of(op)], default=-1)
            depth[result(op)] = found
        return depth

    def _described(self, op: LoadOp) -> Load:
        source, base = (*operands_of(op), None)[:2]
        assert source is not None
        return Load(self.pointers[source], element_of(result(op).type), self.loops[op.at.data], op.where.data if op.where is not None else (), base)

    def _guard_depth(self, guards: tuple[Guard, ...]) -> int:
        return max([deepest(self.loops[at]) for at, _, _ in guards], default=-1)

    def _reduction(self, write: Write) -> Reduction:
        at = self.loops[write.at]
        used = dimensions(at)
        level = max(used, default=-1)
        held = element_of(element(self.op.outputs[write.target]))
        outside = any(d not in used for d in range(max(level, 0)))
        return Reduction(write, at, held, level, in_registers=level < self.inner, in_memory=outside)

    def _lanes(self) -> tuple[int, bool]:
        """The lanes of a register, and whether a trip takes two."""
        if self.inner < 0:
            return 1, False
        if self.strict and any(r.in_registers and r.element.kind in "fc" and r.write.kind in ("add", "mul") for r in self.reductions):
            return 1, False
        if any(r.element.kind == "c" and r.write.kind == "mul" for r in self.reductions):
            return 1, False  # lanes of a complex product do not fold part by part
        types = [element_of(result(op).type) for op in self.levels[-1]]
        types += [element_of(write.value.type) for write in self.writes]
        widest = max([_register_bytes(held) for held in types], default=4)
        lanes = max(self.target.vector_bytes // widest, 1)
        while lanes > 1 and lanes // 2 >= self.extents[self.inner]:
            lanes //= 2
        return lanes, self._in_pairs(lanes, widest)

    def _in_pairs(self, lanes: int, widest: int) -> bool:
        """Whether a trip does two registers at once, so that the chain of one is computed while the other waits.

        A polynomial is a chain of dependent operations, longer than what a processor looks ahead; LLVM splits values of two
        registers, and they share what they load. Only where there are many trips: the machine code is twice as long.
        """
        extent = self.extents[self.inner]
        if lanes * widest != self.target.vector_bytes or widest < SHORT_INDEX.size or lanes == 1 or self.in_place or self.crossed:
            return False
        if prod(self.extents) < PAIRED_TRIPS * lanes or len(self.levels[-1]) > PAIRED_OPS:
            return False
        efforts = [effort(op) for op in self.levels[-1] if isinstance(op, ApplyOp)]
        if sum(each >= Effort.ROOT for each in efforts) > PAIRED_FUNCTIONS or Effort.SPECIAL in efforts:
            return False
        if extent % (2 * lanes) and extent < PAIRED_TRIPS * lanes:
            return False
        loads = [self.loads[op] for op in self.levels[-1] if op in self.loads]
        if any(load.base is not None or load.guards or not self._is_straight(load.at) for load in loads):
            return False
        return all(write.base is None and self._is_straight(self.loops[write.at]) for write in self.writes)

    def _in_fours(self, lanes: int) -> bool:
        """Whether a trip that may do two registers had better do four.

        Some of sixteen registers are then spilled, which costs less than waiting. Sums of f32 of little else are better off with two.
        """
        if prod(self.extents) < FOURFOLD_TRIPS * lanes or self.extents[self.inner] % (4 * lanes):
            return False
        light = len(self.levels[-1]) <= FOURFOLD_OPS and lanes * INDEX.size != self.target.vector_bytes
        if light and any(r.in_registers for r in self.reductions):
            return False
        return any(isinstance(op, ApplyOp) and effort(op) is Effort.ELEMENTARY for op in self.levels[-1])

    def _is_straight(self, at: Position) -> bool:
        """Whether lanes of the innermost loop are neighbours in memory, or the same element."""
        affine = all(isinstance(atom, int) or self.inner not in dimensions(atom.expression) for atom, _ in at.terms)
        return affine and at.coefficient(self.inner) in (-1, 0, 1)

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
        parts = parts_of(found)  # pyright: ignore[reportArgumentType]
        if isinstance(owner, ConstantOp):
            wide = [splat(register, part, lanes) for part in parts]
        else:
            wide = [self._splat(register, part, lanes) for part in parts]
        return (wide[0], wide[1]) if len(wide) == 2 else wide[0]

    def _splat(self, register: str, scalar: str, lanes: int) -> str:
        kind = vector(register, lanes)
        first = self._add(f"insertelement {kind} poison, {register} {scalar}, i32 0")
        return self._add(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

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
        return pointer if offset == 0 else self._add(f"getelementptr {unit(held)}, ptr {pointer}, i64 {offset}")

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

    # -- numbers from indices

    def _lane_numbers(self, at: Position) -> tuple[str, Element]:
        """A position in every lane, in the narrowest integer that holds it."""
        held = SHORT_INDEX if self._is_short(at) else INDEX
        return self._numbers(at, held), held

    def _is_short(self, at: Position) -> bool:
        """Whether a position and what it is computed from fit 32 bits, also in lanes past the end of the loop."""
        low, high = span(at, self.extents)
        margin = abs(at.coefficient(self.inner)) * self.lanes
        return low - margin >= -(2**31) and high + margin < 2**31 and all(isinstance(atom, int) or self._is_short(atom.expression) for atom, _ in at.terms)

    def _numbers(self, at: Position, held: Element) -> str:
        key = ("numbers", at, held.register)
        found = self._lookup(key)
        if found is None:
            found = self.scopes[-1][key] = self._new_numbers(at, held)
        return found  # pyright: ignore[reportReturnType]

    def _new_numbers(self, at: Position, held: Element) -> str:
        kind, divided = (
            vector(held.register, self.lanes),
            [(atom, c) for atom, c in at.terms if not isinstance(atom, int) and self.inner in dimensions(atom.expression)],
        )
        lifts = [max(-(span(atom.expression, self.extents)[0] // atom.divisor), 0) for atom, _ in divided]
        lowered = sum(c * lift for (atom, c), lift in zip(divided, lifts, strict=True) if isinstance(atom, Quotient))
        rest = Position(at.offset - lowered, tuple([term for term in at.terms if term not in divided]))
        found = self._steps(self._scalar_position(rest, self.at_index), rest.coefficient(self.inner), held)
        for (atom, c), lift in zip(divided, lifts, strict=True):
            number = self._numbers(atom.expression.shifted(lift * atom.divisor), held)
            number = self._add(f"{'udiv' if isinstance(atom, Quotient) else 'urem'} {kind} {number}, {splat(held.register, str(atom.divisor), self.lanes)}")
            if c != 1:
                number = self._add(f"mul {kind} {number}, {splat(held.register, str(c), self.lanes)}")
            found = self._add(f"add {kind} {found}, {number}") if found != "zeroinitializer" else number
        return found

    def _steps(self, start: str | int, step: int, held: Element) -> str:
        """A number and its successors, one in each lane."""
        if isinstance(start, int):
            numbers = [start + lane * step for lane in range(self.lanes)]
            return "<" + ", ".join([f"{held.register} {number}" for number in numbers]) + ">" if any(numbers) else "zeroinitializer"
        first = self._splat(held.register, self._narrow(start, held), self.lanes)
        steps = ", ".join([f"{held.register} {lane * step}" for lane in range(self.lanes)])
        return self._add(f"add {vector(held.register, self.lanes)} {first}, <{steps}>") if step else first

    def _narrow(self, number: str | int, held: Element) -> str:
        if isinstance(number, int):
            return str(number)
        return number if held is INDEX else self._add(f"trunc i64 {number} to i32")


def accesses(ops: Iterable[Operation], writes: Iterable[Write]) -> list[Position]:
    """All positions that a body mentions."""
    found = [write.at for write in writes]
    for op in ops:
        if isinstance(op, LoadOp | IndexOp):
            found.append(op.at.data)
        if isinstance(op, LoadOp | WithinOp) and op.where is not None:
            found += [at for at, _, _ in op.where.data]
    return found


def deepest(at: Position) -> int:
    """The innermost loop that a position depends on, or -1."""
    return max(dimensions(at), default=-1)


def _register_bytes(held: Element) -> int:
    if held.kind == "b":
        return 1
    return 8 if held.register in ("double", "i64") else 4 if held.register in ("float", "i32") else held.part_size


def unit(held: Element) -> str:
    """The LLVM type whose size is that of one element."""
    return f"[2 x {held.memory}]" if held.kind == "c" else held.memory


def parts_of(value: Value) -> tuple[str, ...]:
    """The registers of a value: one, or two for complex numbers."""
    return value if isinstance(value, tuple) else (value,)

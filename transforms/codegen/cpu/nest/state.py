"""A loop nest under generation: its loops, the level of every value, and registers, addresses and indices on demand.

What has been computed is remembered per loop: a table of scopes, the innermost last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import ConstantOp, Guard, LoadOp, NestOp, Write
from wengert.dialects.kernel.positions import Position, Quotient, dimensions, span
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.tensor_types import element
from wengert.ir.traversal import operands_of
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element, element_of, splat, vector
from wengert.transforms.fuse.views import result
from wengert.transforms.schedule.contraction import shared_products
from wengert.transforms.schedule.parallel import shared_loop
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target

INDEX = Element("i", "i64", "i64", 8)
SHORT_INDEX = Element("i", "i32", "i32", 4)


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

    def __init__(self, op: NestOp, schedule: Schedule, target: Target, strict: bool):
        self.op = op
        self.schedule = schedule
        self.target = target
        self.strict = strict
        self.out = FunctionBuilder()
        self.placed = Placement.scheduled(op, schedule)
        self.ops, self.writes, self.loops = self.placed.ops, self.placed.writes, self.placed.loops
        self.extents, self.inner, self.depth, self.levels = self.placed.extents, self.placed.inner, self.placed.depth, self.placed.levels
        self.contracted = {} if strict else shared_products(self.ops, self.writes)
        self.tiles: dict[Operation, str] = {}
        self.tile_row = ""
        self.pointers: dict[SSAValue, str] = {arg: f"%p{number}" for number, arg in enumerate(op.body.block.args)}
        self.loads: dict[Operation, Load] = {load: self._described(load) for load in self.ops if isinstance(load, LoadOp)}
        outermost = op.extents[schedule.cut.loop] if schedule.cut is not None else 0
        self.split = shared_loop(schedule, self.extents, outermost)
        self.reductions = [
            Reduction(r.write, r.at, element_of(element(op.outputs[r.write.target])), r.level, r.in_registers, r.in_memory) for r in self.placed.reductions
        ]
        self.lanes = schedule.width
        self.together = schedule.interleave
        self.paired = schedule.interleave > 1
        self.scopes: list[dict[object, object]] = [{}]
        self.labels = 0
        self.at_index: str | int = 0
        self.known: Mapping[Guard, bool] = {}
        self.answers: Mapping[Guard, bool] = {}

    def _described(self, op: LoadOp) -> Load:
        source, base = (*operands_of(op), None)[:2]
        assert source is not None
        return Load(self.pointers[source], element_of(result(op).type), self.loops[op.at.data], op.where.data if op.where is not None else (), base)

    def _guard_depth(self, guards: tuple[Guard, ...]) -> int:
        return self.placed.guard_depth(guards)

    def _is_straight(self, at: Position) -> bool:
        return self.placed.is_straight(at)

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


def unit(held: Element) -> str:
    """The LLVM type whose size is that of one element."""
    return f"[2 x {held.memory}]" if held.kind == "c" else held.memory


def parts_of(value: Value) -> tuple[str, ...]:
    """The registers of a value: one, or two for complex numbers."""
    return value if isinstance(value, tuple) else (value,)

"""Turns positions into registers: indices as numbers, and addresses, each computed in the outermost loop where it can be."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from xdsl.ir import SSAValue

from wengert.dialects.kernel.positions import Position, Quotient, dimensions, span
from wengert.transforms.codegen.cpu.nest.context import Context
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.types import Element, element_of, splat, vector

INDEX = Element("i", "i64", "i64", 8)
SHORT_INDEX = Element("i", "i32", "i32", 4)


def unit(element: Element) -> str:
    """The LLVM type whose size is that of one element."""
    return f"[2 x {element.memory}]" if element.kind == "c" else element.memory


class Lanes(Struct, frozen=True):
    """The addresses of the lanes of an access: the first, the step from lane to lane (None: uneven), and each by its lane."""

    first: str
    step: int | None
    address: Callable[[int], str]


class Addresses:
    """Positions at the current point of the loops, as numbers and as addresses."""

    def __init__(self, nest: Context, registers: Registers):
        self.nest = nest
        self.registers = registers

    # -- one position

    def position(self, at: Position, inner: str | int | None = None) -> str | int:
        """A position as an i64; ``inner`` stands for the index of the innermost loop."""
        return self.registers.once(("position", at, inner), lambda: self._sum(at, inner))

    def _sum(self, at: Position, inner: str | int | None) -> str | int:
        total: str | int = at.offset
        for atom, c in at.terms:
            if isinstance(atom, int):
                value = inner if atom == self.nest.inner and inner is not None else self.registers.find(("index", atom))
            else:
                least = span(atom.expression, self.nest.extents)[0]
                value = self._divided(self.position(atom.expression, inner), atom.divisor, isinstance(atom, Quotient), least)
            total = self.nest.out.add(total, self.times(value, c))
        return total

    def _divided(self, value: str | int, divisor: int, quotient: bool, least: int) -> str | int:
        if isinstance(value, int):
            return value // divisor if quotient else value % divisor
        lift = -(least // divisor) if least < 0 else 0
        value = self.nest.out.add(value, lift * divisor)
        divided = self.nest.out.binary("udiv" if quotient else "urem", "i64", value, divisor)
        return self.nest.out.add(divided, -lift) if quotient else divided

    def times(self, x: str | int, factor: int) -> str | int:
        """The product of a number and a known one."""
        if isinstance(x, int):
            return x * factor
        return x if factor == 1 else self.nest.out.binary("mul nsw", "i64", x, factor)

    # -- addresses

    def address(self, pointer: str, element: Element, at: Position, inner: str | int | None = None) -> str:
        """The address of an element."""
        offset = self.position(at, inner)
        return self.nest.out.address(pointer, element, offset)

    def inner_base(self, pointer: str, element: Element, at: Position) -> str:
        """The address without the innermost loop's term, computed where the outer loops allow."""
        outer = self.outer(at)
        return self.registers.once(("base", pointer, outer), lambda: self.address(pointer, element, outer))

    def outer(self, at: Position) -> Position:
        """A position without the innermost loop's term."""
        return Position(at.offset, tuple([term for term in at.terms if term[0] != self.nest.inner]))

    def based(self, pointer: str, element: Element, base: SSAValue | None) -> str:
        """The pointer moved by a computed position that does not depend on the innermost loop."""
        if base is None:
            return pointer

        def moved() -> str:
            offset = self.registers.get(base, 1)
            assert isinstance(offset, str)
            return self.computed(pointer, element, element_of(base.type).register, offset)

        return self.registers.once(("based", pointer, base), moved)

    def lanes(self, pointer: str, element: Element, at: Position) -> Lanes:
        """The addresses of the lanes of an access."""
        index, inner, address = self.nest.index, self.nest.inner, self.nest.out.address
        if any(not isinstance(atom, int) and inner in dimensions(atom.expression) for atom, _ in at.terms):
            return Lanes("", None, self._divided_address(pointer, element, at))
        step = at.coefficient(inner)
        base = self.inner_base(pointer, element, at)
        offset = self.times(index, step)
        first = address(base, element, offset)
        return Lanes(first, step, lambda lane: address(first, element, lane * step))

    def last(self, where: Lanes, element: Element, active: int) -> str:
        """The address of the last active lane."""
        assert where.step is not None
        return self.nest.out.address(where.first, element, where.step * (active - 1))

    def _divided_address(self, pointer: str, element: Element, at: Position) -> Callable[[int], str]:
        """The addresses of lanes whose positions are quotients or remainders."""
        index = self.nest.index
        if isinstance(index, int):
            return lambda lane: self.address(pointer, element, at, index + lane)
        numbers, number = self.lane_numbers(at)
        memory = Memory(self.nest.exact(self.nest.lanes), self.nest.lanes)
        kind = number.register
        return lambda lane: self.computed(pointer, element, kind, memory.extract(kind, numbers, lane))

    def computed(self, pointer: str, element: Element, kind: str, index: str) -> str:
        """The address of an element whose number is a register of this type."""
        return self.nest.out.offset(pointer, unit(element), index, kind)

    # -- positions in every lane

    def lane_numbers(self, at: Position) -> tuple[str, Element]:
        """A position in every lane, in the narrowest integer that holds it."""
        element = SHORT_INDEX if self._is_short(at) else INDEX
        return self._numbers(at, element), element

    def _is_short(self, at: Position) -> bool:
        """Whether a position and what it is computed from fit 32 bits, also in lanes past the end of the loop."""
        low, high = span(at, self.nest.extents)
        margin = abs(at.coefficient(self.nest.inner)) * self.nest.lanes
        return low - margin >= -(2**31) and high + margin < 2**31 and all(isinstance(atom, int) or self._is_short(atom.expression) for atom, _ in at.terms)

    def _numbers(self, at: Position, element: Element) -> str:
        return self.registers.once(("numbers", at, element.register), lambda: self._new_numbers(at, element))

    def _new_numbers(self, at: Position, element: Element) -> str:
        lanes, inner, add = self.nest.lanes, self.nest.inner, self.nest.out.op
        kind = vector(element.register, lanes)
        divided = [(atom, c) for atom, c in at.terms if not isinstance(atom, int) and inner in dimensions(atom.expression)]
        lifts = [max(-(span(atom.expression, self.nest.extents)[0] // atom.divisor), 0) for atom, _ in divided]
        lowered = sum(c * lift for (atom, c), lift in zip(divided, lifts, strict=True) if isinstance(atom, Quotient))
        rest = Position(at.offset - lowered, tuple([term for term in at.terms if term not in divided]))
        total = self._steps(self.position(rest, self.nest.index), rest.coefficient(inner), element)
        for (atom, c), lift in zip(divided, lifts, strict=True):
            number = self._numbers(atom.expression.shifted(lift * atom.divisor), element)
            number = add(f"{'udiv' if isinstance(atom, Quotient) else 'urem'} {kind} {number}, {splat(element.register, str(atom.divisor), lanes)}")
            if c != 1:
                number = add(f"mul {kind} {number}, {splat(element.register, str(c), lanes)}")
            total = add(f"add {kind} {total}, {number}") if total != "zeroinitializer" else number
        return total

    def _steps(self, start: str | int, step: int, element: Element) -> str:
        """A number and its successors, one in each lane."""
        lanes = self.nest.lanes
        if isinstance(start, int):
            numbers = [start + lane * step for lane in range(lanes)]
            return "<" + ", ".join([f"{element.register} {number}" for number in numbers]) + ">" if any(numbers) else "zeroinitializer"
        first = self.nest.out.splat(element.register, self._narrow(start, element), lanes)
        steps = ", ".join([f"{element.register} {lane * step}" for lane in range(lanes)])
        return self.nest.out.binary("add", vector(element.register, lanes), first, f"<{steps}>") if step else first

    def _narrow(self, number: str | int, element: Element) -> str:
        if isinstance(number, int):
            return str(number)
        return number if element is INDEX else self.nest.out.cast("trunc", number, "i64", "i32")

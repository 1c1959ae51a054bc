"""Evaluates the guards of loads and selections at the current point of the loops: in every lane, in a piece of the innermost loop, in an iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.positions import Position, Quotient, dimensions
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.context import Context
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.llvm.scalars import Scalars


class Guards:
    """Evaluates guards, at compile time where that is possible."""

    def __init__(self, nest: Context, registers: Registers, addresses: Addresses):
        self.nest = nest
        self.registers = registers
        self.addresses = addresses

    def known_at(self, active: int) -> Mapping[Guard, bool]:
        """The values of the guards that hold in all active lanes at a known index, or in none."""
        if not isinstance(self.nest.index, int):
            return {}
        known: dict[Guard, bool] = {}
        for guard, at in self.nest.placed.guards:
            inside = self._known_lanes(at.shifted(-guard[1]), guard[2] - guard[1])
            if inside is not None and len({*inside[:active]}) == 1:
                known[guard] = inside[0]
        return known

    def unknown(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...] | None:
        """The guards that have to be tested in this piece of the innermost loop; None if one of them fails throughout."""
        known = self.nest.known
        if not known:
            return guards
        return None if any(known.get(guard) is False for guard in guards) else tuple([guard for guard in guards if guard not in known])

    def shared(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        """The guards that do not depend on the innermost loop."""
        return tuple([guard for guard in guards if self.nest.inner not in dimensions(self.nest.placed.loops[guard[0]])])

    def all_hold(self, guards: tuple[Guard, ...], lanes: int) -> str:
        """Whether all guards hold, in every lane."""
        return self.registers.once(("within", guards, lanes), lambda: self._conjunction(guards, lanes))

    def _conjunction(self, guards: tuple[Guard, ...], lanes: int) -> str:
        scalars = self.nest.exact(lanes)
        parts = [self._within(scalars, self.nest.placed.loops[at], low, high) for at, low, high in guards]
        while len(parts) > 1:
            parts.append(scalars.binary("and", "i1", parts.pop(0), parts.pop(0)))
        return parts[0]

    def lanes_inside(self, guards: tuple[Guard, ...]) -> list[bool] | None:
        """Whether the guards hold, by lane; None unless the index is known and they depend on nothing else."""
        everywhere = [True] * self.nest.lanes
        for at, low, high in guards:
            inside = self._known_lanes(self.nest.placed.loops[at].shifted(-low), high - low)
            if inside is None:
                return None
            everywhere = [one and other for one, other in zip(everywhere, inside, strict=True)]
        return everywhere

    def _known_lanes(self, at: Position, extent: int) -> list[bool] | None:
        """Whether 0 <= at < extent, by lane; None unless the index is known and the position depends on nothing else."""
        index = self.nest.index
        if not isinstance(index, int) or {*dimensions(at)} != {self.nest.inner}:
            return None
        return [0 <= _value(at, index + lane) < extent for lane in range(self.nest.lanes)]

    def _within(self, scalars: Scalars, at: Position, low: int, high: int) -> str:
        """low <= at < high, as one unsigned comparison."""
        shifted, varies = at.shifted(-low), self.nest.inner in dimensions(at)
        if scalars.lanes > 1 and (inside := self._known_lanes(shifted, high - low)) is not None:
            return lane_mask(inside)
        if scalars.lanes > 1 and varies:
            number, element = self.addresses.lane_numbers(shifted)
            return scalars.compare("ult", element.register, number, scalars.constant(element.register, high - low))
        number = self.addresses.position(shifted, self.nest.index if self.nest.inner >= 0 and varies else None)
        bit = self.nest.out.icmp("ult", "i64", number, high - low)
        return bit if scalars.lanes == 1 else self.nest.out.splat("i1", bit, scalars.lanes)


def _value(at: Position, index: int) -> int:
    """A position that depends on one loop only, for an index of that loop."""
    total = at.offset
    for atom, c in at.terms:
        if isinstance(atom, int):
            total += c * index
        else:
            inside = _value(atom.expression, index)
            total += c * (inside // atom.divisor if isinstance(atom, Quotient) else inside % atom.divisor)
    return total


def lane_mask(inside: Sequence[bool]) -> str:
    """The LLVM constant of a mask."""
    return "<" + ", ".join(f"i1 {'true' if there else 'false'}" for there in inside) + ">"

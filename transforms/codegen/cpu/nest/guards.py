"""What guards of loads and choices say at the current point of the loops: in every lane, in a piece of the innermost loop, in a trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.positions import Position, Quotient, dimensions
from wengert.transforms.codegen.cpu.nest.state import NestState
from wengert.transforms.codegen.llvm.scalars import Scalars


class NestGuards(NestState):
    """Evaluates guards, as far as possible before the program runs."""

    @property
    def _guards(self) -> list[tuple[Guard, Position]]:
        return self.placed.guards

    def _known_in_trip(self, active: int) -> Mapping[Guard, bool]:
        """The guards that hold in all active lanes of a trip of known index, and those that hold in none."""
        if not isinstance(self.at_index, int):
            return {}
        known: dict[Guard, bool] = {}
        for guard, at in self._guards:
            inside = self._known_lanes(at.shifted(-guard[1]), guard[2] - guard[1])
            if inside is not None and len({*inside[:active]}) == 1:
                known[guard] = inside[0]
        return known

    def _unknown(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...] | None:
        """The guards that have to be looked at in this piece of the innermost loop; None where one fails throughout."""
        if not self.known:
            return guards
        return None if any(self.known.get(guard) is False for guard in guards) else tuple([guard for guard in guards if guard not in self.known])

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

    def _lanes_inside(self, guards: tuple[Guard, ...]) -> list[bool] | None:
        """In which lanes the guards hold, where that is known: in a trip of known index, if they are about nothing but that."""
        found = [True] * self.lanes
        for at, low, high in guards:
            inside = self._known_lanes(self.loops[at].shifted(-low), high - low)
            if inside is None:
                return None
            found = [one and other for one, other in zip(found, inside, strict=True)]
        return found

    def _known_lanes(self, at: Position, extent: int) -> list[bool] | None:
        """In which lanes 0 <= at < extent, if the index of the trip is known and the position depends on nothing else."""
        if not isinstance(self.at_index, int) or {*dimensions(at)} != {self.inner}:
            return None
        return [0 <= _value(at, self.at_index + lane) < extent for lane in range(self.lanes)]

    def _one_guard(self, scalars: Scalars, at: Position, low: int, high: int) -> str:
        """low <= at < high, as one unsigned comparison."""
        shifted = at.shifted(-low)
        if scalars.lanes > 1 and (inside := self._known_lanes(shifted, high - low)) is not None:
            return lane_mask(inside)
        if scalars.lanes > 1 and self.inner in dimensions(at):
            number, held = self._lane_numbers(shifted)
            return scalars.compare("ult", held.register, number, scalars.constant(held.register, high - low))
        inner = self.at_index if self.inner >= 0 and self.inner in dimensions(at) else None
        number = self._scalar_position(shifted, inner)
        bit = self._add(f"icmp ult i64 {number}, {high - low}")
        return bit if scalars.lanes == 1 else self._splat("i1", bit, scalars.lanes)


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
    """Lanes as a constant."""
    return "<" + ", ".join(f"i1 {'true' if there else 'false'}" for there in inside) + ">"

"""Positions: where in a flat buffer an iteration of a loop nest reads or writes.

All tensors of the kernel dialect lie in memory contiguously, row by row; so one integer expression of the loop indices says
all about an access: ``d0 * 128 + d1 + 3``. Strides, offsets, reversal and broadcasting are coefficients, and a reshape is
nothing at all. What is not affine (a reshape across a slice, interior padding) uses floor division and remainder by
constants, as MLIR's affine expressions do.

Division simplifies by ranges: in ``(d0 * 128 + d1) floordiv 128`` the small part d1 < 128 can never carry, so the quotient
is d0. This turns any chain of compatible reshapes into plain coefficients without special cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple


class Quotient(NamedTuple):
    """floor(expression / divisor). (The tag keeps equal tuples of the two classes apart.)"""

    expression: Position
    divisor: int
    tag: str = "floordiv"


class Remainder(NamedTuple):
    """expression mod divisor, not negative."""

    expression: Position
    divisor: int
    tag: str = "mod"


Atom = int | Quotient | Remainder
"""A loop index (by number) or a quotient or remainder that does not simplify."""


class Position(NamedTuple):
    """offset + the sum of coefficient * atom; equal expressions are equal objects by value."""

    offset: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def plus(self, other: Position) -> Position:
        """The sum."""
        if not other.terms:
            return self if other.offset == 0 else Position(self.offset + other.offset, self.terms)
        if not self.terms:
            return other if self.offset == 0 else Position(self.offset + other.offset, other.terms)
        return combine(self.offset + other.offset, (*self.terms, *other.terms))

    def times(self, factor: int) -> Position:
        """The product with a constant."""
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Position(self.offset * factor, tuple([(atom, c * factor) for atom, c in self.terms]))

    def shifted(self, by: int) -> Position:
        """The sum with a constant."""
        return self if by == 0 else Position(self.offset + by, self.terms)

    def coefficient(self, dimension: int) -> int:
        """The coefficient of a loop index (not looking inside quotients and remainders)."""
        for atom, c in self.terms:
            if atom == dimension:
                return c
        return 0

    def is_affine(self) -> bool:
        """Whether no quotient or remainder occurs."""
        return all(isinstance(atom, int) for atom, _ in self.terms)

    def __str__(self) -> str:
        """The affine expression, as MLIR writes it: ``d0 * 128 + d1 floordiv 4 - 3``."""
        text = ""
        for atom, c in self.terms:
            sign = (" - " if c < 0 else " + ") if text else ("-" if c == -1 else "")
            factor = "" if abs(c) == 1 else f" * {abs(c) if text else c}"
            text += sign + _atom_text(atom, factored=sign == "-" or factor != "") + factor
        if not text:
            return str(self.offset)
        return f"{text} {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else text


ZERO = Position(0)


def _order(term: tuple[Atom, int]) -> tuple[int, str]:
    atom = term[0]
    return (atom, "") if isinstance(atom, int) else (1 << 30, str(atom))


def combine(offset: int, terms: Sequence[tuple[Atom, int]]) -> Position:
    """The position with equal atoms collected and in order."""
    coefficients: dict[Atom, int] = {}
    for atom, c in terms:
        coefficients[atom] = coefficients.get(atom, 0) + c
    kept = [term for term in coefficients.items() if term[1]]
    if len(kept) > 1:
        if all(isinstance(atom, int) for atom, _ in kept):
            kept.sort()
        else:
            kept.sort(key=_order)
    return Position(offset, tuple(kept))


@lru_cache(maxsize=256)
def index(dimension: int) -> Position:
    """The index of one loop."""
    return Position(0, ((dimension, 1),))


def constant(value: int) -> Position:
    """A fixed position."""
    return Position(value)


def _atom_text(atom: Atom, *, factored: bool) -> str:
    """An index, quotient or remainder; in parentheses where it is a factor."""
    if isinstance(atom, int):
        return f"d{atom}"
    inner = str(atom.expression)
    inner = f"({inner})" if " " in inner or "-" in inner else inner
    return f"({inner} {atom.tag} {atom.divisor})" if factored else f"{inner} {atom.tag} {atom.divisor}"


Bounds = Sequence[int]


def atom_span(atom: Atom, bounds: Bounds) -> tuple[int, int]:
    """The least and greatest value of an atom over the loops."""
    if isinstance(atom, int):
        return 0, max(bounds[atom] - 1, 0)
    low, high = span(atom.expression, bounds)
    if isinstance(atom, Quotient):
        return low // atom.divisor, high // atom.divisor
    return (low % atom.divisor, high % atom.divisor) if low // atom.divisor == high // atom.divisor else (0, atom.divisor - 1)


def span(position: Position, bounds: Bounds) -> tuple[int, int]:
    """The least and greatest value over the loops (an enclosure where quotients and remainders are correlated)."""
    low = high = position.offset
    for atom, c in position.terms:
        least, greatest = atom_span(atom, bounds)
        if c > 0:
            low, high = low + c * least, high + c * greatest
        else:
            low, high = low + c * greatest, high + c * least
    return low, high


def divide(position: Position, divisor: int, bounds: Bounds) -> tuple[Position, Position]:
    """Quotient and remainder of floor division, simplified by ranges."""
    if divisor == 1:
        return position, ZERO
    whole = [(atom, c // divisor) for atom, c in position.terms if c % divisor == 0]
    rest = Position(position.offset, tuple([term for term in position.terms if term[1] % divisor]))
    low, high = span(rest, bounds)
    carry = low // divisor
    if high // divisor == carry:
        return Position(carry, tuple(whole)), rest.shifted(-carry * divisor)
    big, small = _split_small(rest, divisor, bounds)
    step = 1
    if small is not None:
        step = gcd(divisor, *[c for _, c in big.terms], big.offset)
        big = Position(big.offset // step, tuple([(atom, c // step) for atom, c in big.terms]))
    inner = divisor // step
    shift = big.offset // inner
    big = big.shifted(-shift * inner)
    quotient = combine(shift, [*whole, (Quotient(big, inner), 1)])
    remainder = Position(0, ((Remainder(big, inner), step),))
    return quotient, remainder if small is None else remainder.plus(small)


def _split_small(rest: Position, divisor: int, bounds: Bounds) -> tuple[Position, Position | None]:
    """rest as big + small, where every coefficient of big has a common factor with the divisor that small stays below."""
    terms = sorted(rest.terms, key=lambda term: abs(term[1]))
    for cut in range(len(terms) - 1, 0, -1):
        step = gcd(divisor, *[c for _, c in terms[cut:]])
        if step == 1:
            continue
        offset = rest.offset % step
        small = combine(offset, terms[:cut])
        low, high = span(small, bounds)
        if low >= 0 and high < step:
            return combine(rest.offset - offset, terms[cut:]), small
    step = gcd(divisor, *[c for _, c in terms])
    if step > 1:
        offset = rest.offset % step
        return Position(rest.offset - offset, rest.terms), Position(offset)
    return rest, None


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """How far apart neighbours lie along each dimension of a contiguous tensor."""
    steps = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        steps[d] = steps[d + 1] * shape[d + 1]
    return tuple(steps)


def flatten(indices: Sequence[Position], shape: Sequence[int]) -> Position:
    """The flat position of a multi-dimensional index."""
    if len(indices) == 1:
        return indices[0]
    offset, terms = 0, list[tuple[Atom, int]]()
    for at, stride in zip(indices, strides(shape), strict=True):
        offset += at.offset * stride
        terms += [(atom, c * stride) for atom, c in at.terms]
    return combine(offset, terms)


def unflatten(flat: Position, shape: Sequence[int], bounds: Bounds) -> tuple[Position, ...]:
    """The multi-dimensional index of a flat position in a tensor of this shape."""
    indices: list[Position] = []
    for extent in reversed(shape[1:]):
        flat, at = divide(flat, extent, bounds) if extent else (ZERO, ZERO)
        indices.append(at)
    return (flat, *reversed(indices)) if shape else ()


def substitute(position: Position, values: Mapping[int, Position], bounds: Bounds) -> Position:
    """The position with loop indices replaced; ``bounds`` are those of the loops in the replacements."""
    offset, terms = position.offset, list[tuple[Atom, int]]()
    for atom, c in position.terms:
        if isinstance(atom, int):
            value = values.get(atom)
            if value is None:
                terms.append((atom, c))
                continue
        else:
            quotient, remainder = divide(substitute(atom.expression, values, bounds), atom.divisor, bounds)
            value = quotient if isinstance(atom, Quotient) else remainder
        offset += value.offset * c
        terms += [(inner, k * c) for inner, k in value.terms]
    return combine(offset, terms) if terms else Position(offset)


def dimensions(position: Position) -> set[int]:
    """The loops that the position depends on."""
    loops: set[int] = set()
    for atom, _ in position.terms:
        loops |= {atom} if isinstance(atom, int) else dimensions(atom.expression)
    return loops

"""Polynomials with rational coefficients, in symbols and in integer functions of polynomials that are none themselves.

``3 n^2 + n/2 + ceil_log2(n)`` has the symbol ``n`` and the atom ``ceil_log2(n)``. Arithmetic is exact, and so is evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import NamedTuple, TypeAlias

Number: TypeAlias = int | Fraction


class Atom(NamedTuple):
    """A function of polynomials that is not multiplied out: its name, by which it is evaluated, and its arguments."""

    function: str
    arguments: tuple[Polynomial, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


FUNCTIONS: dict[str, Callable[..., int]] = {}
"""The functions that atoms may name, of integers or fractions."""

Factor: TypeAlias = str | Atom
Monomial = tuple[tuple[Factor, int], ...]
"""Factors with their powers, in the order of their texts."""


class Polynomial:
    """A polynomial; a value, never changed once it is made. Integers are polynomials wherever one is an operand."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Number]):
        self.terms: dict[Monomial, Number] = {monomial: _whole(c) for monomial, c in terms.items() if c}
        self._hash: int | None = None

    @staticmethod
    def symbol(name: str) -> Polynomial:
        """The polynomial that is this symbol."""
        return Polynomial({((name, 1),): 1})

    @staticmethod
    def of(value: Polynomial | Number) -> Polynomial:
        """A number as a polynomial; a polynomial as it is."""
        return value if isinstance(value, Polynomial) else Polynomial({(): value})

    @staticmethod
    def apply(function: str, *arguments: Polynomial | Number) -> Polynomial:
        """A function of polynomials: its value where all of them are numbers, else an atom."""
        polynomials = tuple(map(Polynomial.of, arguments))
        numbers = [p.constant for p in polynomials]
        if None not in numbers:
            return Polynomial.of(FUNCTIONS[function](*numbers))
        return Polynomial({((Atom(function, polynomials), 1),): 1})

    # -- what it is

    @property
    def constant(self) -> Number | None:
        """The number that it is; None if it has symbols."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def symbols(self) -> frozenset[str]:
        """All symbols, those in atoms included."""
        names: set[str] = set()
        for monomial in self.terms:
            for factor, _ in monomial:
                names |= {factor} if isinstance(factor, str) else _symbols_of(factor)
        return frozenset(names)

    @property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, without those inside of other atoms."""
        return frozenset(factor for monomial in self.terms for factor, _ in monomial if isinstance(factor, Atom))

    def degree(self, symbol: str) -> int:
        """The highest power of a symbol."""
        return max((power for monomial in self.terms for factor, power in monomial if factor == symbol), default=0)

    def coefficients(self, symbol: str) -> dict[int, Polynomial]:
        """The polynomial by powers of a symbol, which must not stand in atoms."""
        parts: dict[int, dict[Monomial, Number]] = {}
        for monomial, c in self.terms.items():
            power = next((p for factor, p in monomial if factor == symbol), 0)
            parts.setdefault(power, {})[tuple(f for f in monomial if f[0] != symbol)] = c
        return {power: Polynomial(terms) for power, terms in parts.items()}

    # -- arithmetic

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        terms = dict(self.terms)
        for monomial, c in Polynomial.of(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Polynomial(terms)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self + Polynomial.of(other) * -1

    def __rsub__(self, other: Polynomial | Number) -> Polynomial:
        return Polynomial.of(other) - self

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial({monomial: c * other for monomial, c in self.terms.items()})
        terms: dict[Monomial, Number] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                product = _times(a, b)
                terms[product] = terms.get(product, 0) + x * y
        return Polynomial(terms)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Polynomial:
        result = ONE
        for _ in range(power):
            result = result * self
        return result

    def __truediv__(self, number: Number) -> Polynomial:
        return self * (1 / Fraction(number))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial | int | Fraction) and self.terms == Polynomial.of(other).terms

    def __lt__(self, other: Polynomial | Number) -> bool:
        return self._above(other) < 0

    def __le__(self, other: Polynomial | Number) -> bool:
        return self._above(other) <= 0

    def __gt__(self, other: Polynomial | Number) -> bool:
        return self._above(other) > 0

    def __ge__(self, other: Polynomial | Number) -> bool:
        return self._above(other) >= 0

    def _above(self, other: Polynomial | Number) -> Number:
        """By how much this is larger, which has to be a number; a ValueError names the symbols that it depends on."""
        difference = self - other
        number = difference.constant
        if number is None:
            raise ValueError(f"which is larger, {self} or {other}, depends on {', '.join(sorted(difference.symbols))}")
        return number

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.constant
            self._hash = hash(constant) if constant is not None else hash(frozenset(self.terms.items()))
        return self._hash

    # -- putting in

    def at(self, values: Mapping[str, Polynomial | Number]) -> Polynomial:
        """The polynomial with values for some of its symbols."""
        if not values or not self.symbols & values.keys():
            return self
        total = ZERO
        for monomial, c in self.terms.items():
            term = Polynomial.of(c)
            for factor, power in monomial:
                term = term * _put(factor, values) ** power
            total = total + term
        return total

    def number(self, values: Mapping[str, Number]) -> Number:
        """The value of the polynomial; a KeyError names the symbols that have none."""
        constant = self.at(values).constant
        if constant is None:
            raise KeyError(f"no values for {', '.join(sorted(self.symbols - values.keys()))}")
        return constant

    def __int__(self) -> int:
        constant = self.constant
        if constant is None or constant != int(constant):
            raise TypeError(f"{self} is not an integer")
        return int(constant)

    # -- text

    def __str__(self) -> str:
        return text(self.terms)

    def __repr__(self) -> str:
        return str(self)


def _whole(number: Number) -> Number:
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


@cache
def _symbols_of(atom: Atom) -> frozenset[str]:
    return frozenset(name for argument in atom.arguments for name in argument.symbols)


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for factor, power in b:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def _put(factor: Factor, values: Mapping[str, Polynomial | Number]) -> Polynomial:
    if isinstance(factor, str):
        return Polynomial.of(values[factor]) if factor in values else Polynomial.symbol(factor)
    return Polynomial.apply(factor.function, *(argument.at(values) for argument in factor.arguments))


ZERO, ONE = Polynomial({}), Polynomial({(): 1})


def text(terms: Mapping[Monomial, Number]) -> str:
    """``12 d n^2 - 2 n + 1``: terms of high degree first."""
    if not terms:
        return "0"
    ordered = sorted(terms.items(), key=lambda item: (-sum(power for _, power in item[0]), [(str(f), -p) for f, p in item[0]]))
    parts: list[str] = []
    for monomial, c in ordered:
        sign = "-" if c < 0 else "+"
        body = _term(monomial, abs(c))
        parts.append(f"{sign} {body}" if parts else f"-{body}" if c < 0 else body)
    return " ".join(parts)


def _term(monomial: Monomial, c: Number) -> str:
    factors = " ".join(str(factor) if power == 1 else f"{factor}^{power}" for factor, power in monomial)
    if not factors:
        return str(c)
    numerator, denominator = (c.numerator, c.denominator)
    product = factors if numerator == 1 else f"{numerator} {factors}"
    return product if denominator == 1 else f"{product}/{denominator}"

"""Functions of extents that are numbers in a static program and polynomials in a symbolic one.

Each gives a number for numbers. For polynomials it gives a polynomial where it can show that one is right for all sizes (at least 1), totals and
indices of iterations (at least 0), and an atom otherwise, which is exact once it is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from wengert.transforms.analysis.symbolic.polynomial import FUNCTIONS, Number, Polynomial

Extent: TypeAlias = int | Polynomial
"""An extent, or another integer that follows from extents."""

Upper = Mapping[str, Polynomial]
"""The iterations of loops by the symbol of their index, which is less; symbols of outer loops come first."""


def product(extents: Iterable[Extent]) -> Extent:
    """The product of extents."""
    result: Extent = 1
    for extent in extents:
        result = result * extent
    return result


def is_total(symbol: str) -> bool:
    """Whether a symbol counts executions, so that it may be 0; sizes are at least 1."""
    return symbol[0] in "TBi" and symbol[1:2].isdigit()


def is_nonnegative(value: Polynomial | Number, upper: Upper | None = None) -> bool:
    """Whether it can be shown that a polynomial is never negative. Indices of iterations are replaced by both ends of what they go through, which needs them
    to be linear; sizes by one more than a nonnegative number, after which no coefficient may be negative."""
    polynomial = Polynomial.of(value)
    for index in reversed(list(upper or {})):
        if index in polynomial.symbols:
            assert upper is not None
            if polynomial.degree(index) != 1 or any(index in p.symbols for atom in polynomial.atoms for p in atom.arguments):
                return False
            ends = (polynomial.at({index: 0}), polynomial.at({index: upper[index] - 1}))
            return all(is_nonnegative(end, upper) for end in ends)
    sizes = {name: Polynomial.symbol(name) + 1 for name in polynomial.symbols if not is_total(name)}
    return not polynomial.atoms and all(c >= 0 for c in polynomial.at(sizes).terms.values())


def larger(a: Extent, b: Extent, upper: Upper | None = None) -> Extent:
    """The larger of two."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    if is_nonnegative(a - b, upper):
        return a
    return b if is_nonnegative(b - a, upper) else _simple(Polynomial.apply("max", a, b))


def smaller(a: Extent, b: Extent, upper: Upper | None = None) -> Extent:
    """The smaller of two."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    if is_nonnegative(b - a, upper):
        return a
    return b if is_nonnegative(a - b, upper) else _simple(Polynomial.apply("min", a, b))


def ceil_quotient(a: Extent, divisor: int) -> Extent:
    """a / divisor, rounded up."""
    if isinstance(a, int):
        return -(-a // divisor)
    return a if divisor == 1 else _simple(Polynomial.apply("ceil_div", a, divisor))


def ceil_log2(a: Extent) -> Extent:
    """The logarithm to the base 2, rounded up; 0 for what is at most 1."""
    return _ceil_log2(a) if isinstance(a, int) else _simple(Polynomial.apply("ceil_log2", a))


def times_log2(count: Extent | Fraction, length: Extent) -> Extent:
    """count log2 length, rounded; 0 for a length of at most 1."""
    if isinstance(count, int | Fraction) and isinstance(length, int):
        return _times_log2(count, length)
    return _simple(Polynomial.apply("round_times_log2", count, length))


def rounded(value: Polynomial | Number) -> Extent:
    """The nearest integer; the even one of two."""
    if not isinstance(value, Polynomial):
        return round(value)
    return value if all(isinstance(c, int) for c in value.terms.values()) else _simple(Polynomial.apply("round", value))


def _simple(value: Polynomial) -> Extent:
    constant = value.constant
    return int(constant) if constant is not None else value


def _ceil_log2(a: Number) -> int:
    return (math.ceil(a) - 1).bit_length() if a > 1 else 0


def _times_log2(count: Number, length: Number) -> int:
    return round(count * Fraction(math.log2(length))) if length > 1 else 0


def _ceil_div(a: Number, b: Number) -> int:
    return math.ceil(Fraction(a) / b)


def _floor_div(a: Number, b: Number) -> int:
    return math.floor(Fraction(a) / b)


FUNCTIONS.update(
    max=max,
    min=min,
    round=round,
    ceil_div=_ceil_div,
    floor_div=_floor_div,
    ceil_log2=_ceil_log2,
    round_times_log2=_times_log2,
)

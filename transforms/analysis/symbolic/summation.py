"""Sums of polynomials over the iterations of a loop (Faulhaber's formula)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb

from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Polynomial

MOST_TERMS = 100_000
"""A sum that has no formula is added up term by term if it has no more of them."""


def summed(polynomial: Polynomial, index: str, count: Polynomial) -> Polynomial | None:
    """The sum over ``index`` = 0, ..., ``count`` - 1; None where an atom holds the index and the count is not a small number.

    The count must not be negative: the formulas hold for 0 and above.
    """
    if index not in polynomial.symbols:
        return polynomial * count
    if any(index in argument.symbols for atom in polynomial.atoms for argument in atom.arguments):
        terms = count.constant
        if terms is None or terms > MOST_TERMS:
            return None
        return sum((polynomial.at({index: i}) for i in range(int(terms))), ZERO)
    return sum((c * _power_sum(power).at({"n": count}) for power, c in polynomial.coefficients(index).items()), ZERO)


@cache
def _power_sum(power: int) -> Polynomial:
    """0^p + 1^p + ... + (n - 1)^p as a polynomial in n, from the sums of lower powers: n^(p+1) is the sum of (i + 1)^(p+1) - i^(p+1)."""
    n = Polynomial.symbol("n")
    if power == 0:
        return n
    lower = sum((comb(power + 1, p) * _power_sum(p) for p in range(power)), ZERO)
    return (n ** (power + 1) * ONE - lower) * Fraction(1, power + 1)

"""Decides which of two ways costs less: one of them, neither, one of them under a condition, or nobody knows.

The costs of both are polynomials in what is not known. Where their difference has one sign whatever that is, there is an answer; where it has not,
the answer is the inequality. Ways whose costs are within five per cent of each other are a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from wengert.transforms.analysis.symbolic.integers import is_nonnegative, is_total
from wengert.transforms.analysis.symbolic.polynomial import Polynomial

Mode = Literal["forward", "reverse"]
Verdict = Literal["forward", "reverse", "tie", "conditional", "withheld"]

TIE = Fraction(105, 100)
"""Costs whose ratio is less are called equal."""

Alternatives = Sequence[tuple[Sequence[str], Polynomial]]
"""The symbols that count how often each branch of a case is taken, with their sum."""


@dataclass(frozen=True)
class Decision:
    """The verdict. ``ratio`` is how many times the other way costs as much, where that is a number; ``condition`` says when forward costs less."""

    verdict: Verdict
    ratio: float | None = None
    condition: str = ""

    @property
    def mode(self) -> Mode | None:
        """The mode, if there is one whatever is not known."""
        return self.verdict if self.verdict in ("forward", "reverse") else None  # pyright: ignore[reportReturnType]

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {"verdict": self.verdict, "ratio": self.ratio, "forward_if": self.condition or None}


def decide(forward: Polynomial, reverse: Polynomial, alternatives: Alternatives = ()) -> Decision:
    """Decides which of two costs is less."""
    numbers = forward.constant, reverse.constant
    if numbers[0] is not None and numbers[1] is not None:
        return _of_numbers(Fraction(numbers[0]), Fraction(numbers[1]))
    if _never_less(forward * TIE, reverse, alternatives) and _never_less(reverse * TIE, forward, alternatives):
        return Decision("tie")
    if _never_less(reverse, forward, alternatives):
        return Decision("forward")
    if _never_less(forward, reverse, alternatives):
        return Decision("reverse")
    return Decision("conditional", condition=_condition(reverse - forward))


def _of_numbers(forward: Fraction, reverse: Fraction) -> Decision:
    low, high = sorted((forward, reverse))
    ratio = float(high / low) if low else None
    if high <= low * TIE:
        return Decision("tie", ratio)
    return Decision("forward" if forward < reverse else "reverse", ratio)


def _never_less(a: Polynomial, b: Polynomial, alternatives: Alternatives) -> bool:
    """Whether it can be shown that one cost is never less than another one."""
    return is_nonnegative(_least(a - b, alternatives))


def _least(cost: Polynomial, alternatives: Alternatives) -> Polynomial:
    """A bound from below: each case takes the branch that costs least, every time."""
    for symbols, times in alternatives:
        if not any(cost.degree(symbol) for symbol in symbols):
            continue
        parts = [cost.coefficients(symbol) for symbol in symbols]
        shares = [part.get(1, Polynomial({})).constant for part in parts]
        if any(cost.degree(symbol) > 1 for symbol in symbols) or None in shares:
            continue
        rest = cost.at(dict.fromkeys(symbols, 0))
        cost = rest + min(share for share in shares if share is not None) * times
    return cost


def _condition(difference: Polynomial) -> str:
    """The inequality in words, for a difference that has to be positive: ``T0 < 9``, or both sides of it."""
    difference = _without_common_sizes(difference)
    if len(difference.symbols) == 1 and not difference.atoms:
        (name,) = difference.symbols
        if difference.degree(name) == 1:
            return _threshold(name, difference)
    left, right = _sides(difference)
    return f"{left} < {right}"


def _threshold(name: str, difference: Polynomial) -> str:
    """The numbers of a symbol for which a linear polynomial in it is positive."""
    parts = difference.coefficients(name)
    slope, start = (Fraction((parts.get(power) or Polynomial({})).constant or 0) for power in (1, 0))
    root = -start / slope
    if slope < 0:
        return f"{name} < {-(-root.numerator // root.denominator)}"
    return f"{name} > {root.numerator // root.denominator}"


def _without_common_sizes(difference: Polynomial) -> Polynomial:
    """The difference divided by the sizes that are in every term; they are not zero."""
    powers = [dict(monomial) for monomial in difference.terms]
    common = {name: min(power.get(name, 0) for power in powers) for name in difference.symbols if not is_total(name)}
    terms = {
        tuple([(factor, rest) for factor, power in monomial if (rest := power - (common.get(factor, 0) if isinstance(factor, str) else 0))]): c
        for monomial, c in difference.terms.items()
    }
    return Polynomial(terms)


def _sides(difference: Polynomial) -> tuple[str, str]:
    """What has to be less than what, with coefficients relative to the smallest, to three digits."""
    scale = min(abs(Fraction(c)) for c in difference.terms.values())
    terms = {monomial: _short(Fraction(c) / scale) for monomial, c in difference.terms.items()}
    negative = Polynomial({monomial: -c for monomial, c in terms.items() if c < 0})
    return str(negative), str(Polynomial({monomial: c for monomial, c in terms.items() if c > 0}))


def _short(number: Fraction) -> Fraction:
    """A number of at least 1 as a short fraction, or to three digits."""
    digits = len(str(abs(int(number)))) - 3
    return Fraction(round(number / 10**digits) * 10**digits) if digits >= 0 else number.limit_denominator(10)

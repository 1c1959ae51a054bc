"""Comparisons of results that a check makes, and whether one that does not hold is a fault or rounding.

The comparison that fails is made again with long doubles for all floats (``in_wide_arithmetic``). It was rounding, or the range of a format, if the difference
is gone there, and if one of the two results was right all along: else the program took another way in wide arithmetic, which says nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.lab.agreement import agreement
from wengert.lab.agreement.agreement import Array, Mismatch, Noisy, Singular, near
from wengert.lab.agreement.noise.floats import wider

SHRINKS = 64.0
"""So many times smaller is a rounding error in wide arithmetic at least; long doubles have 2048 times the precision of 64 bits."""
NEARER = 4.0
"""So many times nearer to the wide result than to each other is the one of two results that is right."""
SLIGHT = 1e-6
"""A difference of this share of the wide result is no other way through the program: there both may be about as far off as they are apart."""


class Difference(Mismatch):
    """Results that do not agree: the number of the comparison among those of the check, the result, and where its elements differ."""

    def __init__(self, mismatch: Mismatch, number: int, given: Sequence[Array], expected: Sequence[Array]):
        super().__init__(mismatch.what, mismatch.details)
        assert mismatch.place is not None
        self.number = number
        self.result, self.bad = mismatch.place
        self.given, self.expected = np.asarray(given[self.result]), np.asarray(expected[self.result])


class VanishedError(Exception):
    """A difference is not there in wide arithmetic."""


@dataclass
class _Course:
    """The comparisons of one run of a check: how many there were, and which is made again."""

    made: int = 0
    again: Difference | None = None


_COURSE: ContextVar[_Course] = ContextVar("course")


@contextmanager
def comparisons(again: Difference | None = None) -> Generator[None]:
    """Counts the comparisons of one run of a check; ``again``: all but that one hold, and that one is judged by whether it vanishes."""
    token = _COURSE.set(_Course(again=again))
    try:
        yield
    finally:
        _COURSE.reset(token)


def assert_agree(
    what: str,
    given: Sequence[Array],
    expected: Sequence[Array],
    noisy: Noisy,
    *,
    loose: float = 1.0,
    singular: Singular = "no",
    sums_of: Sequence[Array] = (),
) -> None:
    """:func:`wengert.lab.agreement.agreement.assert_agree`; a difference of values is a :class:`Difference`."""
    course = _COURSE.get(None) or _Course()
    number, course.made = course.made, course.made + 1
    if course.again is not None:
        if number != course.again.number:
            return
        if not vanishes(course.again, given[course.again.result], expected[course.again.result]):
            raise course.again
        raise VanishedError
    try:
        agreement.assert_agree(what, given, expected, noisy, loose=loose, singular=singular, sums_of=sums_of)
    except Mismatch as mismatch:
        if mismatch.place is None:
            raise
        raise Difference(mismatch, number, given, expected) from None


def vanishes(difference: Difference, given: Any, expected: Any) -> bool:
    """Whether results that differ do not in wide arithmetic, and one of the two was right, at every element."""
    a, e = difference.given[difference.bad], difference.expected[difference.bad]
    wide_a, wide_e = np.asarray(given)[difference.bad], np.asarray(expected)[difference.bad]
    if e.dtype.kind not in "fcV":
        return bool(np.all(wide_a == wide_e) and np.all((a == wide_e) | (e == wide_e)))
    with np.errstate(all="ignore"):
        apart, wide_apart = _apart(a, e), _apart(wide_a, wide_e)
        right = wide_e.astype(e.dtype)
        least = np.minimum(_apart(a, right), _apart(e, right))
        size = np.abs(right.astype(wider(e.dtype)))
        reach = np.where(np.isfinite(apart), np.where(apart <= SLIGHT * size, apart * NEARER, apart / NEARER), 1e-2 * size)
        same = near(a, right) | near(e, right)
        return bool(np.all(near(wide_a, wide_e) | (wide_apart <= apart / SHRINKS) & np.isfinite(wide_apart)) and np.all(same | (least <= reach)))


def _apart(x: Any, y: Any) -> Any:
    return np.abs(x.astype(wider(x.dtype)) - y.astype(wider(y.dtype)))

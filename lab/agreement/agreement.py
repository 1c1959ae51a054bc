"""Whether two results agree: to the bit, to a few units in the last place, or as nearly as noise lets them be.

The rule. Integers and booleans are equal; floats differ by at most :data:`NEAR` units in the last place of the larger part. Where they do not, noisy
runs of the reference program say how far right results may be apart: a float may differ from the reference by :data:`SAFETY` times what the noisy runs
differ from it, element by element, and an integer may differ where noisy runs differ. An element that is finite, infinite or NaN in the reference and
in all noisy runs must be of the same kind; if the runs do not agree on that, the element says nothing. Zeros of both signs are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np

from wengert.lab.agreement.noise.floats import wider

Array = np.ndarray[Any, np.dtype[Any]]
Noisy = Callable[[int], Sequence[Array]]
"""The reference program's results with the errors of a seed."""

Singular = Literal["no", "infinite", "anything"]

NEAR = 16
"""Units in the last place, of 64-bit and 32-bit floats, that always pass; two for 16-bit ones."""
SAFETY = 16.0
FIRST, MORE = 3, 32
"""How many noisy runs there are before a difference counts, and how many before it is reported."""


class Mismatch(Exception):
    """A check that does not hold: what is wrong, in one line, and the values; where elements differ, ``place``: of which result, and the mask of which."""

    def __init__(self, what: str, details: str = "", place: tuple[int, Any] | None = None):
        super().__init__(what)
        self.what, self.details, self.place = what, details, place


def assert_agree(
    what: str,
    given: Sequence[Array],
    expected: Sequence[Array],
    noisy: Noisy,
    *,
    loose: float = 1.0,
    singular: Singular = "no",
    sums_of: Sequence[Array] = (),
    runs: int = MORE,
) -> None:
    """Results agree with those of the reference, or a Mismatch says which does not.

    ``loose`` multiplies the tolerance. ``singular`` is for derivatives where there may be none: "infinite" if infinities and NaN count as one another,
    "anything" if an element that is not finite in one of the two says nothing. ``sums_of``: the cotangents that results are sums of, which may cancel in
    one order of summation and leave a rounding error of their size in another. ``runs``: how many noisy runs there are before a difference is reported.
    """
    if len(given) != len(expected):
        raise Mismatch(f"{what}: {len(given)} results where {len(expected)} are expected")
    for k, (a, e) in enumerate(zip(given, expected, strict=True)):
        if np.shape(a) != np.shape(e) or np.asarray(a).dtype != np.asarray(e).dtype:
            raise Mismatch(f"{what}: result {k} is {np.asarray(a).dtype}{np.shape(a)}, expected {np.asarray(e).dtype}{np.shape(e)}")
    passes: list[Any] = [near(a, e) | _is_singular(a, e, singular) for a, e in zip(given, expected, strict=True)]
    wrong = [k for k, passed in enumerate(passes) if not passed.all()]
    samples: list[Sequence[Array]] = []
    largest = max((float(np.max(np.abs(_wide(x)), initial=0, where=np.isfinite(_wide(x)))) for x in sums_of), default=0.0)
    for count in (FIRST, runs):
        if not wrong:
            return
        samples += [noisy(seed) for seed in range(len(samples), count)]
        for k in wrong:
            passes[k] = passes[k] | excused(given[k], expected[k], [s[k] for s in samples], loose, largest)
        wrong = [k for k in wrong if not passes[k].all()]
    if not wrong:
        return
    bad = ~passes[wrong[0]]
    k = wrong[0]
    a, e = np.asarray(given[k])[bad], np.asarray(expected[k])[bad]
    kind = "not finite" if np.isfinite(_wide(e)).all() and not np.isfinite(_wide(a)).all() else "finite" if not np.isfinite(_wide(e)).all() else "wrong"
    places = np.argwhere(bad)[:4].tolist()
    raise Mismatch(f"{what}: {kind} ({e.dtype})", f"result {k} at {places}: {a[:4]}, expected {e[:4]}; {int(bad.sum())} of {bad.size} elements", (k, bad))


def near(a: Array, e: Array) -> Any:
    """The mask of elements that are equal, or a few units in the last place apart."""
    a, e = np.asarray(a), np.asarray(e)
    if e.dtype.kind not in "fcV":
        return a == e
    info = _finfo(e.dtype)
    ulps = NEAR if info.bits >= 32 else 2
    return _within(a, e, np.maximum(np.abs(_wide(e)) * float(info.eps), float(info.smallest_subnormal)) * ulps)


def excused(a: Array, e: Array, samples: Sequence[Array], loose: float = 1.0, largest: float = 0.0) -> Any:
    """The mask of elements that agree as far as the noisy results let them."""
    a, e = np.asarray(a), np.asarray(e)
    if e.dtype.kind not in "fcV":
        return (a == e) | np.any([np.asarray(s) != e for s in samples], axis=0)
    settled = np.all([_kind(s) == _kind(e) for s in samples], axis=0)
    with np.errstate(all="ignore"):
        spread = np.max([np.nan_to_num(np.abs(_wide(s) - _wide(e)), nan=0, posinf=0, neginf=0) for s in samples], axis=0)
    info = _finfo(e.dtype)
    with np.errstate(all="ignore"):
        base = np.maximum(np.maximum(np.abs(_wide(e)), largest) * float(info.eps), float(info.smallest_normal)) * (NEAR if info.bits >= 32 else 2)
        return ~settled | near(a, e) | _within(a, e, (SAFETY * np.nan_to_num(spread) + np.nan_to_num(base)) * loose)


def _is_singular(a: Array, e: Array, how: Singular) -> Any:
    first, second = ~np.isfinite(_wide(a)), ~np.isfinite(_wide(e))
    return False if how == "no" else first & second if how == "infinite" else first | second


def _within(a: Array, e: Array, tolerance: Any) -> Any:
    x, y = _wide(a), _wide(e)
    with np.errstate(all="ignore"):
        apart = np.abs(x - y)
        close = (apart <= tolerance) & np.isfinite(apart)  # the tolerance of an infinity is one
    if x.dtype.kind == "c":
        return close | (_same(x.real, y.real) & _same(x.imag, y.imag)) | (~np.isfinite(y) & ~np.isfinite(x) & (_kind(a) == _kind(e)))
    return close | _same(x, y)


def _same(x: Any, y: Any) -> Any:
    return (x == y) | (np.isnan(x) & np.isnan(y))


def _wide(x: Any) -> Any:
    x = cast(Any, np.asarray(x))
    wide: Any = x.astype(wider(x.dtype))
    return wide


def _kind(x: Any) -> Any:
    """0 for a finite element, 1 and 2 for infinities, 3 for NaN; a complex number that is not finite is 4."""
    x = _wide(x)
    if x.dtype.kind == "c":
        return np.where(np.isfinite(x), 0, 4)
    infinities: Any = np.where(x == np.inf, 1, np.where(x == -np.inf, 2, 0))
    return np.where(np.isnan(x), 3, infinities)


def _finfo(dtype: Any) -> Any:
    """The limits of a float or complex type, those of ``ml_dtypes`` included."""
    return cast(Any, ml_dtypes).finfo(dtype)

"""Directional derivatives by differences, with an honest bound on their error.

Central differences D(h) = (f(x + hv) - f(x - hv)) / 2h are taken on a ladder of steps. For every element of every
output, the step is chosen at which the estimated error is least: what changed since the step before (truncation), plus
the rounding of f divided by h, and what smaller steps say against it. This is Ridders' idea without the extrapolation, which a kink anywhere near would spoil.

At a kink central differences settle on the mean of two slopes, and the derivative is a matter of convention. It shows
in the one-sided differences, which do not approach each other as h shrinks.

C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering Software 4(2), 1982.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Sequence[Array]], Sequence[Array]]

FACTOR = 8.0
_ROUNDING = 4.0
"""The error of a function value that is assumed, in units of rounding."""
_KINK = 0.5
"""One-sided differences of a smooth function approach each other by FACTOR per step; by less than this share, a kink."""


@dataclass(frozen=True)
class Slopes:
    """The derivative of one output along a direction, by differences.

    Attributes:
        value: the derivative, element by element, in double precision.
        error: an estimate of its error.
        step: the step that each element was taken at.
        left, right: the one-sided differences at the smallest step that rounding does not drown.
        kink: where they do not approach each other.
    """

    value: Array
    error: Array
    step: Array
    left: Array
    right: Array
    kink: Array


def ladder(epsilon: float, least: float | None = None) -> list[float]:
    """The steps to try, from large to small, for a precision: below sqrt(epsilon)/8 rounding drowns everything, unless derivatives are large (``least``)."""
    steps = [0.125]
    while steps[-1] / FACTOR > (max(epsilon**0.5 / 8, 1e-9) if least is None else least):
        steps.append(steps[-1] / FACTOR)
    return steps if len(steps) >= 3 else [0.5, 0.25, 0.125]


def slopes(f: Function, x: Sequence[Array], direction: Sequence[Array], epsilon: float, rounding: Sequence[float] | None = None) -> list[Slopes]:
    """The derivatives of all outputs of f at x along a direction (both in the order of f's arguments).

    Args:
        f: takes and returns arrays; called twice per step and once at x.
        x: the point.
        direction: one array per argument, zeros where it does not move; its largest element should be about 1.
        epsilon: the unit of rounding of what f computes, which may be coarser than its types.
        rounding: the errors of the outputs of f, where they were measured; a few units of rounding by default. Steps go down to 64 units then, and all elements
            of an output are taken at the one step that leaves most digits: a function that changes much within a step may change by chance less in an element.
    """
    center = [_wide(y) for y in f(x)]
    rungs = [_Rung(f, x, direction, center, h) for h in ladder(epsilon, None if rounding is None else 64 * epsilon)]
    reach = max((float(np.max(np.abs(a), initial=0.0)) for a, v in zip(x, direction, strict=True) if np.any(v)), default=0.0)
    measured = [None] * len(center) if rounding is None else rounding
    return [_settle([(rung.step, rung.left[j], rung.right[j]) for rung in rungs], y, reach, epsilon, measured[j]) for j, y in enumerate(center)]


class _Rung:
    """One-sided differences of all outputs for one step."""

    def __init__(self, f: Function, x: Sequence[Array], direction: Sequence[Array], center: Sequence[Array], step: float):
        above, below = moved(x, direction, step), moved(x, direction, -step)
        self.step = step
        self.right = [(_wide(a) - y) / self.step for a, y in zip(f(above), center, strict=True)]
        self.left = [(y - _wide(b)) / self.step for b, y in zip(f(below), center, strict=True)]


def moved(x: Sequence[Array], direction: Sequence[Array], step: float) -> list[Array]:
    """x + step * direction, each array in its own dtype; what does not move is passed on."""
    return [(a.astype(_wider(a)) + step * v.astype(_wider(a))).astype(a.dtype) if np.any(v) else a for a, v in zip(x, direction, strict=True)]


def _settle(rungs: list[tuple[float, Array, Array]], center: Array, reach: float, epsilon: float, rounding: float | None) -> Slopes:
    """The best step for every element of one output; ``reach`` is the largest magnitude in x, ``rounding`` the error of f if it was measured."""
    size = float(np.max(np.abs(center), initial=0.0, where=np.isfinite(center)))
    central = np.stack([(left + right) / 2 for _, left, right in rungs])
    steps = np.array([h for h, _, _ in rungs])
    column = steps.reshape(-1, *[1] * center.ndim)
    # Rounding of f and of the points x + hv, both magnified by 1/h.
    noise = (max(epsilon * _ROUNDING * size, rounding or 0.0) + epsilon * reach * np.abs(central)) / column
    change = np.abs(np.diff(central, axis=0, prepend=central[1:2]))
    error = change + noise
    error = np.where(np.isfinite(error), error, np.inf)
    error = _contradicted(central, error)
    if rounding is not None:
        error = _alike(central, error)
    best = np.argmin(error, axis=0, keepdims=True)

    def at(values: Array, index: Array) -> Array:
        return np.take_along_axis(values, index, axis=0)[0]

    left, right = np.stack([r[1] for r in rungs]), np.stack([r[2] for r in rungs])
    gap = np.abs(right - left)
    # The smallest step whose one-sided differences stand clear of rounding.
    clear = gap > 16 * noise
    last = np.maximum(len(rungs) - 1 - np.argmax(clear[::-1], axis=0, keepdims=True), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        lasting = at(gap, last) > _KINK * at(gap, last - 1)
        large = at(gap, last) > 100 * epsilon**0.5 * (np.abs(at(left, last)) + np.abs(at(right, last)))
        kink = clear.any(axis=0) & lasting & large
    value = at(central, best)
    return Slopes(value, at(error, best), steps[best[0]], at(left, last), at(right, last), kink)


def _contradicted(central: Array, error: Array) -> Array:
    """The errors with those of steps that a smaller step contradicts: a function that bends within a step may have a difference that hardly changes from one
    large step to the next, and is wrong. A smaller step is nearer to the derivative, as far as its own error goes."""
    wider = error.copy()
    with np.errstate(invalid="ignore"):
        for k in range(len(central) - 1):
            apart = np.abs(central[k] - central[k + 1 :]) - error[k + 1 :]
            wider[k] = np.maximum(error[k], np.max(np.nan_to_num(apart, nan=0.0, posinf=0.0, neginf=0.0), axis=0))
    return wider


def _alike(central: Array, error: Array) -> Array:
    """The errors of the step at which they are least beside the derivatives, infinite ones for the others; each the largest of the output."""
    over = tuple(range(1, error.ndim))
    worst = np.max(error, axis=over, initial=0.0, where=np.isfinite(error))
    size = np.max(np.abs(central), axis=over, initial=0.0, where=np.isfinite(central))
    chosen = int(np.argmin(np.where(size > 0, worst / np.where(size > 0, size, 1.0), np.inf)))
    alike = np.full_like(error, np.inf)
    alike[chosen] = np.where(np.isfinite(error[chosen]), worst[chosen], np.inf)
    return alike


def _wider(array: Array) -> np.dtype[Any]:
    return np.dtype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _wide(array: Array) -> Array:
    """An array in double precision."""
    array = np.asarray(array)
    return array.astype(_wider(array))

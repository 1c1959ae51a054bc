"""Draws errors: of rounding, of the signs of zeros and NaNs, of sums that overflow, and of what is not known at all."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.lab.agreement.noise.floats import Array, as_array, finfo, has_few_bits, part, wider
from wengert.lab.agreement.noise.nans import convention_of_nans

EXACT_EVERY = 4
"""In one of so many runs nothing is rounded otherwise, and only what else is open is drawn: near a singularity all rounding may lead away from it."""


class Disturbance:
    """The errors of one run.

    Attributes:
        rng: what they are drawn from.
        turn: the number of the run: what is of few kinds is tried in turn.
        ulps: how large those of rounding are, in units of the last place; 0 in some of the runs.
        rounds: whether they are not.
        flushing: whether small numbers may become zero.
        skips_holes: whether no op of this run multiplies by zeros of padding and dilation: several of them in a row are seldom drawn alike.
        signs_of_nans: gives the results of an op, of these operands, the signs of their NaNs.
    """

    def __init__(self, turn: int, ulps: float, *, flushing: bool):
        self.rng, self.turn = np.random.default_rng(turn), turn
        self.rounds = turn % EXACT_EVERY != EXACT_EVERY - 1
        self.ulps = ulps if self.rounds else 0.0
        self.flushing = flushing
        self.skips_holes = bool(self.rng.random() < 0.3)
        self.signs_of_nans = convention_of_nans(turn)

    def off(self, x: Any, ulps: float, keeps_few: bool, units: bool = False) -> Any:
        """x with an error of this many units in the last place at most; a one or minus one of a function is exact, but not where ``units`` are summed.

        An error leaves a number finite: the largest one would be an infinity in half of the runs.
        """
        x = as_array(x)
        if x.dtype.kind == "c":
            kept = (has_few_bits(x.real) & has_few_bits(x.imag)) if keeps_few else (x == 0)
            info = finfo(x.dtype)
            size = np.maximum(np.abs(x) * float(info.eps), float(info.smallest_subnormal)) * ulps
            error = (self.uniform(x.shape) + 1j * self.uniform(x.shape)) * size
            return np.where(kept | ~np.isfinite(x), x, (x + error).astype(x.dtype))[()]
        if x.dtype.kind not in "fV":
            return x[()]
        kept = has_few_bits(x) if keeps_few else (x == 0) | ((np.abs(x) == 1) & (not units))
        info = finfo(x.dtype)
        wide = x.astype(wider(x.dtype))
        size = np.maximum(np.abs(wide) * float(info.eps), float(info.smallest_subnormal)) * ulps
        moved = (wide + self.uniform(x.shape) * size).astype(x.dtype)
        moved = np.where(kept | ~np.isfinite(x) | ~np.isfinite(moved), x, moved)
        nan = np.isnan(x)
        return (np.where(nan & self.coins(x.shape), -x, moved) if nan.any() else moved)[()]

    def off_by_size(self, x: Any, size: Any) -> Any:
        """x with an error of this many times its rounding unit at most; zeros stay in some of the runs."""
        if size is None:
            return x
        info = finfo(x.dtype)
        error = self.uniform(x.shape) * size * (float(info.eps) * self.ulps)
        kept = ~np.isfinite(x) | ((x == 0) & (self.rng.random() < 0.5))
        return np.where(kept, x, x + error).astype(x.dtype)

    def signs(self, x: Any) -> Any:
        """Zeros and NaNs of either sign."""
        x = as_array(x)
        if x.dtype.kind not in "fV":
            return x[()]
        flip = ((x == 0) | np.isnan(x)) & self.coins(x.shape)
        return np.where(flip, -x, x)[()]

    def overflown(self, x: Any) -> Any:
        """Anything in place of what is not finite: where several numbers are combined, an order in which elements overflow decides what becomes of them."""
        x = as_array(x)
        if x.dtype.kind not in "fcV" or np.isfinite(x).all():
            return x[()]
        drawn = self.rng.choice([np.nan, np.inf, -np.inf, 0.0], x.shape).astype(x.dtype)
        return np.where(np.isfinite(x), x, drawn).astype(x.dtype)[()]

    def spread(self, x: Any, operands: Sequence[Any], batch: int = 0, *, folds: bool = False) -> Any:
        """The result made undecided where sums in another order would overflow, batch element by batch element of its first ``batch`` dimensions.

        Of sums and products alone (``folds``) so are the elements that did overflow: another order may end in another infinity, or in a number.
        """
        x = as_array(x)
        if x.dtype.kind not in "fcV":
            return x[()]
        most = float(finfo(part(x.dtype)).max)
        sizes = [_largest(v, batch) for v in map(np.asarray, operands) if v.dtype.kind in "fcV"]
        with np.errstate(over="ignore"):
            great = np.prod([np.maximum(size, 1.0) for size in sizes], axis=0) * 64 > most if sizes else np.zeros((), bool)
        finite = folds and all(np.isfinite(v).all() for v in map(np.asarray, operands) if v.dtype.kind in "fcV")
        undecided = per_batch(great, x) | ~np.isfinite(x) & finite
        return np.where(undecided, self._overflowing(x, most), x).astype(x.dtype)[()] if undecided.any() else x[()]

    def _overflowing(self, x: Any, most: float) -> Any:
        kind = self.rng.random()
        if kind < 0.2:  # as if nothing overflowed
            return np.nan_to_num(x.astype(wider(x.dtype)), nan=0.0, posinf=most / 64, neginf=-most / 64).astype(x.dtype)
        if kind < 0.4:  # likewise, of numbers that cancel, or whose product becomes small: any size, either sign
            sizes = most ** self.rng.uniform(-1, 1, x.shape) * self.rng.choice([-1.0, 1.0], x.shape)
            return np.where(np.isfinite(x), x, sizes).astype(x.dtype)
        # a sum that ended in NaN may have met an infinity first
        anything = self.rng.choice([np.nan, np.inf, -np.inf], x.shape).astype(part(x.dtype))
        factor = self.rng.choice([1.0, np.nan, np.inf], x.shape).astype(part(x.dtype))
        return np.where(np.isnan(x), anything, x * factor).astype(x.dtype)

    def transformed(self, x: Any, size: Any) -> Any:
        """Sums of a Fourier transform, each off by this many times its rounding unit at most.

        Both parts are off, or one alone in the runs of some numbers: the other may cancel exactly.
        """
        error = self.uniform(x.shape) * size
        if x.dtype.kind == "c":
            other = 1j * self.uniform(x.shape) * size
            error = (error + other, error, other)[self.turn // EXACT_EVERY % 3]
        return np.where(np.isfinite(x), x + error * (float(finfo(x.dtype).eps) * self.ulps), x).astype(x.dtype)[()]

    def anything(self, like: Any) -> Any:
        """Floats of which nothing is known: any bits, NaN, or the ends of the range, so that no finite number is farther from another than some of these."""
        kind = self.rng.random()
        if kind < 0.5:
            return np.frombuffer(self.rng.bytes(like.nbytes), like.dtype).reshape(like.shape)
        if kind < 0.7:
            return np.full_like(like, np.nan)
        end = np.asarray(finfo(part(like.dtype)).max, like.dtype)
        return np.where(self.rng.random(like.shape) < 0.5, end, -end).astype(like.dtype)

    def coins(self, shape: tuple[int, ...]) -> Array:
        """Some elements, all, or none: an implementation may give all NaNs the other sign."""
        return self.rng.random(shape) < self.rng.choice([0.0, 0.5, 1.0])

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Numbers between -1 and 1."""
        return self.rng.uniform(-1, 1, shape)

    def flushed(self, x: Array) -> Array:
        """Some runs have zeros for subnormal numbers."""
        if not self.flushing or x.dtype.kind not in "fcV" or self.rng.random() < 0.3:
            return x
        if x.dtype.kind == "c":
            return (self.flushed(x.real) + 1j * self.flushed(x.imag)).astype(x.dtype)
        return np.where(np.abs(x) < finfo(x.dtype).smallest_normal, np.copysign(np.zeros_like(x), x), x).astype(x.dtype)


def per_batch(of_each: Any, x: Any) -> Any:
    """What is said of each batch element, for each of its elements in ``x``."""
    return of_each.reshape(of_each.shape + (1,) * (x.ndim - of_each.ndim))


def _largest(x: Any, batch: int) -> Any:
    """The largest finite size in each batch element."""
    sizes = np.abs(np.where(np.isfinite(x), x, 0)).astype(np.float64)
    return np.max(sizes, axis=tuple(range(batch, x.ndim)), initial=0.0)

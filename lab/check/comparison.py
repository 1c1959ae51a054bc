"""Compares two results of a check: a finding says which element lies furthest outside of its bound, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.lab.check.differences import Array, Slopes
from wengert.lab.check.report import Finding, Verdict

ALLOWED = 4.0
"""How much further apart than by the rounding that was measured results may be."""
DROWNED = 0.5
"""The share of its size from which on a bound on what is compared settles nothing."""


def compare(
    test: str,
    name: str,
    positions: Sequence[int],
    tangents: Sequence[Array],
    directional: Sequence[Slopes],
    epsilon: float,
    moved: Sequence[float] | None = None,
) -> Finding:
    """Derivatives against slopes: the element that lies furthest outside its bound.

    ``epsilon``: of the precision that is computed in. ``moved``: how far rounding moves the derivatives, if that was measured.
    """
    worst, ratio = Finding(test, "ok"), -1.0
    for k, (j, a, s) in enumerate(zip(positions, tangents, directional, strict=True)):
        finding, relative = _compare_one(test, name, j, wide(a), s, epsilon, None if moved is None else moved[k])
        if relative > ratio:
            worst, ratio = finding, relative
    return worst


def _compare_one(test: str, name: str, j: int, a: Array, s: Slopes, epsilon: float, moved: float | None) -> tuple[Finding, float]:
    if not a.size:
        return Finding(test, "ok"), 0.0
    settled = np.isfinite(s.error) & np.isfinite(s.value)
    if not settled.any():
        return Finding(test, "unsettled", where=place(j, 0, a.shape), left=f"{name} {a.flat[0]:.9g}", right="differences are not finite"), 0.5
    scale = magnitude(s.value[settled])
    bound = np.where(settled, 4 * s.error + min(1e3 * epsilon, 0.1) * scale + ALLOWED * (moved or 0.0), np.inf)
    error = np.where(settled, np.abs(a - s.value), 0.0)
    error = np.where(np.isnan(a) & settled, np.inf, error)
    left, right = np.real(s.left), np.real(s.right)
    low, high = np.minimum(left, right) - bound, np.maximum(left, right) + bound
    convention = s.kink & (np.real(a) >= low) & (np.real(a) <= high)
    excess = np.where(bound > 0, error / np.where(bound > 0, bound, 1.0), np.where(error > 0, np.inf, 0.0))
    judged = np.where(convention, np.minimum(excess, 1.0), excess)
    worst = int(np.argmax(judged))
    verdict: Verdict = "MISMATCH" if judged.flat[worst] > 1 else "at a kink" if bool(np.any(convention & (excess > 1))) else "ok"
    if verdict == "at a kink":
        worst = int(np.argmax(np.where(convention, excess, 0.0)))
    sides = (f"{name} {a.flat[worst]:.9g}", f"differences {s.value.flat[worst]:.9g}")
    if s.kink.flat[worst]:
        sides = (sides[0], f"differences from the left {s.left.flat[worst]:.9g}, from the right {s.right.flat[worst]:.9g}")
    at, rounding = float(bound.flat[worst]), None if moved is None else float(s.error.flat[worst]) + moved
    if rounding is not None and verdict != "MISMATCH" and at > DROWNED * scale:
        verdict = "unsettled"
    finding = Finding(test, verdict, float(error.flat[worst]), at, place(j, worst, a.shape), *sides, float(s.step.flat[worst]), rounding)
    return finding, float(excess.flat[worst])


def dot_product(y_bars: Sequence[Array], y_dots: Sequence[Array], x_bars: Sequence[Array], x_dots: Sequence[Array], slack: float) -> Finding:
    """Whether cotangents times tangents are the same behind a function as before it, within a share of the sum of magnitudes."""
    (left, before), (right, behind) = dot(y_bars, y_dots), dot(x_bars, x_dots)
    size = max(before, behind)
    bound = slack * size
    error = abs(left - right)
    verdict: Verdict = "ok" if error <= bound else "MISMATCH"
    if not np.isfinite(size):
        verdict = "unsettled"
    return Finding("dot product", verdict, error, bound, "", f"cotangents . jvp = {left:.9g}", f"vjp . direction = {right:.9g}")


def dot(left: Sequence[Array], right: Sequence[Array]) -> tuple[float, float]:
    """The real part of a sum of products, and the sum of their magnitudes."""
    products = [wide(a) * wide(b) for a, b in zip(left, right, strict=True)]
    return sum(float(np.sum(p).real) for p in products), sum(float(np.sum(np.abs(p))) for p in products)


def wide(array: Array) -> Array:
    """The array in the widest type of its kind."""
    array = np.asarray(array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def magnitude(array: Array) -> float:
    """The largest finite magnitude."""
    sizes = np.abs(wide(array))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def largest(array: Array) -> tuple[float, int]:
    """The largest element that is a number, and where it is in the flat array."""
    if not array.size:
        return 0.0, 0
    finite = np.where(np.isnan(array), 0.0, array)
    index = int(np.argmax(finite))
    return float(finite.flat[index]), index


def place(j: int, index: int, shape: tuple[int, ...]) -> str:
    """An element of a result, as ``position 0[1, 2]``."""
    where = ", ".join(str(int(k)) for k in np.unravel_index(index, shape)) if shape and 0 not in shape else ""
    return f"position {j}" + (f"[{where}]" if where else "")


def overall(findings: Sequence[Finding]) -> Verdict:
    """The verdict of several findings: the worst one's."""
    verdicts = {f.verdict for f in findings}
    order: tuple[Verdict, ...] = ("MISMATCH", "unsettled", "at a kink")
    for verdict in order:
        if verdict in verdicts:
            return verdict
    return "ok"

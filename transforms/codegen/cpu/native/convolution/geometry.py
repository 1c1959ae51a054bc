"""Computes which input coordinates a convolution reads, by output position and window position, along one spatial dimension.

Output position p looks with window position w at coordinate ``p * stride + w * dilation - low`` of the input between whose
elements ``base - 1`` zeros are thought. Only coordinates that ``base`` divides hold something else than zero, so the outputs fall
into phases, p = r modulo ``base / gcd(stride, base)``, in each of which every ``base / gcd(dilation, base)``-th window position
counts: each phase is a convolution of its own of the input without zeros. (The gradient of the input of a strided convolution is such a
one: sub-pixel convolutions in W. Shi et al., arXiv:1609.07009.)
"""

from __future__ import annotations

from math import gcd

from msgspec import Struct


class Phase(Struct, frozen=True):
    """Outputs ``first + step q``, q < count, look at inputs ``origin + x_step q + x_window j`` with window positions ``w_first + w_step j``, j < window."""

    first: int
    step: int
    count: int
    w_first: int
    w_step: int
    window: int
    origin: int
    x_step: int
    x_window: int

    @property
    def last(self) -> int:
        """The greatest coordinate."""
        return self.origin + self.x_step * (self.count - 1) + self.x_window * (self.window - 1)


def phases(positions: int, window: int, stride: int, base: int, dilation: int, low: int) -> list[Phase]:
    """The phases of one dimension; one whose window is empty computes zeros."""
    period, w_step = base // gcd(stride, base), base // gcd(dilation, base)
    parts: list[Phase] = []
    for r in range(min(period, positions)):
        looking = [w for w in range(min(w_step, window)) if (r * stride + w * dilation - low) % base == 0]
        count, first = -(-(positions - r) // period), looking[0] if looking else 0
        seen = -(-(window - first) // w_step) if looking else 0
        origin = (r * stride + first * dilation - low) // base
        parts.append(Phase(r, period, count, first, w_step, seen, origin, period * stride // base, w_step * dilation // base))
    return parts


def room(parts: list[Phase], extent: int) -> tuple[int, int]:
    """The zeros that the phases read before and after an input of this extent."""
    looking = [p for p in parts if p.window]
    return max([0, *(-p.origin for p in looking)]), max([0, *(p.last - extent + 1 for p in looking)])

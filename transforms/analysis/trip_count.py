"""The trip count of a loop, where its text says it (:mod:`wengert.transforms.analysis.symbolic.loop_counts`)."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.loop_counts import Integers, iterations


def trip_count(loop: Operation) -> int | None:
    """The number of iterations of a loop, or None where it depends on data, on the iteration of another loop, or is written in another way."""
    count = iterations(loop, Integers(STATIC, {}, {}))
    return count if isinstance(count, int) else None

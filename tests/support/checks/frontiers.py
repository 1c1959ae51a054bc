"""What must be true of all plans under a budget of a derivative."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wengert.runtime.program import Program


def arena(program: Program) -> int:
    """The bytes that the compiled program allocates."""
    return program.compile().stats.arena_bytes


def assert_same(actual: Sequence[Any], expected: Sequence[Any], tolerance: float = 1e-9) -> None:
    for a, b in zip(actual, expected, strict=True):
        scale = max(1.0, float(np.abs(b).max()) if b.size else 1.0)
        assert np.allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True)


def assert_frontier_holds(derivative: Program, inputs: Sequence[Any], *, compiled: int = 3) -> None:
    """Plans are ordered, the flops of none exceed those of one with less memory, and some of them are compiled."""
    frontier = derivative.frontier
    plans = [plan for plan in frontier.best if not (plan.grows and frontier.bounded)]
    assert [plan.arena for plan in plans] == sorted({plan.arena for plan in plans}, reverse=True)
    assert [plan.work for plan in plans] == sorted({plan.work for plan in plans})
    budgets = sorted({plan.arena + more for plan in frontier.plans for more in (-1, 0, 1)})
    met = [frontier.within(budget) for budget in budgets if budget >= plans[-1].arena]
    assert all(a.work >= b.work and a.arena <= b.arena for a, b in pairwise(met))
    expected = derivative(*inputs)
    for plan in (*plans[:: max(1, len(plans) // compiled)], plans[-1]):
        program = derivative.within(plan.arena)
        assert arena(program) == plan.arena, plan.name
        assert_same(program(*inputs), expected)

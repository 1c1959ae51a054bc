"""Binomial schedules: the number of steps is that of the formula, and no more states are stored than there are slots."""

from __future__ import annotations

import pytest

from wengert.transforms.ad.replay.schedule import advances, binomial, forward_steps, repetitions


@pytest.mark.parametrize("slots", range(1, 10))
def test_the_steps_of_a_schedule_are_those_of_the_formula(slots: int):
    for iterations in range(1, 150):
        schedule = binomial(iterations, slots)
        assert schedule.steps == forward_steps(iterations, slots) == advances(iterations + 1, slots)
        times = [0] * iterations
        for sweep in (schedule.first, *schedule.again):
            for _, start, count in sweep.segments:
                for iteration in range(start, start + count):
                    times[iteration] += 1
        assert max(times) <= max(1, repetitions(iterations + 1, slots))


@pytest.mark.parametrize("slots", range(1, 6))
def test_a_schedule_reaches_every_state(slots: int):
    """Followed state by state: each run begins at what its slot holds, and each iteration is reversed at its own state."""
    for iterations in range(1, 60):
        schedule, kept = binomial(iterations, slots), {0: 0}
        goals = [iterations, *reversed(range(iterations))]
        for sweep, goal in zip((schedule.first, *schedule.again), goals, strict=True):
            assert kept[sweep.top] == sweep.start <= goal
            position = sweep.start
            for slot, start, count in sweep.segments:
                assert start == position
                assert 0 <= slot < slots
                kept[slot] = start
                position += count
            assert position == goal

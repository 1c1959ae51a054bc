"""Verdicts on samples of known programs: differences that are there are seen, noise is not taken for one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from wengert.lab.records.verdict import Timing, Verdict, between_runs
from wengert.lab.records.verdict import judge as judged

Vector = np.ndarray[Any, np.dtype[np.float64]]


def judge(a: Any, b: Any, **options: Any) -> Verdict:
    """The verdict on samples without a yardstick."""
    return judged([Timing(tuple(r)) for r in a], [Timing(tuple(r)) for r in b], **options)


def samples(generator: np.random.Generator, base: float = 1e-3, count: int = 25, busy: float = 0.15) -> Vector:
    """Times of a call on a shared machine: a little jitter, and other processes for a while that come and go."""
    times = base * (1 + 0.01 * np.abs(generator.standard_normal(count)))
    on = False
    for i in range(count):
        on = generator.random() < (0.7 if on else busy)
        if on:
            times[i] *= 1 + generator.exponential(0.8)
    return times


@pytest.mark.parametrize("factor", [1.1, 1.5, 3.0])
def test_differences_are_seen(factor: float) -> None:
    generator = np.random.default_rng(1)
    seen = [judge([samples(generator)], [samples(generator, 1e-3 * factor)], seed=i) for i in range(40)]
    assert sum(verdict.kind == "slower" for verdict in seen) >= (32 if factor == 1.1 else 38)
    assert all(verdict.kind in ("slower", "no difference seen") for verdict in seen)
    back = [judge([samples(generator, 1e-3 * factor)], [samples(generator)], seed=i) for i in range(40)]
    assert sum(verdict.kind == "faster" for verdict in back) >= (32 if factor == 1.1 else 38)


def test_noise_is_no_difference() -> None:
    """Also where one side met a busier machine than the other one."""
    generator = np.random.default_rng(2)
    kinds = [judge([samples(generator, busy=a)], [samples(generator, busy=b)], seed=i).kind for i in range(60) for a, b in ((0.1, 0.1), (0.05, 0.5))]
    assert kinds.count("no difference seen") >= 118


def test_small_differences_do_not_count() -> None:
    generator = np.random.default_rng(3)
    a, b = samples(generator, 1.0, 400, busy=0.0), samples(generator, 1.03, 400, busy=0.0)
    verdict = judge([a], [b])
    assert verdict.kind == "no difference seen"
    assert 1.02 < verdict.low < verdict.ratio < verdict.high < 1.04
    assert judge([a], [b], effect=0.01).kind == "slower"


def test_several_records_of_a_side_say_how_far_runs_differ() -> None:
    """Runs of one program that differ among each other by more than the two programs: the interval is as wide as that."""
    generator = np.random.default_rng(4)
    a = [samples(generator, base, busy=0.0) for base in (1.0, 1.2, 1.4, 1.1)]
    b = [samples(generator, base, busy=0.0) for base in (1.1, 1.3, 1.45, 1.15)]
    together = judge([np.concatenate(a)], [np.concatenate(b)], effect=0.01)
    apart = judge(a, b, effect=0.01)
    assert apart.high - apart.low > 1.5 * (together.high - together.low)
    assert apart.kind == "no difference seen"


def test_too_few_samples() -> None:
    verdict = judge([[1.0, 1.0]], [[2.0] * 10])
    assert verdict.kind == str(verdict) == "too few samples"
    assert math.isnan(verdict.ratio)


def test_the_same_samples_give_the_same_verdict() -> None:
    generator = np.random.default_rng(5)
    a, b = samples(generator), samples(generator, 1.2e-3)
    assert judge([a], [b]) == judge([a], [b])
    assert str(judge([a], [a])).startswith("no difference seen: 1 times")


def test_what_the_yardstick_shows_too_is_the_machine() -> None:
    """A machine that is slower by a half for one run: seconds differ, units of the yardstick do not."""
    generator = np.random.default_rng(6)
    machine = [(Timing(tuple(m * samples(generator)), tuple(m * samples(generator, 1e-5))), m) for m in (1.0, 1.5)]
    verdict = judged([machine[0][0]], [machine[1][0]])
    assert verdict.kind == "no difference seen"
    assert verdict.ratio == pytest.approx(1.5, rel=0.05)
    assert verdict.relative == pytest.approx(1.0, rel=0.05)
    assert "by the yardstick" in str(verdict)
    slower = Timing(tuple(1.5 * 1.4 * samples(generator)), machine[1][0].yardstick)
    assert judged([machine[0][0]], [slower]).kind == "slower"
    assert judged([machine[0][0]], [slower]).relative == pytest.approx(1.4, rel=0.05)


def test_the_noise_between_runs_is_that_of_most_tasks() -> None:
    generator = np.random.default_rng(7)
    off = np.exp(0.08 * generator.standard_normal(200))
    off[:20] *= 3  # tasks that did change
    verdicts = [judge([[1.0] * 9], [[float(r)] * 9]) for r in off]
    deviation = between_runs(verdicts)
    assert deviation == pytest.approx(0.08, rel=0.25)
    assert between_runs(verdicts[:7]) is None
    assert all(verdict.at_least(math.expm1(3 * deviation)).kind == "slower" for verdict in verdicts[:20])
    assert sum(verdict.at_least(math.expm1(3 * deviation)).kind != "no difference seen" for verdict in verdicts[20:]) <= 3

"""Limits of time: what takes longer is told, also where the collector of garbage runs a function when the time is over."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from wengert.lab.isolation import time_limit


def wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.fixture
def slow_callback() -> Iterator[None]:
    def callback(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            wait(0.1)

    gc.callbacks.append(callback)
    yield
    gc.callbacks.remove(callback)


def test_what_takes_longer_is_told() -> None:
    with pytest.raises(TimeoutError, match=r"no answer in 0\.05 s"), time_limit(0.05):
        wait(10)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the alarm that is lost
def test_an_alarm_in_a_callback_of_the_collector_is_not_lost(slow_callback: None) -> None:
    def collect_and_wait() -> None:
        gc.collect()
        wait(10)

    with pytest.raises(TimeoutError, match=r"no answer in 0\.05 s"), time_limit(0.05):
        collect_and_wait()


def test_what_is_done_in_time_is_not_disturbed() -> None:
    with time_limit(0.05):
        pass
    wait(0.1)

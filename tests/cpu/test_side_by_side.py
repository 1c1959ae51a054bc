"""Work on several threads: results in their order, the first error, and nothing that runs on."""

from __future__ import annotations

import random
import signal
import threading
import time
from contextlib import suppress

import pytest

from wengert.transforms.codegen.cpu.side_by_side import side_by_side


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_are_in_the_order_of_the_items(threads: int) -> None:
    assert side_by_side(lambda x: x * x, range(20), threads) == [x * x for x in range(20)]
    assert side_by_side(lambda x: x, [], threads) == []


def test_threads_work_at_once() -> None:
    both = threading.Barrier(2)

    def meet(_: int) -> int:
        both.wait(10)
        return threading.get_ident()

    assert len(set(side_by_side(meet, range(2), 2))) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_is_raised_and_no_more_is_begun(threads: int) -> None:
    begun: list[int] = []

    def work(x: int) -> int:
        begun.append(x)
        if x >= 2:
            raise ValueError(f"item {x}")
        return x

    with pytest.raises(ValueError, match="item 2"):
        side_by_side(work, range(1000), threads)
    assert len(begun) <= 2 + threads + 1


def test_an_interrupted_caller_waits() -> None:
    at_work: list[int] = []
    ended: list[int] = []

    def work(x: int) -> None:
        if threading.get_ident() == caller:
            while not at_work:
                time.sleep(0.001)
            raise KeyboardInterrupt
        at_work.append(x)
        time.sleep(0.05)
        at_work.remove(x)
        ended.append(x)

    caller = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(100), 2)
    assert not at_work
    assert len(ended) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the handler may raise in any destructor
def test_interrupts_at_any_time() -> None:
    def stop(*_: object) -> None:
        raise TimeoutError

    caller, at_work = threading.get_ident(), list[int]()

    def work(x: int) -> None:
        if threading.get_ident() == caller:
            time.sleep(0.0002)
            return
        at_work.append(x)
        time.sleep(0.0002)
        at_work.remove(x)

    draw, before = random.Random(0), signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(200):
            with suppress(TimeoutError):
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1.5e-3))
                side_by_side(work, range(4), 3)
                time.sleep(0.01)
            assert not at_work
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""Work on several threads: results in their order, the first error, and nothing that runs on."""

from __future__ import annotations

import threading
import time

import pytest

from wengert.transforms.codegen.cpu.side_by_side import side_by_side


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_are_in_the_order_of_the_items(threads: int) -> None:
    assert side_by_side(lambda x: x * x, range(20), threads) == [x * x for x in range(20)]
    assert side_by_side(lambda x: x, [], threads) == []


def test_threads_work_at_once() -> None:
    both = threading.Barrier(2)

    def meet(_: int) -> str:
        both.wait(10)
        return threading.current_thread().name

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
    ended: list[int] = []

    def work(x: int) -> None:
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(x)

    caller = threading.current_thread()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(100), 2)
    assert len(ended) <= 1
    assert all(not thread.name.startswith("wengert-llvm") for thread in threading.enumerate())

"""Compiler stages: what an interrupt, another thread or a fork finds."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from wengert.ir.pipeline.stages import LOCK, stage, staged_property


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    enabled, handler = gc.isenabled(), signal.getsignal(signal.SIGALRM)
    gc.enable()
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler)
    gc.enable() if enabled else gc.disable()


@stage()
def short() -> None:
    """A stage that is over at once, so that most of the time is spent beginning and ending it."""
    assert not gc.isenabled()


@stage()
def nested() -> None:
    short()


def lock_is_free() -> bool:
    """Whether another thread can begin a stage."""
    taken: list[bool] = []
    other = threading.Thread(target=lambda: taken.append(LOCK.acquire(blocking=False) and not LOCK.release()))
    other.start()
    other.join()
    return taken == [True]


def test_an_interrupt_at_any_moment_leaves_the_collector_on_and_the_lock_free():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    chosen = random.Random(0)
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, chosen.uniform(5e-5, 4e-4))
            while True:
                nested()
        except KeyboardInterrupt as error:
            kept = error  # with the frames that it passed through
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert gc.isenabled(), kept
        assert lock_is_free(), kept


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    stage()(lambda: None)()
    assert not gc.isenabled()


def test_an_error_goes_through():
    @stage()
    def fails() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert gc.isenabled()


def test_one_thread_is_in_a_stage_at_a_time():
    inside, most = 0, 0

    @stage()
    def counted() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.002)
        inside -= 1

    threads = [threading.Thread(target=counted) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_property_is_computed_once():
    class Owner:
        computed = 0

        @staged_property
        def value(self) -> int:
            type(self).computed += 1
            threading.Event().wait(0.002)
            return 7

    owner, values = Owner(), list[int]()
    threads = [threading.Thread(target=lambda: values.append(owner.value)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [7] * 5
    assert Owner.computed == 1
    assert owner.__dict__["value"] == 7


FORKS = """
import os, signal, threading
from wengert.ir.pipeline.stages import stage

begun, over = threading.Event(), threading.Event()

@stage()
def long():
    begun.set()
    threading.Event().wait(0.05)
    over.set()

threading.Thread(target=long).start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)
    stage()(lambda: None)()
    os._exit(0 if over.is_set() else 3)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_waits_for_a_stage_and_the_child_can_begin_one():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

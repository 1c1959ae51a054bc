"""Runs work on several threads: the caller's, and some that end with it.

For work that is done outside of Python, in calls that release the interpreter's lock. A handler of a signal may raise in the caller between any two
instructions of Python, so threads are started and noted by one call of C: none is forgotten (``threading.Thread.start`` waits, in Python, for a thread
that runs already).
"""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import repeat
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_LOST = 0.1
"""Seconds after which the caller looks whether a thread has ended whose note an interrupt made it lose."""


def side_by_side(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """The results of ``work`` for each item, which threads begin in this order; the caller is one of at most ``threads``.

    When it returns or raises, no thread is at work any more, but for one case: whoever interrupts the caller again while it waits for a thread
    leaves that thread to end its item, whose result nobody reads.

    Raises:
        BaseException: what ``work`` raised for the first item that it raised for. No item is begun after that, or after an interrupt of the caller.
    """
    results: dict[int, R] = {}
    errors: dict[int, BaseException] = {}
    left = deque(range(len(items)))
    helpers = _Helpers()

    def run() -> None:
        while left:
            try:
                number = left.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                results[number] = work(items[number])
            except BaseException as error:  # raised again by the caller's thread
                errors[number] = error
                left.clear()

    try:
        helpers.start(run, min(threads, len(items)) - 1)
        run()
        helpers.wait()
    except BaseException:
        left.clear()
        helpers.wait()
        raise
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(items))]


class _Helpers:
    """Threads beside the caller's."""

    def __init__(self) -> None:
        self._started: list[int] = []
        self._ended: list[None] = []
        self._notes: SimpleQueue[None] = SimpleQueue()

    def start(self, run: Callable[[], None], count: int) -> None:
        """Starts so many threads, or as many as the system gives: none while the interpreter shuts down."""

        def helper() -> None:
            try:
                run()
            finally:
                self._ended.append(None)
                self._notes.put(None)

        with suppress(RuntimeError):
            self._started.extend(map(start_new_thread, repeat(helper, count), repeat(())))

    def wait(self) -> None:
        """Waits until all have ended."""
        while len(self._ended) < len(self._started):
            with suppress(Empty):
                self._notes.get(timeout=_LOST)

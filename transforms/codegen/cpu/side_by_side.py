"""Runs work on several threads: the caller's, and some that end with it.

For work that is done outside of Python, in calls that release the interpreter's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """The results of ``work`` for each item, which threads begin in this order; the caller is one of at most ``threads``.

    When it returns or raises, no thread runs any more, but for one case: whoever interrupts the caller again while it waits for a thread
    leaves that thread to end its item, whose result nobody reads.

    Raises:
        BaseException: what ``work`` raised for the first item that it raised for. No item is begun after that, or after an interrupt of the caller.
    """
    results: dict[int, R] = {}
    errors: dict[int, BaseException] = {}
    left = deque(range(len(items)))

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

    helpers = [Thread(target=run, name=f"wengert-llvm-{number}", daemon=False) for number in range(1, min(threads, len(items)))]
    try:
        _start(helpers)
        run()
    finally:
        _wait(helpers, left)
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(items))]


def _start(helpers: Sequence[Thread]) -> None:
    """Starts threads, or as many as the system gives: none while the interpreter shuts down."""
    with suppress(RuntimeError):
        for helper in helpers:
            helper.start()


def _wait(helpers: Sequence[Thread], left: deque[int]) -> None:
    """Waits for the threads that were started. An interrupt ends what has not begun, and is raised when they have ended what they are at."""
    try:
        _join(helpers)
    except BaseException:
        left.clear()
        _join(helpers)
        raise


def _join(helpers: Sequence[Thread]) -> None:
    for helper in helpers:
        if helper.ident is not None:
            helper.join()

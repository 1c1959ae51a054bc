"""Running what may crash or hang: in a copy of this process, or within a time limit.

Code that a broken compiler makes may write where it must not, and a loop may not end. A copy of the process (``fork``) can do so without harm; where
there is no ``fork``, the work is done here.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, cast

T = TypeVar("T")


class ProcessEndedError(Exception):
    """The copy of the process crashed, or gave no answer in time: the message says how it ended."""


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Raises a TimeoutError in what takes longer, as soon as the interpreter of Python comes to it. Only the main thread has such a limit. Limits nest."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def expired(number: int, frame: object) -> NoReturn:
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # again: what is raised where an object is deleted, or the collector calls back, is lost
        raise TimeoutError(f"no answer in {seconds:g} s")

    before, started = signal.signal(signal.SIGALRM, expired), time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    if outer and outer < seconds:
        signal.setitimer(signal.ITIMER_REAL, outer)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - started), 1e-3) if outer else 0)


def in_copy(work: Callable[[], T], seconds: float) -> T:
    """The result of some work that a copy of this process does.

    Args:
        work: what to do; its result, or the exception that it raises, comes back pickled.
        seconds: how long it may take.

    Raises:
        ProcessEndedError: the copy was ended by a signal, or took too long.
        Exception: what the work raised.
    """
    if not hasattr(os, "fork"):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python and JAX warn where there are threads; the copy uses none of theirs, and has a time limit
        child = os.fork()
    if child == 0:
        _work_and_exit(work, writing)
    os.close(writing)
    try:
        answer = _read(reading, time.monotonic() + seconds)
    except BaseException:
        _end(child)
        raise
    finally:
        os.close(reading)
    if answer is None:
        _end(child)
        raise ProcessEndedError(f"no answer in {seconds:g} s")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise ProcessEndedError(f"the process ended with {signal.Signals(os.WTERMSIG(status)).name}")
    raised, value = cast("tuple[bool, Any]", pickle.loads(answer))
    if raised:
        raise value
    return value


def _end(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _work_and_exit(work: Callable[[], Any], writing: int) -> NoReturn:
    """The life of the copy."""
    try:
        import faulthandler
        import resource

        faulthandler.disable()  # what crashes here is told to whoever waits
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        with os.fdopen(writing, "wb") as out:
            out.write(_answer(work))
    finally:
        os._exit(0)


def _answer(work: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps((False, work()))
    except BaseException as error:
        try:
            return pickle.dumps((True, error)) if isinstance(error, Exception) else pickle.dumps((True, RuntimeError(repr(error))))
        except Exception:  # one that cannot be pickled
            return pickle.dumps((True, RuntimeError(f"{type(error).__name__}: {error}")))


def _read(source: int, ends: float) -> bytes | None:
    """All that comes from a pipe until it is closed; None if it is not closed in time."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([source], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            return None
        part = os.read(source, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)

"""A signal whose handler raises, for tests of interrupts."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator
from contextlib import contextmanager


class Stop(Exception):
    """What the handler raises."""


@contextmanager
def raising_alarm() -> Generator[None]:
    """Within, SIGALRM raises :class:`Stop`; a timer that is set is taken back at the end.

    What was interrupted while it was made is freed at the end too: destructors may complain of what is missing, which no later test is to be told of.
    """

    def stop(*_: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.collect()

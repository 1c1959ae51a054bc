"""The garbage collector pauses while a compiler stage runs.

IR is one large graph of cycles, nearly all of which is alive until the stage ends; looking for garbage in it takes up to a
third of a stage's time, more where the process holds many other objects. When the stage ends, the objects that it made are looked through at
once and no others: left alone, the collector would find its counters far beyond their thresholds and might go through everything
that the process holds.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_FULL_AFTER = 1 << 20
"""Objects made by stages after which all that the process holds is looked through, if nobody else made the collector do that."""


@contextmanager
def paused(*, last: bool = False) -> Generator[None]:
    """No cyclic garbage collection inside, if there was any before.

    ``last`` says that what earlier stages made is mostly garbage now, and is looked through too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        made = gc.get_count()[0]
        if made > gc.get_threshold()[0]:
            gc.collect(1 if last else 0)
            _balance.add(made)
        gc.enable()


class _Balance:
    """Counts what stages made since the last full collection, whoever started it, and starts one when it is due."""

    def __init__(self) -> None:
        self.made = 0
        self.full = 0

    def add(self, made: int) -> None:
        full = gc.get_stats()[2]["collections"]
        if full != self.full:
            self.made, self.full = 0, full
        self.made += made
        if self.made > _FULL_AFTER:
            gc.collect()


_balance = _Balance()

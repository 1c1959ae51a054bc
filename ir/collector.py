"""The garbage collector pauses while a compiler stage runs.

IR is one large graph of cycles, nearly all of which is alive until the stage ends; looking for garbage in it takes up to a
third of a stage's time, more where the process holds many other objects. When the stage ends, the objects that it made are looked through at
once and no others: left alone, the collector would find its counters far beyond their thresholds and might go through everything
that the process holds.

The first stages of a process import a few hundred modules. Their classes stay and are by far the most of what is there, so after such a stage all
that is young counts as old without being looked through.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

_FULL_AFTER = 1 << 20
"""Objects made by stages after which all that the process holds is looked through, if nobody else made the collector do that."""

_FROZEN_AT_START = 2000
"""Python 3.12 begins with some hundred objects frozen. Whoever freezes objects of their own freezes all there are, tens of thousands."""

_MANY_MODULES = 20
"""Imported in one stage, they make most of its objects."""


@contextmanager
def paused(*, last: bool = False) -> Generator[None]:
    """No cyclic garbage collection inside, if there was any before.

    ``last`` says that what earlier stages made is mostly garbage now, and is looked through too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    modules = len(sys.modules)
    try:
        yield
    finally:
        made = gc.get_count()[0]
        if made > gc.get_threshold()[0]:
            if len(sys.modules) < modules + _MANY_MODULES or not _counted_as_old():
                gc.collect(1 if last else 0)
            _balance.add(made)
        gc.enable()


def _counted_as_old() -> bool:
    """Whether all young objects could be moved to the oldest generation; not where somebody froze objects of their own."""
    if gc.get_freeze_count() > _FROZEN_AT_START:
        return False
    gc.freeze()
    gc.unfreeze()
    return True


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

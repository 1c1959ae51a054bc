"""The garbage collector pauses while a compiler stage runs.

IR is one large graph of cycles, nearly all of which is alive until the stage ends; looking for garbage in it takes up to a
third of a stage's time, more where the process holds many other objects. When the stage ends, what it made counts as old without being
looked through, since little of it is lost yet, and all that stages made is looked through at once when there is much of it. What a large
stage made is looked through when it ends. Left alone, the collector would find its counters far beyond their thresholds and might go through everything
that the process holds.

What others made and lost is looked for before the stage begins, so that it never counts as old for what a stage does.
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

_MANY_OBJECTS = 100_000
"""A stage that makes more is large: what it lost is worth to be found at once."""

_MANY_MODULES = 20
"""Imported in one stage, they make most of its objects, and the classes stay."""


@contextmanager
def paused(*, last: bool = False) -> Generator[None]:
    """No cyclic garbage collection inside, if there was any before.

    ``last`` says that what earlier stages made is mostly garbage now, and is looked through too if this one is looked through.
    """
    if not gc.isenabled():
        yield
        return
    _find_what_others_lost()
    gc.disable()
    modules = len(sys.modules)
    try:
        yield
    finally:
        made = gc.get_count()[0]
        if made > gc.get_threshold()[0]:
            large = _balance.large or (made > _MANY_OBJECTS and len(sys.modules) < modules + _MANY_MODULES)
            if large or not _counted_as_old():
                gc.collect(1 if last else 0)
            _balance.add(made, large=large and not last)
        gc.enable()


def _find_what_others_lost() -> None:
    """Looks through what is young, if there is more than a little, unless a large stage made it."""
    young, collections, _ = gc.get_count()
    _balance.large = _balance.large and collections > 0
    if not _balance.large and (collections or young > gc.get_threshold()[0] // 2):
        gc.collect(1)


def _counted_as_old() -> bool:
    """Whether all young objects could be moved to the oldest generation; not where somebody froze objects of their own."""
    if gc.get_freeze_count() > _FROZEN_AT_START:
        return False
    gc.freeze()
    gc.unfreeze()
    return True


class _Balance:
    """Counts what stages made since the last full collection, whoever started it, and starts one when it is due.

    ``large``: a large stage made what survived the last collection of young objects, and the last stage will look through it.
    """

    def __init__(self) -> None:
        self.made = 0
        self.full = 0
        self.large = False

    def add(self, made: int, *, large: bool) -> None:
        self.large = large
        full = gc.get_stats()[2]["collections"]
        if full != self.full:
            self.made, self.full = 0, full
        self.made += made
        if self.made > _FULL_AFTER:
            gc.collect()


_balance = _Balance()

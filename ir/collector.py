"""The garbage collector pauses while a compiler stage runs.

IR is one large graph of cycles, nearly all of which is alive until the stage ends; looking for garbage in it takes up to a
third of a stage's time, more where the process holds many other objects. Left alone when the stage ends, the collector would find its counters far
beyond their thresholds and might go through everything that the process holds.

What a stage made, IR and the classes of imported modules, stays for as long as a program, and ops that passes give up are taken apart at once
(:func:`wengert.ir.construction.destroy`), so next to nothing of it is garbage. It counts as old without being looked through. Only the last stage of a
compilation makes IR that nobody refers to when it ends; that is looked through, and no other objects.
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
"""Imported in a last stage, they make most of its objects."""


@contextmanager
def paused(*, last: bool = False) -> Generator[None]:
    """No cyclic garbage collection inside, if there was any before.

    ``last`` says that some of what is made inside is garbage at the end, which is looked for among it.
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
            if (last and len(sys.modules) < modules + _MANY_MODULES) or not _counted_as_old():
                gc.collect(0)
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

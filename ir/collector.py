"""The garbage collector pauses while a compiler stage runs.

IR is one large graph of cycles, nearly all of which is alive until the stage ends; looking for garbage in it takes up to a
third of a stage's time, more where the process holds many other objects.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused() -> Generator[None]:
    """No cyclic garbage collection inside, if there was any before."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

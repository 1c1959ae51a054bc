"""Cores that belong to one process: a lock of a file for each, which the system gives back when its owner ends, however it ends.

All processes of a machine that take cores so agree, whoever started them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

_PAUSE = 0.1
"""Seconds between two looks for a core that has become free."""


class Core:
    """A core that no other such process runs on while this is open.

    Attributes:
        number: of the core, as the system counts.
    """

    def __init__(self, number: int, descriptor: int):
        self.number, self._descriptor = number, descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives it back."""
        os.close(self._descriptor)


def usable_cores() -> tuple[int, ...]:
    """The cores that this process may use; none where the system does not say."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def split(cores: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cores for what organises, and those for what is timed: one for the former, if there are several."""
    return (tuple(cores), tuple(cores)) if len(cores) < 2 else (tuple(cores[:1]), tuple(cores[1:]))


def take_core(cores: Sequence[int], folder: str | None = None) -> Core:
    """One of these cores; waits until one is free.

    Args:
        cores: to choose from, at least one.
        folder: where the locks are; by default one for temporary files.
    """
    while True:
        for number in cores:
            taken = _try(number, Path(folder or tempfile.gettempdir()))
            if taken is not None:
                return taken
        time.sleep(_PAUSE)


def _try(number: int, folder: Path) -> Core | None:
    import fcntl

    descriptor = os.open(folder / f"wengert-core-{os.getuid()}-{number}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return Core(number, descriptor)


def run_on(cores: Sequence[int]) -> None:
    """Moves all threads of this process, and those that they start, to these cores; where the system has no such call, does nothing."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        return
    tasks = Path("/proc/self/task")
    for thread in [int(entry.name) for entry in tasks.iterdir()] if tasks.is_dir() else [0]:
        try:
            os.sched_setaffinity(thread, cores)
        except ProcessLookupError:
            continue

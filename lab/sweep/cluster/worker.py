"""A worker of Dask: it runs tasks one after the other in a child process, which it keeps for the next ones."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence

from wengert.lab.sweep.cluster.child import Child, Outcome, Setup
from wengert.lab.sweep.cluster.cores import run_on, split, take_core, usable_cores

_LOCK = threading.Lock()
_IDLE: dict[bytes, list[Child]] = {}
"""Children that wait for tasks, by the sweep that they are of."""
_CORES = usable_cores()
"""The cores of this process, before it leaves those that are for times."""


def run_batch(setup: bytes, tasks: Sequence[bytes], timeout: float) -> list[Outcome]:
    """Runs some tasks; their outcomes.

    Args:
        setup: a pickled :class:`~wengert.lab.sweep.cluster.child.Setup`.
        tasks: pickled.
        timeout: seconds for each.
    """
    outcomes: list[Outcome] = []
    child = _idle(setup)
    for task in tasks:
        child = child if child is not None and child.is_alive else _started(setup)
        outcomes.append(child.run(task, timeout))
    if child is not None and child.is_alive:
        with _LOCK:
            _IDLE.setdefault(setup, []).append(child)
    return outcomes


def _idle(setup: bytes) -> Child | None:
    """A child that waits; those of other sweeps are ended, and give their cores back."""
    with _LOCK:
        for other in [one for one in _IDLE if one != setup]:
            for child in _IDLE.pop(other):
                child.stop()
        waiting = _IDLE.get(setup)
        return waiting.pop() if waiting else None


def _started(setup: bytes) -> Child:
    told: Setup = pickle.loads(setup)
    cores = told.cores or _CORES
    if not told.timed or not cores:
        return Child(setup, None)
    others, timed = split(cores)
    run_on(others)
    return Child(setup, take_core(timed))

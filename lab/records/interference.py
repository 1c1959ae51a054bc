"""Measures what else the machine did while times were taken: how often and how long the process was kept from running.

Sources: ``getrusage`` (involuntary context switches), ``/proc/self/schedstat`` (time in the run queue), ``/proc/stat`` (time that a hypervisor gave to
others). What the system does not say is left out.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Moment:
    """Counters of this process, of its machine, and a clock."""

    clock: float
    figures: dict[str, float]


def moment() -> Moment:
    """The counters now."""
    return Moment(time.perf_counter(), {**_switches(), **_queued(), **_stolen()})


def interference(since: Moment) -> dict[str, float]:
    """The interference since a moment.

    ``seconds``: that went by. ``preempted``: how often another process took the core. ``queued``: seconds in which this one was ready and had no core.
    ``stolen``: seconds that the hypervisor took from the cores which the process may use. ``core``: the one that it is bound to, if there is one.
    """
    now = moment()
    passed = {name: value - since.figures[name] for name, value in now.figures.items() if name in since.figures}
    return {"seconds": now.clock - since.clock, **passed, **_core()}


def _switches() -> dict[str, float]:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return {}
    return {"preempted": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw}


def _queued() -> dict[str, float]:
    try:
        return {"queued": int(Path("/proc/self/schedstat").read_text().split()[1]) * 1e-9}
    except (OSError, IndexError, ValueError):
        return {}


def _stolen() -> dict[str, float]:
    try:
        rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
        mine = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        return {"stolen": sum(int(row[8]) for row in rows if row[0] in mine) / os.sysconf("SC_CLK_TCK")}
    except (AttributeError, OSError, IndexError, ValueError):
        return {}


def _core() -> dict[str, float]:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    return {"core": min(cores)} if len(cores) == 1 else {}

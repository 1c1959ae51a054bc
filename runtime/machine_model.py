"""The file of this machine's time model, which :mod:`wengert.lab.costs.time_model` reads."""

from __future__ import annotations

from pathlib import Path

from wengert.runtime import cache
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.schedule.host import host


def model_path() -> Path | None:
    """The file of this machine's model; None where the cache is off."""
    folder = cache.folder()
    return None if folder is None else folder / f"machine-{host().cpu}-{default_threads()}-threads.json"


def model_stamp() -> int:
    """When this machine's model was written, in nanoseconds; 0 where there is none."""
    path = model_path()
    return path.stat().st_mtime_ns if path is not None and path.is_file() else 0

"""How many threads this process may use, for compiled programs and for LLVM."""

from __future__ import annotations

import os


def default_threads() -> int:
    """``WENGERT_NUM_THREADS``, or the number of cores that the process may use.

    Raises:
        ValueError: the variable is not a positive number.
    """
    setting = os.environ.get("WENGERT_NUM_THREADS", "").strip()
    if setting:
        if not setting.isdecimal() or int(setting) == 0:
            raise ValueError(f"WENGERT_NUM_THREADS must be a positive number, not {setting!r}")
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

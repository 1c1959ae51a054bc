"""The limit on the memory of the tapes of one call.

A loop whose iterations nothing bounds may run forever at some inputs, and a derivative that records it would take all memory; the
system then ends the process instead of refusing an allocation. So a call ends with a MemoryError at half of the memory that
the process may have (of the machine, or of its control group), or at WENGERT_TAPE_BYTES, which is read when a program is compiled.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "WENGERT_TAPE_BYTES"
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 1 << 33
"""The memory that a process is taken to have where the system does not say."""


def tape_limit() -> int:
    """The bytes that the tapes of one call may take together; raises ValueError if the variable is not a whole number."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        if not chosen.isdecimal():
            raise ValueError(f"{VARIABLE} is a number of bytes, found {chosen!r}")
        return int(chosen)
    limits = [int(text) for path in _GROUPS if (text := _read(path)).isdecimal()]
    if hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=_UNKNOWN) // 2


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


class TapeMemoryError(MemoryError):
    """The tapes of loops would take more than their limit, which says less about the machine than about the loop."""


def out_of_memory() -> TapeMemoryError:
    """The error of a call whose tapes have grown too large."""
    return TapeMemoryError(f"no memory for the tape of a loop (limit {tape_limit()} bytes, {VARIABLE} sets another); does the loop end at these inputs?")

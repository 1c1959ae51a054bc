"""Finds how much memory there is, and refuses what needs more before it is asked for."""

from __future__ import annotations

import os
from functools import cache


@cache
def physical() -> int:
    """The bytes of memory of this machine, or as many as a process can address where that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 47


def plain(size: int) -> str:
    """A number of bytes as it is said: ``8.0 TiB``."""
    amount, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        del units[0]
    return f"{size} bytes" if units[0] == "bytes" else f"{amount:.1f} {units[0]}" if amount < 1e5 else f"{amount:.1e} {units[0]}"


def excess(size: int) -> str:
    """``8.0 TiB of memory, of which this machine has 62.8 GiB`` where it does not have so much, else an empty string."""
    return f"{plain(size)} of memory, of which this machine has {plain(physical())}" if size > physical() else ""

"""Lines of the files that locations name. A text that somebody else has written may name any path there, so not everything is read."""

from __future__ import annotations

import linecache
import os
import stat
from collections.abc import Sequence

MOST_BYTES = 1 << 26
"""Larger files are not read for the sake of a line."""


def lines_of(file: str) -> Sequence[str]:
    """The lines of a file, with their ends, or of what Python knows by this name, such as the cell of a notebook; none of a device or a pipe, which may never
    end, of what is large, and of what is not there."""
    if not file.startswith("<") and not _is_read(file):
        return ()
    linecache.checkcache(file)
    return linecache.getlines(file)


def line_of(file: str, number: int) -> str:
    """A line without its end, counted from 1; empty where it is not known."""
    lines = lines_of(file)
    return lines[number - 1].rstrip("\n") if 0 < number <= len(lines) else ""


def _is_read(file: str) -> bool:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return file in linecache.cache
    return stat.S_ISREG(status.st_mode) and 0 < status.st_size <= MOST_BYTES  # those of /proc say 0, and may wait

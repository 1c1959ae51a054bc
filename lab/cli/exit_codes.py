"""The exit statuses of the process; the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``wengert`` and ``wengert-opt``."""

    OK = 0
    DIAGNOSTIC = 1
    """A program or its inputs are wrong, or something is not supported; a diagnostic says what and where."""
    USAGE = 2
    """The command line is wrong."""
    MISMATCH = 3
    """A gradient check or a conformance run found a wrong derivative."""
    COST_REGRESSION = 4
    """A measured or counted cost is above its bound."""
    NOT_SETTLED = 5
    """A gradient check could not decide: values or differences are not finite."""
    PLUGIN = 6
    """A plug-in raised an exception, or left invalid IR: its author's to mend."""
    INTERNAL = 70
    """A defect of wengert itself; the message names a file that reproduces it."""
    INTERRUPTED = 130

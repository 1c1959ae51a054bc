"""How long a process has been at something, on a machine that may do much else meanwhile.

What counts is processor time: a worker that is given a tenth of a core has not hung after a minute, since it has worked for six seconds. A process that
neither works nor answers has hung by the clock.
"""

from __future__ import annotations

import os
import time
from pathlib import Path


class Stopwatch:
    """Starts when it is made. It has to be looked at now and then: that is how it sees whether the process does anything."""

    def __init__(self, process: int):
        self.process = process
        self.before = self.used = processor_seconds(process)
        self.worked = time.monotonic()
        """When it was last seen that the process had done something."""

    def exceeds(self, seconds: float) -> bool:
        """Whether the process has worked for longer, or has done nothing for longer."""
        now, used = time.monotonic(), processor_seconds(self.process)
        if used != self.used:
            self.used, self.worked = used, now
        if now - self.worked > seconds:
            return True
        return used is not None and self.before is not None and used - self.before > seconds


def processor_seconds(process: int) -> float | None:
    """The processor time that a process and those that it has waited for have used; None where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")

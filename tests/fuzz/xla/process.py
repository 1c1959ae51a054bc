"""Asks the process in which XLA runs (:mod:`fuzz.xla.server`), which is started when it is first asked, and again when it has ended."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz.xla.server import Answer


class XlaProcess:
    """The process, of which each process that asks has its own: one that was forked does not share that of its parent."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, name: str, *arguments: Any) -> Answer:
        """The answer to a request; ``ended`` where XLA ended its process instead."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((name, arguments), process.stdin)
            process.stdin.flush()
            answer: Answer = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return "ended", f"status {self.close()}"
        return answer

    def close(self) -> int | None:
        """Ends the process, if it runs, and tells its status."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return None
        process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # what was written, and is not read any more
                assert pipe is not None
                pipe.close()
        return status

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            tests = str(Path(__file__).parents[2])
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
            command = [sys.executable, "-m", "fuzz.xla.server"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            self._owner = os.getpid()
        return self._process


XLA = XlaProcess()
"""The process of this one."""
atexit.register(XLA.close)

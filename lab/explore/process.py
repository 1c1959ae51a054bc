"""The explorer's process: it is kept warm, does one thing at a time, and is ended and made anew if that takes too long."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import msgspec

from wengert.lab.explore.answering import serve
from wengert.lab.explore.requests import Answer

STARTING = 60.0
"""Seconds that a new process may take for its imports."""


class Explorer:
    """A process that answers requests within a limit of time (seconds) and memory (bytes beside those of the start)."""

    def __init__(self, plugins: Sequence[str] = (), *, seconds: float = 10.0, memory: int = 4 << 30):
        self.seconds = seconds
        self._plugins, self._memory = tuple(plugins), memory
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def start(self) -> None:
        """Starts the process, so that the first request finds it warm."""
        with self._lock:
            self._ready()

    def ask(self, data: bytes) -> bytes:
        """The answer to a request that was checked, as JSON."""
        with self._lock:
            connection = self._ready()
            if connection is None:
                return _said("the explorer's process could not be started; what it wrote is in the terminal")
            try:
                connection.send_bytes(data)
                if connection.poll(self.seconds):
                    return connection.recv_bytes()
                self._end()
                return _said(f"this took longer than {self.seconds:g} s and was stopped; --seconds allows more")
            except (EOFError, OSError):
                self._end()
                return _said("the explorer's process ended: it may have needed more memory than it may use (--memory allows more)")

    def stop(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()

    def _ready(self) -> Connection | None:
        if self._process is not None and self._process.is_alive() and self._connection is not None:
            return self._connection
        self._end()
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self._plugins, self._memory), daemon=True)
        with _without_interrupts():
            self._process.start()
        theirs.close()
        self._connection = ours
        try:
            if ours.poll(STARTING) and ours.recv_bytes() == b"ready":
                return ours
        except (EOFError, OSError):
            pass
        self._end()
        return None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Ctrl-C reaches all processes of a terminal: one that is started inside does not see it, and ends when the explorer does."""
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    resource_tracker.ensure_running()  # which unblocks interrupts where it is not running yet
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _said(message: str) -> bytes:
    return msgspec.json.encode(Answer(diagnostics=({"severity": "error", "file": "", "line": 0, "column": 0, "message": message},)))

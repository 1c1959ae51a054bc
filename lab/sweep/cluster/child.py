"""A process that runs the tasks of a sweep for a worker of Dask: one that crashes or takes too long is ended, and costs the worker nothing.

It is started by a command line and not by ``multiprocessing``, whose processes may not start others if they are daemons, as workers of Dask are. It ends
with the worker: it reads its standard input, which nothing is written to, and the end of that is the worker's.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from wengert.lab.records.environment import environment, load
from wengert.lab.sweep.cluster.cores import Core, run_on

Work = Callable[[Any], Iterable[Any]]
_START = 120.0
"""Seconds that a child may take to import what it needs."""


@dataclass(frozen=True)
class Setup:
    """The settings that all tasks of a sweep share.

    Attributes:
        work: what is called with a task and yields what there is to tell, pickled: it may be in one of the folders.
        folder: where names of files are seen from, if the worker has it.
        path: folders of modules.
        timed: whether times are taken, for which a task has a core to itself.
        cores: to choose from; those that the worker may use by default.
    """

    work: bytes
    folder: str
    path: tuple[str, ...] = ()
    timed: bool = False
    cores: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes:
        values: what it told, pickled.
        reason: why it ended before its time; None if it did not.
        where: the environment that it ran in, pickled; empty where the process did not come so far as to say.
        load: of the machine when it began.
        seconds: that it took.
    """

    values: tuple[bytes, ...]
    reason: str | None
    where: bytes
    load: float
    seconds: float


class Child:
    """A process that runs tasks, one after the other.

    Args:
        setup: a pickled :class:`Setup`.
        core: the core that it is to run on.
    """

    def __init__(self, setup: bytes, core: Core | None):
        self.core, self.where = core, b""
        self._connection, theirs = Pipe()
        with theirs:
            words = [sys.executable, "-m", __name__, str(theirs.fileno()), "" if core is None else str(core.number)]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=2, pass_fds=[theirs.fileno()], start_new_session=True)
        self._connection.send_bytes(setup)

    def run(self, task: bytes, timeout: float) -> Outcome:
        """Runs a task; ``is_alive`` says whether the process can run another one."""
        values: list[bytes] = []
        reason, before, begun = None, load(), time.monotonic()
        try:
            if not self.where:
                self.where = self._receive(_START)
                begun = time.monotonic()
            self._connection.send_bytes(task)
            while value := self._receive(begun + timeout - time.monotonic()):
                values.append(value)
        except TimeoutError:
            reason = "out of time"
        except (EOFError, OSError):
            reason = f"the process died ({_exit(self._process.wait())})"
        if reason is not None:
            self.stop()
        return Outcome(tuple(values), reason, self.where, before, time.monotonic() - begun)

    def _receive(self, seconds: float) -> bytes:
        if not self._connection.poll(max(0.0, seconds)):
            raise TimeoutError
        return self._connection.recv_bytes()

    @property
    def is_alive(self) -> bool:
        """Whether it can run another task."""
        return not self._connection.closed

    def stop(self) -> None:
        """Ends the process and gives its core back."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._connection.close()
        if self.core is not None:
            self.core.close()


def _exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


# -- in the child


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def _serve(connection: Connection) -> None:
    """The child's life: tasks come in, values go out, nothing at all after the last of each."""
    setup: Setup = pickle.loads(connection.recv_bytes())
    if os.path.isdir(setup.folder):
        os.chdir(setup.folder)
    sys.path += [entry for entry in setup.path if entry not in sys.path]
    work: Work = pickle.loads(setup.work)
    connection.send_bytes(pickle.dumps(environment()))
    while True:
        task = pickle.loads(connection.recv_bytes())
        for value in work(task):
            connection.send_bytes(pickle.dumps(value))
        connection.send_bytes(b"")


def _main(descriptor: str, core: str) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if core:
        run_on([int(core)])
    with suppress(EOFError, OSError, KeyboardInterrupt):
        _serve(Connection(int(descriptor)))


if __name__ == "__main__":
    _main(*sys.argv[1:])

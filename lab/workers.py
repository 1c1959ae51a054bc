"""A pool of processes for tasks that may hang or die: each worker does one task at a time and reports as it goes.

A worker that exceeds its time is ended and replaced; one that dies (a crash in compiled code) costs the task it was
working on and nothing else.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any


@dataclass(frozen=True)
class Report:
    """One thing that a task said, or (with ``ended``) how it ended: None for well, else the reason.

    ``where`` and ``load`` say where it was run, if that was not on this machine by this process's own workers.
    """

    index: int
    value: Any = None
    ended: bool = False
    reason: str | None = None
    where: Any = None
    load: float | None = None


class _Worker:
    def __init__(self, work: Callable[[Any], Iterable[Any]]):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.index: int | None = None
        self.deadline = float("inf")

    def start(self, index: int, task: Any, timeout: float) -> None:
        self.index, self.deadline = index, time.monotonic() + timeout
        self.connection.send(task)

    def finish(self) -> None:
        self.index, self.deadline = None, float("inf")

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Any], Iterable[Any]]) -> None:
    """A worker's life: tasks come in, values go out, None after the last of each task."""
    try:
        while True:
            for value in work(connection.recv()):
                connection.send(value)
            connection.send(None)
    except (EOFError, KeyboardInterrupt):
        pass


def run_tasks(work: Callable[[Any], Iterable[Any]], tasks: list[Any], *, jobs: int, timeout: float) -> Iterator[Report]:
    """Reports of all tasks as they come: what ``work(task)`` yields (never None), then one that says how it ended.

    ``work`` must be a function at the top level of a module, and must not raise. ``timeout`` is in seconds per task.
    """
    queue = deque(enumerate(tasks))
    workers: list[_Worker] = []
    try:
        while queue or any(w.index is not None for w in workers):
            while queue and len(workers) < jobs:
                workers.append(_Worker(work))
            for worker in workers:
                if worker.index is None and queue:
                    worker.start(*queue.popleft(), timeout)
            yield from _collect(workers)
    finally:
        for worker in workers:
            worker.stop()


def _collect(workers: list[_Worker]) -> Iterator[Report]:
    """Collects what the busy workers report by the next deadline; takes out those that died or ran out of time."""
    busy = {w.connection: w for w in workers if w.index is not None}
    nearest = min(w.deadline for w in busy.values())
    ready = wait(list(busy), max(0.0, nearest - time.monotonic()))
    for connection in ready:
        worker = busy[connection]  # type: ignore[index]
        index = worker.index
        assert index is not None
        try:
            value = worker.connection.recv()
        except (EOFError, OSError):
            workers.remove(worker)
            worker.process.join()
            yield Report(index, ended=True, reason=f"the process died ({_exit(worker.process.exitcode)})")
            continue
        if value is None:
            worker.finish()
            yield Report(index, ended=True)
        else:
            yield Report(index, value)
    for worker in [w for w in busy.values() if w in workers and w.index is not None and time.monotonic() > w.deadline]:
        assert worker.index is not None
        workers.remove(worker)
        worker.stop()
        yield Report(worker.index, ended=True, reason="out of time")


def _exit(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

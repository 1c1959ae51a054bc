"""Processes that run programs, so that a crash or a hang is a finding and not the end.

A worker is told a job and answers with its outcome. What it is at stands in shared memory, so that its end can be laid to a seed and a check. A worker that
does not answer in time is ended, as is one that grew; another takes its place.

What counts as time is processor time: on a machine that does much else, a worker that is given a tenth of a core has not hung after a minute, since it has
worked for six seconds. A process that neither works nor answers has hung by the clock.
"""

from __future__ import annotations

import faulthandler
import multiprocessing as mp
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.trial import Finding, Outcome

MEMORY = 12 << 30
"""How much address space a worker may have; XLA and LLVM reserve much of it and use little."""
LIFETIME = 400
"""How many jobs a worker does before another takes its place: compiled code is kept as long as a process lives."""
REDUCING = "reduce"
"""The stage at which a worker has a finding and makes its program smaller."""
ORACLES = ("jax", "xla")
"""Stages at which JAX may have to be imported first."""
Job = tuple[str, int]
"""A kind of job and a seed."""
Work = Callable[[Job, Callable[[str], None], bool], Outcome]


class Stopwatch:
    """How long a process has been at something, from when this is made. It has to be looked at now and then: that is how it sees whether the process does anything."""

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


@dataclass
class Worker:
    """One process, what it was told last, and how long it has been at it."""

    process: Any
    connection: Connection
    progress: Any
    job: Job | None = None
    time: Stopwatch | None = None
    done: int = 0

    @property
    def stage(self) -> str:
        """The check that it is at."""
        return self.progress.value.decode(errors="replace")


def serve(connection: Connection, progress: Any, work: Work, oracle: bool) -> None:
    """The loop of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def begins(stage: str) -> None:
        progress.value = stage.encode()[:60]

    while (job := connection.recv()) is not None:
        connection.send(work(job, begins, oracle))


class Pool:
    """So many workers that run jobs until they are told to stop."""

    def __init__(self, count: int, work: Work, limit: float, oracle: bool):
        self.context = mp.get_context("spawn")
        self.work, self.limit, self.oracle = work, limit, oracle
        self.workers = [self._started() for _ in range(count)]

    def _started(self) -> Worker:
        ours, theirs = self.context.Pipe()
        progress = self.context.Array("c", 64)
        process = self.context.Process(target=serve, args=(theirs, progress, self.work, self.oracle), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours, progress)

    def run(self, jobs: Iterator[Job], goes_on: Callable[[], bool]) -> Iterator[tuple[Job, Outcome]]:
        """The outcomes of jobs as they come, as long as it goes on."""
        for i, worker in enumerate(self.workers):
            self._tell(i, worker, jobs)
        while any(w.job is not None for w in self.workers):
            busy = {w.connection: i for i, w in enumerate(self.workers) if w.job is not None}
            for connection in wait(list(busy), timeout=0.5):
                i = busy[connection]  # type: ignore[index]
                worker = self.workers[i]
                assert worker.job is not None
                job = worker.job
                try:
                    outcome = worker.connection.recv()
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    outcome = self._ended(worker, f"the process ended with {_reason(worker.process.exitcode)}")
                    worker = self.workers[i] = self._started()
                worker.job = None
                worker.done += 1
                yield job, outcome
                if worker.done >= LIFETIME:
                    worker.connection.send(None)
                    worker.process.join(10)
                    worker = self.workers[i] = self._started()
                if goes_on():
                    self._tell(i, worker, jobs)
            for i, worker in enumerate(self.workers):
                limit = self.limit * (4 if worker.stage == REDUCING or worker.stage.startswith(ORACLES) else 1)
                if worker.job is not None and worker.time is not None and worker.time.exceeds(limit):
                    job = worker.job
                    outcome = self._ended(worker, f"no answer in {limit:.0f} s")
                    worker.process.kill()
                    worker.process.join()
                    worker = self.workers[i] = self._started()
                    yield job, outcome
                    if goes_on():
                        self._tell(i, worker, jobs)
        for worker in self.workers:
            worker.connection.send(None)
            worker.process.join(10)

    def _tell(self, i: int, worker: Worker, jobs: Iterator[Job]) -> None:
        job = next(jobs, None)
        if job is not None:
            worker.job, worker.time = job, Stopwatch(worker.process.pid)
            worker.connection.send(job)

    def _ended(self, worker: Worker, how: str) -> Outcome:
        assert worker.job is not None
        if worker.stage.startswith("xla") and how.startswith("no answer"):
            # XLA, for whose answer it waits, loops: there is nothing to compare with then
            return Outcome(worker.job[1], refusals=(f"XLA as an oracle: {how}",))
        return Outcome(worker.job[1], finding=Finding(worker.stage or "start", how))


def _reason(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"status {code}"


def fails_in_child(test: Callable[[], bool], seconds: float) -> bool:
    """Whether a test crashes or works for so long without an end, in a copy of this process."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            test()
        finally:
            os._exit(0)
    watch = Stopwatch(child)
    while not watch.exceeds(seconds):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.WIFSIGNALED(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True

"""Runs tasks on the workers of a Dask cluster, and goes on when workers or the scheduler go away.

Tasks travel in batches, which are as large as fits a fraction of a second: carrying one takes a few milliseconds, whatever is in it. What was on a worker
that died is sent again, each task by itself; a task that ends several workers has failed. The client alone writes records, so none is written twice.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from typing import Any

from wengert.ir.installation import command
from wengert.lab.sweep.cluster.child import Outcome, Setup
from wengert.lab.sweep.cluster.cores import run_on, split, usable_cores
from wengert.lab.sweep.cluster.worker import run_batch
from wengert.lab.workers import Report
from wengert.runtime.errors import InputError

LOCAL = "local"
"""The address of a cluster that is started here, and ended after."""
PATIENCE = 120.0
"""Seconds without a scheduler, or without any worker, after which a sweep stops."""
_BATCH_SECONDS, _MOST = 0.2, 64
_DEATHS = 3
"""How often a task is sent whose process does not start."""
_LOOK = 1.0
"""Seconds between two looks whether workers and scheduler are there."""
_SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://")


class ClusterError(InputError):
    """There is no such cluster, or it went away."""


def check_address(address: str) -> None:
    """Raises InputError for what is no address of a scheduler."""
    if address != LOCAL and not address.startswith(_SCHEMES):
        raise InputError(f"--dask takes the address of a scheduler, as in tcp://host:8786, or nothing; found {address!r} (write the program before --dask)")


@dataclass(frozen=True)
class DaskTasks:
    """Runs tasks, as :func:`wengert.lab.workers.run_tasks` does, on a Dask cluster.

    Attributes:
        address: of the scheduler; ``local`` for a cluster of this machine.
        timed: whether times are taken: each task has a core to itself.
        patience: seconds to wait for a scheduler or a worker to come back.
        say: is told what a user should know.
    """

    address: str = LOCAL
    timed: bool = False
    patience: float = PATIENCE
    say: Callable[[str], None] = lambda line: None

    def __call__(self, work: Callable[[Any], Iterable[Any]], tasks: Sequence[Any], *, jobs: int, timeout: float) -> Iterator[Report]:
        """Reports of all tasks as they come.

        Raises:
            ClusterError: there is no cluster, or it went away and did not come back.
        """
        cores = usable_cores() if self.address == LOCAL else ()
        setup = Setup(pickle.dumps(work), os.getcwd(), tuple(path for path in sys.path if path), self.timed, cores)
        with _cluster(self, jobs, cores) as connect:
            yield from _Running(self, connect, pickle.dumps(setup), [pickle.dumps(task) for task in tasks], timeout).reports()


# -- the cluster


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(f"Dask is not there ({error}): {command('dask')}") from None


@contextmanager
def _cluster(asked: DaskTasks, jobs: int, cores: Sequence[int]) -> Generator[Callable[[], Any]]:
    """What connects to the cluster: one that is there, or one of this machine that is ended after."""
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if asked.address != LOCAL:
        yield lambda: distributed.Client(asked.address, timeout=min(10.0, asked.patience), set_as_default=False)
        return
    others, timed = split(cores)
    workers = min(jobs, len(timed) or 1) if asked.timed else jobs
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(**options) as cluster:
        try:
            if asked.timed:
                run_on(others)
            yield lambda: distributed.Client(cluster, set_as_default=False)
        finally:
            run_on(cores)


# -- tasks under way


@dataclass(frozen=True)
class _Batch:
    """Tasks that are sent together, by their numbers; ``deaths``: how often a worker died with them."""

    indices: tuple[int, ...]
    deaths: int = 0


@dataclass
class _Running:
    """A sweep that runs."""

    asked: DaskTasks
    connect: Callable[[], Any]
    setup: bytes
    tasks: list[bytes]
    timeout: float
    client: Any = None
    threads: int = 0
    flying: dict[str, tuple[_Batch, Any]] = field(default_factory=dict[str, "tuple[_Batch, Any]"])
    ended: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue[str])
    task_seconds: float = 0.0
    tasks_done: int = 0
    sent: int = 0
    looked: float = 0.0
    last_seen: float = 0.0

    def reports(self) -> Iterator[Report]:
        """What the tasks tell, and how each ended."""
        waiting = deque(_Batch((index,)) for index in range(len(self.tasks)))
        try:
            while waiting or self.flying:
                self._look(waiting)
                while waiting and len(self.flying) < 2 * self.threads:
                    self._send(self._next(waiting))
                try:
                    name = self.ended.get(timeout=_LOOK)
                except queue.Empty:
                    continue
                if name in self.flying:
                    yield from self._take(*self.flying.pop(name), waiting)
        finally:
            self._close()

    def _next(self, waiting: deque[_Batch]) -> _Batch:
        """As many tasks as fit a fraction of a second by the time of those that are done; at the end all workers get a share."""
        first = waiting.popleft()
        if first.deaths or not self.tasks_done:
            return first
        fits = int(_BATCH_SECONDS / max(self.task_seconds / self.tasks_done, 1e-4))
        share = len(waiting) // (2 * self.threads) + 1
        indices = list(first.indices)
        while waiting and not waiting[0].deaths and len(indices) < min(fits, share, _MOST):
            indices += waiting.popleft().indices
        return _Batch(tuple(indices))

    def _send(self, batch: _Batch) -> None:
        tasks = [self.tasks[index] for index in batch.indices]
        hashed = sha256(b"".join(tasks)).hexdigest()[:32]
        self.sent += 1
        name = f"wengert-{hashed}-{self.sent}"
        future = self.client.submit(run_batch, self.setup, tasks, self.timeout, key=name, pure=False, retries=0)
        self.flying[name] = (batch, future)

        def end(_: Any) -> None:
            self.ended.put(name)

        future.add_done_callback(end)

    def _take(self, batch: _Batch, future: Any, waiting: deque[_Batch]) -> Iterator[Report]:
        """The reports of a batch that has ended; what was lost with a worker waits again."""
        distributed = _distributed()
        try:
            outcomes: list[Outcome] = future.result(timeout=self.asked.patience)
        except distributed.scheduler.KilledWorker:
            if len(batch.indices) == 1:
                yield Report(batch.indices[0], ended=True, reason="the worker died each time it ran this")
            else:
                waiting.extendleft(_Batch((index,), 1) for index in reversed(batch.indices))
        except (OSError, TimeoutError, distributed.client.CancelledError):
            waiting.extendleft(_Batch((index,), batch.deaths) for index in reversed(batch.indices))
        except ImportError as error:
            raise ClusterError(f"a worker of {self.asked.address} cannot run tasks: {error}; it needs the same wengert as this machine") from None
        else:
            self.last_seen = time.monotonic()
            for index, outcome in zip(batch.indices, outcomes, strict=True):
                if not outcome.where:
                    self._begin_again(_Batch((index,), batch.deaths + 1), outcome, waiting)
                    continue
                self.task_seconds, self.tasks_done = self.task_seconds + outcome.seconds, self.tasks_done + 1
                yield from _told(index, outcome)

    def _begin_again(self, batch: _Batch, outcome: Outcome, waiting: deque[_Batch]) -> None:
        """A process of a worker that did not come so far as to run its task: none will, if that goes on."""
        if batch.deaths >= _DEATHS:
            raise ClusterError(f"workers of {self._name} cannot start processes for tasks ({outcome.reason}); their output says why")
        waiting.append(batch)

    # -- who is there

    def _look(self, waiting: deque[_Batch]) -> None:
        """Looks from time to time whether scheduler and workers are there: waits for them, and sends again what was lost."""
        now = time.monotonic()
        if self.threads and now - self.looked < _LOOK:
            return
        self.looked, self.last_seen = now, self.last_seen or now
        if self.client is None or self.client.status in ("closed", "closing", "failed"):
            self._connect(waiting)
        lost = [name for name, (_, future) in self.flying.items() if future.status in ("lost", "cancelled")]
        for name in lost:
            batch, _ = self.flying.pop(name)
            waiting.extendleft(_Batch((index,), batch.deaths) for index in reversed(batch.indices))
        self.threads = self._threads()
        if self.threads:
            self.last_seen = now
        elif now - self.last_seen > self.asked.patience:
            raise ClusterError(f"{self._name} has had no worker for {self.asked.patience:g} s")
        else:
            self.asked.say(f"{self._name} has no worker: waiting")
            time.sleep(min(_LOOK, self.asked.patience))

    def _connect(self, waiting: deque[_Batch]) -> None:
        """Connects, anew if the scheduler went away; whatever was on its way is sent again."""
        for batch, _ in self.flying.values():
            waiting.extendleft(_Batch((index,), batch.deaths) for index in reversed(batch.indices))
        self.flying.clear()
        again, self.client = self.client is not None, None
        while self.client is None:
            try:
                self.client = self.connect()
            except (OSError, ValueError) as error:
                if not again or time.monotonic() - self.last_seen > self.asked.patience:
                    raise ClusterError(f"there is no scheduler at {self.asked.address}" if not again else f"{self._name} went away") from error
                self.asked.say(f"{self._name} went away: waiting for it")
                time.sleep(_LOOK)

    def _threads(self) -> int:
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, KeyError, TypeError):
            return 0
        return sum(worker["nthreads"] for worker in workers.values())

    @property
    def _name(self) -> str:
        return "the cluster of this machine" if self.asked.address == LOCAL else f"the scheduler at {self.asked.address}"

    def _close(self) -> None:
        if self.client is not None:
            futures = [future for _, future in self.flying.values()]
            try:
                self.client.cancel(futures)
                self.client.close(timeout=5)
            except Exception:  # it may be gone
                return


def _told(index: int, outcome: Outcome) -> Iterator[Report]:
    where = pickle.loads(outcome.where)
    for value in outcome.values:
        yield Report(index, pickle.loads(value), where=where, load=outcome.load)
    yield Report(index, ended=True, reason=outcome.reason, where=where, load=outcome.load)

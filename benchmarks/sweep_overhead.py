"""What a sweep by Dask takes beside its tasks: ``python -m benchmarks.sweep_overhead [--tasks 10000] [--workers 2]``.

Each task does next to nothing: it hands over a program that is there, with a result, which is recorded in a transaction of its own. So all of the time is
that of carrying: pickling, the scheduler, the worker, its child process, the transaction. The transactions are timed by themselves too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

import wengert as wg
import wengert.numpy as wnp
from wengert.lab.records.database import Database, now
from wengert.lab.records.environment import environment, load
from wengert.lab.records.record import Record, Result
from wengert.lab.records.work import Point, Work, program_hash
from wengert.lab.sweep.cluster.client import DaskTasks
from wengert.lab.sweep.task import Done, Made

POINT = Point("sine", wg.jit(wnp.sin).program(np.zeros(3)), {"n": 3})
WORK = Work(program_hash(POINT.program), "primal")
RESULT = Result("ok", counts={"ops": 1, "flops": 3, "bytes": 48, "peak": 48}, norms=(0.0,), derived=WORK.program)


def tiny(seed: int) -> Iterator[Made | Done]:
    """A task that has no work."""
    work = replace(WORK, seed=seed)
    yield Made(POINT, (work,), ())
    yield Done(work, RESULT)


def carried(tasks: int, workers: int, database: Database) -> float:
    """Seconds for all tasks, from the first that is sent to the last that is recorded; the cluster is started before."""
    run, begun = database.begin_run(["sweep_overhead"]), 0.0
    # The first task waits for the cluster and for the imports of its child.
    for report in DaskTasks()(import_module("benchmarks.sweep_overhead").tiny, list(range(tasks + workers)), jobs=workers, timeout=60.0):
        begun = begun or time.perf_counter()
        if isinstance(report.value, Done):
            database.add(Record(report.value.work, POINT.label, POINT.sizes, report.value.result, report.where, report.load or 0.0, now(), run), POINT.program)
    return time.perf_counter() - begun


def recorded(tasks: int, database: Database) -> float:
    """Seconds for the transactions alone."""
    run, begun = database.begin_run(["sweep_overhead"]), time.perf_counter()
    for seed in range(tasks):
        database.add(Record(replace(WORK, seed=seed), POINT.label, POINT.sizes, RESULT, environment(), load(), now(), run), POINT.program)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", help="where the file of records is made (default: a folder for temporary files)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        with Database(Path(folder) / "carried.db", create=True, log=True) as database:
            seconds = carried(options.tasks, options.workers, database)
            known = len({record.task for record in database.records()})
        with Database(Path(folder) / "recorded.db", create=True, log=True) as database:
            alone = recorded(min(options.tasks, 1000), database) / min(options.tasks, 1000)
    print(f"{options.tasks} tasks on {options.workers} workers, load {load():.1f}: {seconds:.1f} s, {1e3 * seconds / options.tasks:.2f} ms a task")
    print(f"transactions alone: {1e3 * alone:.2f} ms each; {known} tasks are recorded")


if __name__ == "__main__":
    main()

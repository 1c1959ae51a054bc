"""Runs a sweep: tasks in worker processes, a record for each result as it comes, what is recorded not again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from wengert.lab.records.database import Database, now
from wengert.lab.records.environment import Environment, environment, load
from wengert.lab.records.record import Record, Result
from wengert.lab.records.work import Work
from wengert.lab.sweep.axes import Axis, Sizes, main_axis, points
from wengert.lab.sweep.formulas import Formula, flops_formulas
from wengert.lab.sweep.series import Cell, SweepReport
from wengert.lab.sweep.subject import Subject
from wengert.lab.sweep.task import Done, Made, NotMade, SweepTask, run_sweep_task
from wengert.lab.tables import duration
from wengert.lab.workers import Report, run_tasks

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was asked for.

    Attributes:
        subject: what is swept.
        axes: what it goes over, without the modes.
        modes: the modes.
        like: the options of all tasks.
        jobs: worker processes.
        timeout: seconds for all modes of certain sizes.
        resume: whether what is recorded is not run again.
    """

    subject: Subject
    axes: tuple[Axis, ...]
    modes: tuple[str, ...]
    like: SweepTask
    jobs: int = 1
    timeout: float = 300.0
    resume: bool = False

    def tasks(self) -> list[SweepTask]:
        """A task for each choice of sizes, small ones first."""
        return [replace(self.like, sizes=sizes) for sizes in points(self.axes)]


@dataclass
class _Collected:
    """The messages of one task so far."""

    made: Made | None = None
    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])


def run_sweep(
    sweep: Sweep,
    database: Database | None = None,
    words: Sequence[str] = (),
    progress: Progress = lambda line: None,
    run_all: Callable[..., Iterator[Report]] = run_tasks,
) -> SweepReport:
    """The results of a sweep; :func:`run_sweeps` says what the arguments are."""
    return run_sweeps([sweep], database, words, progress, run_all)[0]


def run_sweeps(
    sweeps: Sequence[Sweep],
    database: Database | None = None,
    words: Sequence[str] = (),
    progress: Progress = lambda line: None,
    run_all: Callable[..., Iterator[Report]] = run_tasks,
    anywhere: bool = False,
) -> list[SweepReport]:
    """The results of sweeps, whose tasks are run together.

    Args:
        sweeps: what to run; they differ in what is swept and in the pipeline.
        database: where each result is recorded as it comes.
        words: the command that asks for it, for the record.
        progress: is told how far it is.
        run_all: what runs tasks, as :func:`wengert.lab.workers.run_tasks` does: by default worker processes.
        anywhere: whether records of other machines count where a sweep goes on.

    Raises:
        DatabaseError: a record cannot be written.
    """
    like = sweeps[0]
    recorded = _recorded(database, like.like.effort.measure, anywhere=anywhere) if database is not None and like.resume else {}
    tasks = [(sweep, task) for sweep in sweeps for task in sweep.tasks()]
    run = database.begin_run(words) if database is not None else ""
    collected = [_Collected() for _ in tasks]
    begun = last = time.monotonic()
    done, slowest = 0, 0.0
    work = partial(run_sweep_task, known=frozenset(recorded))
    for report in run_all(work, [task for _, task in tasks], jobs=like.jobs, timeout=like.timeout):
        mine, task = collected[report.index], tasks[report.index][1]
        place = _Place(report.where or environment(), load() if report.load is None else report.load, database, run)
        if not report.ended:
            _take(mine, task, report.value, recorded, place)
            continue
        if report.reason is not None:
            _lost(mine, task, report.reason, place)
        done += 1
        slowest, last = max(slowest, time.monotonic() - last), time.monotonic()
        left = max((last - begun) / done, slowest / 2) * (len(tasks) - done)
        progress(f"{done}/{len(tasks)} {task.label}" + (f", about {duration(left)} left" if left else ""))
    return [_report(sweep, [mine for mine, (of, _) in zip(collected, tasks, strict=True) if of is sweep]) for sweep in sweeps]


def _report(sweep: Sweep, collected: Sequence[_Collected]) -> SweepReport:
    cells = [one.cells[mode] for one in collected for mode in sweep.modes if mode in one.cells]
    return SweepReport(sweep.subject.text, sweep.axes, sweep.modes, tuple(cells), sweep.like.effort.measure, _formulas(sweep), sweep.like.pipeline)


@dataclass(frozen=True)
class _Place:
    """The origin of a result, and where it is written."""

    environment: Environment
    load: float
    database: Database | None
    run: str


def _recorded(database: Database, measure: bool, *, anywhere: bool) -> dict[str, Record]:
    """The records, by their keys, that need not be taken again: of this version, ended with a result, timed where times are asked for, and of this machine,
    or of any, with the threads of a task that has one core."""
    here = environment()
    known: dict[str, Record] = {}
    for record in database.records("status != 'failed'"):
        there, result = record.environment, record.result
        if there.wengert != here.wengert or (result.status == "ok" and measure and not result.samples):
            continue
        same = (there.machine.processor, there.machine.name, there.threads) == (here.machine.processor, here.machine.name, here.threads)
        if same or (anywhere and (not measure or there.threads == 1)):
            known[record.work.key] = record
    return known


def _take(mine: _Collected, task: SweepTask, value: Made | Done | NotMade, recorded: dict[str, Record], place: _Place) -> None:
    """One thing that a task told: kept, and recorded."""
    if isinstance(value, NotMade):
        mine.cells |= {mode: Cell(task.sizes, mode, value.result) for mode in task.modes}
    elif isinstance(value, Made):
        mine.made = value
        mine.cells |= {work.mode: _known(task, recorded[work.key]) for work in value.known}
    else:
        mine.cells[value.work.mode] = _kept(mine, task, value.work, value.result, place)


def _known(task: SweepTask, record: Record) -> Cell:
    return Cell(task.sizes, record.work.mode, record.result, record.id, again=True)


def _kept(mine: _Collected, task: SweepTask, work: Work, result: Result, place: _Place) -> Cell:
    """The cell of a result, which is recorded first."""
    if place.database is None or mine.made is None:
        return Cell(task.sizes, work.mode, result)
    point = mine.made.point
    record = Record(work, point.label, dict(task.sizes), result, place.environment, place.load, now(), place.run)
    return Cell(task.sizes, work.mode, result, place.database.add(record, point.program, point.given).id)


def _lost(mine: _Collected, task: SweepTask, reason: str, place: _Place) -> None:
    """A task that ended before its time: what it had not told yet has failed, and is recorded so."""
    result = Result("failed", reason)
    for mode in task.modes:
        if mode not in mine.cells:
            work = next((work for work in mine.made.works if work.mode == mode), None) if mine.made is not None else None
            mine.cells[mode] = Cell(task.sizes, mode, result) if work is None else _kept(mine, task, work, result, place)


def _formulas(sweep: Sweep) -> dict[str, Formula]:
    """The flops of each series as polynomials in the main size."""
    main = main_axis(sweep.axes)
    if main is None or sweep.like.pipeline is not None:
        return {}
    others = [axis for axis in sweep.axes if axis is not main]
    merged: dict[str, Formula] = {}
    for values in product(*[axis.values for axis in others]):
        fixed: Sizes = dict(zip([axis.name for axis in others], values, strict=True))
        suffix = "".join(f" {name}={value}" for name, value in fixed.items())
        formulas = flops_formulas(sweep.subject, main.name, fixed, sweep.modes, sweep.like.wrt, sweep.like.of)
        merged |= {f"{mode}{suffix}": formula for mode, formula in formulas.items()}
    return merged

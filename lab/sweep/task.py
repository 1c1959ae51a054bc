"""Runs the modes of a program at certain sizes, in a worker process, in turns."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.plugins import UndoneWarning, load_plugin
from wengert.lab.records.execution import Effort, run_works
from wengert.lab.records.record import Result
from wengert.lab.records.work import Point, Work, arrays_hash, plugin_of, program_hash
from wengert.lab.sweep.axes import Sizes
from wengert.lab.sweep.subject import Subject, described
from wengert.runtime.errors import InputError


@dataclass(frozen=True)
class SweepTask:
    """All modes at certain sizes.

    Attributes:
        subject: what is swept.
        sizes: the sizes.
        modes: the modes.
        wrt, of: positions of arguments and results; every float one by default.
        seed: of inputs.
        backend, pipeline: how it is run.
        effort: how long.
        plugins: the plug-ins to load first.
    """

    subject: Subject
    sizes: Sizes
    modes: tuple[str, ...]
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    seed: int = 0
    backend: str = "cpu"
    pipeline: str | None = None
    effort: Effort = field(default_factory=Effort)
    plugins: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """For messages."""
        pipeline = [] if self.pipeline is None else [f"({self.pipeline})"]
        return " ".join([self.subject.label, *(f"{name}={value}" for name, value in self.sizes.items()), *pipeline])


@dataclass(frozen=True)
class Made:
    """The program at these sizes, and the tasks that are of it; ``known`` are recorded."""

    point: Point
    works: tuple[Work, ...]
    known: tuple[Work, ...]


@dataclass(frozen=True)
class Done:
    """A task that was run."""

    work: Work
    result: Result


@dataclass(frozen=True)
class NotMade:
    """There is no program at these sizes."""

    result: Result


def run_sweep_task(task: SweepTask, known: frozenset[str] = frozenset()) -> Iterator[Made | Done | NotMade]:
    """The program, then the result of each task; those of which the key is ``known`` are not run again. Raises nothing."""
    try:
        for source in task.plugins:
            load_plugin(source)
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.append(os.getcwd())
        point = task.subject.at(task.sizes)
        works = works_of(task, point)
    except (InputError, DiagnosticError) as error:
        yield NotMade(Result("refused", str(error).strip().splitlines()[0]))
        return
    except Exception as error:
        yield NotMade(Result("failed", described(error)))
        return
    done = tuple(work for work in works if work.key in known)
    yield Made(point, works, done)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndoneWarning)
        results = list(run_works(point, [work for work in works if work not in done], task.effort))
    yield from (Done(work, result) for work, result in results)


def works_of(task: SweepTask, point: Point) -> tuple[Work, ...]:
    """The tasks, a mode each. Raises InputError for positions that are none."""
    wrt, of = point.program.resolve(wrt=task.wrt, of=task.of)
    program, given = program_hash(point.program), arrays_hash(point.given)
    return tuple(
        Work(
            program,
            mode,
            () if mode == "primal" else wrt,
            () if mode == "primal" else of,
            task.backend,
            task.pipeline,
            task.seed,
            given,
            plugin_of(mode, task.pipeline),
        )
        for mode in task.modes
    )

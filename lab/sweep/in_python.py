"""Sweeps in Python: the same as on the command line, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.ir.plugins import LOADED
from wengert.lab.records.database import Database
from wengert.lab.records.execution import Effort
from wengert.lab.records.work import check_mode
from wengert.lab.sweep.axes import DEFAULT_MODES, axis, read_axes
from wengert.lab.sweep.run import Sweep, run_sweep
from wengert.lab.sweep.series import SweepReport
from wengert.lab.sweep.subject import Subject
from wengert.lab.sweep.task import SweepTask
from wengert.lab.workers import Report
from wengert.runtime.errors import InputError


@dataclass(frozen=True)
class GivenFunction(Subject):
    """A function that is there, and not imported by name."""

    given: Callable[..., Any] | None = None

    @property
    def label(self) -> str:
        return self.text

    @property
    def is_text(self) -> bool:
        return False

    def function(self) -> Callable[..., Any]:
        assert self.given is not None
        return self.given


def sweep(
    subject: Callable[..., Any] | str,
    over: Mapping[str, Any],
    modes: Sequence[str] = DEFAULT_MODES,
    *,
    shapes: str = "",
    dtype: str = "float64",
    measure: bool = False,
    rounds: int = 25,
    budget: float = 0.3,
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    seed: int = 0,
    records: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> SweepReport:
    """A program over sizes and modes, in this process: counts, predicted and measured times, growth, and where modes cross.

    Args:
        subject: a function that is called with the sizes and returns a function with its arguments, ``(f, (x, w))``, a program, or StableHLO text; with
            ``shapes`` a function of arrays of these shapes. As text: what ``wengert sweep`` takes, ``"model.py:layer"`` or ``"p.mlir"``.
        over: the sizes by name: lists, or texts such as ``"2..4096"``.
        modes: ``primal``, ``forward``, ``reverse``, ``jacfwd``, ``jacrev``, ``hvp``, ``hessian``, strategies of reverse mode and policies for residuals.
        shapes: the shapes of the arguments, with names of sizes for extents: ``"nxd,d"``.
        dtype: the type of the elements of such arguments.
        measure: whether programs are compiled and timed.
        rounds: the most samples of each; in each round all modes run once.
        budget: seconds of samples for each, after which there are no more.
        wrt: positions of the arguments to differentiate by; every float one by default.
        of: positions of the results; every float one by default.
        seed: of inputs that are drawn.
        records: a file to record every result in.
        resume: takes what is recorded there of this machine and version.

    Returns:
        A report that prints and displays as tables; ``report.plot()`` is a figure.

    Raises:
        InputError: there is no such mode, or the function has no use for a size.
    """
    if resume and records is None:
        raise InputError("resume goes on from records: name their file")
    axes, _ = read_axes([axis(name, values if isinstance(values, str | int) else list(values)) for name, values in over.items()])
    named = tuple(dict.fromkeys(map(check_mode, modes)))
    what = Subject(subject, shapes, dtype) if isinstance(subject, str) else GivenFunction(_name(subject), shapes, dtype, given=subject)
    what.check(axes)
    effort = Effort(measure, rounds, budget)
    like = SweepTask(what, {}, named, _tuple(wrt), _tuple(of), seed, effort=effort, plugins=tuple(LOADED))
    asked = Sweep(what, axes, named, like, resume=resume)
    if records is None:
        return run_sweep(asked, run_all=_here)
    with Database(records, create=True) as database:
        return run_sweep(asked, database, ["wengert.sweep", what.text], run_all=_here)


def _here(work: Callable[[Any], Iterable[Any]], tasks: list[Any], *, jobs: int, timeout: float) -> Iterator[Report]:
    """The reports of tasks that are done one after the other in this process."""
    for index, task in enumerate(tasks):
        for value in work(task):
            yield Report(index, value)
        yield Report(index, ended=True)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _tuple(positions: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if positions is None else tuple(positions)

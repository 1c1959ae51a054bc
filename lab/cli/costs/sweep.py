"""``wengert sweep module:function --over n=2..4096 --over mode=forward,reverse --measure --plot s.svg``: a program over sizes and modes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from wengert.ir.plugins import LOADED
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.records.database import Database, DatabaseError
from wengert.lab.records.execution import Effort
from wengert.lab.sweep import plot
from wengert.lab.sweep.axes import Axis, read_axes, read_axis
from wengert.lab.sweep.cluster.client import LOCAL, ClusterError, DaskTasks, check_address
from wengert.lab.sweep.cluster.cores import usable_cores
from wengert.lab.sweep.run import Sweep, run_sweeps
from wengert.lab.sweep.series import SweepReport
from wengert.lab.sweep.spec import read_spec
from wengert.lab.sweep.subject import Subject
from wengert.lab.sweep.task import SweepTask
from wengert.runtime.backends import BACKENDS, unknown_backend
from wengert.runtime.errors import InputError
from wengert.transforms.pipelines import parse_pipeline

DEFAULTS = {
    "shapes": "",
    "dtype": "float64",
    "entry": "main",
    "measure": False,
    "rounds": 25,
    "budget": 0.5,
    "seed": 0,
    "backend": "cpu",
    "resume": False,
    "timeout": 300.0,
}
"""The values of options that neither the command line nor a file gives."""
_JOBS = "worker processes (default: 1, more disturb each other's times; with --dask one for each core, of which one is left out where times are taken)"
_OVER = (
    "a size and its values, n=2..4096 (powers of two times the first), n=2..64:+2, n=3..3000:*10, n=4,8,32; or mode=forward,reverse: "
    "primal, forward, reverse, jacfwd, jacrev, hvp, hessian, strategies and residual policies by name; may be repeated"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    what = "FILE.py:function or module:function of the sizes, a program FILE.mlir with open extents, or a FILE.toml that says all of it"
    parser.add_argument("subject", metavar="FILE:FUNCTION", help=what)
    parser.add_argument("--over", type=_axis, action="append", default=[], metavar="n=2..4096", help=_OVER)
    parser.add_argument("--shapes", metavar="nxd,d", help="the shapes of the arguments, with names of sizes for extents")
    parser.add_argument("--dtype", metavar="NAME", help="the type of the elements of such arguments of a function (default: float64)")
    parser.add_argument("--entry", metavar="NAME", help="the function that FILE.mlir starts at (default: main)")
    arguments.add_positions(parser)
    parser.add_argument("--measure", action="store_true", default=None, help="compile and run, and take samples of times")
    parser.add_argument("--rounds", type=arguments.positive, metavar="N", help="the most samples of each (default: 25)")
    parser.add_argument("--budget", type=float, metavar="S", help="seconds of samples for each, after which there are no more (default: 0.5)")
    parser.add_argument("--seed", type=int, metavar="N", help="of inputs that are drawn (default: 0)")
    parser.add_argument("--backend", type=arguments.backend, metavar="NAME", help="what runs them: cpu (default), interpreter, opencl, cuda or ptx-interpreter")
    parser.add_argument(
        "--pipeline", metavar="PASSES", action="append", help="passes in place of the optimisation; may be repeated, each for a sweep of its own"
    )
    parser.add_argument("--records", metavar="FILE.db", help="record every result there as it comes")
    parser.add_argument("--resume", action="store_true", default=None, help="take what is recorded, of this machine and version, and run the rest")
    parser.add_argument(
        "--dask", nargs="?", const=LOCAL, metavar="tcp://HOST:PORT", help="run on the workers of this Dask scheduler; without one, on a cluster of this machine"
    )
    parser.add_argument("--plot", metavar="FILE.svg", help="plot it")
    parser.add_argument(
        "--figure", type=arguments.names, metavar="A,B", help=f"what to plot: {', '.join(plot.PANELS)} (default: time, and full where modes differ)"
    )
    parser.add_argument("--jobs", type=arguments.positive, metavar="N", help=_JOBS)
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for all modes at certain sizes (default: 300)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """Sweeps; prints the table, the growth and the crossovers."""
    sweeps = sweeps_of(options)
    if options.plot and len(sweeps) > 1:
        raise InputError(f"a plot is of one program and pipeline, and these are {len(sweeps)} sweeps: leave --plot out")
    if options.plot:
        plot.matplotlib()  # says before the work that it is not there
    with Database(options.records, create=True, log=options.dask is not None) if options.records else nullcontext() as database:
        reports = _run(options, sweeps, database)
    output.end_progress()
    _print(reports, as_json=options.json)
    if options.plot:
        plot.save(reports[0], options.figure or plot.default_panels(sweeps[0].modes), options.plot)
    good = [cell for report in reports for cell in report.cells if cell.result.status == "ok"]
    return Exit.OK if good else Exit.DIAGNOSTIC


def _run(options: argparse.Namespace, sweeps: Sequence[Sweep], database: Database | None) -> list[SweepReport]:
    """The reports; an error that ends the sweep says how it goes on."""
    words = ["wengert", options.command, *options.words]
    try:
        if options.dask is None:
            return run_sweeps(sweeps, database, words, output.progress)
        tasks = DaskTasks(options.dask, options.measure, say=output.progress)
        return run_sweeps(sweeps, database, words, output.progress, tasks, anywhere=True)
    except (ClusterError, DatabaseError) as error:
        if database is None:
            raise
        raise InputError(f"{error}\nhint: the same command with --resume goes on from what is recorded in {options.records}") from None


def _print(reports: Sequence[SweepReport], *, as_json: bool) -> None:
    if not as_json:
        print("\n\n".join(map(str, reports)))
    else:
        print(json.dumps(reports[0].to_json() if len(reports) == 1 else [report.to_json() for report in reports], indent=1))


def sweeps_of(options: argparse.Namespace) -> list[Sweep]:
    """The sweeps that the command and its file ask for, one for each program and pipeline; raises InputError."""
    axes: list[Axis] = options.over
    programs: tuple[str, ...] = (options.subject,)
    if options.subject.endswith(".toml"):
        spec = read_spec(options.subject)
        named = {axis.name for axis in axes}
        axes = [*(axis for axis in spec.axes if axis.name not in named), *axes]
        programs = spec.programs
        _fill(options, spec.options)
    _fill(options, DEFAULTS)
    _check(options)
    over, modes = read_axes(axes)
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # modules beside the programs, as python -m finds them
    subjects = [Subject(program, options.shapes, options.dtype, options.entry) for program in dict.fromkeys(programs)]
    for subject in subjects:
        subject.check(over)
    effort = Effort(options.measure, options.rounds, options.budget, options.timeout)
    pipelines: Sequence[str | None] = options.pipeline or [None]
    likes = [
        SweepTask(subject, {}, modes, options.wrt, options.of, options.seed, options.backend, pipeline, effort, plugins=tuple(LOADED))
        for subject in subjects
        for pipeline in pipelines
    ]
    return [Sweep(like.subject, over, modes, like, options.jobs, options.timeout, options.resume) for like in likes]


def _fill(options: argparse.Namespace, values: Mapping[str, object]) -> None:
    """Gives options values that have none."""
    for name, value in values.items():
        if getattr(options, name) is None:
            if name in ("wrt", "of"):
                value = tuple(int(part) for part in value)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownArgumentType, reportUnknownVariableType]
            setattr(options, name, (value,) if name == "figure" and isinstance(value, str) else value)


def _check(options: argparse.Namespace) -> None:
    if options.backend not in BACKENDS:
        raise unknown_backend(options.backend)
    if options.dask is not None:
        check_address(options.dask)
    if options.jobs is None:
        options.jobs = 1 if options.dask is None else max(1, len(usable_cores()))
    pipelines: Sequence[str] = options.pipeline or ()
    for pipeline in pipelines:
        parse_pipeline(pipeline)
    if options.resume and not options.records:
        raise InputError("--resume goes on from records: name their file with --records")
    if options.figure:
        plot.check_panels(options.figure)
    if options.plot and not Path(options.plot).parent.is_dir():
        raise InputError(f"there is no folder {Path(options.plot).parent} for the plot")


def _axis(text: str) -> Axis:
    try:
        return read_axis(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

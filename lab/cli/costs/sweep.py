"""``wengert sweep module:function --over n=2..4096 --over mode=forward,reverse --measure --plot s.svg``: a program over sizes and modes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from wengert.ir.plugins import LOADED
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.records.database import Database
from wengert.lab.records.execution import Effort
from wengert.lab.sweep import plot
from wengert.lab.sweep.axes import Axis, read_axes, read_axis
from wengert.lab.sweep.run import Sweep, run_sweep
from wengert.lab.sweep.spec import read_spec
from wengert.lab.sweep.subject import Subject
from wengert.lab.sweep.task import SweepTask
from wengert.runtime.backends import BACKENDS, unknown_backend
from wengert.runtime.errors import InputError

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
    "jobs": 1,
    "timeout": 300.0,
}
"""The values of options that neither the command line nor a file gives."""
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
    parser.add_argument("--backend", metavar="NAME", help="what runs them: cpu (default), interpreter, ...")
    parser.add_argument("--pipeline", metavar="PASSES", help="passes in place of the optimisation")
    parser.add_argument("--records", metavar="FILE.db", help="record every result there as it comes")
    parser.add_argument("--resume", action="store_true", default=None, help="take what is recorded, of this machine and version, and run the rest")
    parser.add_argument("--plot", metavar="FILE.svg", help="plot it")
    parser.add_argument(
        "--figure", type=arguments.names, metavar="A,B", help=f"what to plot: {', '.join(plot.PANELS)} (default: time, and full where modes differ)"
    )
    parser.add_argument("--jobs", type=arguments.positive, metavar="N", help="worker processes (default: 1; more disturb each other's times)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for all modes at certain sizes (default: 300)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """Sweeps; prints the table, the growth and the crossovers."""
    sweep = sweep_of(options)
    if options.plot:
        plot.matplotlib()  # says before the work that it is not there
    with Database(options.records, create=True) if options.records else nullcontext() as database:
        report = run_sweep(sweep, database, ["wengert", options.command, *options.words], output.progress)
    output.end_progress()
    print(json.dumps(report.to_json(), indent=1) if options.json else report)
    if options.plot:
        plot.save(report, options.figure or plot.default_panels(sweep.modes), options.plot)
    good = [cell for cell in report.cells if cell.result.status == "ok"]
    return Exit.OK if good else Exit.DIAGNOSTIC


def sweep_of(options: argparse.Namespace) -> Sweep:
    """The sweep that the command and its file ask for; raises InputError."""
    axes: list[Axis] = options.over
    if options.subject.endswith(".toml"):
        spec = read_spec(options.subject)
        named = {axis.name for axis in axes}
        axes = [*(axis for axis in spec.axes if axis.name not in named), *axes]
        options.subject = spec.program
        _fill(options, spec.options)
    _fill(options, DEFAULTS)
    _check(options)
    over, modes = read_axes(axes)
    subject = Subject(options.subject, options.shapes, options.dtype, options.entry)
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # modules beside the programs, as python -m finds them
    subject.check(over)
    effort = Effort(options.measure, options.rounds, options.budget, options.timeout)
    like = SweepTask(subject, {}, modes, options.wrt, options.of, options.seed, options.backend, options.pipeline, effort, plugins=tuple(LOADED))
    return Sweep(subject, over, modes, like, options.jobs, options.timeout, options.resume)


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

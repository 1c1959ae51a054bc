"""``wengert compare CORPUS --strategy transpose,direct,mine [--load mine.py]``: strategies of reverse mode over a corpus."""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from wengert.ir.plugins import LOADED
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.compare.outcome import FIGURES, Outcome
from wengert.lab.compare.recording import record_outcomes
from wengert.lab.compare.summary import Pair, count_lines, mean_table, means, outcome_table, worst, worst_line
from wengert.lab.compare.task import CompareTask, run_task
from wengert.lab.corpus import read_corpus
from wengert.lab.plain import plain
from wengert.lab.records.database import Database
from wengert.lab.tables import duration
from wengert.lab.workers import Report, run_tasks
from wengert.runtime.errors import InputError

Outcomes = dict[tuple[str, str, str], Outcome]
_NOT_IN_TABLES = ("samples", "calls", "yardstick", "norms", "derived")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("folder", metavar="DIR", help="a corpus: manifest.json and a folder per program")
    strategies = "the strategies, by name; the others are compared with the first one (default: transpose,direct)"
    parser.add_argument("--strategy", type=arguments.names, default=("transpose", "direct"), metavar="A,B", help=strategies)
    parser.add_argument("--dtype", type=arguments.names, default=("f64",), metavar="f64,f32", help="precisions (default: f64)")
    parser.add_argument("--only", type=arguments.names, metavar="A,B", help="programs by name")
    parser.add_argument("--jobs", type=arguments.positive, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds per program and precision (default: 300)")
    parser.add_argument("--csv", metavar="FILE", help="write every outcome as a line of a table")
    parser.add_argument("--json", metavar="FILE", help="write every outcome, the means and the worst programs")
    parser.add_argument("--records", metavar="FILE.db", help="record every outcome there, with all samples")


def execute(options: argparse.Namespace) -> int:
    """Compares; prints a table, the means and the worst programs."""
    arguments.check_strategy(options)
    options.strategy = tuple(dict.fromkeys(options.strategy))
    tasks = tasks_of(options)
    order = [(task.program.name, task.precision, strategy) for task in tasks for strategy in task.strategies]
    known = _run(options, tasks)
    outcomes = [known[key] for key in order]
    _print(options, tasks, outcomes)
    if options.csv:
        _write_csv(options.csv, outcomes)
    if options.json:
        Path(options.json).write_text(json.dumps(to_json(options, tasks, outcomes), indent=1) + "\n")
    return Exit.MISMATCH if any(outcome.status in ("wrong", "failed") for outcome in outcomes) else Exit.OK


def tasks_of(options: argparse.Namespace) -> list[CompareTask]:
    """The tasks that the command asks for; raises InputError."""
    if not options.strategy:
        raise InputError("--strategy names nothing to compare")
    programs = read_corpus(options.folder, set(options.only) if options.only else None)
    known = {precision for program in programs for precision in program.precisions}
    for precision in options.dtype:
        if precision not in known:
            raise InputError(f"the corpus has no programs in {precision!r}; it has: {', '.join(sorted(known))}")
    return [CompareTask(p, d, options.strategy, tuple(LOADED)) for p in programs for d in options.dtype if d in p.precisions]


def _run(options: argparse.Namespace, tasks: list[CompareTask]) -> Outcomes:
    """All outcomes; what is not right is printed as it comes."""
    os.environ["WENGERT_NUM_THREADS"] = "1"  # for the worker processes
    os.environ["WENGERT_CACHE"] = "off"  # compile times are those of compiling
    outcomes: Outcomes = {}
    with Database(options.records, create=True) if options.records else nullcontext() as database:
        run = database.begin_run(["wengert", options.command, *options.words]) if database is not None else ""
        for task in _finished(options, tasks, outcomes):
            if database is not None:
                record_outcomes(database, run, task, outcomes)
    output.end_progress()
    return outcomes


def _finished(options: argparse.Namespace, tasks: list[CompareTask], outcomes: Outcomes) -> Iterator[CompareTask]:
    """Each task when its last outcome is there."""
    start, done = time.monotonic(), 0
    for report in run_tasks(run_task, tasks, jobs=options.jobs, timeout=options.timeout):
        task = tasks[report.index]
        for outcome in _reported(task, report, outcomes):
            if outcome.reason and outcome.reason != getattr(outcomes.get(outcome.key), "reason", ""):
                output.end_progress()
                print(outcome, flush=True)
            outcomes[outcome.key] = outcome
        done += report.ended
        if report.ended:
            yield task
        if done:
            left = (time.monotonic() - start) / done * (len(tasks) - done)
            output.progress(f"{done}/{len(tasks)} {task.label}, {duration(left)} left")


def _reported(task: CompareTask, report: Report, outcomes: Outcomes) -> list[Outcome]:
    """What a report says. Of a task that ended before its time, strategies without an outcome failed, and those with one could not be timed."""
    if not report.ended:
        return [report.value]
    if report.reason is None:
        return []
    keys = [(task.program.name, task.precision, strategy) for strategy in task.strategies]
    lost = [Outcome(*key, "failed", reason=report.reason) for key in keys if key not in outcomes]
    untimed = [o for key in keys if (o := outcomes.get(key)) is not None and o.status == "right" and o.seconds is None]
    return lost + [replace(outcome, reason=f"not timed: {report.reason}") for outcome in untimed]


def _print(options: argparse.Namespace, tasks: list[CompareTask], outcomes: list[Outcome]) -> None:
    print("\n".join([*outcome_table(outcomes), "", *count_lines(outcomes, options.strategy)]))
    lines = mean_table(outcomes, options.strategy)
    if lines:
        print("\n".join(["", *lines]))
    for figure in FIGURES:
        for number, pair in enumerate(worst(outcomes, options.strategy[0], figure)):
            if number == 0:
                print()
            print(f"{worst_line(pair, figure)}\n    {command(options, tasks, pair, figure)}")


def command(options: argparse.Namespace, tasks: list[CompareTask], pair: Pair, figure: str) -> str:
    """The command that shows the difference between two outcomes."""
    task = next(t for t in tasks if (t.program.name, t.precision) == (pair.other.program, pair.other.precision))
    loads = [word for source in task.plugins for word in ("--load", source)]
    strategies = f"{pair.first.strategy},{pair.other.strategy}"
    if figure == "compile_seconds":
        words = ["compare", options.folder, *loads, "--strategy", strategies, "--only", task.program.name, "--dtype", task.precision]
        return shlex.join(["wengert", *words])
    reference, path = task.program.reference(task.precision), task.program.path(task.precision)
    wrt, of = (",".join(map(str, sorted(positions))) for positions in (reference.tangents, reference.cotangents))
    words = ["costs", str(path), *loads, "--strategy", strategies, "--wrt", wrt, "--of", of]
    return shlex.join(["wengert", *words, "--inputs", str(path.with_suffix(".npz")), "--measure"])


def _write_csv(path: str, outcomes: list[Outcome]) -> None:
    """A line for each outcome; what is not known is empty."""
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        names = [field.name for field in fields(Outcome) if field.name not in _NOT_IN_TABLES]
        writer.writerow(names)
        writer.writerows([getattr(outcome, name) for name in names] for outcome in outcomes)


def to_json(options: argparse.Namespace, tasks: list[CompareTask], outcomes: list[Outcome]) -> dict[str, Any]:
    """Everything: outcomes, means, and the worst programs with the commands that show them."""
    first = options.strategy[0]
    rows = [
        {"figure": figure, **_names(pair), "ratio": plain(pair.ratio(figure)), "command": command(options, tasks, pair, figure)}
        for figure in FIGURES
        for pair in worst(outcomes, first, figure)
    ]
    return {
        "folder": options.folder,
        "strategies": list(options.strategy),
        "outcomes": [outcome.to_json() for outcome in outcomes],
        "means": plain(means(outcomes, options.strategy)),
        "worst": rows,
    }


def _names(pair: Pair) -> dict[str, str]:
    return {"program": pair.other.program, "precision": pair.other.precision, "strategy": pair.other.strategy}

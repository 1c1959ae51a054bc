"""``wengert conformance DIR --backend cpu --dtype f64,f32 --what primal,jvp,vjp,hvp,jac``."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from wengert.ir.plugins import LOADED
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.conformance import KINDS, Outcome, Task, expand_kinds, run_task
from wengert.lab.corpus import read_corpus
from wengert.lab.plain import plain
from wengert.lab.workers import run_tasks
from wengert.runtime.backends import BACKENDS, unknown_backend
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("folder", metavar="DIR", help="a corpus: manifest.json and a folder per program")
    arguments.add_backend(parser)
    arguments.add_strategy(parser)
    parser.add_argument("--dtype", type=arguments.names, default=("f64", "f32"), metavar="f64,f32", help="precisions (default: both)")
    kinds = f"of {', '.join(KINDS)}; all (default) is the first five, text the others"
    parser.add_argument("--what", type=arguments.names, default=("all",), metavar="KINDS", help=kinds)
    parser.add_argument(
        "--costs", action="store_true", help="compare predicted counts and memory (exact) and times (within a factor of 2) instead, by all strategies"
    )
    parser.add_argument("--provenance", action="store_true", help="check that every op is traced in the derivatives, or that a pass says why it is gone")
    parser.add_argument("--only", type=arguments.names, metavar="A,B", help="programs by name")
    parser.add_argument("--form", choices=("pretty", "generic"), default="pretty", help="which text to read")
    parser.add_argument(
        "--strategies",
        action="store_true",
        help="time all batched Jacobians, and say how often the strategy that is chosen is the fastest",
    )
    parser.add_argument("--json", metavar="FILE", help="write every outcome")
    parser.add_argument("--jobs", type=arguments.positive, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds per program and precision (default: 300)")


def execute(options: argparse.Namespace) -> int:
    """Runs the corpus: a line per failure, a summary per kind."""
    if options.costs:
        return _compare_costs(options)
    if options.strategies:
        return _strategies(options)
    if options.provenance:
        return _provenance(options)
    tasks = tasks_of(options)
    outcomes: list[Outcome] = []
    done = 0
    for report in run_tasks(run_task, tasks, jobs=options.jobs, timeout=options.timeout):
        task = tasks[report.index]
        if report.ended:
            done += 1
            output.progress(f"{done}/{len(tasks)} {task.label}")
            reported = lost(task, outcomes, report.reason) if report.reason is not None else []
        else:
            reported = [report.value]
        outcomes += reported
        for outcome in reported:
            if outcome.status != "passed":
                output.end_progress()
                print(outcome, flush=True)
    output.end_progress()
    if not outcomes:
        raise InputError(f"nothing was compared: the corpus has no references for {', '.join(options.what)} of these programs")
    print("\n".join(summary(outcomes)))
    if options.json:
        Path(options.json).write_text(json.dumps(to_json(options, outcomes), indent=1) + "\n")
    return Exit.MISMATCH if any(o.status == "failed" for o in outcomes) else Exit.OK


def _compare_costs(options: argparse.Namespace) -> int:
    """Compares predicted costs: a line for each difference, a summary."""
    from wengert.lab.costs.exactness import CostOutcome, CostTask, all_strategies, cost_summary, is_good, run_cost_task

    tasks = [CostTask(task.program, task.precision, all_strategies()) for task in tasks_of(options)]
    outcomes: list[CostOutcome] = []
    for number, report in enumerate(run_tasks(run_cost_task, tasks, jobs=options.jobs, timeout=options.timeout)):
        task = tasks[report.index]
        outcome = report.value if not report.ended else CostOutcome(task.program.name, task.precision, "all", reason=report.reason) if report.reason else None
        if outcome is None:
            continue
        outcomes.append(outcome)
        output.progress(f"{number} {task.label}")
        if not outcome.refused and not (outcome.counts and outcome.memory):
            output.end_progress()
            print(outcome, flush=True)
    output.end_progress()
    print("\n".join(cost_summary(outcomes)))
    if options.json:
        Path(options.json).write_text(json.dumps({"folder": options.folder, "outcomes": [o.to_json() for o in outcomes]}, indent=1) + "\n")
    return Exit.OK if is_good(outcomes) else Exit.COST_REGRESSION


def _provenance(options: argparse.Namespace) -> int:
    """Checks provenance: a line for each program with an op that is lost or a source that is wrong, a summary."""
    from wengert.lab.inspection.subject import Mode
    from wengert.lab.provenance.over_a_corpus import MODES, ProvenanceOutcome, ProvenanceTask, provenance_summary, run_provenance_task

    given = tasks_of(options)
    modes: tuple[Mode, ...] = tuple(mode for mode in MODES if mode in options.what) or ("vjp",)
    tasks = [ProvenanceTask(task.program, task.precision, modes, options.strategy, options.form == "generic") for task in given]
    outcomes: list[ProvenanceOutcome] = []
    for number, report in enumerate(run_tasks(run_provenance_task, tasks, jobs=options.jobs, timeout=options.timeout)):
        task = tasks[report.index]
        if report.ended and report.reason is None:
            continue
        outcome = ProvenanceOutcome(task.program.name, task.precision, "all", None, report.reason or "") if report.ended else report.value
        outcomes.append(outcome)
        output.progress(f"{number} {task.label}")
        if not outcome.is_good or outcome.result is None:
            output.end_progress()
            print(outcome, flush=True)
    output.end_progress()
    print("\n".join(provenance_summary(outcomes)))
    if options.json:
        Path(options.json).write_text(json.dumps({"folder": options.folder, "outcomes": [o.to_json() for o in outcomes]}, indent=1) + "\n")
    return Exit.OK if all(o.is_good for o in outcomes) else Exit.MISMATCH


def _strategies(options: argparse.Namespace) -> int:
    """Compares choices of strategies, by default, predicted and measured, with the fastest: a line for each program where one is not right, and the figures."""
    from wengert.lab.strategies import accuracy

    os.environ["WENGERT_NUM_THREADS"] = "1"  # for the worker processes
    programs = read_corpus(options.folder, set(options.only) if options.only else None)
    tasks = [accuracy.Task(p, d, tuple(LOADED)) for p in programs for d in options.dtype if d in p.precisions]
    if not tasks:
        raise InputError(f"nothing to compare: no program of the corpus has a text in {', '.join(options.dtype)}")
    choices: list[accuracy.Chosen] = []
    ended = 0
    for report in run_tasks(accuracy.run_task, tasks, jobs=options.jobs, timeout=options.timeout):
        task = tasks[report.index]
        if not report.ended:
            choices.append(report.value)
        elif report.reason is not None:
            choices.append(accuracy.Chosen(task.program.name, task.precision, skipped=report.reason))
        ended += report.ended
        output.progress(f"{ended}/{len(tasks)} {task.label}")
        if choices and not report.ended and not choices[-1].is_right:
            output.end_progress()
            print(choices[-1], flush=True)
    output.end_progress()
    print("\n".join(accuracy.summary(choices)))
    if options.json:
        Path(options.json).write_text(json.dumps(plain(choices), indent=1) + "\n")
    return Exit.OK


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """The tasks that the command asks for; raises InputError."""
    arguments.check_strategy(options)
    if options.backend not in BACKENDS:
        raise unknown_backend(options.backend)
    kinds = expand_kinds(options.what)
    programs = read_corpus(options.folder, set(options.only) if options.only else None)
    known = {d for p in programs for d in p.precisions}
    for precision in options.dtype:
        if precision not in known:
            raise InputError(f"the corpus has no programs in {precision!r}; it has: {', '.join(sorted(known))}")
    generic = options.form == "generic"
    return [Task(p, d, kinds, options.backend, generic, options.strategy, tuple(LOADED)) for p in programs for d in options.dtype if d in p.precisions]


def lost(task: Task, outcomes: list[Outcome], reason: str) -> list[Outcome]:
    """Failures for the kinds of a task that ended before their time."""
    seen = {o.kind for o in outcomes if o.program == task.program.name and o.precision == task.precision}
    last = max((task.kinds.index(kind) for kind in seen), default=-1)
    return [Outcome(task.program.name, task.precision, kind, "failed", reason=reason) for kind in task.kinds[last + 1 :] if has_reference(task, kind)]


def has_reference(task: Task, kind: str) -> bool:
    """Whether the corpus says that it stores what a kind compares with."""
    flag = {"hvp": "hvp", "text-hvp": "hvp", "jac": "full_jacobian"}.get(kind)
    return flag is None or (bool(task.program.meta.get(flag)) and (flag == "hvp" or task.precision == "f64"))


def summary(outcomes: list[Outcome]) -> list[str]:
    """One line per kind: ``N passed, M failed, K refused``."""
    counts = Counter((o.kind, o.status) for o in outcomes)
    present = [k for k in KINDS if any(counts[k, s] for s in ("passed", "failed", "refused"))]
    width = max(map(len, present), default=0)
    return [f"{k + ':':{width + 1}} {counts[k, 'passed']} passed, {counts[k, 'failed']} failed, {counts[k, 'refused']} refused" for k in present]


def to_json(options: argparse.Namespace, outcomes: list[Outcome]) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "folder": options.folder,
        "backend": options.backend,
        "form": options.form,
        "strategy": options.strategy,
        "outcomes": [o.to_json() for o in outcomes],
    }

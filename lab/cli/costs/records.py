"""``wengert records list|show|export|merge|compare``: what sweeps and comparisons recorded."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.plain import plain
from wengert.lab.records import export
from wengert.lab.records.comparison import BYTES, compare
from wengert.lab.records.database import Database
from wengert.lab.records.record import COUNTS, Record
from wengert.lab.records.selection import DEFAULT, select
from wengert.lab.records.verdict import EFFECT
from wengert.lab.tables import count, seconds, size, table
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", title="actions")
    shown = actions.add_parser("list", help="a line for each record, or for each run", description="Lists records.")
    shown.add_argument("--runs", action="store_true", help="list runs: one for each command")
    shown.add_argument("--json", action="store_true", help="print JSON")
    _add_filters(shown)
    one = actions.add_parser("show", help="all of one record", description="Shows a record: what was run, where, counts, samples.")
    one.add_argument("id", metavar="ID", help="the beginning of its id")
    one.add_argument("--program", action="store_true", help="print the text of its program instead")
    one.add_argument("--json", action="store_true", help="print JSON")
    _add_file(one)
    out = actions.add_parser("export", help="records as JSON, Parquet, or samples for pyperf", description="Writes records in other formats.")
    for form, what in (
        ("json", "everything, texts of programs included"),
        ("parquet", "a row for each record"),
        ("pyperf", "the samples, as pyperf reads them"),
    ):
        out.add_argument(f"--{form}", metavar="FILE", help=f"{what}{'' if form == 'parquet' else '; - for stdout'}")
    _add_filters(out)
    merged = actions.add_parser("merge", help="copy the records of other files into one", description="Copies records; one that is there already is left out.")
    merged.add_argument("files", metavar="FILE.db", nargs="+", help="the files to copy from")
    merged.add_argument("-o", "--into", metavar="FILE.db", required=True, help="the file to copy to; made where it is not there")
    two = actions.add_parser(
        "compare", help="two files, runs or commits, task by task", description="Compares two sets of records; exits with 4 on a regression."
    )
    which = "a file of records, or the beginning of a run or a commit in the file of --records; FILE.db:RUN for those of another one"
    two.add_argument("a", metavar="A", help=which)
    two.add_argument("b", metavar="B", help="what is compared with it")
    two.add_argument("--effect", type=percent, default=EFFECT, metavar="5%", help="the least difference that counts (default: 5%%)")
    two.add_argument("--json", action="store_true", help="print JSON")
    _add_file(two)


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", default=DEFAULT, metavar="FILE.db", help=f"the file of records (default: {DEFAULT})")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    parser.add_argument("--run", metavar="RUN", help="only those of the run whose name begins so")
    parser.add_argument("--task", metavar="TASK", help="only those of the task whose name begins so")
    parser.add_argument("--status", choices=("ok", "refused", "wrong", "failed"), help="only those that ended so")


def execute(options: argparse.Namespace) -> int:
    """Does what the action says."""
    return _ACTIONS[options.action](options)


def _list(options: argparse.Namespace) -> int:
    with Database(options.records) as database:
        records, runs = _filtered(database, options), database.runs()
    if options.runs:
        known = {record.run for record in records}
        shown = [dict(zip(("id", "command", "folder", "begun"), run, strict=True)) for run in runs if run[0] in known]
        rows = [[run["id"], _moment(run["begun"]), str(sum(r.run == run["id"] for r in records)), run["command"]] for run in shown]
        _print(options, shown, _with_last_to_the_left(["run", "begun (UTC)", "records", "command"], rows))
        return Exit.OK
    header = ["record", "run", "taken (UTC)", "status", "least", "samples", "flops", "peak", "task"]
    lines = _with_last_to_the_left(header, [_row(record) for record in records])
    _print(options, [record.to_json() for record in records], [*lines, "", f"{len(records)} records in {options.records}"])
    return Exit.OK


def _row(record: Record) -> list[str]:
    result = record.result
    least = seconds(result.minimum) if result.minimum is not None else "-"
    flops, peak = result.counts.get("flops"), result.counts.get("peak")
    figures = ["-" if flops is None else count(flops), "-" if peak is None else size(peak)]
    return [record.id[:12], record.run[:6], _moment(record.taken), result.status, least, str(len(result.samples)), *figures, record.name]


def _show(options: argparse.Namespace) -> int:
    with Database(options.records) as database:
        record = database.record(options.id)
        text = database.text(record.work.program)
        commands = {id: command for id, command, _, _ in database.runs()}
    if options.program:
        output.write_ir(text, None)
        return Exit.OK
    _print(options, record.to_json(), _described(record, commands.get(record.run, "")))
    return Exit.OK


def _described(record: Record, command: str) -> list[str]:
    work, result, environment = record.work, record.result, record.environment
    machine = environment.machine
    lines = [f"record {record.id}", f"task {record.task}: {record.name}", f"taken {_moment(record.taken)} UTC by {command or 'a command that is not recorded'}"]
    derivative = f"d results {_listed(work.of)} / d arguments {_listed(work.wrt)}, " if work.mode != "primal" else ""
    where = f"seed {work.seed}" + (f", first inputs {work.given[:12]}" if work.given else "")
    lines.append(f"{derivative}backend {work.backend}{f', pipeline {work.pipeline}' if work.pipeline else ''}; {where}; program {work.program[:12]}")
    lines += ["", f"{result.status}{f': {result.reason}' if result.reason else ''}"]
    lines += [f"  {name:15} {size(value) if name in BYTES else count(value)}" for name in COUNTS if (value := result.counts.get(name)) is not None]
    if result.predicted is not None and result.factor is not None:
        lines.append(f"  {'predicted':15} {seconds(result.predicted)} (within a factor of {result.factor:.3g} for nine of ten)")
    if result.compile_seconds is not None:
        lines.append(f"  {'compiling':15} {seconds(result.compile_seconds)}")
    if result.minimum is not None and result.median is not None:
        lines.append(f"  {'time':15} {seconds(result.minimum)} least, {seconds(result.median)} median")
        lines.append(f"  {'samples':15} {len(result.samples)}, each the mean of {result.calls} calls:")
        lines += [f"    {'  '.join(seconds(s) for s in result.samples[i : i + 8])}" for i in range(0, len(result.samples), 8)]
    lines += _interference(result.interference)
    lines += ["", f"{machine.processor} ({machine.target}), {machine.cores} cores, {environment.threads} threads, {machine.name}, {machine.system}"]
    lines.append("load " + ("unknown" if math.isnan(record.load) else f"{record.load:.2g}") + (f", governor {machine.governor}" if machine.governor else ""))
    lines.append(f"commit {environment.commit or 'none'}; wengert {environment.wengert}")
    lines.append(", ".join(f"{name} {version}" for name, version in environment.versions.items()))
    lines += [f"{name}={value}" for name, value in environment.variables.items()]
    return lines + [f"plug-in {source} {hash[:12]}" for source, hash in environment.plugins.items()]


def _interference(figures: Mapping[str, float]) -> list[str]:
    """How much the process was kept from running while samples were taken."""
    if not figures:
        return []
    told = [f"preempted {int(figures['preempted'])} times"] if "preempted" in figures else []
    told += [f"{seconds(figures[name])} {what}" for name, what in (("queued", "waiting for a core"), ("stolen", "taken by the hypervisor")) if name in figures]
    core = f" on core {int(figures['core'])} alone" if "core" in figures else ""
    return [f"  {'interference':15} {', '.join(told) or 'not known'}, in {seconds(figures['seconds'])}{core}"]


def _export(options: argparse.Namespace) -> int:
    if not (options.json or options.parquet or options.pyperf):
        raise InputError("say in which format: --json FILE, --parquet FILE or --pyperf FILE")
    with Database(options.records) as database:
        records = _filtered(database, options)
        if options.json:
            export.write_json(export.to_json(database, records), options.json)
    if options.pyperf:
        export.write_json(export.to_pyperf(records), options.pyperf)
    if options.parquet:
        export.write_parquet(records, options.parquet)
    return Exit.OK


def _merge(options: argparse.Namespace) -> int:
    if Path(options.into).exists() and any(Path(file).exists() and Path(file).samefile(options.into) for file in options.files):
        raise InputError(f"{options.into} cannot be merged into itself")
    with ExitStack() as opened:
        sources = [opened.enter_context(Database(file)) for file in options.files]  # all are opened before anything is written
        database = opened.enter_context(Database(options.into, create=True))
        for source in sources:
            copied, there = database.merge(source), len(source.records())
            print(f"{source.path}: {copied} of {there} records are new in {options.into}")
    return Exit.OK


def _compare(options: argparse.Namespace) -> int:
    sides = [select(text, options.records) for text in (options.a, options.b)]
    verdicts = compare(sides[0], sides[1], (options.a, options.b), options.effect)
    if not verdicts.pairs:
        raise InputError(f"{options.a} and {options.b} have no task in common, of {len(verdicts.only_a)} and {len(verdicts.only_b)}")
    _print(options, verdicts.to_json(), [f"A: {options.a}, {len(sides[0])} records", f"B: {options.b}, {len(sides[1])} records", "", str(verdicts)])
    return Exit.COST_REGRESSION if verdicts.regressions else Exit.OK


_ACTIONS = {"list": _list, "show": _show, "export": _export, "merge": _merge, "compare": _compare}


def _filtered(database: Database, options: argparse.Namespace) -> list[Record]:
    """The records that the options choose; an InputError where there are none."""
    chosen = {"run": options.run, "task": options.task, "status": options.status}
    chosen = {column: value for column, value in chosen.items() if value}
    where = " AND ".join(f"substr({column}, 1, ?) = ?" for column in chosen) or "1"
    records = database.records(where, [part for value in chosen.values() for part in (len(value), value)])
    if not records:
        raise InputError(f"{options.records} has no record{' that is chosen so' if chosen else ''}")
    return records


def percent(text: str) -> float:
    """``5%`` or ``0.05`` as 0.05."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 10:
        raise argparse.ArgumentTypeError(f"expected a part, as in 5% or 0.05, found {text!r}")
    return value


def _print(options: argparse.Namespace, value: object, lines: Sequence[str]) -> None:
    print(json.dumps(plain(value), indent=1) if options.json else "\n".join(lines))


def _with_last_to_the_left(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose last column is text."""
    lines = table(header[:-1], [row[:-1] for row in rows])
    width = max(map(len, lines))
    return [f"{line:{width}}  {last}" for line, last in zip(lines, [header[-1], *(row[-1] for row in rows)], strict=True)]


def _moment(taken: str) -> str:
    return taken[:19].replace("T", " ")


def _listed(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))

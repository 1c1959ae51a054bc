"""Records as JSON, as a Parquet table, and as samples that pyperf reads.

JSON holds everything, the texts of programs included. The Parquet table has a row for each record and a column for each field that is a number or a word
(``count_flops``, ``size_n``, ``processor``), with the samples as a list. pyperf's file has a benchmark for each task that was timed, a run for each record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from wengert.ir.installation import command
from wengert.lab.plain import plain
from wengert.lab.records.database import Database
from wengert.lab.records.record import COUNTS, Record
from wengert.lab.records.schema import VERSION
from wengert.runtime.errors import InputError


def to_json(database: Database, records: Sequence[Record]) -> dict[str, Any]:
    """Records, their runs and the texts of their programs as what JSON holds."""
    runs = {record.run for record in records}
    hashes = dict.fromkeys(record.work.program for record in records)
    return {
        "format": "wengert records",
        "version": VERSION,
        "runs": [dict(zip(("id", "command", "folder", "begun"), run, strict=True)) for run in database.runs() if run[0] in runs],
        "programs": {hash: database.text(hash) for hash in hashes},
        "records": [record.to_json() for record in records],
    }


def flat(record: Record) -> dict[str, Any]:
    """A record as a row of a table."""
    result, machine = record.result, record.environment.machine
    return {
        "id": record.id,
        "task": record.task,
        "run": record.run,
        "taken": record.taken,
        "label": record.label,
        "mode": record.work.mode,
        "backend": record.work.backend,
        "pipeline": record.work.pipeline,
        "seed": record.work.seed,
        "program": record.work.program,
        "status": result.status,
        "reason": result.reason,
        **{f"count_{name}": result.counts.get(name) for name in COUNTS},
        "directions": result.directions,
        "minimum_seconds": result.minimum,
        "median_seconds": result.median,
        "samples_seconds": list(result.samples),
        "yardstick_seconds": list(result.yardstick),
        "calls_per_sample": result.calls,
        "compile_seconds": result.compile_seconds,
        "predicted_seconds": result.predicted,
        "error": result.error,
        "tolerance": result.tolerance,
        "commit": record.environment.commit,
        "wengert": record.environment.wengert,
        "machine": machine.name,
        "processor": machine.processor,
        "cores": machine.cores,
        "threads": record.environment.threads,
        "load": record.load,
        "versions": json.dumps(record.environment.versions, sort_keys=True),
        "variables": json.dumps(record.environment.variables, sort_keys=True),
    }


def write_parquet(records: Sequence[Record], path: str) -> None:
    """Writes a table with a row for each record. Raises InputError where pyarrow is not installed, or a size is a number here and a word there."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(f"Parquet is written by pyarrow, which is not installed: {command('records')}") from None
    sizes = list(dict.fromkeys(name for record in records for name in record.sizes))
    rows = [{**flat(record), **{f"size_{name}": record.sizes.get(name) for name in sizes}} for record in records]
    mixed = [name for name in sizes if len({type(record.sizes[name]) for record in records if name in record.sizes}) > 1]
    for row in rows:
        row |= {f"size_{name}": str(value) for name in mixed if (value := row[f"size_{name}"]) is not None}
    parquet.write_table(arrow.Table.from_pylist(rows, metadata={"wengert records": str(VERSION)}), path)


def to_pyperf(records: Sequence[Record]) -> dict[str, Any]:
    """The samples as a suite of benchmarks in the format 1.0 of pyperf's JSON; an InputError where nothing was timed.

    A benchmark is a task, by its name and the first eight digits of its hash, on one machine, whose name is added where there are several; a run is a record. A
    value is a sample: the mean of so many calls, which are pyperf's loops.
    """
    grouped: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.result.samples:
            grouped.setdefault((record.task, _where(record)), []).append(record)
    if not grouped:
        raise InputError("no record has samples: nothing was timed")
    machines = list(dict.fromkeys(where for _, where in grouped))
    suffixes = {where: "" if len(machines) == 1 else f" on machine {number}" for number, where in enumerate(machines, 1)}
    benchmarks = [_benchmark(f"{known[-1].name} {task[:8]}{suffixes[where]}", known) for (task, where), known in grouped.items()]
    return {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}


def _where(record: Record) -> str:
    """What pyperf wants to be the same for all runs of a benchmark."""
    metadata = _metadata(record)
    return json.dumps([metadata.get(name) for name in ("hostname", "cpu_model_name", "platform", "python_version")])


def _benchmark(name: str, records: Sequence[Record]) -> dict[str, Any]:
    runs = [{"metadata": _metadata(record), "values": list(record.result.samples)} for record in records]
    return {"metadata": {"name": name}, "runs": runs}


def _metadata(record: Record) -> dict[str, Any]:
    """A run's metadata, by pyperf's names where it has them; what pyperf does not know it keeps as text."""
    environment = record.environment
    known: dict[str, Any] = {
        "date": record.taken[:19].replace("T", " "),
        "loops": record.result.calls,
        "hostname": environment.machine.name,
        "cpu_model_name": environment.machine.processor,
        "platform": environment.machine.system,
        "python_version": environment.versions.get("python", ""),
        "load_avg_1min": plain(record.load),
        "wengert_version": environment.wengert,
        "wengert_record": record.id,
        "wengert_commit": environment.commit,
    }
    return {name: value for name, value in known.items() if value not in ("", "nan")}


def write_json(value: Any, path: str | None) -> None:
    """JSON to a file, or to stdout for none or ``-``."""
    text = json.dumps(value, indent=1) + "\n"
    if path in (None, "-"):
        print(text, end="")
    else:
        Path(path).write_text(text)

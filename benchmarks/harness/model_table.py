"""The group ``models``: whole training steps at several numbers of threads, each in a process of its own, and what more threads gain.

Every side is timed by the wall, in turn with the others, after its results have been compared with JAX's in double precision. All of a process's threads
share as many cores as there are threads.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

ALL_PEERS = ("jax", "torch", "torch.compile")


def run(options: Namespace) -> int:
    """Measures all numbers of threads and prints the table; 1 if a result was wrong, 2 for numbers that are none."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = options.threads.split(",") if options.threads else ["1", *([str(cores)] if cores > 1 else [])]
    if not all(n.isdecimal() and 1 <= int(n) <= cores for n in asked):
        print(f"--threads {options.threads}: numbers from 1 to {cores}, separated by commas", file=sys.stderr)
        return 2
    counts, documents, codes = sorted({int(n) for n in asked}), list[Any](), list[int]()
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            path = Path(folder) / f"{count}.json"
            command = [sys.executable, "-m", "benchmarks", "--groups", "models", "--inside", str(count), "--json", str(path)]
            command += ["--peers", options.peers, "--seconds", str(options.seconds), *(["--quick"] if options.quick else [])]
            codes.append(subprocess.run(command, check=False).returncode)
            if not path.exists():
                return codes[-1] or 2
            documents.append(json.loads(path.read_text()))
    print(table(counts, documents))
    if options.json:
        Path(options.json).write_text(json.dumps({"threads": dict(zip(map(str, counts), documents, strict=True))}, indent=1))
    return max(codes)


def run_inside(options: Namespace) -> int:
    """Measures the models with one number of threads, in this process."""
    _limit_threads(options.inside)
    before = os.getloadavg() if hasattr(os, "getloadavg") else ()
    import importlib.util

    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_enable_x64", True)
    from benchmarks.harness import report
    from benchmarks.harness.measure import machine, measure
    from benchmarks.models.catalogue import models

    peers = options.peers.split(",") if options.peers else [*ALL_PEERS] if importlib.util.find_spec("torch") else ["jax"]
    if unknown := set(peers) - set(ALL_PEERS):
        print(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(ALL_PEERS)}", file=sys.stderr)
        return 2
    limits, rows, wrong = machine(min(options.seconds, 0.2)), list[Any](), list[str]()
    for workload in models(options.quick):
        print(f"{workload.name}, {options.inside} thread{'s' * (options.inside > 1)} ...", file=sys.stderr, flush=True)
        try:
            rows.append(measure("models", workload, limits, options.seconds, peers, time.perf_counter))
        except AssertionError as error:
            wrong.append(str(error))
            print(f"WRONG, not timed: {error}", flush=True)
        Path(options.json).write_text(json.dumps(report.document(rows, wrong, limits, before), indent=1))
    return 1 if wrong else 0


def _limit_threads(count: int) -> None:
    """As many threads as cores, for all sides, before anything starts threads; no cached objects, so that compile times are true."""
    os.environ |= {"WENGERT_CACHE": "off", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "WENGERT_NUM_THREADS": str(count)}
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if count > 1 else 'false'}"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def table(counts: list[int], documents: list[Any]) -> str:
    """Our times and their ratios to the peers' at each number of threads, what all gain from the first number to the last, and errors; as Markdown."""
    by_name = [{row["name"]: row for row in document["rows"]} for document in documents]
    names = [name for name in by_name[0] if all(name in rows for rows in by_name)]
    peers = [peer for peer in ALL_PEERS if any(peer in row["peers"] for rows in by_name for row in rows.values())]
    columns = ["training step"]
    for count in counts:
        columns += [f"{count} thread{'s' * (count > 1)}, ms", *[f"/ {peer}" for peer in peers]]
    if len(counts) > 1:
        columns += ["our gain", *[f"{peer}'s" for peer in peers]]
    columns += ["our error", *[f"{peer}'s" for peer in peers]]
    lines = [columns, ["---"] * len(columns)]
    for name in names:
        rows = [row[name] for row in by_name]
        cells = [name]
        for row in rows:
            cells += [f"{1e3 * row['ours']['time']['least']:.3g}", *[f"{row['ratios'][peer]:.2f}" if peer in row["ratios"] else "-" for peer in peers]]
        if len(counts) > 1:
            cells += [f"{gain:.2f}" if (gain := _gain(rows, peer)) else "-" for peer in ("", *peers)]
        cells += [f"{rows[0]['ours']['error']:.0e}", *[f"{rows[0]['peers'][peer]['error']:.0e}" if peer in rows[0]["peers"] else "-" for peer in peers]]
        lines.append(cells)
    means = [_means(count, list(rows.values()), peers) for count, rows in zip(counts, by_name, strict=True)]
    load = max(document["environment"]["load at end"][0] for document in documents if document["environment"]["load at end"])
    return "\n".join([*[f"| {' | '.join(cells)} |" for cells in lines], "", *means, f"load average {load:.1f}: times of several threads need a quiet machine"])


def _gain(rows: list[Any], peer: str) -> float:
    """The time with the fewest threads in units of that with the most; 0 where there is none."""
    times = [row["peers"].get(peer) if peer else row["ours"] for row in rows]
    return times[0]["time"]["least"] / times[-1]["time"]["least"] if times[0] and times[-1] else 0.0


def _means(count: int, rows: list[Any], peers: list[str]) -> str:
    shown: list[str] = []
    for peer in peers:
        ratios = [row["ratios"][peer] for row in rows if peer in row["ratios"]]
        if ratios:
            shown.append(f"to {peer} {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, worst {max(ratios):.2f}")
    return f"{count} thread{'s' * (count > 1)}: geometric mean {'; '.join(shown)}"

"""The group ``models``: whole training steps at several numbers of threads, each in a process of its own, and what more threads gain.

Every side is timed in turn with the others, after its results have been compared with JAX's in double precision: on one thread by the CPU time of the process,
on several by the wall. All of a process's threads share as many cores as there are threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

ALL_PEERS = ("jax", "torch", "torch.compile", "iree")


def run(options: Namespace) -> int:
    """Measures all numbers of threads and prints the tables; 1 if a result was wrong, 2 for numbers that are none."""
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
            command += ["--peers", options.peers, "--seconds", str(options.seconds), "--only", options.only, *(["--quick"] if options.quick else [])]
            codes.append(subprocess.run(command, check=False).returncode)
            if not path.exists():
                return codes[-1] or 2
            documents.append(json.loads(path.read_text()))
    from benchmarks.harness import model_report

    print(model_report.tables(counts, documents))
    if options.json:
        Path(options.json).write_text(json.dumps({"threads": dict(zip(map(str, counts), documents, strict=True))}, indent=1))
    if options.chart:
        model_report.chart(counts, documents, options.chart)
    return max(codes)


def run_inside(options: Namespace) -> int:
    """Measures the models with one number of threads, in this process."""
    _limit_threads(options.inside)
    before = os.getloadavg() if hasattr(os, "getloadavg") else ()
    import importlib.util

    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_enable_x64", True)
    from benchmarks.harness import iree_peer, report
    from benchmarks.harness.measure import Row, machine, measure
    from benchmarks.models.catalogue import models

    installed = {"torch": bool(importlib.util.find_spec("torch")), "iree": iree_peer.is_installed()}
    if not options.peers:
        print(*(f"{name} is not installed, and left out" for name, there in installed.items() if not there), sep="\n", end="", file=sys.stderr)
    peers = options.peers.split(",") if options.peers else [p for p in ALL_PEERS if installed.get(p.partition(".")[0], True)]
    if unknown := set(peers) - set(ALL_PEERS):
        print(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(ALL_PEERS)}", file=sys.stderr)
        return 2
    names = tuple(options.only.split(","))
    limits, rows, wrong = machine(min(options.seconds, 0.2)), list[Row](), list[str]()
    rate = _multiply_adds() * options.inside
    clock = time.process_time if options.inside == 1 else time.perf_counter
    for workload in models(options.quick, lambda name: name.startswith(names)):
        print(f"{workload.name}, {options.inside} thread{'s' * (options.inside > 1)} ...", file=sys.stderr, flush=True)
        try:
            row = measure("models", workload, limits, options.seconds, peers, clock)
        except AssertionError as error:
            wrong.append(str(error))
        else:
            rows.append(replace(row, moved=_moved(workload)))
            wrong.extend(row.wrong.values())
            for peer, why in row.missing.items():
                print(f"  without {peer}: {why}", file=sys.stderr, flush=True)
        document = report.document(rows, wrong, limits, before)
        Path(options.json).write_text(json.dumps({**document, "flops": rate}, indent=1))
    for what in wrong:
        print(f"WRONG, not timed: {what}", flush=True)
    return 1 if wrong else 0


def _multiply_adds() -> float:
    """The flops per second of multiply-adds in registers of one thread, in f32."""
    from benchmarks.harness.peak import peak
    from benchmarks.harness.timing import interleaved

    call, flops = peak("f32")
    (most,) = interleaved([call], 0.2)
    return flops / most.least


def _moved(workload: Any) -> float:
    """The bytes that our kernels read and write, each operand of each once, in caches or not."""
    import jax

    import wengert as wg
    from wengert.lab.costs.compiled import compiled

    program = wg.parse(jax.jit(workload.function).lower(*workload.inputs).as_text(), workload.name).vjp(wrt=workload.wrt)
    return float(compiled(program).total("bytes").constant or 0)


def _limit_threads(count: int) -> None:
    """As many threads as cores, for all sides, before anything starts threads; no cached objects, so that compile times are true."""
    os.environ |= {"WENGERT_CACHE": "off", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "WENGERT_NUM_THREADS": str(count), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if count > 1 else 'false'}"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])

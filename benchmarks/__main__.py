"""``python -m benchmarks [--groups rows,mlp] [--peers jax,torch] [--quick] [--json FILE] [--chart FILE.svg]``: derivatives next to JAX's and PyTorch's.

All sides compute the value and the gradient of the same function, in turn, in one process on one core (the last one, or
``--core``). JAX dispatches synchronously, which is faster for small programs, and its arrays are on the device already; PyTorch runs
as it is and compiled, with one thread. Results are compared before anything is timed. The clock is the CPU time of the process.
Ratios are ours to theirs, of the least times and, in brackets, of the medians: less is better. The group ``models`` is measured in a process for
each number of threads (``--threads 1,2``), several threads by the wall, and beside IREE too where it is installed (``pip install 'wengert[iree]'``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ALL_PEERS = ("jax", "torch", "torch.compile", "iree")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the groups that were asked for; 1 if a result was wrong."""
    options = _options(arguments)
    groups = options.groups.split(",") if options.groups else []
    if "models" in groups and not options.inside:
        if len(groups) > 1:
            print("the group models is measured alone, in a process for each number of threads", file=sys.stderr)
            return 2
        from benchmarks.harness import model_table

        return model_table.run(options)
    if options.inside:
        from benchmarks.harness import model_table

        return model_table.run_inside(options)
    _pin(options.core)
    before = os.getloadavg() if hasattr(os, "getloadavg") else ()
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_enable_x64", True)
    from benchmarks.harness import report
    from benchmarks.harness.measure import machine, measure
    from benchmarks.problems.workloads import GROUPS

    asked = options.groups.split(",") if options.groups else list(GROUPS)
    peers = options.peers.split(",") if options.peers else [*ALL_PEERS[:3]] if importlib.util.find_spec("torch") else ["jax"]
    for what, given, known in (("group", asked, [*GROUPS]), ("peer", peers, [*ALL_PEERS])):
        if unknown := set(given) - set(known):
            print(f"no {what} {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    limits, rows, workloads, wrong = machine(options.seconds), list[Any](), list[Any](), list[str]()
    measure("", GROUPS["calls"](True)[0], limits, 0.01, peers)  # all sides load and set up what every program needs
    print(report.line(report.header(peers), peers))

    def save() -> None:
        if options.json:
            Path(options.json).write_text(json.dumps(report.document(rows, wrong, limits, before), indent=1))

    def add(row: Any) -> None:
        rows.append(row)
        print(report.row_line(row, peers), flush=True)
        save()

    for group in asked:
        for workload in GROUPS[group](options.quick):
            try:
                row = measure(group, workload, limits, options.seconds, peers)
            except AssertionError as error:
                wrong.append(str(error))
                print(f"WRONG, not timed: {error}", flush=True)
            else:
                workloads.append(workload)
                add(row)
                wrong.extend(row.wrong.values())
                for what in row.wrong.values():
                    print(f"WRONG, not timed: {what}", flush=True)
    limits = limits.best(machine(options.seconds))  # what disturbed one of the measurements may have spared the other
    rows = [replace(row, limit=limits.limit(workload)) for row, workload in zip(rows, workloads, strict=True)]
    if options.gradbench:
        from benchmarks import gradbench

        for row in gradbench.rows(Path(options.gradbench), options.seconds, options.core):
            add(row)
    print(report.summary(rows, peers))
    if options.markdown:
        print(report.markdown(rows, peers))
    save()
    if options.chart:
        report.chart(rows, peers, options.chart)
    return 1 if wrong else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default="", help="names, separated by commas; all but models by default")
    parser.add_argument("--peers", default="", help="out of jax, torch, torch.compile, iree; those that are installed by default (IREE for models only)")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each side of each workload")
    parser.add_argument("--threads", default="", metavar="1,2", help="numbers of threads for the group models; 1 and all cores by default")
    parser.add_argument("--only", default="", metavar="ViT,LSTM", help="of the group models, those whose names begin with one of these")
    parser.add_argument("--inside", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--gradbench", metavar="FOLDER", help="run the AD benchmark kit in this folder as well")
    parser.add_argument("--json", help="write everything measured, with the environment, after each workload")
    parser.add_argument("--chart", help="draw the times as multiples of ours, as SVG (needs matplotlib)")
    parser.add_argument("--markdown", action="store_true", help="print the table for the documentation as well")
    return parser.parse_args(arguments)


def _pin(core: int | None) -> None:
    """One core, and no thread pools, before anything starts threads; no cached objects, so that compile times are true."""
    os.environ["WENGERT_CACHE"] = "off"
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    os.environ.setdefault("WENGERT_NUM_THREADS", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
        os.environ.setdefault(name, "1")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0)) if core is None else core])


if __name__ == "__main__":
    sys.exit(main())

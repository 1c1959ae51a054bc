"""``python -m benchmarks.gpu [--minutes 10] [--corpus FOLDER] [--json FILE] [--chart FILE.svg] [--backend cuda] [--small]``: all that is measured on a GPU.

First the device itself (a copy, a launch), then the corpus for right results, then layers on arrays that fill a GPU, beside JAX and ``torch.compile`` on
the same device, in windows that alternate. Results are checked before anything is timed. What has not run when the time is over is left out and named; JSON is
written after every step, so that a run that is cut off leaves what it has. Nothing is downloaded: to bring wengert to a machine without a network, use
``pip download`` elsewhere.

``--backend opencl`` and ``--small`` try the script where no GPU is: their times say nothing about one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu import report
from benchmarks.gpu.machine import Figures, figures
from benchmarks.gpu.rows import Row, measure
from benchmarks.gpu.workloads import workloads

from wengert.lab.conformance import Task, run_task
from wengert.lab.corpus import read_corpus
from wengert.runtime.errors import InputError

PEERS = ("jax", "torch.compile")
CORPUS_SHARE = 0.4
"""The share of the time that the corpus may take."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all; 1 if a result was wrong, 2 if there is no device."""
    options = _options(arguments)
    try:
        Run(options).all()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if Run.wrong else 0


class Run:
    """One run: what was measured so far, and until when there is time."""

    wrong = False

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.started = time.monotonic()
        self.machine: Figures | None = None
        self.corpus: dict[str, Any] = {}
        self.rows: list[Row] = []
        self.left_out: list[str] = []
        Run.wrong = False

    def spent(self) -> float:
        """The share of the time that is over."""
        return (time.monotonic() - self.started) / (60 * self.options.minutes)

    def all(self) -> None:
        """The device, the corpus, the workloads."""
        options = self.options
        self.machine = figures(options.backend, megabytes=1 if options.small else 512, seconds=options.seconds)
        m = self.machine
        print(f"{m.device}: copy {m.copy_bytes_per_second / 1e9:.0f} GB/s, launch {m.launch_us:.2f} us, call {m.call_us:.1f} us", flush=True)
        self.save()
        if options.corpus is not None:
            self.run_corpus(Path(options.corpus))
        print(report.table([], PEERS, m))
        for workload in workloads():
            if self.spent() > 1:
                self.left_out.append(workload.name)
                continue
            self.rows.append(measure(workload, options.backend, PEERS, options.seconds, full=not options.small))
            Run.wrong |= bool(self.rows[-1].wrong)
            print(report.line(self.rows[-1], PEERS, m), flush=True)
            self.save()
        self.conclude()

    def run_corpus(self, folder: Path) -> None:
        """Counts the right ones of the programs and their derivatives."""
        passed, failed = 0, list[str]()
        for task in self.tasks(folder):
            if self.spent() > CORPUS_SHARE:
                self.left_out.append(f"corpus from {task.label} on")
                break
            for outcome in run_task(task):
                passed += outcome.status == "passed"
                if outcome.status != "passed":
                    failed.append(f"{task.label} {outcome.kind}: {outcome.reason or outcome.error}")
        self.corpus = {"passed": passed, "failed": failed}
        Run.wrong |= bool(failed)
        print(f"corpus: {passed} right, {len(failed)} not", *failed, sep="\n  ", flush=True)
        self.save()

    def tasks(self, folder: Path) -> Iterator[Task]:
        """Values and reverse mode of all programs, in both precisions."""
        for precision in ("f32", "f64"):
            for program in [program for program in read_corpus(folder) if precision in program.precisions]:
                yield Task(program, precision, ("primal", "vjp"), self.options.backend)

    def conclude(self) -> None:
        """Means, the chart, and what is missing."""
        for peer in PEERS:
            if (mean := report.mean(self.rows, peer)) is not None:
                print(f"geometric mean of ours to {peer}: {mean:.2f}")
        for name, why in sorted({(name, why) for row in self.rows for name, why in row.missing.items()}):
            print(f"no column of {name}: {why}")
        for name in self.left_out:
            print(f"no time left for: {name}")
        if self.options.chart and not report.chart(self.rows, PEERS, self.options.chart):
            print("no chart: nothing to compare with, or no matplotlib")

    def save(self) -> None:
        """Writes what there is."""
        if self.options.json:
            note = "tried without a GPU: these times say nothing about one" if self.options.backend != "cuda" or self.options.small else ""
            Path(self.options.json).write_text(json.dumps(report.document(self.rows, self.machine, self.corpus, note), indent=1))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="cuda", help="cuda, or opencl or ptx-interpreter to try the script")
    parser.add_argument("--minutes", type=float, default=10, help="stop after so long")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each side of a workload is timed")
    parser.add_argument("--corpus", help="a folder of reference programs, which are checked first")
    parser.add_argument("--small", action="store_true", help="small arrays, to try the script")
    parser.add_argument("--json", help="a file for all that was measured")
    parser.add_argument("--chart", help="a file for a chart")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

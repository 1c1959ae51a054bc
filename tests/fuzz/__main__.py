"""Random StableHLO programs and what must be true of each: random programs on all cores, for some minutes or of some seeds; findings are reduced and kept in a folder.

PYTHONPATH=tests python -m fuzz --minutes 30
PYTHONPATH=tests python -m fuzz --seeds 0:1000
PYTHONPATH=tests python -m fuzz --replay fuzz-findings/001-compiled-48
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path


def main() -> int:
    options = arguments()
    # said before NumPy is imported, here and in the workers
    os.environ.update(WENGERT_CACHE="off", WENGERT_NUM_THREADS=str(options.threads), OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    # a run that is told to end ends its workers too
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    if options.replay:
        return replay(options.replay, options.check)
    return Campaign(options).run()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=None, help="stop after so long")
    parser.add_argument("--seeds", default=None, help="first:last of the seeds; without it, seeds of their own for every run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--threads", type=int, default=1, help="on how many threads compiled programs run; kernels are cut for them however small they are")
    parser.add_argument("--limit", type=float, default=60, help="seconds of processor time that one program may take")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--no-oracle", action="store_true", help="do not ask JAX")
    parser.add_argument("--replay", help="the folder of a finding, or a seed: its checks again")
    parser.add_argument("--check", help="which check, with --replay; all by default")
    return parser.parse_args()


def replay(which: str, name: str | None) -> int:
    """The checks of a finding or of a seed again, all of them unless one is named."""
    from fuzz.case import Case
    from fuzz.checks.every_check import CHECKS
    from fuzz.findings import load
    from fuzz.generator import generate
    from fuzz.trial import Finding, attempt
    from fuzz.work import cut_small_kernels

    cut_small_kernels()
    program, failed = generate(int(which)) if which.isdigit() else load(Path(which)), 0
    for check in CHECKS:
        if name in (None, check.name):
            outcome = attempt(Case(program), check)
            if isinstance(outcome, Finding):
                failed = 1
                print(f"{check.name}: {outcome.what}\n  {outcome.details}")
            elif outcome is not None:
                print(f"{check.name}: refused: {outcome}")
    print("ok" if not failed else "fails")
    return failed


class Campaign:
    """One run of the command: counts, and the faults seen so far."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.started = time.monotonic()
        self.programs = self.mutants = self.checks = 0
        self.faults: Counter[str] = Counter()
        self.saved: dict[str, Path] = {}
        self.refusals: Counter[str] = Counter()
        self.rounding: Counter[str] = Counter()
        self.times: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        self.hangs: dict[int, str] = {}
        self.again: list[tuple[str, int]] = []

    def run(self) -> int:
        from fuzz.pool import Pool
        from fuzz.work import work
        from fuzz.xla.oracle import is_there

        oracle = is_there() and not self.options.no_oracle
        pool = Pool(self.options.jobs, work, self.options.limit, oracle)
        last = time.monotonic()
        for job, outcome in pool.run(self.jobs(), self.goes_on):
            self.count(job, outcome)
            if time.monotonic() - last > 15:
                last = time.monotonic()
                print(self.summary(), flush=True)
        self.report()
        return 1 if self.faults else 0

    def goes_on(self) -> bool:
        minutes = self.options.minutes
        return minutes is None or time.monotonic() - self.started < 60 * minutes

    def jobs(self) -> Iterator[tuple[str, int]]:
        from fuzz.work import TURNS

        turns = TURNS
        if self.options.seeds:
            first, last = (int(n) for n in self.options.seeds.split(":"))
            seeds: Iterator[int] = iter(range(first, last))
            turns = ("programs",)
        else:
            # seeds that no run before has had: by the time, a million a second
            seeds = itertools.count(int(time.time()) % 10**9 * 10**6)
        kinds = itertools.cycle(turns)
        for seed in seeds:
            while self.again:
                yield self.again.pop()
            yield next(kinds), seed
        while self.again:
            yield self.again.pop()

    def count(self, job: tuple[str, int], outcome: object) -> None:
        from fuzz.findings import save, signature
        from fuzz.pool import REDUCING
        from fuzz.trial import Outcome
        from fuzz.work import OTHERS

        assert isinstance(outcome, Outcome)
        kind, seed = job
        self.programs += kind == "programs"
        self.mutants += kind not in ("programs", *OTHERS)
        self.checks += outcome.checks
        self.refusals.update(outcome.refusals)
        for text in outcome.rounding:
            self.rounding[text] += 1
            print(f"seed {seed}: no finding: {text}", flush=True)
        for name, seconds in outcome.times.items():
            self.times[name][0] += 1
            self.times[name][1] += seconds
        finding = outcome.finding
        if finding is None:
            if kind == "crash" and (hang := self.hangs.pop(seed, None)):
                # it ends, if nothing else keeps the machine busy
                self.faults -= Counter([hang])
            return
        if outcome.program is None:
            # a crash or a hang: reduced by another job, which has copies of itself crash
            print(f"seed {seed}: {finding.check}: {finding.what}", flush=True)
            if kind == "programs":
                self.again.append(("unreduced" if finding.check == REDUCING else "crash", seed))
            if finding.check != REDUCING:
                fault = f"{finding.check}: {finding.what}"
                self.faults[fault] += 1
                if finding.what.startswith("no answer"):
                    self.hangs[seed] = fault
            return
        fault = signature(finding, outcome.program)
        self.faults[fault] += 1
        if fault not in self.saved:
            name = f"{len(self.saved) + 1:03}-{finding.check}-{seed}"
            self.saved[fault] = save(self.options.out / name, finding, outcome.program)
            print(f"seed {seed}: {fault}\n  {finding.details[:300]}\n  {self.saved[fault]}", flush=True)

    def summary(self) -> str:
        seconds = time.monotonic() - self.started
        return f"{self.programs} programs, {self.mutants} mutants, {self.checks} checks, {seconds:.0f} s, {sum(self.faults.values())} findings of {len(self.faults)} faults"

    def report(self) -> None:
        for name, (count, seconds) in sorted(self.times.items(), key=lambda item: -item[1][1]):
            print(f"  {name:24} {count:7} {1e3 * seconds / count:8.1f} ms each {1e3 * seconds / max(self.programs, 1):8.1f} ms per program")
        for text, count in self.refusals.most_common(30):
            print(f"  refused {count} times: {text}")
        print(f"  {sum(self.rounding.values())} differences that are rounding, amplified")
        for fault, count in self.faults.most_common():
            print(f"  {count} times {fault} {self.saved.get(fault, '')}")
        print(self.summary())


if __name__ == "__main__":
    sys.exit(main())

"""Programs, and records of them, for tests of records and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import wengert as wg
from wengert.lab.records.database import Database, now
from wengert.lab.records.environment import environment
from wengert.lab.records.execution import Effort, run_works
from wengert.lab.records.record import Record, Result
from wengert.lab.records.work import Point, Work, arrays_hash, program_hash

SINE = """func.func public @main(%x: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = stablehlo.sine %x : tensor<{n}xf64>
  %1 = stablehlo.multiply %0, %x : tensor<{n}xf64>
  return %1 : tensor<{n}xf64>
}}
"""
OPEN = SINE.format(n="?")
QUICK = Effort(rounds=3, budget=0.01)


def point(n: int = 3, given: Sequence[float] | None = None) -> Point:
    """The program for vectors of n elements."""
    arrays = () if given is None else (np.array(given),)
    return Point("sine", wg.parse(SINE.format(n=n), "sine.mlir"), {"n": n}, arrays)


def work(at: Point, mode: str = "reverse", **fields: object) -> Work:
    """A task of it."""
    return replace(Work(program_hash(at.program), mode, (0,), (0,), given=arrays_hash(at.given)), **fields)  # type: ignore[arg-type]


def record(at: Point, result: Result, mode: str = "reverse", run: str = "0123456789ab", **fields: object) -> Record:
    """A record of it."""
    return replace(Record(work(at, mode), at.label, at.sizes, result, environment(), 0.5, now(), run), **fields)  # type: ignore[arg-type]


def recorded(path: Path, points: Sequence[Point], modes: Sequence[str], effort: Effort = QUICK) -> list[Record]:
    """What running these modes at these points gives, in a file."""
    with Database(path, create=True) as database:
        run = database.begin_run(["wengert", "sweep", "p q"])
        return [
            database.add(record(at, result, done.mode, run, work=done), at.program, at.given)
            for at in points
            for done, result in run_works(at, [work(at, mode) for mode in modes], effort)
        ]

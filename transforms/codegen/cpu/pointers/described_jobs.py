"""Runs tasks from descriptions: a job of the entry is one call with a constant, instead of the instructions that fill its frame.

The entry of a model runs a hundred tasks or more, each with a handful of pointers that lie at fixed places: in the table, or a known distance from a
pointer there or from the arena. Such a job needs no code of its own. What it needs stands in a constant of the program, from which a function of the
thread pool fills the frame (:mod:`wengert.runtime.cpu.pool_jobs`). Jobs whose pointers are known only when the program runs fill their frames themselves
(:mod:`wengert.transforms.codegen.cpu.pointers.frames`).
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.codegen.cpu.pointers.frames import Place, numbers_text, run_numbers
from wengert.transforms.codegen.cpu.symbols import POOL_JOB
from wengert.transforms.schedule.chunks import Split

DECLARATION = f"declare void @{POOL_JOB}(ptr, ptr, ptr)"
"""The function that runs a job: its description, the table and the arena."""


def description(name: str, task: str, pointers: Sequence[Place], cut: Split, scratch: Place, count: int) -> str:
    """The constant of a job: the task, how it is run, and the places of the scratch memory and of its pointers."""
    numbers = [cut.chunks, count, cut.nanoseconds, cut.joining, 1 + len(pointers), *run_numbers([scratch, *pointers])]
    return f"@{name} = internal constant {{ ptr, [{len(numbers)} x i64] }} {{ ptr @{task}, {numbers_text(numbers)} }}, align 8\n"

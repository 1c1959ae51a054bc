"""Runs tasks from descriptions: a job of the entry is one call with a constant, instead of the instructions that fill its frame.

The entry of a model runs a hundred tasks or more, each with a handful of pointers that lie at fixed places: in the table, or a known distance from a
pointer there or from the arena. Such a job needs no code of its own. What it needs stands in a constant of the program, from which a function of the
thread pool fills the frame (:mod:`wengert.runtime.cpu.pool_jobs`). Jobs whose pointers are known only when the program runs, as in loops that swap
buffers, fill their frames themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.transforms.codegen.cpu.symbols import POOL_JOB
from wengert.transforms.schedule.chunks import Split

DECLARATION = f"declare void @{POOL_JOB}(ptr, ptr, ptr)"
"""The function that runs a job: its description, the table and the arena."""
_ARENA, _NULL = -1, -2


class Place(Struct, frozen=True):
    """The place of a pointer: so many bytes behind the pointer of the table with this number, or the beginning of the arena (-1), or nowhere (-2)."""

    base: int
    offset: int = 0

    def further(self, count: int) -> Place:
        """So many bytes further on."""
        return Place(self.base, self.offset + count)


IN_ARENA, NOWHERE = Place(_ARENA), Place(_NULL)


def description(name: str, task: str, pointers: Sequence[Place], cut: Split, scratch: Place, count: int) -> str:
    """The constant of a job: the task, how it is run, the scratch memory, and the places of its pointers."""
    numbers = [cut.chunks, count, cut.nanoseconds, cut.joining, scratch.base, scratch.offset, len(pointers)]
    numbers += [number for place in pointers for number in (place.base, place.offset)]
    type = f"{{ ptr, [{len(numbers)} x i64] }}"
    return f"@{name} = internal constant {type} {{ ptr @{task}, [{len(numbers)} x i64] [{', '.join([f'i64 {number}' for number in numbers])}] }}, align 8\n"

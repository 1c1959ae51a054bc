"""Passes many pointers in an array, a *frame*: to the tasks of threads, and to kernels of more pointers than a call should have.

LLVM's instruction selection orders the operands of a call, and the parameters of a function, in a time that grows with their number squared: a call of two
thousand takes it a second, nearly all of the time of such a program. A kernel of many pointers reads each from the frame where it uses it.

Most pointers lie at fixed places, so that a frame is filled from a constant by one small loop. Pointers that are known only when the program runs, as in
loops that swap buffers, are stored one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.transforms.codegen.cpu.long_code import begins_block
from wengert.transforms.codegen.cpu.pointers.near_pointers import near
from wengert.transforms.codegen.llvm.builder import FunctionBuilder

FRAME = "%frame"
"""The array of pointers: a parameter of a task and of a kernel of many pointers, and memory on the stack of the entry."""
_ARENA, _NULL = -1, -2


class Place(Struct, frozen=True):
    """The place of a pointer: so many bytes behind the pointer of the table with this number, or the beginning of the arena (-1), or nowhere (-2)."""

    base: int
    offset: int = 0

    def further(self, count: int) -> Place:
        """So many bytes further on."""
        return Place(self.base, self.offset + count)


IN_ARENA, NOWHERE = Place(_ARENA), Place(_NULL)


def runs_of(places: Sequence[Place]) -> list[tuple[int, int, int, int]]:
    """The places of a frame as runs: a base, an offset, how many places there are, and the step from one to the next: of the numbers of pointers of the table,
    all of which lie at the same offset behind them, or of the bytes in the arena."""
    runs: list[tuple[int, int, int, int]] = []
    for place in places:
        if runs:
            base, offset, count, step = runs[-1]
            if base >= 0 and place.base >= 0:
                step = place.base - base if count == 1 else step
                continues = place == Place(base + count * step, offset)
            else:
                step = place.offset - offset if count == 1 else step
                continues = base < 0 and place == Place(base, offset + count * step)
            if continues:
                runs[-1] = (base, offset, count + 1, step)
                continue
        runs.append((place.base, place.offset, 1, 0))
    return runs


def numbers_text(numbers: Sequence[int]) -> str:
    """The LLVM text of an array of numbers of 64 bits, with its type."""
    return f"[{len(numbers)} x i64] [{', '.join([f'i64 {number}' for number in numbers])}]"


def run_numbers(places: Sequence[Place]) -> list[int]:
    """The places of a frame as :data:`FILL` reads them: the number of runs, and the runs."""
    runs = runs_of(places)
    return [len(runs), *[number for run in runs for number in run]]


def frame_constant(name: str, places: Sequence[Place]) -> str:
    """The constant from which :data:`FILL` fills a frame."""
    return f"@{name} = internal constant {numbers_text(run_numbers(places))}, align 8\n"


FILL = "fill_frame"
"""The function ``fill_frame(frame, runs, table, arena)`` of :data:`FILL_TEXT`."""
FILL_TEXT = f"""define internal void @{FILL}(ptr noalias %frame, ptr noalias readonly %runs, ptr noalias readonly %table, ptr %arena) nounwind {{
  %number = load i64, ptr %runs, align 8
  %first.place = getelementptr i64, ptr %runs, i64 1
  %past = getelementptr [4 x i64], ptr %first.place, i64 %number
  br label %next
next:
  %run = phi ptr [%first.place, %0], [%run.next, %filled]
  %slot = phi ptr [%frame, %0], [%slot.next, %filled]
  %left = icmp ne ptr %run, %past
  br i1 %left, label %fill, label %full
fill:
  %base = load i64, ptr %run, align 8
  %offset.place = getelementptr i64, ptr %run, i64 1
  %offset = load i64, ptr %offset.place, align 8
  %count.place = getelementptr i64, ptr %run, i64 2
  %count = load i64, ptr %count.place, align 8
  %step.place = getelementptr i64, ptr %run, i64 3
  %step = load i64, ptr %step.place, align 8
  %slot.next = getelementptr ptr, ptr %slot, i64 %count
  %listed = icmp sge i64 %base, 0
  br i1 %listed, label %table.run, label %arena.run
table.run:
  %first = getelementptr ptr, ptr %table, i64 %base
  br label %copy
copy:
  %from = phi ptr [%first, %table.run], [%from.next, %copy]
  %to = phi ptr [%slot, %table.run], [%to.next, %copy]
  %entry = load ptr, ptr %from, align 8
  %moved = getelementptr i8, ptr %entry, i64 %offset
  store ptr %moved, ptr %to, align 8
  %from.next = getelementptr ptr, ptr %from, i64 %step
  %to.next = getelementptr ptr, ptr %to, i64 1
  %more = icmp ne ptr %to.next, %slot.next
  br i1 %more, label %copy, label %filled
arena.run:
  %nowhere = icmp eq i64 %base, {_NULL}
  %in.arena = getelementptr i8, ptr %arena, i64 %offset
  %start = select i1 %nowhere, ptr null, ptr %in.arena
  br label %spread
spread:
  %at = phi ptr [%start, %arena.run], [%at.next, %spread]
  %into = phi ptr [%slot, %arena.run], [%into.next, %spread]
  store ptr %at, ptr %into, align 8
  %at.next = getelementptr i8, ptr %at, i64 %step
  %into.next = getelementptr ptr, ptr %into, i64 1
  %others = icmp ne ptr %into.next, %slot.next
  br i1 %others, label %spread, label %filled
filled:
  %run.next = getelementptr i64, ptr %run, i64 4
  br label %next
full:
  ret void
}}
"""
"""Text that fills a frame with pointers from the places that a constant lists."""


def store_pointers(builder: FunctionBuilder, frame: str, pointers: Sequence[str]) -> None:
    """Fills a frame, one pointer after the other."""
    for number, pointer in enumerate(pointers):
        if begins_block(number):
            builder.next_block()
        builder.store("ptr", pointer, builder.offset(frame, "ptr", number))


def read_pointers(builder: FunctionBuilder, pointers: Sequence[str]) -> None:
    """Reads all pointers of a frame."""
    for number, pointer in enumerate(pointers):
        builder.define(pointer, f"load ptr, ptr {builder.offset(FRAME, 'ptr', number)}")


def read_near(builder: FunctionBuilder, pointers: Sequence[str]) -> None:
    """Has what the builder has written so far read each pointer of the frame in front of the instructions that use it."""
    recipes = {
        pointer: [f"%at_{pointer[1:]} = getelementptr ptr, ptr {FRAME}, i64 {number}", f"{pointer} = load ptr, ptr %at_{pointer[1:]}"]
        for number, pointer in enumerate(pointers)
    }
    builder.lines[:] = near(builder.lines, recipes)

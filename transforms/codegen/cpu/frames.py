"""Passes many pointers in an array, a *frame*: to the tasks of threads, and to kernels of more pointers than a call should have.

LLVM's instruction selection orders the operands of a call, and the parameters of a function, in a time that grows with their number squared: a call of two
thousand takes it a second, nearly all of the time of such a program. A kernel of many pointers reads each from the frame where it uses it.

Most pointers lie at fixed places, so that a frame is filled from a constant by one small loop. Pointers that are known only when the program runs, as in
loops that swap buffers, are stored one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.transforms.codegen.cpu.near_pointers import near
from wengert.transforms.codegen.llvm.builder import OF_BLOCK, FunctionBuilder

MOST_PARAMETERS = 64
"""A kernel of more pointers takes them in a frame."""
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


def numbers_of(places: Sequence[Place]) -> list[int]:
    """Places as they stand in a constant: two numbers each."""
    return [number for place in places for number in (place.base, place.offset)]


def numbers_text(numbers: Sequence[int]) -> str:
    """The LLVM text of an array of numbers of 64 bits, with its type."""
    return f"[{len(numbers)} x i64] [{', '.join([f'i64 {number}' for number in numbers])}]"


def places_constant(name: str, places: Sequence[Place]) -> str:
    """The constant from which :data:`FILL` fills a frame."""
    return f"@{name} = internal constant {numbers_text(numbers_of(places))}, align 8\n"


FILL = "fill_frame"
"""The function ``fill_frame(frame, places, count, table, arena)`` of :data:`FILL_TEXT`."""
FILL_TEXT = f"""define internal ptr @placed(ptr noalias readonly %place, ptr noalias readonly %table, ptr %arena) nounwind alwaysinline {{
  %base = load i64, ptr %place, align 8
  %offset.place = getelementptr i64, ptr %place, i64 1
  %offset = load i64, ptr %offset.place, align 8
  %known = call i64 @llvm.smax.i64(i64 %base, i64 0)
  %entry.place = getelementptr ptr, ptr %table, i64 %known
  %entry = load ptr, ptr %entry.place, align 8
  %in.arena = icmp eq i64 %base, {_ARENA}
  %start = select i1 %in.arena, ptr %arena, ptr %entry
  %there = getelementptr i8, ptr %start, i64 %offset
  %nowhere = icmp eq i64 %base, {_NULL}
  %pointer = select i1 %nowhere, ptr null, ptr %there
  ret ptr %pointer
}}

define internal void @{FILL}(ptr noalias %frame, ptr noalias readonly %places, i64 %count, ptr noalias readonly %table, ptr %arena) nounwind {{
  br label %next
next:
  %number = phi i64 [0, %0], [%following, %fill]
  %left = icmp ult i64 %number, %count
  br i1 %left, label %fill, label %full
fill:
  %place = getelementptr [2 x i64], ptr %places, i64 %number
  %pointer = call ptr @placed(ptr %place, ptr %table, ptr %arena)
  %slot = getelementptr ptr, ptr %frame, i64 %number
  store ptr %pointer, ptr %slot, align 8
  %following = add nuw nsw i64 %number, 1
  br label %next
full:
  ret void
}}
"""
"""Text that fills a frame with pointers from the places that a constant lists."""


def store_pointers(builder: FunctionBuilder, frame: str, pointers: Sequence[str]) -> None:
    """Fills a frame, one pointer after the other."""
    for number, pointer in enumerate(pointers):
        if number % OF_BLOCK == OF_BLOCK - 1:
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

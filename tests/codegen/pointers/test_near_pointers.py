"""Pointers of large programs are computed again where they are used, by names, in text that LLVM accepts."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.long_code import POINTERS
from wengert.transforms.codegen.cpu.pointers.near_pointers import near_pointers
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.host import llvm_binding


def entry(pointers: int) -> FunctionBuilder:
    """Half of the pointers come from the table and half are in the arena; a loop carries one of them, a line of several instructions uses one."""
    builder = FunctionBuilder()
    made = [builder.load("ptr", builder.op(f"getelementptr ptr, ptr %table, i64 {n}")) for n in range(pointers // 2)]
    made += [builder.op(f"getelementptr i8, ptr %arena, i64 {64 * n}") for n in range(pointers // 2)]
    with builder.rotated_loop(3, [("ptr", made[1])]) as loop:
        builder.store("i64", loop.index, loop.values[0])
        loop.carry(made[-1])
    builder.line(f"store i64 1, ptr {made[0]}\nstore i64 2, ptr {made[-2]}")
    builder.store("i64", builder.load("i64", made[2]), made[3])
    return builder


def text(lines: list[str]) -> str:
    return "\n".join(["define void @entry(ptr %table, ptr %arena) {", *lines, "ret void", "}"]) + "\n"


def test_few_pointers_stay() -> None:
    lines = entry(POINTERS).body()
    assert list(near_pointers(lines, "%table")) == lines


def test_many_pointers_are_computed_where_they_are_used() -> None:
    lines = entry(2 * POINTERS).body()
    placed = list(near_pointers(lines, "%table"))
    llvm_binding().parse_assembly(text(placed)).verify()
    assert sum("getelementptr" in line for line in placed) == 6  # one for each use: nothing is computed that is not used
    assert sum("getelementptr" in line for line in lines) == 2 * POINTERS
    store = next(number for number, line in enumerate(placed) if line.startswith("store i64 %") and "near" in line)
    assert "near" in placed[store - 1]


def test_a_pointer_that_is_moved_in_a_loop_is_computed_within_it() -> None:
    """A phi takes one such pointer: that stays where it is computed, since what it is moved by is not known in the block before."""
    builder = FunctionBuilder()
    made = [builder.load("ptr", builder.op(f"getelementptr ptr, ptr %frame, i64 {n}")) for n in range(2 * POINTERS)]
    with builder.rotated_loop(3) as outer:
        moved = [builder.offset(pointer, "[16 x i8]", outer.index) for pointer in made]
        with builder.rotated_loop(3, [("ptr", moved[0])]) as inner:
            builder.store("i64", inner.index, inner.values[0])
            inner.carry(inner.values[0])
        builder.line(f"store ptr {moved[1]}, ptr {moved[2]}\nstore i64 2, ptr {moved[3]}")
        builder.store("ptr", moved[4], moved[5])
    placed = list(near_pointers(builder.body(), "%frame"))
    llvm_binding().parse_assembly("\n".join(["define void @task(ptr %frame) {", *placed, "ret void", "}"]) + "\n").verify()
    assert sum("getelementptr ptr" in line for line in placed) == 6


def test_slots_that_are_stored_to_stay() -> None:
    """The entry fills the frames of tasks: these are no table of its own."""
    builder = entry(2 * POINTERS)
    slot = builder.op("getelementptr ptr, ptr %frame, i64 3")
    builder.store("ptr", "%arena", slot)
    placed = list(near_pointers(["%frame = alloca [4 x ptr]", *builder.body()], "%table"))
    llvm_binding().parse_assembly(text(placed)).verify()

"""The task of a nest that finishes rows of a product's block: called on these rows and the block's columns when their sums are complete."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.products.plan import MatmulPlan

MORE = "%more"
"""The parameter of products with a finish: the array of the pointers that the nest has."""
PARAMETERS = (f"ptr {MORE}", "i64 %row", "i64 %column")
"""What a block's function has besides: the pointers, and its first row and column in C."""


class Finish(Struct, frozen=True):
    """The tasks for blocks of all columns that a block has, and for the last ones if they have fewer ("" if not); ``steps`` are the bytes by which each of its
    pointers moves from one column to the next."""

    task: str
    rest: str
    steps: tuple[int, ...]


def widths(plan: MatmulPlan) -> tuple[int, int]:
    """The columns of a block, and of the last blocks beside others if these have fewer, else 0."""
    assert plan.blocks is not None
    columns = min(plan.n, plan.blocks.columns)
    return columns, plan.n % columns


def shared_result(parameters: Sequence[str]) -> list[str]:
    """The parameters of a function whose result is also reached by the pointers of a finish."""
    return [parameter.replace("ptr noalias %c", "ptr %c") for parameter in parameters]


def begin_finish(builder: FunctionBuilder, finish: Finish) -> str:
    """The frame of the task, with the pointers at the columns of a block."""
    frame = builder.alloca(f"[{len(finish.steps)} x ptr]", 16)
    _move(builder, finish, frame, "%column")
    return frame


def _move(builder: FunctionBuilder, finish: Finish, frame: str, column: Index) -> None:
    for number, step in enumerate(finish.steps):
        pointer = builder.load("ptr", builder.offset(MORE, "ptr", number))
        builder.store("ptr", builder.offset(pointer, "i8", builder.multiply(column, step)), builder.offset(frame, "ptr", number))


def call_finish(builder: FunctionBuilder, plan: MatmulPlan, finish: Finish, frame: str, row: Index) -> None:
    """Runs the task on the rows of a tile, of which this is the first one in the block; one block after the other, if several are computed together."""
    first = builder.binary("udiv", "i64", builder.add("%row", row), plan.tile.rows)
    width, _ = widths(plan)
    if not plan.together:
        _call(builder, finish, frame, first, builder.icmp("eq", "i64", "%columns", width))
        return
    with builder.rotated_loop("%columns", step=width) as block:
        _move(builder, finish, frame, builder.add("%column", block.index))
        _call(builder, finish, frame, first, builder.icmp("uge", "i64", builder.binary("sub", "i64", "%columns", block.index), width))


def _call(builder: FunctionBuilder, finish: Finish, frame: str, first: str, whole: str) -> None:
    """Runs the task for all columns of a block if it is whole, or for those of a last one."""
    operands = [("ptr", frame), ("i64", first), ("ptr", "null")]
    if not finish.rest:
        builder.call_void(finish.task, operands)
        return
    with builder.conditional(whole) as branches:
        builder.call_void(finish.task, operands)
        branches.otherwise()
        builder.call_void(finish.rest, operands)

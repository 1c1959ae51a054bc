"""Emits the calls of the function of a block (:mod:`blocked_kernel`): one block after the other, or all that a thread has been given.

Blocks are numbered from top to bottom, then from left to right, then through the loops around the product. A run of numbers is a few rectangles: the rest of a
column of blocks, columns that are whole, the beginning of another. The function of a block takes any number of rows, and as many columns as the panels
have room for, so that a rectangle is one call, which copies its operands once. A thread that has all of them computes the product as it would without blocks.
"""

from __future__ import annotations

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.finish import MORE, Finish
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index, Operand
from wengert.transforms.schedule.products.plan import MatmulPlan

Pointers = tuple[str, str, str, str]
"""The addresses of A, B, C and scratch memory."""


def emit_blocks(builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: Pointers, finish: Finish | None = None) -> None:
    """C = A B, one block after the other; blocks below one another share the columns of B."""
    assert plan.blocks is not None
    with builder.repeat(plan.block_columns) as column, builder.repeat(plan.block_rows) as row:
        _call_block(builder, plan, name, pointers, (row, column), (plan.blocks.rows, plan.blocks.columns), finish)


def emit_run(builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: Pointers, run: tuple[str, str], finish: Finish | None = None) -> None:
    """The blocks of these numbers, from the first up to the last (excluded), of those in all iterations of the loops around the product."""
    assert plan.blocks is not None
    begin, end = run
    if not plan.together or plan.block_rows * plan.block_columns == 1:
        with builder.rotated_loop(end, start=begin) as loop:
            _call_numbered(builder, plan, name, pointers, loop.index, (plan.blocks.rows, plan.blocks.columns), finish)
        return
    with builder.while_loop([("i64", begin)]) as loop:
        (number,) = loop.values
        loop.test(builder.icmp("ult", "i64", number, end))
        rows, columns, count = _rectangle(builder, plan, number, builder.binary("sub nuw nsw", "i64", end, number))
        extents = (builder.multiply(rows, plan.blocks.rows), builder.multiply(columns, plan.blocks.columns))
        _call_numbered(builder, plan, name, pointers, number, extents, finish)
        loop.carry(str(builder.add(number, count)))


def _rectangle(builder: FunctionBuilder, plan: MatmulPlan, number: str, left: str) -> tuple[Index, Index, Index]:
    """The largest rectangle of at most so many blocks that begins with this one: its blocks below one another, beside one another, and all of them."""
    assert plan.blocks is not None
    row, above = digit(builder, number, plan.block_rows)
    column, _ = digit(builder, above, plan.block_columns)
    below = builder.binary("sub nuw nsw", "i64", plan.block_rows, row)
    whole = builder.binary("udiv", "i64", left, plan.block_rows)
    beside = builder.intrinsic("umin", "i64", plan.together // plan.blocks.columns, builder.binary("sub nuw nsw", "i64", plan.block_columns, column))
    several = builder.binary("and", "i1", builder.icmp("eq", "i64", row, 0), builder.icmp("ne", "i64", whole, 0))
    rows = builder.intrinsic("umin", "i64", left, below)
    columns = builder.op(f"select i1 {several}, i64 {builder.intrinsic('umin', 'i64', whole, beside)}, i64 1")
    return rows, columns, builder.multiply(rows, columns)


def _call_numbered(
    builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: Pointers, number: str, extents: tuple[Index, Index], finish: Finish | None
) -> None:
    """Computes so many rows and columns from the block of this number on."""
    a, b, c, scratch = pointers
    row, left = digit(builder, number, plan.block_rows)
    column, left = digit(builder, left, plan.block_columns)
    for loop in reversed(plan.loops):
        index, left = digit(builder, left, loop.size)
        moved = zip((a, b, c), (*plan.stored, plan.result_element), (loop.a, loop.b, loop.c), strict=True)
        a, b, c = (builder.offset(pointer, _bytes(element), builder.multiply(index, step)) for pointer, element, step in moved)
    _call_block(builder, plan, name, (a, b, c, scratch), (row, column), extents, finish)


def digit(builder: FunctionBuilder, number: str, base: int) -> tuple[Index, str]:
    """The last digit of a number in this base, and the number without it."""
    if base == 1:
        return 0, number
    return builder.binary("urem", "i64", number, base), builder.binary("udiv", "i64", number, base)


def _call_block(
    builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: Pointers, block: tuple[Index, Index], extents: tuple[Index, Index], finish: Finish | None
) -> None:
    """Computes at most so many rows and columns from a block on, as far as C goes."""
    assert plan.blocks is not None
    a, b, c, scratch = pointers
    first_row, first_column = (
        builder.multiply(int(i) if i == "0" else i, size) for i, size in zip(block, (plan.blocks.rows, plan.blocks.columns), strict=True)
    )
    a = builder.offset(a, _bytes(plan.stored[0]), builder.multiply(first_row, plan.a_m))
    b = builder.offset(b, _bytes(plan.stored[1]), builder.multiply(first_column, plan.b_n))
    c = builder.offset(c, _bytes(plan.result_element), builder.linear([(first_row, plan.c_m), (first_column, plan.c_n)]))
    rows, columns = _least(builder, extents[0], plan.m, first_row), _least(builder, extents[1], plan.n, first_column)
    more: list[Operand] = [] if finish is None else [("ptr", MORE), ("i64", first_row), ("i64", first_column)]
    builder.call_void(name, [("ptr", a), ("ptr", b), ("ptr", c), ("ptr", scratch), ("i64", rows), ("i64", columns), *more])


def _bytes(element: str) -> str:
    """The LLVM type by which addresses of such elements are counted."""
    return f"[{ELEMENT_BYTES[element]} x i8]"


def _least(builder: FunctionBuilder, most: Index, extent: int, index: Index) -> str:
    """How many of at most so many are left from an index on."""
    return builder.intrinsic("umin", "i64", most, builder.binary("sub nuw nsw", "i64", extent, index))

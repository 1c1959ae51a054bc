"""Emits the calls of the function of a block (:mod:`blocked_kernel`): one block after the other, or all that a thread has been given.

Blocks are numbered from top to bottom, then from left to right, then through the loops around the product. A run of numbers is a few rectangles: the rest of a
column of blocks, columns that are whole, the beginning of another. The function of a block takes any number of rows, and as many columns as the panels
have room for, so that a rectangle is one call, which copies its operands once. A thread that has all of them computes the product as it would without blocks.

Products without a finish share these functions where their tiles and operands are alike: sizes come from a table (:mod:`sizes`).
"""

from __future__ import annotations

from msgspec import Struct

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.blocked_kernel import block_name
from wengert.transforms.codegen.cpu.matmul.finish import MORE
from wengert.transforms.codegen.cpu.matmul.sizes import SIZES, BlockSizes, LoopSizes, RunSizes, table, table_name
from wengert.transforms.codegen.cpu.pointers.frames import FRAME, read_pointers
from wengert.transforms.codegen.cpu.tasks import BEGIN, END, SCRATCH, TASK_PARAMETERS, begin_chunk
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index, Operand
from wengert.transforms.codegen.llvm.module import SHARED
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.products.plan import MatmulPlan

Pointers = tuple[str, str, str, str]
"""The addresses of A, B, C and scratch memory."""


class Blocks(Struct, frozen=True):
    """The blocks of a product: their function, the sizes, those of the loops around it, and where the function's table lies; "" if it finishes rows."""

    plan: MatmulPlan
    function: str
    sizes: RunSizes
    loops: tuple[LoopSizes, ...]
    table: str = ""

    @classmethod
    def of(cls, plan: MatmulPlan, function: str, table: str = "") -> Blocks:
        """Those of one product, whose sizes are numbers."""
        return cls(plan, function, RunSizes.of(plan), tuple([LoopSizes.of(loop) for loop in plan.loops]), table)


def size_table(plan: MatmulPlan, name: str, cut: Split | None = None) -> str:
    """The definition of the table that the functions of a block and of a run read for this product."""
    run = (*RunSizes.of(plan, cut).numbers, *[number for loop in plan.loops for number in LoopSizes.of(loop).numbers])
    return table(name, (*BlockSizes.of(plan).numbers, *run))


def run_name(plan: MatmulPlan) -> str:
    """The symbol of the function of a run that all products with such blocks share."""
    together = ".together" if plan.together else ""
    return f"{block_name(plan).replace('wg.block', 'wg.blocks')}.{len(plan.loops)}{together}"


def shared_run_function(plan: MatmulPlan) -> str:
    """``define internal void @wg.blocks...(frame, chunk, scratch, sizes)``: a task of any product with such blocks, with the table of its sizes."""
    builder, first = FunctionBuilder(), len(BlockSizes.__struct_fields__)
    sizes = RunSizes.read(builder, first)
    first += len(RunSizes.__struct_fields__)
    loops = tuple([LoopSizes.read(builder, first + number * len(LoopSizes.__struct_fields__)) for number in range(len(plan.loops))])
    read_pointers(builder, ("%a", "%b", "%c"))
    begin_chunk(builder, sizes.grain, sizes.iterations, joined=plan.together > 0)
    emit_run(builder, Blocks(plan, block_name(plan), sizes, loops, SIZES), ("%a", "%b", "%c", SCRATCH), (BEGIN, END))
    return builder.definition(run_name(plan), (*TASK_PARAMETERS, f"ptr {SIZES}"), attributes=f"{SHARED} nounwind")


def run_task_function(plan: MatmulPlan, name: str, cut: Split) -> str:
    """``define internal void @name(frame, chunk, scratch)``, the task of one product, behind the table of its sizes."""
    builder = FunctionBuilder()
    operands = [("ptr", FRAME), ("i64", "%chunk"), ("ptr", SCRATCH), ("ptr", f"@{table_name(name)}")]
    builder.call_void(run_name(plan), operands)
    return size_table(plan, name, cut) + builder.definition(name, TASK_PARAMETERS, attributes="nounwind")


def emit_blocks(builder: FunctionBuilder, blocks: Blocks, pointers: Pointers) -> None:
    """C = A B, one block after the other; blocks below one another share the columns of B."""
    plan, sizes = blocks.plan, blocks.sizes
    with builder.repeat(plan.block_columns) as column, builder.repeat(plan.block_rows) as row:
        _call_block(builder, blocks, pointers, (row, column), (sizes.rows, sizes.columns))


def emit_run(builder: FunctionBuilder, blocks: Blocks, pointers: Pointers, run: tuple[str, str]) -> None:
    """The blocks of these numbers, from the first up to the last (excluded), of those in all iterations of the loops around the product."""
    sizes, (begin, end) = blocks.sizes, run
    if not blocks.plan.together or sizes.block_rows == sizes.block_columns == 1:
        with builder.rotated_loop(end, start=begin) as loop:
            _call_numbered(builder, blocks, pointers, loop.index, (sizes.rows, sizes.columns))
        return
    with builder.while_loop([("i64", begin)]) as loop:
        (number,) = loop.values
        loop.test(builder.icmp("ult", "i64", number, end))
        rows, columns, count = _rectangle(builder, sizes, number, builder.binary("sub nuw nsw", "i64", end, number))
        extents = (builder.multiply(rows, sizes.rows), builder.multiply(columns, sizes.columns))
        _call_numbered(builder, blocks, pointers, number, extents)
        loop.carry(str(builder.add(number, count)))


def _rectangle(builder: FunctionBuilder, sizes: RunSizes, number: str, left: str) -> tuple[Index, Index, Index]:
    """The largest rectangle of at most so many blocks that begins with this one: its blocks below one another, beside one another, and all of them."""
    row, above = digit(builder, number, sizes.block_rows)
    column, _ = digit(builder, above, sizes.block_columns)
    below = builder.binary("sub nuw nsw", "i64", sizes.block_rows, row)
    whole = builder.binary("udiv", "i64", left, sizes.block_rows)
    beside = builder.intrinsic("umin", "i64", sizes.beside, builder.binary("sub nuw nsw", "i64", sizes.block_columns, column))
    several = builder.binary("and", "i1", builder.icmp("eq", "i64", row, 0), builder.icmp("ne", "i64", whole, 0))
    rows = builder.intrinsic("umin", "i64", left, below)
    columns = builder.op(f"select i1 {several}, i64 {builder.intrinsic('umin', 'i64', whole, beside)}, i64 1")
    return rows, columns, builder.multiply(rows, columns)


def _call_numbered(builder: FunctionBuilder, blocks: Blocks, pointers: Pointers, number: str, extents: tuple[Index, Index]) -> None:
    """Computes so many rows and columns from the block of this number on."""
    plan, (a, b, c, scratch) = blocks.plan, pointers
    row, left = digit(builder, number, blocks.sizes.block_rows)
    column, left = digit(builder, left, blocks.sizes.block_columns)
    for loop in reversed(blocks.loops):
        index, left = digit(builder, left, loop.size)
        moved = zip((a, b, c), (*plan.stored, plan.result_element), (loop.a, loop.b, loop.c), strict=True)
        a, b, c = (builder.offset(pointer, _bytes(element), builder.multiply(index, step)) for pointer, element, step in moved)
    _call_block(builder, blocks, (a, b, c, scratch), (row, column), extents)


def digit(builder: FunctionBuilder, number: str, base: Index) -> tuple[Index, str]:
    """The last digit of a number in this base, and the number without it."""
    if base == 1:
        return 0, number
    return builder.binary("urem", "i64", number, base), builder.binary("udiv", "i64", number, base)


def _call_block(builder: FunctionBuilder, blocks: Blocks, pointers: Pointers, block: tuple[Index, Index], extents: tuple[Index, Index]) -> None:
    """Computes at most so many rows and columns from a block on, as far as C goes."""
    plan, sizes, (a, b, c, scratch) = blocks.plan, blocks.sizes, pointers
    first_row, first_column = (builder.multiply(int(i) if i == "0" else i, size) for i, size in zip(block, (sizes.rows, sizes.columns), strict=True))
    a = builder.offset(a, _bytes(plan.stored[0]), builder.multiply(first_row, sizes.a_m))
    b = builder.offset(b, _bytes(plan.stored[1]), builder.multiply(first_column, sizes.b_n))
    c = builder.offset(c, _bytes(plan.result_element), builder.linear([(first_row, sizes.c_m), (first_column, sizes.c_n)]))
    rows, columns = _least(builder, extents[0], sizes.m, first_row), _least(builder, extents[1], sizes.n, first_column)
    more: list[Operand] = [("ptr", blocks.table)] if blocks.table else [("ptr", MORE), ("i64", first_row), ("i64", first_column)]
    builder.call_void(blocks.function, [("ptr", a), ("ptr", b), ("ptr", c), ("ptr", scratch), ("i64", rows), ("i64", columns), *more])


def _bytes(element: str) -> str:
    """The LLVM type by which addresses of such elements are counted."""
    return f"[{ELEMENT_BYTES[element]} x i8]"


def _least(builder: FunctionBuilder, most: Index, extent: Index, index: Index) -> str:
    """How many of at most so many are left from an index on."""
    return builder.intrinsic("umin", "i64", most, builder.binary("sub nuw nsw", "i64", extent, index))

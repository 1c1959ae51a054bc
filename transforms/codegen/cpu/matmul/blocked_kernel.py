"""Emits products in blocks: C is computed block by block, from panels of both operands that stay in the caches.

This is the algorithm of K. Goto and R. van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008) with every block on its own: for
so many terms of the sums after one another, the block's columns of B are copied into panels (:mod:`panel_function`), which fill half of the second-level
cache; then its rows of A, a panel at a time that stays in the first-level cache while the panels of B pass by, and every tile adds up its part in registers
(:mod:`tile_function`). The order in which an element of C is summed follows from the number of terms at a time alone, so that blocks may have any size and be
computed by any thread.
"""

from __future__ import annotations

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.panel_function import panel_form, panel_function, panel_name
from wengert.transforms.codegen.cpu.matmul.tile_function import tile_function, tile_name
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.products.plan import MatmulPlan, aligned

BLOCK_PARAMETERS = ("ptr noalias readonly %a", "ptr noalias readonly %b", "ptr noalias %c", "ptr noalias %scratch", "i64 %rows", "i64 %columns")


def blocked_functions(plan: MatmulPlan) -> dict[str, str]:
    """The functions for panels and tiles, which all products with such tiles share, by their symbols."""
    tile, element = plan.tile, plan.element
    functions = {tile_name(element, tile): tile_function(element, tile)}
    for width, step, turn in ((tile.rows, plan.a_m, plan.a_k), (tile.columns * tile.lanes, plan.b_n, plan.b_k)):
        form = panel_form(step, turn)
        functions[panel_name(element, width, tile.lanes, form)] = panel_function(element, width, tile.lanes, form)
    return functions


def block_function(plan: MatmulPlan, name: str) -> str:
    """``define internal void @name(...)``, which computes one block of C from the addresses of its operands' first elements, see :data:`BLOCK_PARAMETERS`."""
    assert plan.blocks is not None
    builder, size = FunctionBuilder(), ELEMENT_BYTES[plan.element]
    a_panels = builder.offset("%scratch", "i8", plan.panel_offset)
    b_panels = builder.offset(a_panels, "i8", aligned(plan.a_panels * size))
    with builder.rotated_loop(plan.k, step=plan.blocks.depth) as terms:
        depth = _least(builder, plan.blocks.depth, plan.k, terms.index) if plan.k % plan.blocks.depth else plan.blocks.depth
        a = builder.offset("%a", f"[{size} x i8]", builder.multiply(terms.index, plan.a_k))
        b = builder.offset("%b", f"[{size} x i8]", builder.multiply(terms.index, plan.b_k))
        _copy_panels(builder, plan, (b, b_panels), "%columns", depth, (plan.b_n, plan.b_k), plan.tile.columns * plan.tile.lanes)
        _tiles(builder, plan, a, a_panels, b_panels, depth, builder.icmp("ne", "i64", terms.index, 0))
    return builder.definition(name, BLOCK_PARAMETERS, attributes="noinline nounwind")


def _copy_panels(builder: FunctionBuilder, plan: MatmulPlan, copy: tuple[str, str], count: str, depth: Index, distances: tuple[int, int], width: int) -> None:
    """Copies all panels of an operand of a block, which has so many rows (columns)."""
    kind, (source, target), (step, turn) = f"[{ELEMENT_BYTES[plan.element]} x i8]", copy, distances
    symbol = panel_name(plan.element, width, plan.tile.lanes, panel_form(step, turn))
    with builder.rotated_loop(count, step=width) as loop:
        first = builder.offset(source, kind, builder.multiply(loop.index, step))
        panel = builder.offset(target, kind, builder.multiply(loop.index, depth))
        left = _least(builder, width, count, loop.index)
        builder.call_void(symbol, [("ptr", first), ("ptr", panel), ("i64", left), ("i64", depth), ("i64", step), ("i64", turn)])


def _tiles(builder: FunctionBuilder, plan: MatmulPlan, a: str, a_panel: str, b_panels: str, depth: Index, add: str) -> None:
    """All tiles of a block, those beside one another after one another."""
    kind, rows, width = f"[{ELEMENT_BYTES[plan.element]} x i8]", plan.tile.rows, plan.tile.columns * plan.tile.lanes
    symbol = panel_name(plan.element, rows, plan.tile.lanes, panel_form(plan.a_m, plan.a_k))
    with builder.rotated_loop("%rows", step=rows) as row:
        left = _least(builder, rows, "%rows", row.index)
        first = builder.offset(a, kind, builder.multiply(row.index, plan.a_m))
        builder.call_void(symbol, [("ptr", first), ("ptr", a_panel), ("i64", left), ("i64", depth), ("i64", plan.a_m), ("i64", plan.a_k)])
        below = builder.offset("%c", kind, builder.multiply(row.index, plan.c_m))
        with builder.rotated_loop("%columns", step=width) as column:
            columns = _least(builder, width, "%columns", column.index)
            b = builder.offset(b_panels, kind, builder.multiply(column.index, depth))
            c = builder.offset(below, kind, builder.multiply(column.index, plan.c_n))
            sizes: list[tuple[str, Index]] = [("i64", plan.c_m), ("i64", depth), ("i64", left), ("i64", columns)]
            builder.call_void(tile_name(plan.element, plan.tile), [("ptr", a_panel), ("ptr", b), ("ptr", c), *sizes, ("i1", add)])


def _least(builder: FunctionBuilder, most: int, extent: Index, index: Index) -> str:
    """How many of at most so many are left from an index on."""
    return builder.intrinsic("umin", "i64", most, builder.binary("sub nuw nsw", "i64", extent, index))


def emit_blocks(builder: FunctionBuilder, plan: MatmulPlan, name: str, a: str, b: str, c: str, scratch: str) -> None:
    """C = A B, one block after the other; blocks below one another share the columns of B."""
    assert plan.blocks is not None
    with builder.repeat(plan.block_columns) as column, builder.repeat(plan.block_rows) as row:
        _call_block(builder, plan, name, (a, b, c, scratch), row, column)


def emit_numbered_block(builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: tuple[str, str, str, str], number: str) -> None:
    """The block of this number, of those in all iterations of the loops around the product."""
    a, b, c, scratch = pointers
    kind, left = f"[{ELEMENT_BYTES[plan.element]} x i8]", number
    row, left = _digit(builder, left, plan.block_rows)
    column, left = _digit(builder, left, plan.block_columns)
    for loop in reversed(plan.loops):
        index, left = _digit(builder, left, loop.size)
        a, b, c = (builder.offset(pointer, kind, builder.multiply(index, step)) for pointer, step in ((a, loop.a), (b, loop.b), (c, loop.c)))
    _call_block(builder, plan, name, (a, b, c, scratch), row, column)


def _digit(builder: FunctionBuilder, number: str, base: int) -> tuple[Index, str]:
    """The last digit of a number in this base, and the number without it."""
    if base == 1:
        return 0, number
    return builder.binary("urem", "i64", number, base), builder.binary("udiv", "i64", number, base)


def _call_block(builder: FunctionBuilder, plan: MatmulPlan, name: str, pointers: tuple[str, str, str, str], row: Index, column: Index) -> None:
    assert plan.blocks is not None
    a, b, c, scratch = pointers
    kind = f"[{ELEMENT_BYTES[plan.element]} x i8]"
    first_row, first_column = (builder.multiply(int(i) if i == "0" else i, size) for i, size in ((row, plan.blocks.rows), (column, plan.blocks.columns)))
    a = builder.offset(a, kind, builder.multiply(first_row, plan.a_m))
    b = builder.offset(b, kind, builder.multiply(first_column, plan.b_n))
    c = builder.offset(c, kind, builder.linear([(first_row, plan.c_m), (first_column, plan.c_n)]))
    rows, columns = _least(builder, plan.blocks.rows, plan.m, first_row), _least(builder, plan.blocks.columns, plan.n, first_column)
    builder.call_void(name, [("ptr", a), ("ptr", b), ("ptr", c), ("ptr", scratch), ("i64", rows), ("i64", columns)])

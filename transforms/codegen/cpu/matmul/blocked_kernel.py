"""Emits products in blocks: C is computed block by block, from panels of both operands that stay in the caches.

This is the algorithm of K. Goto and R. van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008) with every block on its own: for
so many terms of the sums after one another, the block's columns of B are copied into panels (:mod:`panel_function`), which fill half of the second-level
cache; then its rows of A, a panel at a time that stays in the first-level cache while the panels of B pass by, and every tile adds up its part in registers
(:mod:`tile_function`). The order in which an element of C is summed follows from the number of terms at a time alone, so that blocks may have any size and be
computed by any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.conversion import convert
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.finish import PARAMETERS, Finish, begin_finish, call_finish, shared_result
from wengert.transforms.codegen.cpu.matmul.normalisation import normalisation_functions, normalise_name, unequal_name
from wengert.transforms.codegen.cpu.matmul.pairs import SMALLEST, WORD, exponent_function, exponent_name
from wengert.transforms.codegen.cpu.matmul.panel_function import panel_form, panel_function, panel_name
from wengert.transforms.codegen.cpu.matmul.sizes import SIZES, BlockSizes
from wengert.transforms.codegen.cpu.matmul.tile_function import LINE_BYTES, tile_function, tile_name
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index, Operand
from wengert.transforms.codegen.llvm.module import SHARED
from wengert.transforms.schedule.products.plan import MatmulPlan

FAR_BYTES = 1 << 20
BLOCK_PARAMETERS = ("ptr noalias readonly %a", "ptr noalias readonly %b", "ptr noalias %c", "ptr noalias %scratch", "i64 %rows", "i64 %columns")

_texts: dict[str, str] = {}
"""The functions by their symbols, which say all that a text depends on: layers of a model and programs of a process have products with the same tiles."""


def written(symbol: str, write: Callable[[], str]) -> str:
    """The text of a function with this symbol, which is written once for a process."""
    if symbol not in _texts:
        _texts[symbol] = write()
    return _texts[symbol]


def blocked_functions(plan: MatmulPlan) -> dict[str, str]:
    """The functions for panels and tiles, which all products with such tiles share, by their symbols."""
    tile, element, name = plan.tile, plan.element, _tile_name(plan)
    functions = {name: written(name, lambda: tile_function(element, tile, scaled=plan.normalised, pairs=plan.pairs))}
    if plan.normalised:
        functions |= normalisation_functions(element, tile)
    if plan.pairs == "bf16":
        functions[exponent_name(tile.lanes)] = exponent_function(tile.lanes)
    sides = ((plan.stored[0], tile.rows, plan.a_m, plan.a_k), (plan.stored[1], tile.columns * tile.lanes, plan.b_n, plan.b_k))
    for (stored, width, step, turn), ahead in zip(sides, (False, _is_far(plan)), strict=True):
        form = panel_form(step, turn)
        symbol = panel_name((stored, element), width, tile.lanes, form, paired=plan.paired, ahead=ahead)
        functions[symbol] = written(symbol, partial(panel_function, (stored, element), width, tile.lanes, form, paired=plan.paired, ahead=ahead))
    return functions


def block_name(plan: MatmulPlan) -> str:
    """The symbol of the function of a block that all products with such tiles and operands share."""
    forms = panel_form(plan.a_m, plan.a_k), panel_form(plan.b_n, plan.b_k)
    return ".".join([f"wg.block{_tile_name(plan).removeprefix('wg.tile')}", *plan.stored, plan.result_element, *forms, *(["far"] if _is_far(plan) else [])])


def shared_block_function(plan: MatmulPlan) -> str:
    """``define internal void @wg.block...(...)``, which reads its sizes from the table that is its last parameter."""
    builder = FunctionBuilder()
    _block(builder, plan, BlockSizes.read(builder))
    return builder.definition(block_name(plan), (*BLOCK_PARAMETERS, f"ptr noalias readonly {SIZES}"), attributes=f"{SHARED} nounwind")


def finished_block_function(plan: MatmulPlan, name: str, finish: Finish) -> str:
    """``define internal void @name(...)``, which finishes the rows of a block besides."""
    builder = FunctionBuilder()
    _block(builder, plan, BlockSizes.of(plan), finish)
    return builder.definition(name, (*shared_result(BLOCK_PARAMETERS), *PARAMETERS), attributes="noinline nounwind")


def _block(builder: FunctionBuilder, plan: MatmulPlan, sizes: BlockSizes, finish: Finish | None = None) -> None:
    """Computes one block of C from the addresses of its operands' first elements, see :data:`BLOCK_PARAMETERS`."""
    a_panels = builder.offset("%scratch", "i8", sizes.panels)
    b_panels = builder.offset(a_panels, "i8", sizes.a_panels)
    apart = plan.element != plan.result_element
    factors = builder.offset(b_panels, "i8", sizes.b_panels)
    c, step = (builder.offset(factors, "i8", sizes.factors), sizes.pitch) if apart else ("%c", sizes.c_m)
    frame = "" if finish is None else begin_finish(builder, finish)
    with builder.rotated_loop(sizes.k, step=sizes.depth) as terms:
        depth = sizes.depth if _divides(sizes.depth, sizes.k) else _least(builder, sizes.depth, sizes.k, terms.index)
        a = builder.offset("%a", _bytes(plan.stored[0]), builder.multiply(terms.index, sizes.a_k))
        b = builder.offset("%b", _bytes(plan.stored[1]), builder.multiply(terms.index, sizes.b_k))
        steps = _steps(builder, plan, depth)
        _copy_panels(builder, plan, sizes, (b, b_panels, factors), "%columns", (depth, steps))

        def complete(row: str, last: str = terms.index, depth: Index = depth) -> None:
            """Finishes the rows of a tile after the last terms."""
            if finish is not None:
                with builder.when(builder.icmp("eq", "i64", builder.add(last, depth), sizes.k)):
                    call_finish(builder, plan, finish, frame, row)

        coming = _coming_terms(builder, plan, sizes, b, builder.add(terms.index, depth))
        add = builder.icmp("ne", "i64", terms.index, 0)
        _tiles(builder, plan, sizes, (a, a_panels), (b_panels, factors), (c, step), (depth, steps), add, complete, coming)
    if apart:
        _convert_block(builder, plan, sizes, c)


def _divides(depth: Index, k: Index) -> bool:
    """Whether it is known that so many terms at a time are all terms."""
    return isinstance(depth, int) and isinstance(k, int) and k % depth == 0


def _is_far(plan: MatmulPlan) -> bool:
    """Whether columns of B lie along memory, and so many of them that they come from beyond the second-level cache."""
    return panel_form(plan.b_n, plan.b_k) == "along" and plan.k * plan.n * ELEMENT_BYTES[plan.stored[1]] >= FAR_BYTES


def _bytes(element: str) -> str:
    """The LLVM type by which addresses of such elements are counted."""
    return f"[{ELEMENT_BYTES[element]} x i8]"


def _steps(builder: FunctionBuilder, plan: MatmulPlan, depth: Index) -> Index:
    """The pairs of so many terms, or the terms if panels hold single ones."""
    if not plan.paired:
        return depth
    return -(-depth // 2) if isinstance(depth, int) else builder.binary("lshr", "i64", builder.add(depth, 1), 1)


def _copy_panels(builder: FunctionBuilder, plan: MatmulPlan, sizes: BlockSizes, copy: tuple[str, str, str], count: str, extents: tuple[Index, Index]) -> None:
    """Copies all panels of B of a block, which has so many columns, of so many terms; from where, to where, and where what is kept of each goes."""
    (source, target, factors), (depth, steps), width = copy, extents, plan.tile.columns * plan.tile.lanes
    symbol = panel_name((plan.stored[1], plan.element), width, plan.tile.lanes, panel_form(plan.b_n, plan.b_k), paired=plan.paired, ahead=_is_far(plan))
    with builder.rotated_loop(count, step=sizes.group_columns) as loop:
        first = builder.offset(source, _bytes(plan.stored[1]), builder.multiply(loop.index, sizes.b_n))
        panel = builder.offset(target, _bytes(plan.element), builder.multiply(loop.index, steps))
        left = _least(builder, sizes.group_columns, count, loop.index)
        builder.call_void(symbol, [("ptr", first), ("ptr", panel), ("i64", left), ("i64", depth), ("i64", sizes.b_n), ("i64", sizes.b_k)])
    if plan.panel_factors:
        with builder.rotated_loop(count, step=width) as loop:
            panel = builder.offset(target, _bytes(plan.element), builder.multiply(loop.index, steps))
            factor = _examined(builder, plan, panel, builder.multiply(steps, width))
            builder.store(_kept(plan), factor, _panel_factor(builder, plan, factors, loop.index), ELEMENT_BYTES[plan.element])


def _tiles(
    builder: FunctionBuilder,
    plan: MatmulPlan,
    sizes: BlockSizes,
    copy: tuple[str, str],
    others: tuple[str, str],
    result: tuple[str, Index],
    extents: tuple[Index, Index],
    add: str,
    complete: Callable[[str], None],
    coming: Callable[[str, str], None],
) -> None:
    """All tiles of a block, those beside one another after one another; the panels of B and their factors, the result, and how far its rows are apart."""
    (a, a_panels), (depth, steps), rows, kind = copy, extents, plan.tile.rows, _bytes(plan.element)
    with builder.rotated_loop("%rows", step=sizes.group_rows) as group:
        end = builder.add(group.index, _least(builder, sizes.group_rows, "%rows", group.index))
        _copy_group(builder, plan, sizes, (a, a_panels), (group.index, end), depth)
        with builder.rotated_loop(end, start=group.index, step=rows) as row:
            panel = builder.offset(a_panels, kind, builder.multiply(builder.binary("sub", "i64", row.index, group.index), steps))
            below = builder.offset(result[0], kind, builder.multiply(row.index, result[1]))

            def fetch(column: str, row: str = row.index) -> None:
                coming(row, column)

            _row_of_tiles(builder, plan, panel, others, (below, result[1]), (steps, _least(builder, rows, "%rows", row.index)), add, fetch)
            complete(row.index)


def _copy_group(builder: FunctionBuilder, plan: MatmulPlan, sizes: BlockSizes, copy: tuple[str, str], rows: tuple[str, Index], depth: Index) -> None:
    """Copies the panels of A that are copied together, from the first of these rows to the last."""
    (a, panels), (start, end), size = copy, rows, plan.tile.rows
    source = builder.offset(a, _bytes(plan.stored[0]), builder.multiply(start, sizes.a_m))
    count = builder.binary("sub", "i64", end, start)
    symbol = panel_name((plan.stored[0], plan.element), size, plan.tile.lanes, panel_form(plan.a_m, plan.a_k), paired=plan.paired)
    builder.call_void(symbol, [("ptr", source), ("ptr", panels), ("i64", count), ("i64", depth), ("i64", sizes.a_m), ("i64", sizes.a_k)])


def _row_of_tiles(
    builder: FunctionBuilder,
    plan: MatmulPlan,
    panel: str,
    others: tuple[str, str],
    result: tuple[str, Index],
    sizes: tuple[Index, Index],
    add: str,
    fetch: Callable[[str], None],
) -> None:
    """The tiles of a panel of A; the terms, or pairs, and the rows of C."""
    (b_panels, factors), (c, step), (depth, rows), width, kind = others, result, sizes, plan.tile.columns * plan.tile.lanes, _bytes(plan.element)
    a_factor = _examined(builder, plan, panel, builder.multiply(depth, plan.tile.rows)) if plan.panel_factors else ""
    with builder.rotated_loop("%columns", step=width) as column:
        fetch(column.index)
        columns = _least(builder, width, "%columns", column.index)
        b = builder.offset(b_panels, kind, builder.multiply(column.index, depth))
        operands: list[Operand] = [("ptr", panel), ("ptr", b), ("ptr", builder.offset(c, kind, column.index)), ("i64", step), ("i64", depth)]
        b_factor = _panel_factor(builder, plan, factors, column.index) if plan.panel_factors else ""
        _tile(builder, plan, [*operands, ("i64", rows), ("i64", columns), ("i1", add)], a_factor, b_factor)


def _coming_terms(builder: FunctionBuilder, plan: MatmulPlan, sizes: BlockSizes, b: str, following: Index) -> Callable[[str, str], None]:
    """What has B's elements of the terms that come next, from this one on, brought to the second-level cache, while tiles are computed.

    With each tile it is those of some terms of its columns, or of some of its columns, so that all are there when a block's rows have been gone through. After
    the last terms nothing is done.
    """
    form = panel_form(plan.b_n, plan.b_k)
    if form == "apart" or (isinstance(sizes.k, int) and sizes.k == sizes.depth):
        return lambda row, column: None
    kind, size, width = _bytes(plan.stored[1]), ELEMENT_BYTES[plan.stored[1]], plan.tile.columns * plan.tile.lanes
    first = builder.offset(b, kind, builder.multiply(sizes.depth, sizes.b_k))
    more = builder.icmp("ult", "i64", following, sizes.k)
    runs, length, step = (sizes.depth, width, sizes.b_k) if form == "across" else (width, sizes.depth, sizes.b_n)
    rows = builder.binary("udiv", "i64", builder.add("%rows", plan.tile.rows - 1), plan.tile.rows)
    share = builder.op(f"udiv i64 {builder.add(builder.add(rows, runs), -1)}, {rows}")
    each = builder.op(f"select i1 {more}, i64 {share}, i64 0")
    run_bytes = builder.multiply(length, size)

    def fetch(row: str, column: str) -> None:
        start = builder.multiply(builder.binary("udiv", "i64", row, plan.tile.rows), each)
        place = builder.offset(first, kind, builder.multiply(column, sizes.b_n))
        with builder.loop(start, builder.add(start, each)) as loop:
            run = builder.offset(place, kind, builder.multiply(loop.index, step))
            with builder.rotated_loop(run_bytes, step=LINE_BYTES) as line:
                builder.line(f"call void @llvm.prefetch.p0(ptr {builder.offset(run, 'i8', line.index)}, i32 0, i32 2, i32 1)")

    return fetch


def _tile(builder: FunctionBuilder, plan: MatmulPlan, operands: list[Operand], a_factor: str, b_place: str) -> None:
    """One tile, whose sums are multiplied by the factors of its panels, or computed as the least exponents of these allow; that of the second is in memory."""
    kind = _kept(plan)
    b_factor = builder.load(kind, b_place, ELEMENT_BYTES[plan.element]) if plan.panel_factors else ""
    if not plan.normalised:
        if plan.panel_factors:
            operands.append(("i1", builder.icmp("sge", kind, builder.binary("add", kind, a_factor, b_factor), SMALLEST)))
        builder.call_void(_tile_name(plan), operands)
        return
    with builder.conditional(builder.fcmp("une", kind, a_factor, b_factor)) as branches:
        builder.call_void(unequal_name(plan.element, plan.tile), [*operands, (kind, a_factor), (kind, b_factor)])
        branches.otherwise()
        product = builder.binary("fmul", kind, a_factor, b_factor)
        builder.call_void(tile_name(plan.element, plan.tile, scaled=True), [*operands, (kind, product)])


def _examined(builder: FunctionBuilder, plan: MatmulPlan, panel: str, count: Index) -> str:
    """What is kept of a panel of so many elements, or pairs: of pairs of floats the least exponent; if panels are normalised, what sums are to be multiplied
    by, after it is multiplied itself if it has to be."""
    if plan.normalised:
        return builder.call(normalise_name(plan.element), _kept(plan), [("ptr", panel), ("i64", count)])
    return builder.call(exponent_name(plan.tile.lanes), _kept(plan), [("ptr", panel), ("i64", builder.multiply(count, 2))])


def _panel_factor(builder: FunctionBuilder, plan: MatmulPlan, factors: str, column: str) -> str:
    """Where that is which is kept of the panel of B that begins at this column of the block."""
    return builder.offset(factors, _kept(plan), builder.binary("udiv", "i64", column, plan.tile.columns * plan.tile.lanes))


def _kept(plan: MatmulPlan) -> str:
    """The type of what is kept of a panel."""
    return WORD if plan.paired else Arithmetic(plan.element, 1).scalar


def _tile_name(plan: MatmulPlan) -> str:
    return tile_name(plan.element, plan.tile, scaled=plan.normalised, pairs=plan.pairs)


def _convert_block(builder: FunctionBuilder, plan: MatmulPlan, sizes: BlockSizes, sums: str) -> None:
    """The complete sums of a block, rounded to the elements of the result."""
    given, kind = Arithmetic(plan.element, 1).scalar, Arithmetic(plan.result_element, 1).scalar
    with builder.rotated_loop("%rows") as row:
        source = builder.offset(sums, given, builder.multiply(row.index, sizes.pitch))
        target = builder.offset("%c", kind, builder.multiply(row.index, sizes.c_m))
        with builder.rotated_loop("%columns") as column:
            value = builder.load(given, builder.offset(source, given, column.index), ELEMENT_BYTES[plan.element])
            rounded = convert(builder, value, plan.element, plan.result_element)
            builder.store(kind, rounded, builder.offset(target, kind, column.index), ELEMENT_BYTES[plan.result_element])


def _least(builder: FunctionBuilder, most: Index, extent: Index, index: Index) -> str:
    """How many of at most so many are left from an index on."""
    return builder.intrinsic("umin", "i64", most, builder.binary("sub nuw nsw", "i64", extent, index))

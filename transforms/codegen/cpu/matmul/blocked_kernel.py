"""Emits products in blocks: C is computed block by block, from panels of both operands that stay in the caches.

This is the algorithm of K. Goto and R. van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008) with every block on its own: for
so many terms of the sums after one another, the block's columns of B are copied into panels (:mod:`panel_function`), which fill half of the second-level
cache; then its rows of A, a panel at a time that stays in the first-level cache while the panels of B pass by, and every tile adds up its part in registers
(:mod:`tile_function`). The order in which an element of C is summed follows from the number of terms at a time alone, so that blocks may have any size and be
computed by any thread.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.conversion import convert
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.finish import PARAMETERS, Finish, begin_finish, call_finish, shared_result
from wengert.transforms.codegen.cpu.matmul.normalisation import normalisation_functions, normalise_name, unequal_name
from wengert.transforms.codegen.cpu.matmul.pairs import SMALLEST, WORD, exponent_function, exponent_name
from wengert.transforms.codegen.cpu.matmul.panel_function import panel_form, panel_function, panel_name
from wengert.transforms.codegen.cpu.matmul.tile_function import LINE_BYTES, tile_function, tile_name
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index, Operand
from wengert.transforms.schedule.products.plan import MatmulPlan, aligned

FAR_BYTES = 1 << 20
BLOCK_PARAMETERS = ("ptr noalias readonly %a", "ptr noalias readonly %b", "ptr noalias %c", "ptr noalias %scratch", "i64 %rows", "i64 %columns")


def blocked_functions(plan: MatmulPlan) -> dict[str, str]:
    """The functions for panels and tiles, which all products with such tiles share, by their symbols."""
    tile, element = plan.tile, plan.element
    functions = {_tile_name(plan): tile_function(element, tile, scaled=plan.normalised, pairs=plan.pairs)}
    if plan.normalised:
        functions |= normalisation_functions(element, tile)
    if plan.pairs == "bf16":
        functions[exponent_name(tile.lanes)] = exponent_function(tile.lanes)
    sides = ((plan.stored[0], tile.rows, plan.a_m, plan.a_k), (plan.stored[1], tile.columns * tile.lanes, plan.b_n, plan.b_k))
    for (stored, width, step, turn), ahead in zip(sides, (False, _is_far(plan)), strict=True):
        form = panel_form(step, turn)
        functions[panel_name((stored, element), width, tile.lanes, form, paired=plan.paired, ahead=ahead)] = panel_function(
            (stored, element), width, tile.lanes, form, paired=plan.paired, ahead=ahead
        )
    return functions


def block_function(plan: MatmulPlan, name: str, finish: Finish | None = None) -> str:
    """``define internal void @name(...)``, which computes one block of C from the addresses of its operands' first elements, see :data:`BLOCK_PARAMETERS`; and
    finishes its rows."""
    assert plan.blocks is not None
    builder, size = FunctionBuilder(), ELEMENT_BYTES[plan.element]
    a_panels = builder.offset("%scratch", "i8", plan.panel_offset)
    b_panels = builder.offset(a_panels, "i8", aligned(plan.a_panels * size))
    apart = plan.apart_elements > 0
    factors = builder.offset(b_panels, "i8", aligned(plan.b_panels * size))
    c, step = (builder.offset(factors, "i8", aligned(plan.panel_factors * size)), plan.block_pitch) if apart else ("%c", plan.c_m)
    frame = "" if finish is None else begin_finish(builder, finish)
    with builder.rotated_loop(plan.k, step=plan.blocks.depth) as terms:
        depth = _least(builder, plan.blocks.depth, plan.k, terms.index) if plan.k % plan.blocks.depth else plan.blocks.depth
        a = builder.offset("%a", _bytes(plan.stored[0]), builder.multiply(terms.index, plan.a_k))
        b = builder.offset("%b", _bytes(plan.stored[1]), builder.multiply(terms.index, plan.b_k))
        steps = _steps(builder, plan, depth)
        _copy_panels(builder, plan, (b, b_panels, factors), "%columns", (depth, steps))

        def complete(row: str, last: str = terms.index, depth: Index = depth) -> None:
            """Finishes the rows of a tile after the last terms."""
            if finish is not None:
                with builder.when(builder.icmp("eq", "i64", builder.add(last, depth), plan.k)):
                    call_finish(builder, plan, finish, frame, row)

        coming = _coming_terms(builder, plan, b, terms.index, depth)
        add = builder.icmp("ne", "i64", terms.index, 0)
        _tiles(builder, plan, (a, a_panels), (b_panels, factors), (c, step), (depth, steps), add, complete, coming)
    if apart:
        _convert_block(builder, plan, c)
    parameters = BLOCK_PARAMETERS if finish is None else (*shared_result(BLOCK_PARAMETERS), *PARAMETERS)
    return builder.definition(name, parameters, attributes="noinline nounwind")


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


def _copy_panels(builder: FunctionBuilder, plan: MatmulPlan, copy: tuple[str, str, str], count: str, sizes: tuple[Index, Index]) -> None:
    """Copies all panels of B of a block, which has so many columns, of so many terms; from where, to where, and where what is kept of each goes."""
    (source, target, factors), (depth, steps), width = copy, sizes, plan.tile.columns * plan.tile.lanes
    symbol = panel_name((plan.stored[1], plan.element), width, plan.tile.lanes, panel_form(plan.b_n, plan.b_k), paired=plan.paired, ahead=_is_far(plan))
    with builder.rotated_loop(count, step=width * plan.b_group) as loop:
        first = builder.offset(source, _bytes(plan.stored[1]), builder.multiply(loop.index, plan.b_n))
        panel = builder.offset(target, _bytes(plan.element), builder.multiply(loop.index, steps))
        left = _least(builder, width * plan.b_group, count, loop.index)
        builder.call_void(symbol, [("ptr", first), ("ptr", panel), ("i64", left), ("i64", depth), ("i64", plan.b_n), ("i64", plan.b_k)])
    if plan.panel_factors:
        with builder.rotated_loop(count, step=width) as loop:
            panel = builder.offset(target, _bytes(plan.element), builder.multiply(loop.index, steps))
            factor = _examined(builder, plan, panel, builder.multiply(steps, width))
            builder.store(_kept(plan), factor, _panel_factor(builder, plan, factors, loop.index), ELEMENT_BYTES[plan.element])


def _tiles(
    builder: FunctionBuilder,
    plan: MatmulPlan,
    copy: tuple[str, str],
    others: tuple[str, str],
    result: tuple[str, int],
    sizes: tuple[Index, Index],
    add: str,
    complete: Callable[[str], None],
    coming: Callable[[str, str], None],
) -> None:
    """All tiles of a block, those beside one another after one another; the panels of B and their factors, the result, and how far its rows are apart."""
    (a, a_panels), (depth, steps), rows, kind = copy, sizes, plan.tile.rows, _bytes(plan.element)
    with builder.rotated_loop("%rows", step=rows * plan.a_group) as group:
        end = builder.add(group.index, _least(builder, rows * plan.a_group, "%rows", group.index))
        _copy_group(builder, plan, (a, a_panels), (group.index, end), depth)
        with builder.rotated_loop(end, start=group.index, step=rows) as row:
            panel = builder.offset(a_panels, kind, builder.multiply(builder.binary("sub", "i64", row.index, group.index), steps))
            below = builder.offset(result[0], kind, builder.multiply(row.index, result[1]))

            def fetch(column: str, row: str = row.index) -> None:
                coming(row, column)

            _row_of_tiles(builder, plan, panel, others, (below, result[1]), (steps, _least(builder, rows, "%rows", row.index)), add, fetch)
            complete(row.index)


def _copy_group(builder: FunctionBuilder, plan: MatmulPlan, copy: tuple[str, str], rows: tuple[str, Index], depth: Index) -> None:
    """Copies the panels of A that are copied together, from the first of these rows to the last."""
    (a, panels), (start, end), size = copy, rows, plan.tile.rows
    source = builder.offset(a, _bytes(plan.stored[0]), builder.multiply(start, plan.a_m))
    count = builder.binary("sub", "i64", end, start)
    symbol = panel_name((plan.stored[0], plan.element), size, plan.tile.lanes, panel_form(plan.a_m, plan.a_k), paired=plan.paired)
    builder.call_void(symbol, [("ptr", source), ("ptr", panels), ("i64", count), ("i64", depth), ("i64", plan.a_m), ("i64", plan.a_k)])


def _row_of_tiles(
    builder: FunctionBuilder,
    plan: MatmulPlan,
    panel: str,
    others: tuple[str, str],
    result: tuple[str, int],
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


def _coming_terms(builder: FunctionBuilder, plan: MatmulPlan, b: str, first: str, depth: Index) -> Callable[[str, str], None]:
    """What has B's elements of the terms that come next brought to the second-level cache, while tiles are computed.

    With each tile it is those of some terms of its columns, or of some of its columns, so that all are there when a block's rows have been gone through. After
    the last terms nothing is done.
    """
    assert plan.blocks is not None
    size, width, most = ELEMENT_BYTES[plan.stored[1]], plan.tile.columns * plan.tile.lanes, plan.blocks.depth
    form = panel_form(plan.b_n, plan.b_k)
    if plan.k <= most or form == "apart":
        return lambda row, column: None
    kind = _bytes(plan.stored[1])
    following = builder.offset(b, kind, most * plan.b_k)
    more = builder.icmp("ult", "i64", builder.add(first, depth), plan.k)
    runs, length, step = (most, width, plan.b_k) if form == "across" else (width, most, plan.b_n)
    rows = builder.binary("udiv", "i64", builder.add("%rows", plan.tile.rows - 1), plan.tile.rows)
    share = builder.op(f"udiv i64 {builder.add(rows, runs - 1)}, {rows}")
    each = builder.op(f"select i1 {more}, i64 {share}, i64 0")

    def fetch(row: str, column: str) -> None:
        start = builder.multiply(builder.binary("udiv", "i64", row, plan.tile.rows), each)
        place = builder.offset(following, kind, builder.multiply(column, plan.b_n))
        with builder.loop(start, builder.add(start, each)) as loop:
            run = builder.offset(place, kind, builder.multiply(loop.index, step))
            for line in range(0, length * size, LINE_BYTES):
                builder.line(f"call void @llvm.prefetch.p0(ptr {builder.offset(run, 'i8', line)}, i32 0, i32 2, i32 1)")

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


def _convert_block(builder: FunctionBuilder, plan: MatmulPlan, sums: str) -> None:
    """The complete sums of a block, rounded to the elements of the result."""
    given, kind = Arithmetic(plan.element, 1).scalar, Arithmetic(plan.result_element, 1).scalar
    with builder.rotated_loop("%rows") as row:
        source = builder.offset(sums, given, builder.multiply(row.index, plan.block_pitch))
        target = builder.offset("%c", kind, builder.multiply(row.index, plan.c_m))
        with builder.rotated_loop("%columns") as column:
            value = builder.load(given, builder.offset(source, given, column.index), ELEMENT_BYTES[plan.element])
            rounded = convert(builder, value, plan.element, plan.result_element)
            builder.store(kind, rounded, builder.offset(target, kind, column.index), ELEMENT_BYTES[plan.result_element])


def _least(builder: FunctionBuilder, most: int, extent: Index, index: Index) -> str:
    """How many of at most so many are left from an index on."""
    return builder.intrinsic("umin", "i64", most, builder.binary("sub nuw nsw", "i64", extent, index))

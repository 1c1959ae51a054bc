"""The kernel with vectors along n: each step along k multiplies a vector row of B by broadcast elements of A.

This is the register-blocked inner kernel of K. Goto and R. van de Geijn, ACM TOMS 34 (2008), without cache blocking: the sizes it is
used for keep a column group of B in the first-level cache.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.packing import pack_group
from wengert.transforms.codegen.cpu.matmul.planner import MatmulPlan
from wengert.transforms.codegen.cpu.matmul.tiling import Group, split_columns

UNROLLED_STEPS = 24  # multiply-adds of a tile up to which its loop along k is written out


class Panel(Struct, frozen=True):
    """Where a tile reads B: the address of its first column and the distances of rows and of columns in elements."""

    pointer: str
    row: int
    column: int


def emit_rows(text: FunctionText, plan: MatmulPlan, a: str, b: str, c: str, scratch: str) -> None:
    """C = A B for one matrix product; `scratch` holds a column group of B if the plan packs."""
    columns = split_columns(plan.m, plan.n, plan.k, plan.target, plan.element)
    arithmetic = Arithmetic(plan.element, columns.lanes)
    kind = arithmetic.scalar
    for group in columns.groups:
        with text.repeat(group.count) as index:
            b_group = text.at(b, kind, index, group.width * plan.b_n, group.start * plan.b_n)
            c_group = text.at(c, kind, index, group.width * plan.c_n, group.start * plan.c_n)
            panel = Panel(b_group, plan.b_k, plan.b_n)
            if plan.method == "packed":
                pack_group(text, arithmetic, b_group, plan.k, group, plan.b_k, plan.b_n, scratch)
                panel = Panel(scratch, group.width, 1)
            emit_row_tiles(text, plan, arithmetic, group, columns.rows, a, panel, c_group)


def emit_row_tiles(text: FunctionText, plan: MatmulPlan, arithmetic: Arithmetic, group: Group, rows: int, a: str, panel: Panel, c: str) -> None:
    """All tiles below one another in a column group."""
    full, rest = divmod(plan.m, rows)
    kind = arithmetic.scalar
    with text.repeat(full) as index:
        a_tile = text.at(a, kind, index, rows * plan.a_m)
        c_tile = text.at(c, kind, index, rows * plan.c_m)
        emit_tile(text, plan, arithmetic, group, rows, a_tile, panel, c_tile)
    if rest:
        a_tile = text.at(a, kind, "0", 0, full * rows * plan.a_m)
        c_tile = text.at(c, kind, "0", 0, full * rows * plan.c_m)
        emit_tile(text, plan, arithmetic, group, rest, a_tile, panel, c_tile)


def emit_tile(text: FunctionText, plan: MatmulPlan, arithmetic: Arithmetic, group: Group, rows: int, a: str, panel: Panel, c: str) -> None:
    """One tile: `rows` by the vectors of the group, all of k."""
    kind, size = arithmetic.scalar, arithmetic.bytes
    tile = rows * len(group.offsets)

    def step(sums: list[str] | None, index: str, scale: int, p: int) -> list[str]:
        """The sums after step index * scale + p along k."""
        b_row = text.at(panel.pointer, kind, index, scale * panel.row, p * panel.row)
        a_column = text.at(a, kind, index, scale * plan.a_k, p * plan.a_k)
        vectors = [read_vector(text, arithmetic, text.at(b_row, kind, "0", 0, offset * panel.column), panel.column) for offset in group.offsets]
        result: list[str] = []
        for row in range(rows):
            element = arithmetic.broadcast(text, text.load(kind, text.at(a_column, kind, "0", 0, row * plan.a_m), size))
            for vector in vectors:
                result.append(arithmetic.multiply_add(text, element, vector, sums[len(result)] if sums else None))
        return result

    if plan.k * tile <= UNROLLED_STEPS:
        sums = step(None, "0", 0, 0)
        for p in range(1, plan.k):
            sums = step(sums, "0", 0, p)
    else:
        # Few accumulators leave the multiply-add units waiting for one another; independent sets for neighbouring steps do not.
        sets = min(4, max(1, 8 // tile))
        turns, rest = divmod(plan.k, sets)
        with text.loop(turns) as loop:
            carried = [[loop.carry(arithmetic.vector, arithmetic.zero) for _ in range(tile)] for _ in range(sets)]
            following = [step(carried[s], loop.index, sets, s) for s in range(sets)]
            for old, new in zip(carried, following, strict=True):
                for name, value in zip(old, new, strict=True):
                    loop.update(name, value)
        sums = following[0]
        for other in following[1:]:
            sums = [arithmetic.add(text, x, y) for x, y in zip(sums, other, strict=True)]
        for p in range(turns * sets, turns * sets + rest):
            sums = step(sums, "0", 0, p)
    for position, offset in enumerate(group.offsets):
        column = [sums[row * len(group.offsets) + position] for row in range(rows)]
        pointer = text.at(c, kind, "0", 0, offset * plan.c_n)
        if plan.c_m == 1 and plan.c_n != 1 and arithmetic.lanes > 1:
            write_turned(text, arithmetic, column, pointer, plan.c_n)
            continue
        for row, vector in enumerate(column):
            write_vector(text, arithmetic, vector, text.at(pointer, kind, "0", 0, row * plan.c_m), plan.c_n)


def read_vector(text: FunctionText, arithmetic: Arithmetic, pointer: str, step: int) -> str:
    """A vector of elements at this distance."""
    if step == 1 or arithmetic.lanes == 1:
        return text.load(arithmetic.vector, pointer, arithmetic.bytes)
    vector = "poison"
    for lane in range(arithmetic.lanes):
        element = text.load(arithmetic.scalar, text.at(pointer, arithmetic.scalar, "0", 0, lane * step), arithmetic.bytes)
        vector = text.op(f"insertelement {arithmetic.vector} {vector}, {arithmetic.scalar} {element}, i32 {lane}")
    return vector


def write_vector(text: FunctionText, arithmetic: Arithmetic, vector: str, pointer: str, step: int) -> None:
    """Stores the lanes at this distance."""
    if step == 1 or arithmetic.lanes == 1:
        text.store(arithmetic.vector, vector, pointer, arithmetic.bytes)
        return
    for lane in range(arithmetic.lanes):
        element = text.op(f"extractelement {arithmetic.vector} {vector}, i32 {lane}")
        text.store(arithmetic.scalar, element, text.at(pointer, arithmetic.scalar, "0", 0, lane * step), arithmetic.bytes)


def write_turned(text: FunctionText, arithmetic: Arithmetic, rows: list[str], pointer: str, step: int) -> None:
    """Stores a block of as many columns as there are vectors, which lie side by side; the lanes are its rows, at this distance."""
    start, most = 0, arithmetic.lanes & -arithmetic.lanes
    while start < len(rows):
        count = min(1 << ((len(rows) - start).bit_length() - 1), most)
        first = text.at(pointer, arithmetic.scalar, "0", 0, start)
        if count == 1:
            write_vector(text, arithmetic, rows[start], first, step)
        else:
            _write_rows(text, arithmetic, _interleaved(text, arithmetic, rows[start : start + count]), count, first, step)
        start += count


def _interleaved(text: FunctionText, arithmetic: Arithmetic, rows: list[str]) -> list[str]:
    """The elements of a power of two of vectors, lane by lane: all of the first lane, then all of the second one, and so on."""
    if len(rows) == 1:
        return rows
    lanes, found = arithmetic.lanes, list[str]()
    for even, odd in zip(_interleaved(text, arithmetic, rows[::2]), _interleaved(text, arithmetic, rows[1::2]), strict=True):
        for half in range(2):
            order = [lane + part * lanes for lane in range(half * lanes // 2, (half + 1) * lanes // 2) for part in range(2)]
            found.append(_shuffled(text, arithmetic, even, odd, order))
    return found


def _write_rows(text: FunctionText, arithmetic: Arithmetic, vectors: list[str], count: int, pointer: str, step: int) -> None:
    """Stores groups of so many elements, at this distance."""
    each = arithmetic.lanes // count
    for lane in range(arithmetic.lanes):
        vector, group = vectors[lane // each], lane % each
        part = vector if each == 1 else _shuffled(text, arithmetic, vector, "poison", [group * count + i for i in range(count)])
        text.store(f"<{count} x {arithmetic.scalar}>", part, text.at(pointer, arithmetic.scalar, "0", 0, lane * step), arithmetic.bytes)


def _shuffled(text: FunctionText, arithmetic: Arithmetic, x: str, y: str, order: list[int]) -> str:
    listed = ", ".join(f"i32 {i}" for i in order)
    return text.op(f"shufflevector {arithmetic.vector} {x}, {arithmetic.vector} {y}, <{len(order)} x i32> <{listed}>")

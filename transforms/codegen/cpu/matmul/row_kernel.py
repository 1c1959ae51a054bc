"""Emits the kernel with vectors along n: each step along k multiplies a vector row of B by broadcast elements of A.

Elements that are narrower than the sums are converted in registers, so that of a large B and few rows of A half of the bytes come from memory.

This is the register-blocked inner kernel of K. Goto and R. van de Geijn, ACM TOMS 34 (2008), without cache blocking: the sizes it is
used for keep a column group of B in the first-level cache.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.cpu.matmul.conversion import convert, convert_vector
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.packing import pack_group
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.products.plan import MatmulPlan
from wengert.transforms.schedule.products.tiling import Group

PART_TERMS = 256
"""About so many terms are added up after one another; of longer sums such parts are, since the error of a chain grows with its length."""
FETCHED_BYTES = 256
"""Rows of A from so many bytes on are fetched ahead."""


class Panel(Struct, frozen=True):
    """The columns of B that a tile reads: the address of the first, the distances of rows and of columns in elements, and the type of these."""

    pointer: str
    row: int
    column: int
    stored: str

    @property
    def kind(self) -> str:
        """The LLVM type of an element in memory."""
        return Arithmetic(self.stored, 1).scalar


def emit_rows(builder: FunctionBuilder, plan: MatmulPlan, a: str, b: str, c: str, scratch: str) -> None:
    """C = A B for one matrix product; `scratch` holds a column group of B if the plan packs."""
    arithmetic, stored = Arithmetic(plan.element, plan.tile.lanes), plan.stored[1]
    kind = arithmetic.scalar
    for group in plan.groups:
        with builder.repeat(group.count) as index:
            b_group = builder.shared_offset(b, Arithmetic(stored, 1).scalar, index, group.width * plan.b_n, group.start * plan.b_n)
            c_group = builder.shared_offset(c, kind, index, group.width * plan.c_n, group.start * plan.c_n)
            panel = Panel(b_group, plan.b_k, plan.b_n, stored)
            if plan.method == "packed":
                pack_group(builder, (stored, arithmetic), b_group, plan.k, group, plan.b_k, plan.b_n, scratch)
                panel = Panel(scratch, group.width, 1, plan.element)
            emit_row_tiles(builder, plan, arithmetic, group, plan.tile.rows, a, panel, c_group)


def emit_row_tiles(builder: FunctionBuilder, plan: MatmulPlan, arithmetic: Arithmetic, group: Group, rows: int, a: str, panel: Panel, c: str) -> None:
    """All tiles below one another in a column group."""
    full, rest = divmod(plan.m, rows)
    kind, a_kind = arithmetic.scalar, Arithmetic(plan.stored[0], 1).scalar
    with builder.repeat(full) as index:
        a_tile = builder.shared_offset(a, a_kind, index, rows * plan.a_m)
        c_tile = builder.shared_offset(c, kind, index, rows * plan.c_m)
        emit_tile(builder, plan, arithmetic, group, rows, a_tile, panel, c_tile)
    if rest:
        a_tile = builder.shared_offset(a, a_kind, offset=full * rows * plan.a_m)
        c_tile = builder.shared_offset(c, kind, offset=full * rows * plan.c_m)
        emit_tile(builder, plan, arithmetic, group, rest, a_tile, panel, c_tile)


def emit_tile(builder: FunctionBuilder, plan: MatmulPlan, arithmetic: Arithmetic, group: Group, rows: int, a: str, panel: Panel, c: str) -> None:
    """One tile: `rows` by the vectors of the group, all of k. Vectors are computed in registers that may have more lanes than are read and written."""
    kind, register, single = arithmetic.scalar, arithmetic.padded, Arithmetic(plan.stored[0], 1)
    tile = rows * len(group.offsets)

    def step(sums: list[str] | None, index: str, scale: int, p: int) -> list[str]:
        """The sums after step index * scale + p along k."""
        b_row = builder.shared_offset(panel.pointer, panel.kind, index, scale * panel.row, p * panel.row)
        a_column = builder.shared_offset(a, single.scalar, index, scale * plan.a_k, p * plan.a_k)
        places = [builder.shared_offset(b_row, panel.kind, offset=offset * panel.column) for offset in group.offsets]
        vectors = [_read_converted(builder, arithmetic, panel, place) for place in places]
        result: list[str] = []
        for row in range(rows):
            value = builder.load(single.scalar, builder.shared_offset(a_column, single.scalar, offset=row * plan.a_m), single.bytes)
            element = register.broadcast(builder, convert(builder, value, single.element, plan.element))
            for vector in vectors:
                result.append(register.multiply_add(builder, element, vector, sums[len(result)] if sums else None))
        return result

    if plan.k * tile <= plan.unrolled:
        sums = step(None, "0", 0, 0)
        for p in range(1, plan.k):
            sums = step(sums, "0", 0, p)
    else:
        sets = plan.sets(tile)
        iterations, rest = divmod(plan.k, sets)
        ahead = _following_rows(builder, plan, rows, a, sets)

        def part(start: Index, end: Index) -> list[str]:
            """The sums of a part of the iterations along k."""
            with builder.rotated_loop(end, [(register.vector, register.zero)] * (tile * sets), start=start) as loop:
                if ahead is not None:
                    place = builder.offset(ahead[0], f"[{ahead[1]} x i8]", loop.index)
                    builder.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
                carried = [loop.values[s * tile : (s + 1) * tile] for s in range(sets)]
                following = [step(carried[s], loop.index, sets, s) for s in range(sets)]
                loop.carry(*[value for sums in following for value in sums])
            sums = following[0]
            for other in following[1:]:
                sums = [register.add(builder, x, y) for x, y in zip(sums, other, strict=True)]
            return sums

        parts = max(1, plan.k // PART_TERMS)
        if parts == 1:
            sums = part(0, iterations)
        else:
            each = -(-iterations // parts)
            with builder.rotated_loop(iterations, [(register.vector, register.zero)] * tile, step=each) as loop:
                end = builder.intrinsic("umin", builder.index_type, builder.add(loop.index, each), iterations)
                added = part(loop.index, end)
                loop.carry(*[register.add(builder, x, y) for x, y in zip(loop.values, added, strict=True)])
            sums = loop.results
        for p in range(iterations * sets, iterations * sets + rest):
            sums = step(sums, "0", 0, p)
    for position, offset in enumerate(group.offsets):
        column = [register.first(builder, sums[row * len(group.offsets) + position], arithmetic.lanes) for row in range(rows)]
        pointer = builder.shared_offset(c, kind, offset=offset * plan.c_n)
        if plan.c_m == 1 and plan.c_n != 1 and arithmetic.lanes > 1:
            write_turned(builder, arithmetic, column, pointer, plan.c_n)
            continue
        for row, vector in enumerate(column):
            write_vector(builder, arithmetic, vector, builder.shared_offset(pointer, kind, offset=row * plan.c_m), plan.c_n)


def _following_rows(builder: FunctionBuilder, plan: MatmulPlan, rows: int, a: str, sets: int) -> tuple[str, int] | None:
    """The address of the rows of A below a tile, and the bytes of them that are fetched in each iteration along k; None if they do not lie together.

    A tile reads a few elements of each of its rows at a time, which is too little for the processor to notice where it goes. So without this it waits where
    another core wrote the rows, or they come from the third-level cache.
    """
    size = Arithmetic(plan.stored[0], 1).bytes
    if plan.a_k != 1 or plan.a_m != plan.k or plan.k * size < FETCHED_BYTES or plan.m < 2 * rows:
        return None
    return builder.offset(a, "i8", rows * plan.k * size), sets * rows * size


def _read_converted(builder: FunctionBuilder, arithmetic: Arithmetic, panel: Panel, place: str) -> str:
    """A vector of B, in a register of the elements that are computed with."""
    if panel.stored == arithmetic.element:
        return read_vector(builder, arithmetic, place, panel.column)
    narrow, register = Arithmetic(panel.stored, arithmetic.lanes), arithmetic.padded
    value = read_vector(builder, narrow, place, panel.column)
    value = convert_vector(builder, value, panel.stored, arithmetic.element, narrow.padded.lanes)
    if register.lanes == narrow.padded.lanes:
        return value
    order = [min(lane, arithmetic.lanes) for lane in range(register.lanes)]
    return builder.shuffle(arithmetic.scalar, arithmetic.lanes, value, "zeroinitializer", order)


def read_vector(builder: FunctionBuilder, arithmetic: Arithmetic, pointer: str, step: int) -> str:
    """A vector of elements at this distance, padded with zeros."""
    register = arithmetic.padded
    if step == 1 or arithmetic.lanes == 1:
        return register.load_first(builder, pointer, arithmetic.lanes)
    vector = "poison" if register.lanes == arithmetic.lanes else register.zero
    for lane in range(arithmetic.lanes):
        element = builder.load(arithmetic.scalar, builder.shared_offset(pointer, arithmetic.scalar, offset=lane * step), arithmetic.bytes)
        vector = builder.insert(arithmetic.scalar, register.lanes, vector, element, lane)
    return vector


def write_vector(builder: FunctionBuilder, arithmetic: Arithmetic, vector: str, pointer: str, step: int) -> None:
    """Stores the lanes at this distance."""
    if step == 1 or arithmetic.lanes == 1:
        builder.store(arithmetic.vector, vector, pointer, arithmetic.bytes)
        return
    for lane in range(arithmetic.lanes):
        element = builder.extract(arithmetic.scalar, arithmetic.lanes, vector, lane)
        builder.store(arithmetic.scalar, element, builder.shared_offset(pointer, arithmetic.scalar, offset=lane * step), arithmetic.bytes)


def write_turned(builder: FunctionBuilder, arithmetic: Arithmetic, rows: list[str], pointer: str, step: int) -> None:
    """Stores a block of as many columns as there are vectors, which lie side by side; the lanes are its rows, at this distance."""
    start, most = 0, arithmetic.lanes & -arithmetic.lanes
    while start < len(rows):
        count = min(1 << ((len(rows) - start).bit_length() - 1), most)
        first = builder.shared_offset(pointer, arithmetic.scalar, offset=start)
        if count == 1:
            write_vector(builder, arithmetic, rows[start], first, step)
        else:
            _write_rows(builder, arithmetic, interleaved(builder, arithmetic, rows[start : start + count]), count, first, step)
        start += count


def interleaved(builder: FunctionBuilder, arithmetic: Arithmetic, rows: list[str]) -> list[str]:
    """The elements of a power of two of vectors, lane by lane: all of the first lane, then all of the second one, and so on."""
    if len(rows) == 1:
        return rows
    lanes, mixed = arithmetic.lanes, list[str]()
    for even, odd in zip(interleaved(builder, arithmetic, rows[::2]), interleaved(builder, arithmetic, rows[1::2]), strict=True):
        for half in range(2):
            order = [lane + part * lanes for lane in range(half * lanes // 2, (half + 1) * lanes // 2) for part in range(2)]
            mixed.append(builder.shuffle(arithmetic.scalar, lanes, even, odd, order))
    return mixed


def _write_rows(builder: FunctionBuilder, arithmetic: Arithmetic, vectors: list[str], count: int, pointer: str, step: int) -> None:
    """Stores groups of so many elements, at this distance."""
    each = arithmetic.lanes // count
    for lane in range(arithmetic.lanes):
        vector, group = vectors[lane // each], lane % each
        part = vector if each == 1 else builder.shuffle(arithmetic.scalar, arithmetic.lanes, vector, "poison", [group * count + i for i in range(count)])
        builder.store(f"<{count} x {arithmetic.scalar}>", part, builder.shared_offset(pointer, arithmetic.scalar, offset=lane * step), arithmetic.bytes)

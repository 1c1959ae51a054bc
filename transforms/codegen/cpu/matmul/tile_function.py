"""Writes the function that computes one tile of C from panels: the inner kernel of products in blocks.

A panel of A holds, for one term of the sums after the other, that element of each of the tile's rows; a panel of B that of each of its columns. So both are
read from beginning to end. Sizes of a tile at an edge of C are parameters: its panels are filled up, and what is beyond C is not written.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.dialects.kernel.product_schedule import Tile
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.pairs import WORD, add_pairs, halves
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.module import SHARED

LINE_BYTES = 64
"""The bytes of a cache line."""

PARAMETERS = (
    "ptr noalias readonly %a", "ptr noalias readonly %b", "ptr noalias %c", "i64 %step", "i64 %depth", "i64 %rows", "i64 %columns", "i1 %add",
)  # fmt: skip
"""The panels, the tile of C and the distance of its rows in elements, the terms, how much of the tile there is, and whether sums are added to C."""


def tile_name(element: str, tile: Tile, *, scaled: bool = False, pairs: str = "") -> str:
    """The symbol of the function for tiles of this size; ``scaled`` if sums are multiplied by a factor before they are stored or added; ``pairs`` are the
    elements of which panels hold pairs."""
    form = f".pairs.of.{pairs}" if pairs else ".scaled" if scaled else ""
    return f"wg.tile.{element}.{tile.rows}x{tile.columns}x{tile.lanes}{form}"


def tile_function(element: str, tile: Tile, *, scaled: bool = False, pairs: str = "") -> str:
    """``define internal void @wg.tile...``, see :data:`PARAMETERS`; ``scaled`` ones have a factor as their last parameter, those of pairs of bf16 whether the
    instruction for pairs loses nothing."""
    builder, arithmetic = FunctionBuilder(), Arithmetic(element, tile.lanes)
    factor = arithmetic.broadcast(builder, "%factor") if scaled else ""
    _fetch(builder, arithmetic, tile)
    if pairs:
        sums = _pair_sums(builder, arithmetic, tile, pairs)
    else:
        sums = _sums(builder, arithmetic, arithmetic, tile, lambda a, b, sums: arithmetic.multiply_add(builder, a, b, sums))
    whole_rows = builder.icmp("eq", "i64", "%rows", tile.rows)
    whole = builder.binary("and", "i1", whole_rows, builder.icmp("eq", "i64", "%columns", tile.columns * tile.lanes))
    with builder.conditional(whole) as branches:
        with builder.conditional("%add") as adding:
            _write(builder, arithmetic, tile, sums, factor, add=True)
            adding.otherwise()
            _write(builder, arithmetic, tile, sums, factor, add=False)
        branches.otherwise()
        _write_edge(builder, arithmetic, tile, sums, factor)
    last = (f"{arithmetic.scalar} %factor",) if scaled else ("i1 %lossless",) if pairs == "bf16" else ()
    return builder.definition(tile_name(element, tile, scaled=scaled, pairs=pairs), (*PARAMETERS, *last), attributes=f"{SHARED} nounwind")


def _fetch(builder: FunctionBuilder, arithmetic: Arithmetic, tile: Tile) -> None:
    """Has the lines of C brought to the caches while the sums are computed; beyond an edge that does nothing."""
    for r in range(tile.rows):
        row = builder.offset("%c", arithmetic.scalar, builder.multiply(r, "%step"))
        for first in range(0, tile.columns * tile.lanes * arithmetic.bytes, LINE_BYTES):
            builder.line(f"call void @llvm.prefetch.p0(ptr {builder.offset(row, 'i8', first)}, i32 1, i32 3, i32 1)")


def _pair_sums(builder: FunctionBuilder, arithmetic: Arithmetic, tile: Tile, pairs: str) -> list[str]:
    """The sums of the tile from panels of pairs, by the instruction for pairs, or by multiply-adds of f32 where that would lose something."""
    words = Arithmetic(WORD, tile.lanes)

    def by_instruction() -> list[str]:
        return _sums(builder, arithmetic, words, tile, lambda a, b, sums: add_pairs(builder, pairs, tile.lanes, a, b, sums))

    def one_after_the_other(a: str, b: str, sums: str) -> str:
        (first, second), (others, more) = halves(builder, tile.lanes, a), halves(builder, tile.lanes, b)
        return arithmetic.multiply_add(builder, second, more, arithmetic.multiply_add(builder, first, others, sums))

    if pairs != "bf16":
        return by_instruction()
    with builder.conditional("%lossless", [arithmetic.vector] * (tile.rows * tile.columns)) as branches:
        branches.give(*by_instruction())
        branches.otherwise()
        branches.give(*_sums(builder, arithmetic, words, tile, one_after_the_other))
    return branches.results


def _sums(builder: FunctionBuilder, arithmetic: Arithmetic, given: Arithmetic, tile: Tile, add: Callable[[str, str, str], str]) -> list[str]:
    """The sums of the tile, row by row, in registers, by what adds the products of two elements of the panels, or pairs, to a sum."""
    kind, size, width = given.scalar, given.bytes, tile.columns * tile.lanes
    with builder.rotated_loop("%depth", [(arithmetic.vector, arithmetic.zero)] * (tile.rows * tile.columns)) as loop:
        column, row = builder.shared_offset("%a", kind, loop.index, tile.rows), builder.shared_offset("%b", kind, loop.index, width)
        vectors = [builder.load(given.vector, builder.shared_offset(row, kind, offset=v * tile.lanes), size) for v in range(tile.columns)]
        sums: list[str] = []
        for r in range(tile.rows):
            element = given.broadcast(builder, builder.load(kind, builder.shared_offset(column, kind, offset=r), size))
            for vector in vectors:
                sums.append(add(element, vector, loop.values[len(sums)]))
        loop.carry(*sums)
    return loop.results


def _write(builder: FunctionBuilder, arithmetic: Arithmetic, tile: Tile, sums: list[str], factor: str, *, add: bool) -> None:
    """Stores a whole tile, or adds it to C."""
    for r in range(tile.rows):
        row = builder.offset("%c", arithmetic.scalar, builder.multiply(r, "%step"))
        for v in range(tile.columns):
            place = builder.offset(row, arithmetic.scalar, v * tile.lanes)
            value = sums[r * tile.columns + v]
            old = builder.load(arithmetic.vector, place, arithmetic.bytes) if add else None
            value = _scaled(builder, arithmetic, value, factor, old)
            builder.store(arithmetic.vector, value, place, arithmetic.bytes)


def _write_edge(builder: FunctionBuilder, arithmetic: Arithmetic, tile: Tile, sums: list[str], factor: str) -> None:
    """Stores as many rows and columns as there are, or adds them to C."""
    kind, count = arithmetic.vector, tile.rows * tile.columns
    kept = builder.alloca(f"[{count} x {kind}]", 64)
    for number, value in enumerate(sums):
        builder.store(kind, value, builder.offset(kept, kind, number))
    masks = [_mask(builder, tile.lanes, v * tile.lanes) for v in range(tile.columns)]
    with builder.rotated_loop("%rows") as loop:
        row = builder.offset("%c", arithmetic.scalar, builder.multiply(loop.index, "%step"))
        sum_row = builder.offset(kept, kind, builder.multiply(loop.index, tile.columns))
        for v, mask in enumerate(masks):
            place = builder.offset(row, arithmetic.scalar, v * tile.lanes)
            value = builder.load(kind, builder.offset(sum_row, kind, v))
            with builder.conditional("%add", [kind]) as adding:
                old = _masked_load(builder, arithmetic, place, mask)
                adding.give(_scaled(builder, arithmetic, value, factor, old))
                adding.otherwise()
                adding.give(_scaled(builder, arithmetic, value, factor, None))
            _masked_store(builder, arithmetic, adding.results[0], place, mask)


def _scaled(builder: FunctionBuilder, arithmetic: Arithmetic, value: str, factor: str, old: str | None) -> str:
    """The sums by their factor, if there is one, added to what is there already."""
    if factor:
        return arithmetic.multiply_add(builder, value, factor, old)
    return value if old is None else arithmetic.add(builder, old, value)


def _mask(builder: FunctionBuilder, lanes: int, first: int) -> str:
    """Which lanes are columns of C; a single lane is a branch of its own."""
    kind = f"<{lanes} x i64>"
    numbers = "<" + ", ".join(f"i64 {first + lane}" for lane in range(lanes)) + ">"
    return builder.icmp("slt", kind, numbers, builder.splat("i64", "%columns", lanes)) if lanes > 1 else builder.icmp("slt", "i64", first, "%columns")


def _masked_load(builder: FunctionBuilder, arithmetic: Arithmetic, place: str, mask: str) -> str:
    kind, lanes = arithmetic.vector, arithmetic.lanes
    if lanes > 1:
        operands = f"ptr {place}, i32 {arithmetic.bytes}, <{lanes} x i1> {mask}, {kind} zeroinitializer"
        return builder.op(f"call {kind} @llvm.masked.load.{arithmetic.suffix}.p0({operands})")
    with builder.conditional(mask, [kind]) as branches:
        branches.give(builder.load(kind, place, arithmetic.bytes))
        branches.otherwise()
        branches.give(arithmetic.zero)
    return branches.results[0]


def _masked_store(builder: FunctionBuilder, arithmetic: Arithmetic, value: str, place: str, mask: str) -> None:
    kind, lanes = arithmetic.vector, arithmetic.lanes
    if lanes > 1:
        builder.line(f"call void @llvm.masked.store.{arithmetic.suffix}.p0({kind} {value}, ptr {place}, i32 {arithmetic.bytes}, <{lanes} x i1> {mask})")
        return
    with builder.when(mask):
        builder.store(kind, value, place, arithmetic.bytes)

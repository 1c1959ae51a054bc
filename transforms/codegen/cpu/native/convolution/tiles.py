"""Emits the inner loops of direct convolutions: tiles of the result in registers, whose operands are addressed by tables.

A tile is some rows by some vectors of columns. Row i is read from ``a`` at its offset in a table, vector j from ``b``, and both move
along the contraction by a second table: what a convolution reads at is affine in each of its five or seven dimensions, but with the
offsets in tables all of them are one loop, for any strides, dilations and layouts, and images of 7 by 7 fill tiles
like large ones. The tables take a load of four bytes per step of a tile, which has 8 to 24 multiply-adds.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.tiling import turn_cost

MOST_ROWS = 8
"""Each row of a tile has a pointer in a register."""
MOST_VECTORS = 4
PARAMETERS = (
    "ptr noalias %a",
    "ptr noalias %rows",
    "i64 %tiles",
    "ptr noalias %b",
    "ptr noalias %columns",
    "ptr noalias %steps",
    "i64 %k",
    "i64 %step",
    "ptr noalias %c",
    "i64 %apart",
)


class Tile(Struct, frozen=True):
    """The form of a tile.

    ``scattered``: vectors of B and C are found by a table of columns, and B by the table of steps; otherwise the vectors are neighbours, and
    B moves on by ``step``. ``adds``: to what C holds. ``active``: how many lanes of the last vector count. ``strided``: columns of
    C are ``apart`` elements from one another, which scattered ones can be. ``lanewise``: A has columns as well, and each is multiplied by that of B.
    """

    element: str
    lanes: int
    rows: int
    vectors: int
    scattered: bool
    adds: bool
    active: int
    strided: bool
    lanewise: bool

    @property
    def symbol(self) -> str:
        flags = "".join(name for name, on in (("s", self.scattered), ("a", self.adds), ("t", self.strided), ("w", self.lanewise)) if on)
        return f"wg.convolution.{self.element}.{self.rows}x{self.vectors}x{self.lanes}.{self.active}{flags}"


def best_shape(rows: int, vectors: int, registers: int) -> tuple[int, int]:
    """Rows and vectors of the tiles that cover so many at the least cost; rows that are too many are computed twice."""
    best = (float("inf"), 1, 1)
    for wide in range(1, min(MOST_VECTORS, vectors) + 1):
        full, rest = divmod(vectors, wide)
        for tall in range(1, min(MOST_ROWS, rows, (registers - 1 - wide) // wide) + 1):
            cost = -(-rows // tall) * (full * turn_cost(tall, wide) + (turn_cost(tall, rest) if rest else 0.0))
            best = min(best, (cost, tall, wide))
    return best[1:]


def tile_function(tile: Tile, attributes: str) -> str:
    """The function: all tiles below one another of one group of columns."""
    builder, arithmetic = FunctionBuilder(), Arithmetic(tile.element, tile.lanes)
    kind, size = arithmetic.scalar, arithmetic.bytes

    def entry(table: str, index: str, scale: int, offset: int) -> str:
        return builder.cast("sext", builder.load("i32", builder.shared_offset(table, "i32", index, scale, offset), 4), "i32", "i64")

    def moved(pointer: str, by: str) -> str:
        return builder.offset(pointer, kind, by)

    if tile.scattered:
        sources = [moved("%b", entry("%columns", "0", 0, 2 * v)) for v in range(tile.vectors)]
        places = [entry("%columns", "0", 0, 2 * v + 1) for v in range(tile.vectors)]
    else:
        sources = [builder.shared_offset("%b", kind, offset=v * tile.lanes) for v in range(tile.vectors)]
        places = [str(v * tile.lanes) for v in range(tile.vectors)]
    with builder.rotated_loop("%tiles") as outer:
        rows = [moved("%a", entry("%rows", outer.index, 2 * tile.rows, 2 * r)) for r in range(tile.rows)]
        results = [moved("%c", entry("%rows", outer.index, 2 * tile.rows, 2 * r + 1)) for r in range(tile.rows)]
        with builder.rotated_loop("%k", [(arithmetic.vector, arithmetic.zero)] * (tile.rows * tile.vectors)) as loop:
            a_step = entry("%steps", loop.index, 2 if tile.scattered else 1, 0)
            b_step = entry("%steps", loop.index, 2, 1) if tile.scattered else builder.binary("mul", "i64", loop.index, "%step")
            vectors = [builder.load(arithmetic.vector, moved(source, b_step), size) for source in sources]
            sums: list[str] = []
            for row in rows:
                at = moved(row, a_step)
                value = "" if tile.lanewise else arithmetic.broadcast(builder, builder.load(kind, at, size))
                for v, vector in enumerate(vectors):
                    if tile.lanewise:
                        value = builder.load(arithmetic.vector, builder.shared_offset(at, kind, offset=v * tile.lanes), size)
                    sums.append(arithmetic.multiply_add(builder, value, vector, loop.values[len(sums)]))
            loop.carry(*sums)
        stores = [(loop.results[r * tile.vectors + v], moved(result, places[v]), v) for r, result in enumerate(results) for v in range(tile.vectors)]
        if tile.adds:  # all loads before all stores: the last rows may be the same
            stores = [(arithmetic.add(builder, _load(builder, tile, arithmetic, at, v), value), at, v) for value, at, v in stores]
        for value, at, v in stores:
            _store(builder, tile, arithmetic, value, at, v)
    return builder.definition(tile.symbol, PARAMETERS, attributes=f"noinline {attributes}")


def _active(tile: Tile, vector: int) -> int:
    return tile.active if vector == tile.vectors - 1 or tile.scattered else tile.lanes


def _load(builder: FunctionBuilder, tile: Tile, arithmetic: Arithmetic, pointer: str, vector: int) -> str:
    assert not tile.strided, "sums are added up where columns are neighbours"
    assert _active(tile, vector) == tile.lanes, "sums are added up in whole vectors"
    return builder.load(arithmetic.vector, pointer, arithmetic.bytes)


def _store(builder: FunctionBuilder, tile: Tile, arithmetic: Arithmetic, value: str, pointer: str, vector: int) -> None:
    kind, size, active = arithmetic.scalar, arithmetic.bytes, _active(tile, vector)
    if tile.lanes == 1 or not (tile.strided or active < tile.lanes):
        builder.store(arithmetic.vector, value, pointer, size)
    elif not tile.strided:
        part = builder.shuffle(kind, tile.lanes, value, "poison", range(active))
        builder.store(f"<{active} x {kind}>", part, pointer, size)
    else:
        for lane in range(active):
            scalar = builder.extract(kind, tile.lanes, value, lane)
            if lane:
                pointer = builder.offset(pointer, kind, "%apart")
            builder.store(kind, scalar, pointer, size)

"""Cuts the result of a matrix product into tiles that fit the vector registers.

A tile of r rows by v vectors keeps r v accumulators, v vectors of B and one broadcast element of A in registers.  Columns that do not
fill a vector are covered by a last vector that overlaps its neighbour (both store the same values), so no mask is needed; fewer columns
than a vector has lanes use a shorter vector.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from wengert.dialects.kernel.product_schedule import Tile


class Group(Struct, frozen=True):
    """`count` column groups next to one another from column `start`, each `width` wide, its vectors at `offsets`."""

    start: int
    count: int
    width: int
    offsets: tuple[int, ...]


@lru_cache(maxsize=1024)
def column_tile(m: int, n: int, registers: int, most_lanes: int, tallest: int = 64) -> Tile:
    """The cheapest tile with vectors along n, by a model of the processor: two multiply-adds per cycle with a latency of five, and loads that cost a little.

    It has at most ``tallest`` rows.
    """
    lanes = min(most_lanes, n)
    vectors = -(-n // lanes)
    best: tuple[float, int, int] | None = None
    for wide in sorted({balanced(vectors, most) for most in range(1, min(6, vectors) + 1)}):
        for tall in range(1, min(m, tallest, (registers - 1 - wide) // wide) + 1):
            cost = tiling_cost(parts(m, tall), parts(vectors, wide))
            # Ties go to the wider tile, which reads A less often.
            if best is None or cost <= best[0]:
                best = (cost, tall, wide)
    assert best is not None
    _, rows, wide = best
    return Tile(rows, wide, lanes)


def dot_tile(m: int, n: int, k: int, registers: int, most_lanes: int) -> Tile:
    """The tile with vectors along k."""
    rows = balanced(m, 4)
    return Tile(rows, balanced(n, max(1, min(3, (registers - 4) // rows))), min(most_lanes, k))


def tiling_cost(row_parts: list[tuple[int, int]], column_parts: list[tuple[int, int]]) -> float:
    """Cycles per step along k over all tiles; every further loop body costs code and start-up."""
    cycles = sum(r_times * c_times * turn_cost(rows, columns) for rows, r_times in row_parts for columns, c_times in column_parts)
    return cycles * (1 + 0.04 * (len(row_parts) * len(column_parts) - 1))


def balanced(total: int, most: int) -> int:
    """The size of a part when `total` is cut into as few parts of at most `most` as possible."""
    pieces = -(-total // most)
    return -(-total // pieces)


def parts(total: int, size: int) -> list[tuple[int, int]]:
    """(size, count) of the full parts and of the rest."""
    full, rest = divmod(total, size)
    return [(size, full)] + ([(rest, 1)] if rest else [])


def smallest(tile: Tile, m: int, vectors: int) -> int:
    """The registers of the smallest tile that is there, that of the rest of the rows and of the columns."""
    return min([rows for rows, count in parts(m, tile.rows) if count]) * min([columns for columns, count in parts(vectors, tile.columns) if count])


def turn_cost(rows: int, vectors: int) -> float:
    """Cycles of one step along k."""
    accumulators = rows * vectors
    latency = 5.0 / min(4, max(1, 8 // accumulators))
    return max(accumulators / 2, latency) + 0.15 * (rows + vectors) + 0.5


def column_groups(n: int, lanes: int, wide: int) -> tuple[Group, ...]:
    """Groups of `wide` vectors, and a last one for the rest."""
    width = lanes * wide
    full = n // width
    groups: list[Group] = []
    if full:
        groups.append(Group(0, full, width, tuple(range(0, width, lanes))))
    start = min(full * width, n - lanes)
    rest = n - start
    if full * width < n:
        offsets = [*range(0, rest - lanes, lanes), rest - lanes]
        groups.append(Group(start, 1, rest, tuple(offsets)))
    return tuple(groups)

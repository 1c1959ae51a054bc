"""Chooses the tile and the blocks of a product in blocks, from the caches of the processor and what a block costs.

Every tile reads a panel of A, which stays in the first-level cache while the tiles beside it are computed, and one after another the panels of B, which
fill half of the second-level cache. So many columns at once are worth more than many terms: a block of C copies its rows of A once for all of its
columns, and its columns of B once for all of its rows. Small blocks balance better between threads. How many there will be is not known,
so that what is chosen does well on average for 1 to 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, prod

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.dialects.kernel.product_schedule import Blocks, Tile
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.products.plan import MatmulPlan
from wengert.transforms.schedule.products.tiling import balanced
from wengert.transforms.schedule.target import Target

MOST_VECTORS = 2
"""The registers beside one another in a tile: more would read A less often, which is in the first-level cache, and leave fewer rows to each element of B."""
TILE_ROWS = 0.5
"""What beginning and ending a tile costs, in rows."""
SAVED = 0.985
"""Tiles of other sizes are functions of their own, so they have to save so much."""
FEW_ROWS = 12
"""Smaller tiles are not made smaller."""
MOST_COLUMNS = 1024
SHALLOW_ROWS = 32
"""So few rows take less time than copying B: its panels and the terms that come next, fetched meanwhile, had better stay in the second-level cache together."""
LEAST_DEPTH, MOST_DEPTH = 64, 384
"""Fewer terms at a time write C too often."""
PANEL_BYTES = 1 << 14
"""A panel of A of more bytes does not stay in the first-level cache while those of B pass by."""
DEPTH_UNIT = 16
"""Terms that lie side by side are copied so many at once."""
COPY_BYTE_NS = 0.05
"""Copying a byte of an operand into a panel."""
THREADS = (1, 2, 4, 8, 16)
"""For so many threads the blocks are balanced."""
MOST_LOST = 1.08
"""One thread does not take longer for blocks that several can share, and that are not joined, by more than this."""
MOST_BLOCKS = 256


def block_tile(plan: MatmulPlan, target: Target) -> Tile:
    """The tile: two registers of columns by as many rows as the registers allow, or fewer where C has not so many."""
    lanes = min(target.vector_bytes // ELEMENT_BYTES[plan.element], plan.n)
    columns = min(MOST_VECTORS, -(-plan.n // lanes))
    most = (target.vector_registers - 1 - MOST_VECTORS) // MOST_VECTORS
    return Tile(_tile_rows(plan.m, balanced(plan.m, most)), columns, lanes)


def _tile_rows(extent: int, rows: int) -> int:
    """So many rows, or one less if rows at the edge that are computed in vain are then fewer by more than a tile of one row costs."""
    if rows < FEW_ROWS:
        return rows
    cost, less = (ceil(extent / each) * (each + TILE_ROWS) for each in (rows, rows - 1))
    return rows - 1 if less < SAVED * cost else rows


def choose_blocks(plan: MatmulPlan, tile: Tile, target: Target, flops_per_ns: float, *, parallel: bool) -> tuple[Blocks, int]:
    """The blocks of C and the terms at a time, and with how many columns neighbours are computed together; ``parallel`` if threads may share them."""
    each, width, size = 2 if plan.paired else 1, tile.columns * tile.lanes, _operand_bytes(plan)
    room = target.second_level_bytes // 2 // size
    columns = min(MOST_COLUMNS, max(width, room // LEAST_DEPTH), _whole(plan.n, width))
    if not parallel:
        wide = _even(plan.n, ceil(plan.n / columns), width)
        return Blocks(_whole(plan.m, tile.rows), wide, _depth(plan.k, tile, size, each, room // wide)), 0

    if plan.element != plan.result_element:  # sums of another type than the result are kept for one block
        rows, wide = _apart(plan, tile, columns, flops_per_ns)
        return Blocks(rows, wide, _depth(plan.k, tile, size, each, room // wide)), 0
    rows, wide = _joined(plan, tile, columns, flops_per_ns, awake=target.awake)
    together = columns // wide * wide
    if plan.m <= SHALLOW_ROWS:
        room //= 4
    return Blocks(rows, wide, _depth(plan.k, tile, size, each, room // together)), together


def _operand_bytes(plan: MatmulPlan) -> int:
    """The bytes of an element of the operands in panels: two of them take the memory of an element of the sums where they are in pairs."""
    return ELEMENT_BYTES[plan.element] // (2 if plan.paired else 1)


def _shapes(m: int, n: int, tile: Tile, columns: int) -> Iterator[tuple[int, int]]:
    """The sizes that blocks of at most so many columns may have."""
    for wide in _parts(n, tile.columns * tile.lanes):
        if wide <= columns:
            yield from ((rows, wide) for rows in _parts(m, tile.rows))


def _apart(plan: MatmulPlan, tile: Tile, columns: int, flops_per_ns: float) -> tuple[int, int]:
    """The rows and columns of blocks each of which is computed on its own."""
    around = prod(loop.size for loop in plan.loops)

    def cost(rows: int, wide: int, threads: int) -> float:
        """The time of so many threads together, those that wait for others among them."""
        count = ceil(plan.m / rows) * ceil(plan.n / wide) * around
        return threads * ceil(count / threads) * _block_ns(plan.k, _operand_bytes(plan), rows, wide, flops_per_ns)

    sizes = list(_shapes(plan.m, plan.n, tile, columns))
    alone = min(cost(*shape, 1) for shape in sizes)
    sizes = [shape for shape in sizes if cost(*shape, 1) <= MOST_LOST * alone]
    return min(sizes, key=lambda shape: (sum(cost(*shape, threads) for threads in THREADS), -shape[0] * shape[1]))


def _joined(plan: MatmulPlan, tile: Tile, columns: int, flops_per_ns: float, *, awake: bool) -> tuple[int, int]:
    """The rows and columns of blocks of which a thread computes neighbours together: one thread takes as long for small ones as for large ones."""
    sizes = plan.m, plan.n, plan.k, prod(loop.size for loop in plan.loops)
    return _best_joined(sizes, tile, columns, _operand_bytes(plan), wanted_chunks(plan.flops / flops_per_ns, awake=awake), flops_per_ns)


@lru_cache(maxsize=1024)
def _best_joined(sizes: tuple[int, int, int, int], tile: Tile, columns: int, operand_bytes: int, most: int, flops_per_ns: float) -> tuple[int, int]:
    """Of at most so many blocks of at most so many columns those that take the least time; remembered, since layers of a model have products alike.

    ``sizes`` are those of the product and the iterations of the loops around it.
    """
    m, n, k, around = sizes

    def cost(shape: tuple[int, int]) -> tuple[float, int]:
        """The time of the threads together, those that wait for others among them, for every number of threads."""
        rows, wide = shape
        below, beside = ceil(m / rows), ceil(n / wide)
        count = below * beside * around

        def of(threads: int) -> float:
            # Threads claim a share of what is left at a time, and single blocks at last.
            run = min(max(count // (2 * threads), 1), below * beside)
            tall, across = min(run, below), ceil(run / below)
            busiest = ceil(count / threads) if count < 2 * threads else count / threads + 0.5
            return threads * busiest / (tall * across) * _block_ns(k, operand_bytes, tall * rows, across * wide, flops_per_ns)

        return sum(map(of, THREADS[1:])), -rows * wide

    shapes = list(_shapes(m, n, tile, columns))
    return min((shape for shape in shapes if ceil(m / shape[0]) * ceil(n / shape[1]) * around <= most), key=cost, default=shapes[0])


def _depth(terms: int, tile: Tile, size: int, each: int, most: int) -> int:
    """The terms at a time, of which an instruction takes so many: equal parts of all, of about as many as there is room for."""
    most = max(LEAST_DEPTH, min(MOST_DEPTH * each, PANEL_BYTES // (tile.rows * size), most))
    return terms if terms <= most else _whole(balanced(terms, most), DEPTH_UNIT * each)


def _block_ns(k: int, operand_bytes: int, rows: int, columns: int, flops_per_ns: float) -> float:
    """About how long a block takes."""
    return k * (2 * rows * columns / flops_per_ns + COPY_BYTE_NS * operand_bytes * (rows + columns))


def _parts(extent: int, unit: int) -> Iterator[int]:
    """The sizes of equal parts of an extent, in whole units."""
    units = -(-extent // unit)
    last = 0
    for count in range(1, min(units, MOST_BLOCKS) + 1):
        part = _even(extent, count, unit)
        if part != last:
            yield part
        last = part


def _even(extent: int, count: int, unit: int) -> int:
    """The size of so many equal parts, in whole units."""
    units = ceil(extent / unit)
    return ceil(units / count) * unit


def _whole(extent: int, unit: int) -> int:
    """The extent in whole units."""
    return -(-extent // unit) * unit

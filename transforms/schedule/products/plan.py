"""The plan of a product under a schedule: one matrix product C = A B, the loops around it, and the scratch memory that both need.

The innermost m, n and k form the matrix product; what cannot be merged becomes a loop around it, except contracted dimensions, which
need a copy of the operand.  The result is contiguous in the order of dot_general: batch, m, n. Nothing is chosen here.
"""

from __future__ import annotations

import math
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES, pair_element
from wengert.dialects.kernel.product_schedule import Blocks, Method, Over, ProductSchedule, Side, Tile
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.products.operands import (
    Dimension,
    Operand,
    Product,
    contraction,
    copy_dimensions,
    copy_order,
    laid_out,
    merge,
)
from wengert.transforms.schedule.products.tiling import Group, column_groups

VECTORS = ("rows", "packed", "gathered")
"""The kernels with vectors along n."""
GROUP = 8
"""So many panels beside one another are copied together where rows of A, or columns of B, are neighbours (measured: 4 to 16 are about as good)."""
MOST_SETS = 4
"""A tile is there at most so many times."""


class Loop(Struct, frozen=True):
    """A loop around the matrix product and the steps of the three pointers, in elements."""

    size: int
    a: int
    b: int
    c: int


class Copy(Struct, frozen=True):
    """A contiguous copy of an operand at this offset of the scratch memory: its element type, dimensions in order, their strides in it."""

    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset_bytes: int


class MatmulPlan(Struct, frozen=True):
    """C[i, j] = sum over p of A[i, p] B[p, j] inside `loops`; strides count elements.

    ``stored`` are the element types of A and B as the kernel reads them, which are not ``element`` where it converts them.

    The method, the tile and `exchanged` are those of the schedule (:mod:`wengert.dialects.kernel.product_schedule`). The function needs
    `scratch_bytes` bytes of scratch memory; packed panels start at `panel_offset`, those of A before those of B where both are packed.
    """

    element: str
    loops: tuple[Loop, ...]
    m: int
    n: int
    k: int
    a_m: int
    a_k: int
    b_k: int
    b_n: int
    c_m: int
    c_n: int
    copy_a: Copy | None
    copy_b: Copy | None
    scratch_bytes: int
    result_element: str
    stored: tuple[str, str] = ("", "")
    method: Method = "rows"
    tile: Tile = Tile()
    blocks: Blocks | None = None
    together: int = 0
    paired: bool = False
    normalised: bool = False
    accumulators: int = 1
    unrolled: int = 0
    result_offset: int = 0
    exchanged: bool = False
    panel_offset: int = 0

    @property
    def empty(self) -> bool:
        """Whether the result has no element."""
        return self.m == 0 or self.n == 0 or any(loop.size == 0 for loop in self.loops)

    @property
    def result_size(self) -> int:
        """The number of elements of the result."""
        return self.m * self.n * math.prod(loop.size for loop in self.loops)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.k * self.result_size

    @property
    def symbols(self) -> tuple[str, ...]:
        """External functions that the text calls; see `blas.py`."""
        return (f"wg.blas.{'s' if self.element == 'f32' else 'd'}gemm",) if self.method == "blas" and not self.empty else ()

    def sets(self, registers: int) -> int:
        """How often a tile of so many registers is there, for neighbouring terms."""
        return min(MOST_SETS, max(1, self.accumulators // registers), self.k)

    @property
    def block_rows(self) -> int:
        """The blocks of C below one another."""
        assert self.blocks is not None
        return -(-self.m // self.blocks.rows)

    @property
    def block_columns(self) -> int:
        """The blocks of C beside one another."""
        assert self.blocks is not None
        return -(-self.n // self.blocks.columns)

    @property
    def block_count(self) -> int:
        """The blocks of C, in all iterations of the loops around it."""
        return self.block_rows * self.block_columns * math.prod(loop.size for loop in self.loops)

    @property
    def a_panels(self) -> int:
        """The elements of the panels of A that are copied together."""
        rows = self.tile.rows * self.a_group
        return self._panels(rows, rows, self.tile.rows)

    @property
    def a_group(self) -> int:
        """How many panels of A are copied together."""
        assert self.blocks is not None
        return self._group(self.a_m, min(self.m, self.blocks.rows), self.tile.rows)

    @property
    def b_group(self) -> int:
        """How many panels of B are copied together."""
        assert self.blocks is not None
        return self._group(self.b_n, min(self.n, self.blocks.columns), self.tile.columns * self.tile.lanes)

    def _group(self, step: int, extent: int, width: int) -> int:
        return min(GROUP, -(-extent // width)) if step == 1 and self.tile.lanes > 1 else 1

    @property
    def b_panels(self) -> int:
        """The elements of the panels of B of one block, or of those that are computed together."""
        return self._panels(self.n, max(self.blocks.columns, self.together) if self.blocks else 0, self.tile.columns * self.tile.lanes)

    @property
    def pairs(self) -> str:
        """The elements of which the panels hold pairs, "" if they hold single ones. A pair has the size of an element of the sums."""
        return pair_element(self.stored, self.element) if self.paired else ""

    @property
    def panel_depth(self) -> int:
        """The terms, or pairs of terms, of a panel."""
        assert self.blocks is not None
        terms = min(self.k, self.blocks.depth)
        return -(-terms // 2) if self.paired else terms

    @property
    def panel_factors(self) -> int:
        """The panels of B of one block of which something is kept: a factor if they are normalised, the least exponent if they hold pairs of floats."""
        kept = self.normalised or self.pairs == "bf16"
        return self.b_panels // (self.tile.columns * self.tile.lanes * self.panel_depth) if kept and self.blocks else 0

    @property
    def apart_elements(self) -> int:
        """The elements of a block of C whose sums are of another type than the result, and are converted when they are complete."""
        if self.blocks is None or self.element == self.result_element:
            return 0
        return min(self.m, self.blocks.rows) * self.block_pitch

    @property
    def block_pitch(self) -> int:
        """The distance of the rows of a block of C that is computed apart."""
        assert self.blocks is not None
        return min(self.n, self.blocks.columns)

    def _panels(self, extent: int, block: int, width: int) -> int:
        assert self.blocks is not None
        return -(-min(extent, block) // width) * width * self.panel_depth

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of columns that a kernel with vectors along n goes through."""
        return column_groups(self.n, self.tile.lanes, self.tile.columns)


class Parts(Struct, frozen=True):
    """The plan of all parts but a smaller last one, that of the last one, and how far the pointers move from part to part; the loops, where all are shared."""

    part: MatmulPlan
    rest: MatmulPlan | None
    a: int
    b: int
    c: int
    cut: Split
    over: Over = "loop"
    loops: tuple[Loop, ...] = ()

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory of one part."""
        return max(self.part.scratch_bytes, self.rest.scratch_bytes if self.rest is not None else 0)


@lru_cache(maxsize=1024)
def plan_of(product: Product, schedule: ProductSchedule) -> MatmulPlan:
    """The product as a schedule asks for, all of it in one piece."""
    core = core_of(product, schedule.copied)
    if schedule.exchanged:
        core = exchanged(core)
    if schedule.turned:
        core = with_turned_b(core)
    core = replace(
        core,
        method=schedule.kernel,
        tile=schedule.tile,
        blocks=schedule.blocks,
        together=schedule.together,
        accumulators=schedule.accumulators,
        unrolled=schedule.unrolled,
    )
    core = replace(core, normalised=schedule.normalised and schedule.kernel == "blocked", paired=schedule.paired and schedule.kernel == "blocked")
    if core.empty or (schedule.kernel != "packed" and schedule.blocks is None):
        return core
    if schedule.kernel == "packed":
        return with_panel(replace(core, panel_offset=core.scratch_bytes))
    return with_panels(replace(core, panel_offset=core.scratch_bytes if core.element == core.result_element else core.result_offset))


def parts_of(product: Product, schedule: ProductSchedule) -> Parts | None:
    """The parts that threads share; None if it is computed in one piece.

    Every part is the same product with fewer rows (or columns, or iterations), so it is one function that is called with other
    addresses; a last part that is smaller has a function of its own.
    """
    share = schedule.parallel
    if share is None:
        return None
    whole, chunk = plan_of(product, schedule), share.chunk
    if share.over == "blocks":
        return Parts(whole, None, 0, 0, 0, Split(whole.block_count, chunk, share.nanoseconds, joined=whole.together > 0), share.over)
    if share.over == "loops":
        return Parts(replace(whole, loops=()), None, 0, 0, 0, Split(iterations(whole), chunk, share.nanoseconds), share.over, whole.loops)
    extent, (a, b, c) = extent_of(whole, share.over), steps_of(whole, share.over)
    chunks = -(-extent // chunk)
    rest = part_of(whole, share.over, extent % chunk, last_tile(whole, schedule)) if extent % chunk else None
    part = part_of(whole, share.over, chunk, schedule.tile)
    return Parts(part, rest, chunk * a, chunk * b, chunk * c, Split(chunks, 1, share.nanoseconds))


def scratch_bytes(product: Product, schedule: ProductSchedule) -> int:
    """The scratch memory of a product, or of each of its parts."""
    parts = parts_of(product, schedule)
    return plan_of(product, schedule).scratch_bytes if parts is None else parts.scratch_bytes


def extent_of(plan: MatmulPlan, over: Over) -> int:
    """How many rows, columns, blocks or iterations may be shared."""
    if over == "blocks":
        return plan.block_count
    if over == "loops":
        return iterations(plan)
    return plan.m if over == "rows" else plan.n if over == "columns" else plan.loops[0].size


def iterations(plan: MatmulPlan) -> int:
    """How many iterations all loops around the product have."""
    return math.prod([loop.size for loop in plan.loops])


def steps_of(plan: MatmulPlan, over: Over) -> tuple[int, int, int]:
    """How far the three pointers move from one of them to the next, in elements."""
    if over == "loop":
        return plan.loops[0].a, plan.loops[0].b, plan.loops[0].c
    return (plan.a_m, 0, plan.c_m) if over == "rows" else (0, plan.b_n, plan.c_n)


def part_of(plan: MatmulPlan, over: Over, size: int, tile: Tile) -> MatmulPlan:
    """The same product with fewer rows, columns or iterations, and its own tile."""
    if over == "loop":
        first, *others = plan.loops
        return replace(plan, loops=(replace(first, size=size), *others))
    part = replace(plan, m=size, tile=tile) if over == "rows" else replace(plan, n=size, tile=tile)
    return with_panel(part) if plan.method == "packed" else part


def last_tile(whole: MatmulPlan, schedule: ProductSchedule) -> Tile:
    """The tile of the last, smaller part: as much of the others' as fits if none is named."""
    share = schedule.parallel
    if schedule.last is not None or share is None or share.over in ("loop", "loops", "blocks"):
        return schedule.last or schedule.tile
    rest = extent_of(whole, share.over) % share.chunk
    return fitting(schedule.kernel, schedule.tile, *((rest, whole.n) if share.over == "rows" else (whole.m, rest)))


def fitting(kernel: Method, tile: Tile, m: int, n: int) -> Tile:
    """As much of a tile as there are rows and columns."""
    lanes = min(tile.lanes, n) if kernel in VECTORS else tile.lanes
    columns = -(-n // lanes) if kernel in VECTORS else n
    return Tile(min(tile.rows, m), min(tile.columns, columns), lanes)


@lru_cache(maxsize=1024)
def core_of(product: Product, copied: tuple[Side, ...]) -> MatmulPlan:
    """The innermost merged dimensions as the matrix product, the others as loops around it, with these operands copied."""
    a, b, copies, scratch = _with_copies(product, copied)
    depth = math.prod(a.shape[d] for d in a.contracting)
    contracted = contraction(a, b) if depth else []
    assert len(contracted) <= 1, "a schedule that is checked copies what does not merge"
    k, (a_k, b_k) = contracted[0] if contracted else (depth, (1, 1))
    m_size, n_size = (math.prod(operand.shape[d] for d in operand.free) for operand in (a, b))
    batches = merge([(a.shape[i], (a.strides[i], b.strides[j])) for i, j in zip(a.batch, b.batch, strict=True)])
    rows = merge([(a.shape[d], (a.strides[d], 0)) for d in a.free])
    columns = merge([(b.shape[d], (0, b.strides[d])) for d in b.free])
    m, (a_m, _) = rows[-1] if rows else (m_size, (0, 0))
    n, (_, b_n) = columns[-1] if columns else (n_size, (0, 1))
    loops = (*_loops_over(batches, m_size * n_size), *_loops_over(rows[:-1], m * n_size), *_loops_over(columns[:-1], n))
    stored = (product.element if copies[0] else product.stored[0], product.element if copies[1] else product.stored[1])
    core = MatmulPlan(product.element, loops, m, n, k, a_m, a_k, b_k, b_n, n_size, 1, copies[0], copies[1], scratch, product.result, stored)
    if product.element == product.result:
        return core
    size = aligned(core.result_size * ELEMENT_BYTES[product.element])
    return replace(core, result_offset=scratch, scratch_bytes=scratch + size)


def _loops_over(dimensions: list[Dimension], c_step: int) -> list[Loop]:
    """Loops over merged dimensions, the last of which moves C by `c_step`."""
    loops: list[Loop] = []
    for size, (a, b) in reversed(dimensions):
        loops.insert(0, Loop(size, a, b, c_step))
        c_step *= size
    return loops


def _with_copies(product: Product, copied: tuple[Side, ...]) -> tuple[Operand, Operand, tuple[Copy | None, Copy | None], int]:
    """The operands with the strides of their copies, the copies, and where in the scratch memory these end."""
    operands, copies = {"lhs": product.a, "rhs": product.b}, dict[str, Copy]()
    stored, scratch = dict(zip(("lhs", "rhs"), product.stored, strict=True)), 0
    order = copy_order(product, copied)
    for side in copied:
        operand = operands[side]
        dimensions = copy_dimensions(operand, order, before_free=side == "rhs")
        sizes = tuple([operand.shape[d] for d in dimensions])
        copies[side] = Copy(stored[side], sizes, tuple([operand.strides[d] for d in dimensions]), scratch)
        operands[side] = laid_out(operand, order, before_free=side == "rhs")
        scratch += aligned(math.prod(sizes) * ELEMENT_BYTES[product.element])
    return operands["lhs"], operands["rhs"], (copies.get("lhs"), copies.get("rhs")), scratch


def with_panel(plan: MatmulPlan) -> MatmulPlan:
    """The plan with room for a packed group of columns."""
    panel = plan.k * max(group.width for group in plan.groups) * ELEMENT_BYTES[plan.element]
    return replace(plan, scratch_bytes=plan.panel_offset + aligned(panel))


def with_panels(plan: MatmulPlan) -> MatmulPlan:
    """The plan with room for the panels of one block."""
    size = ELEMENT_BYTES[plan.element]
    sizes = (plan.a_panels, plan.b_panels, plan.panel_factors, plan.apart_elements)
    return replace(plan, scratch_bytes=plan.panel_offset + sum(aligned(count * size) for count in sizes))


def aligned(size: int) -> int:
    """The size rounded up to a multiple of a cache line."""
    return -(-size // 64) * 64


def exchanged(core: MatmulPlan) -> MatmulPlan:
    """C^T = B^T A^T."""
    loops = tuple(Loop(loop.size, loop.b, loop.a, loop.c) for loop in core.loops)
    sizes = {"m": core.n, "n": core.m, "a_m": core.b_n, "a_k": core.b_k, "b_k": core.a_k, "b_n": core.a_m, "c_m": core.c_n, "c_n": core.c_m}
    return replace(core, loops=loops, copy_a=core.copy_b, copy_b=core.copy_a, stored=core.stored[::-1], exchanged=True, **sizes)


def with_turned_b(core: MatmulPlan) -> MatmulPlan:
    """B copied so that its few columns are contiguous."""
    copy = Copy(core.stored[1], (core.n, core.k), (core.b_n, core.b_k), core.scratch_bytes)
    size = aligned(core.n * core.k * ELEMENT_BYTES[core.element])
    return replace(core, copy_b=copy, b_n=core.k, b_k=1, stored=(core.stored[0], core.element), scratch_bytes=core.scratch_bytes + size)

"""Chooses how a matrix product runs on a target: the kernel for its layout and sizes, the tile, and the parts that threads share.

The kernels with vectors along n go through groups of columns of B one after another anyway, so parts that are ranges of groups cost
nothing; parts by rows read (or pack) all of B each, and are made so large that this does not count.
"""

from __future__ import annotations

import math
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from wengert.dialects.kernel import MatmulOp
from wengert.dialects.kernel.product_elements import COMPLEX, ELEMENT_BYTES, pair_element
from wengert.dialects.kernel.product_schedule import Method, Over, ProductSchedule, Share, Tile
from wengert.transforms.schedule.chunks import split, wanted_chunks
from wengert.transforms.schedule.products.blocking import block_tile, choose_blocks
from wengert.transforms.schedule.products.operands import Product, is_empty_sum, needed_copies
from wengert.transforms.schedule.products.plan import VECTORS, MatmulPlan, core_of, exchanged, extent_of, fitting, iterations, plan_of, with_turned_b
from wengert.transforms.schedule.products.tiling import column_tile, dot_tile, smallest
from wengert.transforms.schedule.target import Target

BLOCKED_VOLUME = 288**3
BLOCKED_VOLUME_TURNED = 160**3
"""From so many multiply-adds on, panels in the caches are worth their copies; earlier if an operand is read across its rows (measured)."""
BLOCKED_VOLUME_NARROW = 90**3
"""Still earlier if operands are narrower than the sums: what ``convert-operands`` leaves so is converted, or paired, in panels, or else in a slow copy."""
LEAST_BLOCKED = 16
"""With fewer rows or columns a copied element is not used often enough."""
PAIR_LANES = (4, 8, 16)
"""The sums of a register for which there are instructions that add up pairs."""
FAR_BYTES = 1 << 16
"""Rows of B that are further apart than this in total share few sets of the first-level cache: a copied column group stays in it."""
MANY_ROWS = 24
FEW_ROWS, MORE_ROWS = 8, 16
"""With fewer rows columns of B are read along k where they lie so, not copied; with more of them if B has LARGE_B elements (measured)."""
EXCHANGED_ROWS = 48
EXCHANGED_VOLUME = 144**3
"""Up to so many rows, and from so many multiply-adds on, by a B whose columns lie along k, vectors along the rows save turning B (0.35 to 0.75 of the time,
measured)."""
LARGE_B = 1 << 14
SMALL_B = 16
"""Up to this many elements, B is put together from scalar loads rather than copied: of more, a copy is as fast and a third of the code."""
ACCUMULATORS = 8
"""Fewer accumulators leave the multiply-add units waiting for one another; independent sets for neighbouring terms do not."""
UNROLLED = 24
"""Multiply-adds of a tile up to which its loop along k is written out."""
LEAST_ROWS = 128
FEWER_ROWS, NARROW_VECTORS = 16, 2
"""Parts of a product with few columns, where threads stay awake: of rows, which go through all of B, or, where B is copied, of columns."""
LEAST_COLUMNS = 64
ENOUGH = 8
"""So many parts by columns are enough."""
ENOUGH_ITERATIONS = 16
"""So many iterations of loops around the product are enough: they cost nothing."""
WAYS, WAY_BYTES = 8, 4096
"""Of a first-level cache; newer ones have 12 ways."""
BYTE_NS = 0.02
CYCLES_PER_NS = 3.0


def choose(product: Product, target: Target, *, parallel: bool = True) -> ProductSchedule:
    """Chooses how a product runs on a processor.

    Args:
        product: the product.
        target: the processor.
        parallel: it may be shared by the thread pool.
    """
    schedule = _kernel(product, target)
    plan = plan_of(product, schedule)
    if plan.empty or plan.k == 0:
        return schedule
    if schedule.kernel == "blocked":
        return _in_blocks(schedule, plan, target, parallel=parallel)
    whole = _tile(plan, plan.m, plan.n, target)
    share = _share(plan, whole, target) if parallel else None
    if share is None or share.over in ("loop", "loops"):
        return _with_tiles(schedule, plan, [_Part(plan.m, plan.n, whole)], share)
    sizes = [share.chunk, extent_of(plan, share.over) % share.chunk]
    extents = [(size, plan.n) if share.over == "rows" else (plan.m, size) for size in sizes if size]
    return _with_tiles(schedule, plan, [_Part(m, n, _tile(plan, m, n, target)) for m, n in extents], share)


def plain(product: Product) -> ProductSchedule:
    """How a product runs that has no schedule: one element of C after the other, on one thread, with the copies that it needs."""
    kernel: Method = "zero" if is_empty_sum(product.a) else "scalar" if product.element in COMPLEX else "rows"
    return ProductSchedule(kernel, needed_copies(product))


def schedule_of(op: MatmulOp, product: Product) -> ProductSchedule:
    """The schedule of an op that is this product."""
    return plain(product) if op.schedule is None else op.schedule.data


class _Part(Struct, frozen=True):
    """The sizes of a part, and its tile."""

    m: int
    n: int
    tile: Tile


def _with_tiles(schedule: ProductSchedule, plan: MatmulPlan, parts: list[_Part], share: Share | None) -> ProductSchedule:
    """The schedule with the tile of the first part, that of the last one if it is not what follows from it, and what small tiles do."""
    kernel, tile, last = schedule.kernel, parts[0].tile, parts[-1]
    if kernel not in (*VECTORS, "dot"):
        return replace(schedule, parallel=share)
    least = min([smallest(part.tile, part.m, -(-part.n // part.tile.lanes) if kernel in VECTORS else part.n) for part in parts])
    loops_along_k = kernel == "dot" or plan.k * max([part.tile.rows * part.tile.columns for part in parts]) > UNROLLED
    return replace(
        schedule,
        tile=tile,
        last=last.tile if last.tile != (tile if len(parts) == 1 else fitting(kernel, tile, last.m, last.n)) else None,
        accumulators=ACCUMULATORS if loops_along_k and 2 * least <= ACCUMULATORS else 1,
        unrolled=UNROLLED if kernel != "dot" and plan.k * least <= UNROLLED else 0,
        parallel=share,
    )


def _lanes(target: Target, element: str) -> int:
    """The number of elements in a register."""
    return target.vector_bytes // ELEMENT_BYTES[element]


@lru_cache(maxsize=1024)
def _kernel(product: Product, target: Target) -> ProductSchedule:
    """The kernel for the layout and the sizes, on one thread."""
    schedule = ProductSchedule(copied=needed_copies(product, converting=True))
    core = core_of(product, schedule.copied)
    if core.empty or core.k == 0:
        return replace(schedule, kernel="zero" if core.k == 0 else "rows")
    if core.element in COMPLEX:
        return replace(schedule, kernel="scalar")
    wide = _lanes(target, core.element)
    if _is_better_exchanged(core):
        core = exchanged(core)
        return replace(schedule, exchanged=True, kernel=_vector_kernel(core))
    if is_blocked(core, wide):
        return replace(schedule, kernel="blocked")
    if core.a_m == 1 and core.n < min(wide, core.m) and (core.k >= wide or core.n == 1):
        # For few columns and contiguous columns of A, vectors along m are better.
        core, schedule = exchanged(core), replace(schedule, exchanged=True)
    if core.k >= 2 * wide and core.a_k == 1:
        if core.b_k != 1 and core.n <= wide // 2 and core.m >= MANY_ROWS and may_turn(core):
            core, schedule = with_turned_b(core), replace(schedule, turned=True)
        if core.b_k == 1 and (core.n <= wide // 2 or (core.b_n != 1 and core.m < (MORE_ROWS if core.k * core.n >= LARGE_B else FEW_ROWS))):
            return replace(schedule, kernel="dot")
    return replace(schedule, kernel=_vector_kernel(core))


def _is_better_exchanged(core: MatmulPlan) -> bool:
    """Whether few rows of A had better be the columns of a transposed product: rows of B are then read as they lie, each once, in place of being turned."""
    in_rows = core.a_k == 1 and core.b_k == 1 and core.b_n != 1 and core.stored == (core.element, core.element)
    return in_rows and FEW_ROWS <= core.m <= EXCHANGED_ROWS and core.n >= core.m and core.m * core.k * core.n >= EXCHANGED_VOLUME


def _vector_kernel(core: MatmulPlan) -> Method:
    """How the vectors along n are read."""
    far = core.k * core.b_k * ELEMENT_BYTES[core.element] > FAR_BYTES and core.m >= MANY_ROWS
    if core.n == 1 or (core.b_n == 1 and not far):
        return "rows"
    return "gathered" if core.b_n != 1 and core.k * core.n <= SMALL_B else "packed"


def _tile(plan: MatmulPlan, m: int, n: int, target: Target) -> Tile:
    """The tile for so many rows and columns."""
    if plan.method in VECTORS:
        # Rows whose distance is a multiple of the bytes of a way share a set of the first-level cache.
        tallest = WAYS if plan.a_k == 1 and plan.a_m * ELEMENT_BYTES[plan.element] % WAY_BYTES == 0 else target.vector_registers
        return column_tile(m, n, target.vector_registers, _lanes(target, plan.element), tallest)
    return dot_tile(m, n, plan.k, target.vector_registers, _lanes(target, plan.element)) if plan.method == "dot" else Tile()


def is_blocked(core: MatmulPlan, lanes: int) -> bool:
    """Whether panels in the caches are worth their copies."""
    if core.a_k == 1 and core.n < 2 * lanes:
        return False
    as_it_lies, narrow = core.a_k == 1 and core.b_n == 1, core.stored != (core.element, core.element)
    least = BLOCKED_VOLUME_NARROW if narrow else BLOCKED_VOLUME if as_it_lies else BLOCKED_VOLUME_TURNED
    return min(core.m, core.n) >= LEAST_BLOCKED and core.m * core.n * core.k >= least


def _in_blocks(schedule: ProductSchedule, plan: MatmulPlan, target: Target, *, parallel: bool) -> ProductSchedule:
    """The tile and the blocks, and how many of these threads take at a time."""
    tile = block_tile(plan, target)
    plan = replace(plan, paired=_gains_by_pairs(plan, tile, target))
    work = nanoseconds(plan, target)
    parallel = parallel and wanted_chunks(work, awake=target.awake) > 1 and plan.copy_a is None and plan.copy_b is None
    blocks, together = choose_blocks(plan, tile, target, flops_per_ns(plan, target), parallel=parallel)
    count = replace(plan, blocks=blocks).block_count
    share = _ranges("blocks", count, work, target, most=count) if parallel else None
    normalised = target.slow_subnormals and plan.element in ("f32", "f64")
    together = together if share else 0
    return replace(schedule, tile=tile, blocks=blocks, together=together, paired=plan.paired, normalised=normalised and not plan.paired, parallel=share)


def _gains_by_pairs(plan: MatmulPlan, tile: Tile, target: Target) -> bool:
    """Whether the instruction that adds up pairs is there for these elements, and gains."""
    return tile.lanes in PAIR_LANES and target.gains_by_pairs(pair_element(plan.stored, plan.element))


def blas_reads(core: MatmulPlan) -> bool:
    """Whether gemm can read the operands: one stride is 1 and the other a leading dimension."""
    a_ok = (core.a_k == 1 and core.a_m >= core.k) or (core.a_m == 1 and core.a_k >= core.m)
    b_ok = (core.b_n == 1 and core.b_k >= core.n) or (core.b_k == 1 and core.b_n >= core.k)
    return core.element in ("f32", "f64") and a_ok and b_ok


def may_turn(core: MatmulPlan) -> bool:
    """Whether one copy of B serves all of the loops."""
    return core.copy_b is None and not any(loop.b for loop in core.loops)


def flops_per_ns(plan: MatmulPlan, target: Target) -> float:
    """Estimates how many multiplications and additions a core does in a nanosecond."""
    terms = 2 * target.pair_rate(plan.pairs) if plan.pairs else 1.0
    return CYCLES_PER_NS * (0.5 if plan.element in COMPLEX else 3.0 * terms * _lanes(target, plan.element))


def nanoseconds(plan: MatmulPlan, target: Target) -> float:
    """Estimates the nanoseconds of the product."""
    moved = ELEMENT_BYTES[plan.element] * (plan.m * plan.k + plan.k * plan.n + plan.m * plan.n) * math.prod(loop.size for loop in plan.loops)
    return max(plan.flops / flops_per_ns(plan, target), moved * BYTE_NS)


def _share(plan: MatmulPlan, tile: Tile, target: Target) -> Share | None:
    """The parts, if that pays and every part can do without the others."""
    if plan.copy_a is not None or plan.result_element != plan.element:
        return None
    work = nanoseconds(plan, target)
    wanted = wanted_chunks(work, awake=target.awake)
    if wanted < 2:
        return None
    around = () if plan.copy_b is not None else plan.loops
    if around and around[0].size >= min(ENOUGH_ITERATIONS, wanted):
        return _ranges("loop", around[0].size, work, target)
    if around and iterations(plan) >= min(ENOUGH, wanted):
        return _ranges("loops" if len(around) > 1 else "loop", iterations(plan), work, target)
    width = _least_columns(plan, tile)
    if plan.n >= min(ENOUGH, wanted) * width:
        return _ranges("columns", plan.n, work, target, unit=width, most=plan.n // width)
    if plan.m >= 2 * LEAST_ROWS:
        return _ranges("rows", plan.m, work, target, unit=tile.rows if plan.method in VECTORS else 8, most=plan.m // LEAST_ROWS)
    if plan.n >= 2 * width:
        return _ranges("columns", plan.n, work, target, unit=width, most=plan.n // width)
    if around and iterations(plan) > 1:
        return _ranges("loops" if len(around) > 1 else "loop", iterations(plan), work, target)
    if target.awake and plan.method == "rows" and plan.m >= 2 * FEWER_ROWS:
        return _ranges("rows", plan.m, work, target, unit=tile.rows, most=plan.m // FEWER_ROWS)
    narrow = NARROW_VECTORS * tile.lanes
    if target.awake and plan.method == "packed" and plan.copy_b is None and plan.n >= 2 * narrow:
        return _ranges("columns", plan.n, work, target, unit=narrow, most=plan.n // narrow)
    return None


def _ranges(over: Over, extent: int, work: float, target: Target, **limits: int) -> Share | None:
    cut = split(extent, work, awake=target.awake, **limits)
    return None if cut is None else Share(over, cut.grain, cut.nanoseconds)


def _least_columns(plan: MatmulPlan, tile: Tile) -> int:
    """The least number of columns that a part may have."""
    if plan.copy_b is not None:
        return plan.n
    return max(group.width for group in replace(plan, tile=tile).groups) if plan.method in VECTORS else LEAST_COLUMNS

"""Checks whether a matrix product can run as its schedule asks for, and says why not.

What is checked is whether results would be right, not whether they come fast.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from wengert.dialects.kernel import MatmulOp
from wengert.dialects.kernel.product_elements import COMPLEX, ELEMENT_BYTES, pair_element
from wengert.dialects.kernel.product_schedule import ProductSchedule, Tile
from wengert.ir.location.places import error_at
from wengert.transforms.schedule.products.choice import PAIR_LANES, blas_reads, may_turn
from wengert.transforms.schedule.products.operands import Product, contraction, copy_order, is_empty_sum, laid_out, product_of
from wengert.transforms.schedule.products.plan import VECTORS, MatmulPlan, core_of, exchanged, extent_of, last_tile, scratch_bytes, with_turned_b
from wengert.transforms.schedule.target import Target

Problem = tuple[str, str] | None
"""What a schedule asks for, and why that cannot be."""


class _Asked(NamedTuple):
    """The matrix product with the operands as the kernel reads them, and the schedule."""

    core: MatmulPlan
    schedule: ProductSchedule
    parallel: bool
    target: Target | None


def check(op: MatmulOp, schedule: ProductSchedule, target: Target, *, parallel: bool, room: int | None = None) -> None:
    """Raises a DiagnosticError at the op's place if it cannot run so. The arguments are those of :func:`problem_of`."""
    if problem := problem_of(product_of(op), schedule, target, parallel=parallel, room=room):
        raise error_at(op, f"the schedule asks for {problem[0]}, but {problem[1]}")


def problem_of(product: Product, schedule: ProductSchedule, target: Target | None = None, *, parallel: bool = True, room: int | None = None) -> Problem:
    """The reason why a product cannot run as a schedule asks; None if it can.

    Args:
        product: the product.
        schedule: how it should run.
        target: the processor; None if it does not matter whether that has the instructions.
        parallel: it may be shared by the thread pool (it is not part of something that is).
        room: the bytes of scratch memory that it has, if that is decided.
    """
    problem = _copies(product, schedule) or _inside(_asked(product, schedule, target, parallel=parallel))
    if problem is None and room is not None and (needed := scratch_bytes(product, schedule)) > room:
        return f"{needed} bytes of scratch memory", f"the launch has {room}: 'bufferize' gives what the schedule needs that is there when it runs"
    return problem


def _asked(product: Product, schedule: ProductSchedule, target: Target | None, *, parallel: bool) -> _Asked:
    core = core_of(product, schedule.copied)
    return _Asked(exchanged(core) if schedule.exchanged else core, schedule, parallel, target)


def _copies(product: Product, schedule: ProductSchedule) -> Problem:
    """Operands that must be copied are."""
    if is_empty_sum(product.a):
        return ("copies", "its sums are empty, and nothing is read") if schedule.copied else None
    for side, stored in zip(("lhs", "rhs"), product.stored, strict=True):
        if stored != product.element and side not in schedule.copied and schedule.kernel == "blas":
            return f"no copy of the {side}", f"its elements are converted from {stored} to {product.element}"
    order = copy_order(product, schedule.copied)
    a = laid_out(product.a, order) if "lhs" in schedule.copied else product.a
    b = laid_out(product.b, order, before_free=True) if "rhs" in schedule.copied else product.b
    if len(contraction(a, b)) > 1:
        return f"{' and '.join(schedule.copied) or 'no operand'} to be copied", "the contracted dimensions are not laid out as one in both operands"
    return None


def _inside(asked: _Asked) -> Problem:
    if asked.core.empty:
        return None
    for rule in (_kernel, _pairs, _turned, _contiguous, _shared, _tiles):
        if problem := rule(asked):
            return problem
    return None


def _kernel(asked: _Asked) -> Problem:
    kernel, core = asked.schedule.kernel, asked.core
    what = f"the kernel '{kernel}'"
    if (core.k == 0) != (kernel == "zero"):
        return what, "its sums are empty" if core.k == 0 else f"its sums have {core.k} terms"
    if kernel != "zero" and (core.element in COMPLEX) != (kernel == "scalar"):
        return what, "the elements are complex" if core.element in COMPLEX else "the elements are not complex"
    if kernel == "blocked" and (asked.schedule.blocks is None or asked.schedule.exchanged):
        return what, "it has no blocks" if asked.schedule.blocks is None else "it writes vectors along the rows of C"
    if kernel != "blocked" and asked.schedule.blocks is not None:
        return "blocks", f"the kernel '{kernel}' has none"
    if asked.schedule.together and core.element != core.result_element:
        return f"{asked.schedule.together} columns together", "sums of another type than the result are kept for one block"
    if asked.schedule.normalised and (kernel != "blocked" or core.element not in ("f32", "f64")):
        return "normalised panels", f"the kernel '{kernel}' has none" if kernel != "blocked" else "the elements are integers"
    if kernel == "blas" and (asked.schedule.exchanged or not blas_reads(core)):
        return what, "gemm reads f32 and f64, one dimension of each operand contiguous, and writes rows that are"
    return None


def _pairs(asked: _Asked) -> Problem:
    """Whether panels can hold pairs, and the processor has an instruction for them."""
    schedule, core, target = asked.schedule, asked.core, asked.target
    if not schedule.paired:
        return None
    if schedule.kernel != "blocked" or schedule.blocks is None:
        return "pairs of terms", f"the kernel '{schedule.kernel}' has no panels"
    element = pair_element(core.stored, core.element)
    if not element:
        return "pairs of terms", f"there are none for {' and '.join(core.stored)} with sums in {core.element}"
    if schedule.normalised:
        return "pairs of terms and normalised panels", "panels of pairs are not multiplied by anything"
    if schedule.blocks.depth % 2 and schedule.blocks.depth < core.k:
        return "pairs of terms", f"a pair is divided after {schedule.blocks.depth} terms"
    if schedule.tile.lanes not in PAIR_LANES:
        return "pairs of terms", f"their sums fill {', '.join(map(str, PAIR_LANES))} lanes, not {schedule.tile.lanes}"
    if target is not None and (not target.pair_rate(element) or schedule.tile.lanes * ELEMENT_BYTES[core.element] > target.vector_bytes):
        return "pairs of terms", f"the processor '{target.name}' has no instruction for {schedule.tile.lanes} pairs of {element}"
    return None


def _turned(asked: _Asked) -> Problem:
    if not asked.schedule.turned:
        return None
    if asked.schedule.kernel != "dot":
        return "B to be turned", "only 'dot' reads it so"
    return None if may_turn(asked.core) else ("B to be turned", "it is copied already, or moves with a loop around the product")


def _contiguous(asked: _Asked) -> Problem:
    core, schedule = asked.core, asked.schedule
    if schedule.kernel == "dot" and (core.a_k != 1 or (core.b_k != 1 and not schedule.turned)):
        return "the kernel 'dot'", "the terms of a sum are not neighbours in both operands"
    if schedule.kernel == "rows" and core.b_n != 1 and schedule.tile.lanes > 1:
        return f"the kernel 'rows' with {schedule.tile.lanes} lanes", "the columns of B are not neighbours: 'packed' and 'gathered' do without"
    return None


def _shared(asked: _Asked) -> Problem:
    share, core = asked.schedule.parallel, asked.core
    if share is None:
        return None
    what = f"parts of {share.chunk} {'iterations' if share.over in ('loop', 'loops') else share.over}"
    if not asked.parallel:
        return what, "the product is part of what runs in parallel already"
    if share.over == "blocks" and asked.schedule.kernel != "blocked":
        return what, f"the kernel '{asked.schedule.kernel}' has no blocks"
    if asked.schedule.kernel == "blocked" and share.over not in ("loop", "loops", "blocks"):
        return what, "a product in blocks is shared by blocks, or by iterations around it"
    whole = core.result_element != core.element and asked.schedule.kernel != "blocked"
    if core.copy_a is not None or whole or core.k == 0:
        return what, "all of an operand or of the result is converted, copied or filled in one piece"
    if share.over != "rows" and (core.copy_b is not None or asked.schedule.turned):
        return what, "all of B is copied in one piece"
    if share.over in ("loop", "loops") and not core.loops:
        return what, "there is no loop around the product"
    if share.chunk > (extent := extent_of(replace(core, blocks=asked.schedule.blocks), share.over)):
        return what, f"there are {extent}"
    return None


def _tiles(asked: _Asked) -> Problem:
    schedule, core = asked.schedule, with_turned_b(asked.core) if asked.schedule.turned else asked.core
    share = schedule.parallel
    if schedule.kernel == "blocked":
        return None if schedule.last is None else ("a tile of the last part", "all blocks have the same")
    if schedule.kernel not in (*VECTORS, "dot"):
        return None if schedule.tile == Tile() and schedule.last is None else ("a tile", f"the kernel '{schedule.kernel}' has none")
    if share is None or share.over in ("loop", "loops"):
        if schedule.last is not None:
            return "a tile of the last part", "all parts have the same rows and columns"
        return _tile(core, schedule, schedule.tile, core.m, core.n)
    sizes = [(share.chunk, schedule.tile)]
    if rest := extent_of(core, share.over) % share.chunk:
        sizes.append((rest, last_tile(core, schedule)))
    elif schedule.last is not None:
        return "a tile of the last part", "all parts are equal"
    extents = [((size, core.n) if share.over == "rows" else (core.m, size), tile) for size, tile in sizes]
    return next((problem for (m, n), tile in extents if (problem := _tile(core, schedule, tile, m, n))), None)


def _tile(core: MatmulPlan, schedule: ProductSchedule, tile: Tile, m: int, n: int) -> Problem:
    what = f"a tile of {tile.rows} by {tile.columns} registers of {tile.lanes} lanes"
    dot = schedule.kernel == "dot"
    if tile.lanes > (core.k if dot else n):
        return what, f"there are {core.k} terms" if dot else f"there are {n} columns"
    if tile.rows > m or tile.columns > (n if dot else -(-n // tile.lanes)):
        return what, f"C, or a part of it, is {m} by {n}"
    return None

"""The features of a matrix product: the multiplications of registers of its tiles, what they wait for, and what is copied before.

A tile of r rows by v registers multiplies r v registers for every term, and loads r + v. Of few registers, each waits for the term before, unless the terms
are written out one after the other, where those of the next tile begin meanwhile.
"""

from __future__ import annotations

from collections import Counter
from math import ceil, prod

from wengert.dialects.kernel import MatmulOp
from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.products.choice import schedule_of
from wengert.transforms.schedule.products.operands import product_of
from wengert.transforms.schedule.products.plan import VECTORS, Copy, MatmulPlan, plan_of
from wengert.transforms.schedule.products.tiling import Group

_LATENCY = 4
"""The cycles after which the result of a multiplication can be added to, of which two begin in each."""

_BLOCK = 4


def product_features(op: MatmulOp) -> Counter[str]:
    """The features of one execution of a product."""
    what = product_of(op)
    schedule = schedule_of(op, what)
    plan = plan_of(what, schedule)
    counted: Counter[str] = Counter()
    if plan.empty:
        return counted
    for copy in (plan.copy_a, plan.copy_b):
        if copy is not None:
            counted["product copied"] += _copied(copy)
    if plan.result_element != plan.element:
        counted["product copied"] += plan.result_size
    around = prod(loop.size for loop in plan.loops)
    by_method = {"blas": _blas, "blocked": _blocked, "dot": _dot, **dict.fromkeys(VECTORS, _rows)}
    inside = by_method.get(plan.method, _scalars)(plan)
    counted["product"] += around
    for name, count in inside.items():
        counted[name] += around * count
    return counted


def _copied(copy: Copy) -> int:
    """The elements of a copy."""
    return prod(copy.sizes)


def _blas(plan: MatmulPlan) -> Counter[str]:
    return Counter({"blas": 1, f"blas {plan.element} multiplication": plan.m * plan.n * plan.k})


def _scalars(plan: MatmulPlan) -> Counter[str]:
    return Counter({"product lone": plan.m * plan.n * plan.k, "product stored": plan.m * plan.n})


def _rows(plan: MatmulPlan) -> Counter[str]:
    """Vectors along the rows of the result."""
    counted: Counter[str] = Counter()
    tile, wide = plan.tile, _registers(plan, plan.tile.lanes)
    bodies = ceil(plan.m / tile.rows)
    for group in plan.groups:
        vectors = len(group.offsets)
        counted["product register"] += group.count * plan.m * vectors * wide * plan.k
        loads = bodies * vectors + plan.m
        counted["product load"] += group.count * plan.k * loads * wide
        if plan.method == "gathered":
            counted["product gathered"] += group.count * plan.k * bodies * group.width
        if plan.method == "packed":
            _packed(counted, plan, group)
        counted["product stored"] += group.count * plan.m * vectors * wide
        counted["product tile"] += group.count * bodies
        counted["product wait"] += group.count * bodies * _waits(plan, tile.rows * vectors * wide)
    return counted


def _blocked(plan: MatmulPlan) -> Counter[str]:
    """Tiles from panels, which are filled up at the edges; every block of C copies those that it reads."""
    assert plan.blocks is not None
    tile, wide, width = plan.tile, _registers(plan, plan.tile.lanes), plan.tile.columns * plan.tile.lanes
    beneath, beside, steps = ceil(plan.m / tile.rows), ceil(plan.n / width), ceil(plan.k / plan.blocks.depth)
    tiles, counted, multiplied = beneath * beside, Counter[str](), ceil(plan.k / 2) if plan.paired else plan.k
    counted["product register"] = tiles * tile.rows * tile.columns * wide * multiplied
    counted["product load"] = tiles * (tile.rows + tile.columns) * wide * multiplied
    counted["product stored"] = tiles * tile.rows * tile.columns * wide * steps
    counted["product tile"] = tiles * steps
    sides = ((plan.block_columns * beneath, tile.rows, plan.a_m, plan.a_k), (plan.block_rows * beside, width, plan.b_n, plan.b_k))
    for panels, size, step, turn in sides:
        elements = panels * size * plan.k
        if step == 1:
            counted["product packed row"] += panels * plan.k * ceil(size / tile.lanes)
        elif turn == 1:
            counted["product packed block"] += elements // _BLOCK**2
        else:
            counted["product packed element"] += elements
    return counted


def _packed(counted: Counter[str], plan: MatmulPlan, group: Group) -> None:
    """A group of columns is copied: by registers, in blocks that are transposed, or element by element."""
    if plan.b_n == 1:
        counted["product packed row"] += group.count * plan.k * len(group.offsets)
        return
    blocked_k, blocked_n = (plan.k - plan.k % _BLOCK, group.width - group.width % _BLOCK) if plan.b_k == 1 else (0, 0)
    blocked = blocked_k * blocked_n
    counted["product packed block"] += group.count * (blocked // _BLOCK**2)
    counted["product packed element"] += group.count * (plan.k * group.width - blocked)


def _dot(plan: MatmulPlan) -> Counter[str]:
    """Vectors along the sum."""
    tile = plan.tile
    terms = ceil(plan.k / tile.lanes)
    tiles = ceil(plan.m / tile.rows) * ceil(plan.n / tile.columns)
    wide = _registers(plan, tile.lanes)
    return Counter(
        {
            "product register": plan.m * plan.n * terms * wide,
            "product load": tiles * terms * (tile.rows + tile.columns) * wide,
            "product sum ended": plan.m * plan.n,
            "product tile": tiles,
            "product wait": tiles * max(0, terms * _LATENCY - terms * tile.rows * tile.columns // 2),
        }
    )


def _waits(plan: MatmulPlan, registers: int) -> int:
    """The cycles in which a tile waits for its sums."""
    sets = plan.sets(registers)
    if registers * plan.k <= plan.unrolled:
        return 0
    return max(0, ceil(plan.k / sets) * _LATENCY - plan.k * registers // 2)


def _registers(plan: MatmulPlan, lanes: int) -> int:
    return max(1, ceil(lanes * ELEMENT_BYTES[plan.element] / host().target.vector_bytes))

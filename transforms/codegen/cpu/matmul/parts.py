"""A product in parts that threads may compute: ranges of its outermost loop, of the rows of C, or of its columns.

Every part is the same product with fewer rows (or columns, or iterations), computed by the same method, so it is one function that is
called with other addresses; a last part that is smaller has a function of its own. The kernels with vectors along n go
through column groups of B one after another anyway, so ranges of groups cost nothing; parts by rows read (or pack) all of B each,
and are made so large that this does not count.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from wengert.transforms.codegen.cpu.matmul.emission import emit_function
from wengert.transforms.codegen.cpu.matmul.planner import COMPLEX, MatmulPlan, aligned
from wengert.transforms.codegen.cpu.matmul.target import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.tiling import split_columns
from wengert.transforms.codegen.cpu.tasks import CHUNK, SCRATCH, TASK_PARAMETERS, begin_task
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.chunks import Split, single, split, wanted_chunks

LEAST_ROWS = 128
LEAST_ROWS_BLAS = 320
"""BLAS packs all of B for every call."""
LEAST_COLUMNS = 64
BYTE_NS = 0.02
ENOUGH = 8
"""So many parts by columns are enough."""
CYCLES_PER_NS = 3.0
VECTORS = ("rows", "packed", "gathered")
"""The methods with vectors along n."""


class Parts(Struct, frozen=True):
    """The plan of all parts but a smaller last one, that of the last one, and how far the pointers move from part to part."""

    part: MatmulPlan
    rest: MatmulPlan | None
    a: int
    b: int
    c: int
    cut: Split

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory of one part."""
        return max(self.part.scratch_bytes, self.rest.scratch_bytes if self.rest is not None else 0)


def nanoseconds(plan: MatmulPlan) -> float:
    """About how long the product takes."""
    per_cycle = 0.5 if plan.element in COMPLEX else 3.0 * plan.target.lanes(plan.element)
    moved = ELEMENT_BYTES[plan.element] * (plan.m * plan.k + plan.k * plan.n + plan.m * plan.n) * math.prod(loop.size for loop in plan.loops)
    return max(plan.flops / (per_cycle * CYCLES_PER_NS), moved * BYTE_NS)


def parts(plan: MatmulPlan) -> Parts | None:
    """The product in parts, if that pays and every part can do without the others."""
    if plan.empty or plan.k == 0 or plan.copy_a is not None or plan.result_element != plan.element:
        return None
    work = nanoseconds(plan)
    wanted = wanted_chunks(work)
    if wanted < 2:
        return None
    if plan.loops and plan.loops[0].size >= min(8, wanted) and plan.copy_b is None:
        return _iterations(plan, work)
    least = LEAST_ROWS_BLAS if plan.method == "blas" else LEAST_ROWS
    width = _group_width(plan)
    if plan.n >= min(ENOUGH, wanted) * width:
        return _columns(plan, work, width)
    if plan.m >= 2 * least:
        return _rows(plan, work, least)
    if plan.n >= 2 * width:
        return _columns(plan, work, width)
    return _iterations(plan, work) if plan.loops and plan.loops[0].size > 1 and plan.copy_b is None else None


def _group_width(plan: MatmulPlan) -> int:
    """The least number of columns that a part may have."""
    if plan.method == "blas" or plan.copy_b is not None:
        return plan.n
    if plan.method not in VECTORS:
        return LEAST_COLUMNS
    return max(group.width for group in split_columns(plan.m, plan.n, plan.k, plan.target, plan.element).groups)


def _iterations(plan: MatmulPlan, work: float) -> Parts | None:
    first, *others = plan.loops
    cut = split(first.size, work)
    if cut is None:
        return None

    def of(size: int) -> MatmulPlan:
        return replace(plan, loops=(replace(first, size=size), *others))

    rest = first.size % cut.grain
    return Parts(of(cut.grain), of(rest) if rest else None, cut.grain * first.a, cut.grain * first.b, cut.grain * first.c, single(cut.chunks, work))


def _rows(plan: MatmulPlan, work: float, least: int) -> Parts | None:
    unit = split_columns(plan.m, plan.n, plan.k, plan.target, plan.element).rows if plan.method in VECTORS else 8
    cut = split(plan.m, work, unit=unit, most=plan.m // least)
    if cut is None:
        return None
    rest = plan.m % cut.grain
    part, last = (_packed(replace(plan, m=size)) for size in (cut.grain, rest))
    return Parts(part, last if rest else None, cut.grain * plan.a_m, 0, cut.grain * plan.c_m, single(cut.chunks, work))


def _columns(plan: MatmulPlan, work: float, width: int) -> Parts | None:
    cut = split(plan.n, work, unit=width, most=plan.n // width)
    if cut is None:
        return None
    rest = plan.n % cut.grain
    part, last = (_packed(replace(plan, n=size)) for size in (cut.grain, rest))
    return Parts(part, last if rest else None, 0, cut.grain * plan.b_n, cut.grain * plan.c_n, single(cut.chunks, work))


def _packed(plan: MatmulPlan) -> MatmulPlan:
    """The plan with room for a packed panel: another number of rows may prefer another width."""
    if plan.method != "packed" or plan.empty:
        return plan
    panel = plan.k * split_columns(plan.m, plan.n, plan.k, plan.target, plan.element).widest * ELEMENT_BYTES[plan.element]
    return replace(plan, scratch_bytes=plan.panel_offset + aligned(panel))


def emit_task(divided: Parts, name: str) -> str:
    """``define void @name(ptr %frame, i64 %chunk, ptr %scratch)``, whose frame holds the addresses of both operands and the result."""
    builder, size = FunctionBuilder(), ELEMENT_BYTES[divided.part.element]
    steps = (divided.b, divided.a, divided.c) if divided.part.exchanged else (divided.a, divided.b, divided.c)
    bases = ["%a", "%b", "%c"]
    begin_task(builder, bases, divided.cut)
    moved = [builder.offset(base, "i8", builder.binary("mul nuw nsw", "i64", CHUNK, str(step * size))) for base, step in zip(bases, steps, strict=True)]
    operands = [("ptr", pointer) for pointer in (*moved, SCRATCH)]
    texts = [emit_function(divided.part, f"{name}.part", "internal")]
    if divided.rest is None:
        builder.call_void(f"{name}.part", operands)
    else:
        texts.append(emit_function(divided.rest, f"{name}.rest", "internal"))
        with builder.conditional(builder.icmp("ult", "i64", CHUNK, divided.cut.chunks - 1)) as branches:
            builder.call_void(f"{name}.part", operands)
            branches.otherwise()
            builder.call_void(f"{name}.rest", operands)
    return "".join([*texts, builder.definition(name, TASK_PARAMETERS, attributes="nounwind")])

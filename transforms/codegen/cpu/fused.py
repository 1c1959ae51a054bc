"""Emits a product and the nest that finishes its rows (``kernel.fused``): the function of the product calls the nest as a task, rows of tiles at a time."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace
from xdsl.ir import SSAValue

from wengert.dialects.kernel import FusedOp, LoadOp, NestOp
from wengert.dialects.kernel.buffers import element_size
from wengert.dialects.kernel.schedule import Parallel, Schedule, ScheduleAttr
from wengert.ir.attributes import int_array, ints
from wengert.ir.traversal import ops_in
from wengert.transforms.codegen.cpu.matmul import emit_function, emit_task, helpers
from wengert.transforms.codegen.cpu.matmul.finish import Finish, widths
from wengert.transforms.codegen.cpu.nest.emission import emit_nest
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.products.operands import product_of
from wengert.transforms.schedule.products.plan import MatmulPlan, parts_of, plan_of
from wengert.transforms.schedule.target import Target


class FusedText(Struct, frozen=True):
    """The functions of a fused product under the name ``KERNEL``, those that it calls, and how threads share it.

    The function takes both operands, the sums and the array of the nest's pointers, which are ``pointers``: numbers of the op's inputs, then of its
    results, after all inputs.
    """

    text: str
    helpers: Mapping[str, str]
    cut: Split | None
    offsets: tuple[int, ...]
    operands: tuple[int, int]
    pointers: tuple[int, ...]


def emit_fused(op: FusedOp, target: Target, *, strict: bool, debug_lines: bool) -> FusedText:
    """Emits the functions of an op whose schedules were checked (:mod:`wengert.transforms.schedule.products.epilogues`)."""
    product, nest = op.product, op.nest
    assert product.schedule is not None
    what, schedule = product_of(product), product.schedule.data
    plan, parts = plan_of(what, schedule), parts_of(what, schedule)
    texts, functions = list[str](), dict[str, str](helpers(plan, finished=True))
    names = ["KERNEL.finish", "KERNEL.finish.rest"]
    for name, width in zip(names, widths(plan), strict=True):
        if width:
            code = emit_nest(*_on_columns(nest, width, plan), target, name, strict=strict, in_place=True, debug_lines=debug_lines)
            texts.append(code.text)
            functions |= code.functions
    finish = Finish(names[0], names[1] if len(texts) > 1 else "", _steps(op))
    texts.append(emit_function(plan, "KERNEL", "internal", finish) if parts is None else emit_task(parts, "KERNEL", finish))
    inputs: dict[SSAValue, int] = {argument: number for number, argument in enumerate(op.body.block.args)}
    sums, first = len(inputs) + op.target, len(inputs) + op.keeps_sums
    pointers = tuple([sums if value is product.result else inputs[value] for value in nest.inputs])
    lhs, rhs = product.operands
    return FusedText(
        "".join(texts),
        functions,
        None if parts is None else parts.cut,
        tuple([offset * element_size(value) for offset, value in zip(ints(product.offsets), (lhs, rhs), strict=True)]),
        (inputs[lhs], inputs[rhs]),
        (*pointers, *range(first, first + len(nest.outputs))),
    )


def _on_columns(nest: NestOp, columns: int, plan: MatmulPlan) -> tuple[Placement, Schedule]:
    """The nest over so many columns, whose pointers are moved to the first of them, for the rows of a tile at a time."""
    narrow = nest.clone()
    schedule = Schedule() if nest.schedule is None else nest.schedule.data
    schedule = replace(schedule, parallel=Parallel(plan.tile.rows, 0), lanes=min(schedule.lanes, 1 << (columns.bit_length() - 1)))
    narrow.properties |= {"bounds": int_array((nest.extents[0], columns)), "schedule": ScheduleAttr(schedule)}
    return Placement.scheduled(narrow, schedule), schedule


def _steps(op: FusedOp) -> tuple[int, ...]:
    """The bytes by which the nest's pointers move from one column to the next."""
    nest = op.nest
    along: dict[SSAValue, int] = {load.source: load.at.data.coefficient(1) for load in ops_in(nest.body.block) if isinstance(load, LoadOp)}
    writes = {write.target: write.at.coefficient(1) for write in nest.writes}
    read = [along.get(argument, 0) * element_size(argument) for argument in nest.body.block.args]
    return (*read, *[writes[number] * element_size(result) for number, result in enumerate(nest.outputs)])

"""The pass ``fuse-epilogues``: what is computed from the sums of a product element by element is computed where they are, in the caches.

A product in blocks is followed by a nest over its result: a bias and an activation, a residual, a scale. As kernels of their own they go through memory once
more, and threads meet in between. Here they become one kernel (:class:`wengert.dialects.kernel.fused.FusedOp`), whose product has the schedule that it
had. The pass comes after ``schedule``, since products that are not in blocks are short, and stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import FusedOp, MatmulOp, NestOp, YieldOp
from wengert.dialects.kernel.fused import not_element_by_element, sums_target
from wengert.dialects.kernel.positions import Position, combine, substitute
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.ir.attributes import int_array
from wengert.ir.construction import append, detach, insert_before
from wengert.ir.operations import set_operands
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.kernel.remap import remapped_body
from wengert.transforms.schedule.choice import choose
from wengert.transforms.schedule.gpu.target import GPU_TARGETS
from wengert.transforms.schedule.host import HOST, target_named
from wengert.transforms.schedule.products.operands import product_of
from wengert.transforms.schedule.products.plan import plan_of
from wengert.transforms.schedule.target import Target


@dataclass(frozen=True)
class FuseEpiloguesPass(ModulePass):
    """Makes one kernel of a large product and the nest that follows it element by element."""

    name = "fuse-epilogues"

    target: str = HOST
    """As for the pass ``schedule``: the nest is scheduled anew, since its loops are the rows and columns of the product."""
    strict: bool = False
    """As for the pass ``schedule``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.target in GPU_TARGETS:
            return  # products on a GPU have other schedules
        for block in kernel_blocks(op):
            for product in ops_in(block):
                if isinstance(product, MatmulOp):
                    fuse_epilogue(product, target_named(self.target), strict=self.strict)


def fuse_epilogue(product: MatmulOp, target: Target, *, strict: bool) -> None:
    """Fuses a product with the nest that is the first to read it, if that can run on parts of it."""
    sizes, nest = _rows_and_columns(product), _first_reader(product)
    if sizes is None or nest is None or nest.gpu_schedule is not None:
        return
    kept = any(use.operation is not nest for use in product.result.uses)
    epilogue = _over_rows(nest, sizes)
    if epilogue is None:
        return
    if _finishes(epilogue, product, target, strict=strict, kept=kept) and may_rewrite("fuse-epilogues", product):
        _join(product, nest, epilogue, kept=kept)
    else:
        set_operands(epilogue, ())


def _finishes(epilogue: NestOp, product: MatmulOp, target: Target, *, strict: bool, kept: bool) -> bool:
    """Whether a nest over rows and columns can run on parts of the sums; gives it its schedule."""
    if not_element_by_element(epilogue, product.result) or (not kept and sums_target(epilogue, product.result) is None):
        return False
    schedule = choose(epilogue, target, strict=strict, in_place=lambda: not kept, parallel=False)
    epilogue.properties["schedule"] = ScheduleAttr(schedule)
    return not schedule.order and schedule.cut is None and not schedule.tiled


def _rows_and_columns(product: MatmulOp) -> tuple[int, int] | None:
    """The rows and columns of a product in blocks; None for another, or one in a batch, or whose sums are of another type than the result."""
    if product.schedule is None or product.schedule.data.kernel != "blocked":
        return None
    plan = plan_of(product_of(product), product.schedule.data)
    if plan.empty or plan.loops or plan.apart_elements or plan.copy_a is not None or plan.copy_b is not None:
        return None
    return plan.m, plan.n


def _first_reader(product: MatmulOp) -> NestOp | None:
    """The first op that reads the product, if it is a nest beside it."""
    readers = {use.operation for use in product.result.uses}
    block = product.parent_block()
    around = {block.find_ancestor_op_in_block(reader) for reader in readers} if block is not None else set[Operation | None]()
    following = product.next_op
    while following is not None and following not in around:
        following = following.next_op
    if following not in readers:
        return None
    return following if isinstance(following, NestOp) else None


def _over_rows(nest: NestOp, sizes: tuple[int, int]) -> NestOp | None:
    """A copy of a nest with loops over these rows and columns; None if it has others that are not those of one flat range."""
    rows, columns = sizes
    if nest.extents == sizes:
        remap = _same
    elif nest.extents == (rows * columns,):
        flat = combine(0, ((0, columns), (1, 1)))

        def remap(at: Position) -> Position:
            return substitute(at, {0: flat}, sizes)
    else:
        return None
    copy = NestOp.create(
        operands=operands_of(nest),
        result_types=nest.result_types,
        properties={**nest.properties, "bounds": int_array(sizes)},
        regions=[Region(remapped_body(nest, remap))],
        location=nest.location,
    )
    copy.properties.pop("schedule", None)
    return copy


def _same(at: Position) -> Position:
    return at


def _join(product: MatmulOp, nest: NestOp, epilogue: NestOp, *, kept: bool) -> None:
    """Puts the fused op where the nest was; the sums are its first result if others read them."""
    outside = list(dict.fromkeys(value for value in (*operands_of(product), *operands_of(epilogue)) if value is not product.result))
    results = [*([product.result] if kept else []), *nest.results]
    block = Block(arg_types=[value.type for value in outside])
    fused = FusedOp.create(operands=outside, result_types=[value.type for value in results], regions=[Region(block)], location=nest.location)
    insert_before(nest, fused)
    inside = dict[SSAValue, SSAValue](zip(outside, block.args, strict=True))
    sums = product.result
    _replace(results, fused.results, {nest, epilogue})
    detach(nest)
    nest.erase()
    detach(product)
    set_operands(product, [inside[value] for value in operands_of(product)])
    set_operands(epilogue, [inside.get(value, value) for value in operands_of(epilogue)])
    append(block, product)
    append(block, epilogue)
    append(block, YieldOp.create(operands=[*([sums] if kept else []), *epilogue.results]))


def _replace(old: Sequence[SSAValue], new: Sequence[SSAValue], apart_from: set[Operation]) -> None:
    """Has all other ops read the new values."""
    for before, after in zip(old, new, strict=True):
        for use in list(before.uses):
            if use.operation not in apart_from and use.operation is not after.owner:
                use.operation.operands[use.index] = after

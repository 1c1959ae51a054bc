"""Contractions as nests: a sum of products over the last loops, for targets whose kernels are all made from nests.

Before and after::

    %y = kernel.matmul %a as [4, 8] strided<[8, 1]>, %b as [8, 5] strided<[5, 1]> ...

    %y = kernel.nest (d0, d1, d2) = (0, 0, 0) to (4, 5, 8) iterators [parallel, parallel, reduction] {
      %0 = kernel.load %a[d0, d2]
      %1 = kernel.load %b[d2, d1]
      %2 = kernel.multiply %0, %1 : f32
      kernel.yield add %2 to out0[d0, d1] : f32
    }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import ApplyOp, LoadOp, MatmulOp, NestOp, Write, at_attr, nest, string, yielded
from wengert.dialects.kernel.positions import ZERO, Position, combine, flatten, index
from wengert.ir.attributes import ints
from wengert.ir.construction import append, erase, insert_before, replace_uses
from wengert.ir.tensor_types import type_of
from wengert.ir.traversal import ops_in
from wengert.transforms.kernel.blocks import kernel_blocks


@dataclass(frozen=True)
class ProductsToNestsPass(ModulePass):
    """Writes contractions as nests that sum up products."""

    name = "products-to-nests"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            for product in ops_in(block):
                if isinstance(product, MatmulOp):
                    made = product_nest(product)
                    insert_before(product, made)
                    replace_uses(product.result, made.outputs[0])
                    erase(product)


def product_nest(op: MatmulOp) -> NestOp:
    """A contraction as a nest: loops over batch dimensions, those of the left operand, those of the right one, and what is summed over."""
    left, right, results, summed = _loops(op)
    extents = [*results, *summed]
    body = Block(arg_types=[op.lhs.type, op.rhs.type])
    element = type_of(op.result).element_type
    offsets = ints(op.offsets)
    sides = [(left, ints(op.lhs_strides), offsets[0]), (right, ints(op.rhs_strides), offsets[1])]
    factors = [_factor(body, n, combine(offset, list(zip(loops, steps, strict=True))), element) for n, (loops, steps, offset) in enumerate(sides)]
    product = ApplyOp.create(operands=factors, properties={"function": string("multiply")}, result_types=[element])
    append(body, product)
    place = flatten([index(d) for d in range(len(results))], results) if results else ZERO
    append(body, yielded([Write(product.result, place, "add", 0)]))
    made = nest([op.lhs, op.rhs], [], [op.result.type], extents, [-1], body)
    made.location = op.location
    return made


def _loops(op: MatmulOp) -> tuple[list[int], list[int], list[int], list[int]]:
    """The loop of each dimension of both operands, and the extents of the loops over the result and of those that are summed over."""
    dims = [tuple(op.dimension_numbers.dims(f"{side}_{kind}_dimensions")) for side in ("lhs", "rhs") for kind in ("batching", "contracting")]
    left_batch, left_summed, right_batch, right_summed = dims
    left_shape, right_shape = ints(op.lhs_shape), ints(op.rhs_shape)
    left_free = [d for d in range(len(left_shape)) if d not in (*left_batch, *left_summed)]
    right_free = [d for d in range(len(right_shape)) if d not in (*right_batch, *right_summed)]
    results = [left_shape[d] for d in (*left_batch, *left_free)] + [right_shape[d] for d in right_free]
    summed = [left_shape[d] for d in left_summed]
    left_order, right_order = [*left_batch, *left_free], [*right_batch, *right_free]
    shift = len(left_free)
    left = {d: n for n, d in enumerate(left_order)} | {d: len(results) + n for n, d in enumerate(left_summed)}
    right = {d: n + (shift if n >= len(right_batch) else 0) for n, d in enumerate(right_order)} | {d: len(results) + n for n, d in enumerate(right_summed)}
    return [left[d] for d in range(len(left_shape))], [right[d] for d in range(len(right_shape))], results, summed


def _factor(body: Block, number: int, at: Position, element: object) -> SSAValue:
    """One operand's element, in the type of the result."""
    argument = body.args[number]
    load = LoadOp.create(operands=[argument], properties={"at": at_attr(at)}, result_types=[type_of(argument).element_type])
    append(body, load)
    if load.result.type == element:
        return load.result
    convert = ApplyOp.create(operands=[load.result], properties={"function": string("convert")}, result_types=[element])  # pyright: ignore[reportArgumentType]
    append(body, convert)
    return convert.result

"""Many products of very small matrices: sums of products, which fusion takes into the loops around them.

``jnp.dot`` of two vectors of three, or a rotation matrix times a point, is under ``vmap`` a contraction with a batch of thousands and a handful of
multiplications for each. As a call of its own it reads and writes memory for every one of them; as elementwise ops and a reduction it is part
of what happens to the same instance anyway (:mod:`wengert.transforms.lower.instances`).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.func import FuncOp

from wengert.dialects import stablehlo
from wengert.dialects.builder import Value
from wengert.ir.tensor_types import element, f32, f64, rank, shape
from wengert.ir.traversal import ops_of
from wengert.transforms.lower.classify import has_product
from wengert.transforms.lower.instances import is_short
from wengert.transforms.rewriter import Rewriter


def expanded(function: FuncOp) -> FuncOp:
    """The function itself if it has no such contraction, else a copy with sums of products in their place."""
    if not any(_is_short(op) for op in ops_of(function, stablehlo.DotGeneralOp)):
        return function
    copy, b = function.clone(), Rewriter("short-products")
    for op in [op for op in ops_of(copy, stablehlo.DotGeneralOp) if _is_short(op)]:
        b.move_to(op)
        b.replace(op, [_sum(b, op)])
    return copy


def _free(op: stablehlo.DotGeneralOp, side: str) -> list[int]:
    numbers = op.dot_dimension_numbers
    used = {*numbers.dims(f"{side}_batching_dimensions"), *numbers.dims(f"{side}_contracting_dimensions")}
    return [d for d in range(rank(op.lhs if side == "lhs" else op.rhs)) if d not in used]


def _is_short(op: stablehlo.DotGeneralOp) -> bool:
    numbers = op.dot_dimension_numbers
    batch = [shape(op.lhs)[d] for d in numbers.dims("lhs_batching_dimensions")]
    if not batch or not has_product(op) or {element(value) for value in (op.lhs, op.rhs, op.result)} not in ({f32}, {f64}):
        return False
    left = [n for d, n in enumerate(shape(op.lhs)) if d not in numbers.dims("lhs_batching_dimensions")]
    right = [shape(op.rhs)[d] for d in _free(op, "rhs")]
    return is_short(batch, prod(left) * prod(right))


def _sum(b: Rewriter, op: stablehlo.DotGeneralOp) -> Value:
    """The products of all pairs of elements, batch first, then what is left of both sides, then what is summed."""
    numbers, dims = op.dot_dimension_numbers, op.dot_dimension_numbers.dims
    batch, summed = len(dims("lhs_batching_dimensions")), [shape(op.lhs)[d] for d in dims("lhs_contracting_dimensions")]
    extents = [*shape(op.result), *summed]
    left, right = _free(op, "lhs"), _free(op, "rhs")
    places = {"lhs": [*range(batch), *range(batch, batch + len(left))], "rhs": [*range(batch), *range(batch + len(left), rank(op.result))]}
    terms: list[Value] = []
    for value, side, free in ((op.lhs, "lhs", left), (op.rhs, "rhs", right)):
        order = [*numbers.dims(f"{side}_batching_dimensions"), *free, *numbers.dims(f"{side}_contracting_dimensions")]
        moved = value if order == list(range(len(order))) else b.transpose(value, order)
        terms.append(b.broadcast_in_dim(moved, [*places[side], *range(rank(op.result), len(extents))], extents))
    found = b.multiply(*terms)
    return b.reduce_sum(found, list(range(rank(op.result), len(extents)))) if summed else found

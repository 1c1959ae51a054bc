"""Rewrites many products of very small matrices as sums of products, which fusion takes into the loops around them.

``jnp.dot`` of two vectors of three, or a rotation matrix times a point, is under ``vmap`` a contraction with a batch of thousands and a handful of
multiplications for each. As a call of its own it reads and writes memory for every one of them; as elementwise ops and a reduction it is part
of what happens to the same batch element anyway (:mod:`wengert.transforms.kernel.batch_unrolling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, f32, f64, rank, shape
from wengert.transforms.analysis.batches import is_short
from wengert.transforms.analysis.loops import MOST_PHASES
from wengert.transforms.fuse.rewriting import has_matches, replace_ops
from wengert.transforms.fuse.roles import has_product

_MOST_PRODUCTS = 9
_MOST_READ = 6
"""Elements of each batch element that are read: they lie apart, and take longer than the multiplications."""


@dataclass(frozen=True)
class ExpandShortProductsPass(ModulePass):
    """Replaces batches of many very small matrix products by multiplications and sums, which fusion takes into the loops around them."""

    name = "expand-short-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.DotGeneralOp,), _roles, _sum)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.DotGeneralOp,), _roles)


class _Roles(NamedTuple):
    """The loops of a contraction, those over the batch first: which dimensions of both sides they are (-1: none of that side)."""

    extents: tuple[int, ...]
    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    summed: tuple[int, ...]


def _roles(op: stablehlo.DotGeneralOp) -> _Roles | None:
    """How the contraction becomes a sum over few elements for each of many batch elements; None if it does not."""
    dims = op.dot_dimension_numbers.dims
    if not has_product(op) or {element(value) for value in (op.lhs, op.rhs, op.result)} not in ({f32}, {f64}):
        return None
    batch = list(zip(dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions"), strict=True))
    summed = list(zip(dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions"), strict=True))
    left = [(d, -1) for d in range(rank(op.lhs)) if d not in {d for d, _ in (*batch, *summed)}]
    right = [(-1, d) for d in range(rank(op.rhs)) if d not in {d for _, d in (*batch, *summed)}]

    def extent(pair: tuple[int, int]) -> int:
        return shape(op.lhs)[pair[0]] if pair[0] >= 0 else shape(op.rhs)[pair[1]]

    total = prod(map(extent, (*batch, *left, *right, *summed)))
    for many in ([], left, right, summed):
        first = [*batch, *many]
        if not 0 < total <= _MOST_PRODUCTS * prod(map(extent, first)):
            continue
        loops = [*first, *[pair for pair in (*left, *right, *summed) if pair not in first]]
        extents = tuple([extent(pair) for pair in loops])
        few = prod([extent(pair) for pair in loops if pair not in first])
        read = sum(prod([extent(p) for p in loops if p not in first and p[side] >= 0]) for side in (0, 1) if any(p[side] >= 0 for p in first))
        if is_short(extents[: len(first)], few) and few <= _MOST_PRODUCTS and (read <= _MOST_READ if summed else few <= MOST_PHASES):
            kept = [pair for pair in loops if pair not in summed]
            order = tuple([kept.index(pair) for pair in (*batch, *left, *right)])
            lhs, rhs = zip(*loops, strict=True)
            if order == tuple(sorted(order)):
                return _Roles(extents, lhs, rhs, tuple([loops.index(pair) for pair in summed]))
    return None


def _sum(b: OpBuilder, op: stablehlo.DotGeneralOp, roles: _Roles) -> Value:
    """The products of all pairs of elements, those of a batch element side by side, and their sums."""
    terms: list[Value] = []
    for value, places in ((op.lhs, roles.lhs), (op.rhs, roles.rhs)):
        order = [d for d in places if d >= 0]
        moved = value if order == sorted(order) else b.transpose(value, order)
        terms.append(b.broadcast_in_dim(moved, [loop for loop, d in enumerate(places) if d >= 0], roles.extents))
    products = b.multiply(*terms)
    return b.reduce_sum(products, roles.summed) if roles.summed else products

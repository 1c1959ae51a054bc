"""Expansion of reductions over devices into ops from whose rules their derivatives follow: products, and computations of no known kind.

What the devices of a group have is gathered in front, and reduced there; of a result that is shared out, shares are exchanged, or a device takes its
own of the total where no exchange can say the groups. (``to-core`` does that for computations of no known kind in groups of one size; the product of
gathered values needs no division in its derivative, and no number of the device.) In groups of different sizes a computation goes over the rows in
the order of the group, as the engines do. Rows behind those of a smaller group hold the group's first value, so that nothing is computed with numbers
that no device has; none is selected.

Before and after::

    %y = core.all_reduce mul %x, groups = [[0, 1, 2, 3]]       %g = stablehlo.all_gather %x, dim = 0 : 4x...
                                                               %y = core.reduce mul %g, [0]
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, i64, shape
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.building_blocks.associative_scan import along
from wengert.transforms.ad.building_blocks.device_groups import gathered, inside, own_place
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.rewrites.reduce_regions import elementwise
from wengert.transforms.core.recognisers.communication import even_size, exchanged
from wengert.transforms.rewriter import Rewriter


def expand_collectives(module: ModuleOp) -> None:
    """Expands products and general computations over devices that have a differentiable result in use, in place."""
    rewriter = Rewriter("expand-regions")
    for op in ops_of(module, core.AllReduceOp, core.ReduceScatterOp, hlo.AllReduceOp, hlo.ReduceScatterOp):
        known = isinstance(op, core.GroupReduceOp)
        if (known and op.kind.data is not Kind.mul) or not any(has_tangent(y.type) and y.first_use is not None for y in op.results):
            continue
        rewriter.move_to(op)
        rewriter.replace(op, [_product(rewriter, op)] if known else _general(rewriter, module, op))


def _product(b: OpBuilder, op: core.GroupReduceOp) -> Value:
    if isinstance(op, core.ReduceScatterOp) and (shares := exchanged(b, op, op.operand)) is not None:
        return b.reshape(b.reduce(Kind.mul, shares, [0]), shape(op.result))
    rows = gathered(b, op, op.operand)
    if even_size(op) is None:
        rows = b.select(b.broadcast_in_dim(inside(b, op), [0], shape(rows)), rows, b.full_like(rows, 1))
    total = b.reduce(Kind.mul, rows, [0])
    return _own_share(b, op, total) if isinstance(op, core.ReduceScatterOp) else total


def _general(b: OpBuilder, module: ModuleOp, op: Operation) -> list[Value]:
    totals = [_total(b, module, op, b.convert(x, element(y))) for x, y in zip(op.operands, op.results, strict=True)]
    return [_own_share(b, op, totals[0])] if isinstance(op, hlo.ReduceScatterOp) else totals


def _total(b: OpBuilder, module: ModuleOp, op: Operation, x: Value) -> Value:
    """The values of the device's group, combined by the region of the op."""
    stacked, computation = gathered(b, op, x), op.regions[0].block
    rows = [b.reshape(along(b, stacked, 0, i, 1), shape(x)) for i in range(shape(stacked)[0])]
    within = inside(b, op) if even_size(op) is None else None
    total = rows[0]
    for i, row in enumerate(rows[1:], 1):
        if within is None:
            (total,) = elementwise(b, module, computation, [total, row])
            continue
        counts = b.broadcast_in_dim(b.reshape(along(b, within, 0, i, 1), []), [], shape(x))
        (longer,) = elementwise(b, module, computation, [total, b.select(counts, row, rows[0])])
        total = b.select(counts, longer, total)
    return total


def _own_share(b: OpBuilder, op: hlo.ReduceScatterOp | core.ReduceScatterOp, total: Value) -> Value:
    axis, extents = int_of(op.scatter_dimension), shape(op.result)
    start = b.multiply(own_place(b, op), b.scalar(extents[axis], i64))
    return b.dynamic_slice(total, [start if d == axis else b.scalar(0, i64) for d in range(len(extents))], extents)

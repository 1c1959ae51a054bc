"""Batching of linear systems: where the matrix is unbatched, the batch becomes more right-hand sides of one system."""

from __future__ import annotations

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import rank, shape, type_of
from wengert.transforms.ad.batching.reduction import moved
from wengert.transforms.ad.batching.rule import Batching, Operands, Results, batches


@batches(hlo.TriangularSolveOp)
def triangular_solve(batch: Batching, op: hlo.TriangularSolveOp, operands: Operands) -> Results:
    return solved_together(batch, op, operands, left=bool(int_of(op.left_side)))


@batches(core.CholeskySolveOp, core.LuSolveOp)
def by_factors(batch: Batching, op: core.CholeskySolveOp | core.LuSolveOp, operands: Operands) -> Results:
    return solved_together(batch, op, operands, left=True)


def solved_together(batch: Batching, op: hlo.TriangularSolveOp | core.CholeskySolveOp | core.LuSolveOp, operands: Operands, *, left: bool) -> Results:
    """A system whose right-hand sides are the last operand, in columns (or rows, if not ``left``)."""
    *matrices, sides = operands
    if any(x.batched for x in matrices):
        return moved(batch, op, operands)
    b, n = batch.b, rank(sides.value)
    # [batch, .., rows, columns] to [.., rows, batch, columns] or [.., batch, rows, columns]
    order = [*range(1, n - 1), 0, n - 1] if left else [*range(1, n - 2), 0, n - 2, n - 1]
    parted = b.transpose(sides.value, order)
    *lead, second, third, last = shape(parted)
    joined = b.reshape(parted, [*lead, second, third * last] if left else [*lead, second * third, last])
    (x,) = b.create(type(op), [*(m.value for m in matrices), joined], [type_of(joined)], op.properties)
    back: Value = b.reshape(x, shape(parted))
    return [b.transpose(back, [order.index(d) for d in range(n)])]

"""Batching of collectives: the batch is sent along, and dimension numbers shift by one. All devices run the same batched program.

A collective under a predicate that differs between batch elements is run by all of them; it must not differ between devices, which
:mod:`wengert.transforms.spmd.uniformity` looks at before a program is batched.
"""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.attributes import int_attr, int_of
from wengert.transforms.ad.batching.reduction import moved
from wengert.transforms.ad.batching.rule import Batching, Mapped, Operands, Results, batches
from wengert.transforms.ad.errors import refuse

_DIMENSIONS = ("all_gather_dim", "scatter_dimension", "split_dimension", "concat_dimension")


@batches(
    *(hlo.AllGatherOp, hlo.AllReduceOp, hlo.AllToAllOp, hlo.CollectiveBroadcastOp, hlo.CollectivePermuteOp, hlo.CrossReplicaSumOp, hlo.ReduceScatterOp),
    *core.COMMUNICATIONS,
    control=True,
)
def collective(batch: Batching, op: Operation, operands: Operands) -> Results:
    if batch.mask is not None and op in batch.functions.unsure:
        raise refuse(
            op,
            "cannot be batched: batch elements differ in whether they run it, and so may devices",
            "a condition that is computed from a sum or a maximum over the same devices is the same on all of them",
        )
    if not any(x.batched for x in operands):
        return [Mapped(value, False) for value in batch.b.copy(op, [x.value for x in operands])]
    return moved(batch, op, operands, **{name: int_attr(int_of(op.properties[name]) + 1) for name in _DIMENSIONS if name in op.properties})

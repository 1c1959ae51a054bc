"""Keeps apart what is to be computed again: values pass through an optimization barrier, and nothing computed from its results equals what was computed before.

This is the mark that recomputation carries (:mod:`wengert.transforms.ad.linear.join`): no pass shares ops across it, and it costs nothing in compiled code,
where its results are other names of its operands.

Before and after, ``keep_apart([x], before=%2)`` and a copy of the sine on its result::

    %0 = stablehlo.sine %x            %0 = stablehlo.sine %x
    ...                               ...
    %2 = stablehlo.multiply %1, %0    %b = stablehlo.optimization_barrier %x
                                      %1 = stablehlo.sine %b
                                      %2 = stablehlo.multiply %1, %1
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.construction import insert_before


def keep_apart(values: Sequence[SSAValue], before: Operation) -> list[SSAValue]:
    """The values behind a barrier, which is inserted before an op of the same block as they or of one inside of it.

    Values that are no tensors (tapes, tokens) are returned as they are.
    """
    tensors = list(dict.fromkeys(value for value in values if isinstance(value.type, TensorType)))
    if not tensors:
        return list(values)
    barrier = hlo.OptimizationBarrierOp.create(operands=tensors, result_types=[value.type for value in tensors], location=before.location)
    insert_before(before, barrier)
    behind = dict(zip(tensors, barrier.results, strict=True))
    return [behind.get(value, value) for value in values]

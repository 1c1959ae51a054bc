"""``stablehlo.reduce`` and ``core.reduce``: folding dimensions away.

A reduce whose region is one op per input becomes one ``core.reduce`` per input, followed by the combination with the initial
value unless that is the kind's neutral element. ``core.reduce`` goes back to a reduce from the neutral element.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_array, ints
from wengert.ir.tensor_types import element, rank, shape
from wengert.transforms.core.kinds import combine_with_scalar, combiner_kinds, neutral, region_of


def recognise_empty_reduce(b: OpBuilder, op: stablehlo.ReduceOp) -> list[SSAValue] | None:
    """A reduction of no elements gives its initial values, whatever its region."""
    if not any(shape(op.inputs[0])[d] == 0 for d in ints(op.dimensions)):
        return None
    return [b.broadcast_in_dim(b.convert(initial, element(result)), [], shape(result)) for initial, result in zip(op.init_values, op.results, strict=True)]


def recognise_reduce(b: OpBuilder, op: stablehlo.ReduceOp) -> list[SSAValue] | None:
    """reduce(x, init) with an op as region = core.reduce(x) op init; several inputs are reduced one by one."""
    kinds = combiner_kinds(op.body.block, len(op.inputs))
    if kinds is None:
        return None
    dims = ints(op.dimensions)
    results: list[SSAValue] = []
    for x, initial, kind, result in zip(op.inputs, op.init_values, kinds, op.results, strict=True):
        reduced = b.reduce(kind, b.convert(x, element(result)), dims)
        results.append(combine_with_scalar(b, kind, reduced, b.convert(initial, element(result))))
    return results


def expand_reduce(b: OpBuilder, op: core.ReduceOp) -> list[SSAValue]:
    """core.reduce(x) = reduce(x, neutral element) with the kind's op as region."""
    return [reduce_with_region(b, op.kind.data, op.operand, ints(op.dimensions), op.result)]


def reduce_with_region(b: OpBuilder, kind: core.Kind, x: SSAValue, dims: tuple[int, ...], result: SSAValue) -> SSAValue:
    """A plain reduce of x from the neutral element, of the type of ``result``."""
    assert rank(result) == rank(x) - len(dims)
    element_type = element(x)
    initial = b.scalar(neutral(kind, element_type), element_type)
    return b.create(stablehlo.ReduceOp, (x, initial), (result.type,), {"dimensions": int_array(dims)}, (region_of(kind, element_type),))[0]

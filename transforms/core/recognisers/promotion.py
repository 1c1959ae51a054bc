"""Reductions, windows and scatters that accumulate in a wider type than their inputs have, and products of real by complex numbers: inputs are converted first.

Before and after::

    %0 = stablehlo.reduce(%x init: %i) ... : (tensor<5xbf16>, tensor<bf16>) -> tensor<f32>      %1 = stablehlo.convert %x : tensor<5xf32>
                                                                                                %2 = stablehlo.convert %i : tensor<f32>
                                                                                                %0 = stablehlo.reduce(%1 init: %2) ... -> tensor<f32>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import append, block_with, copy_op, copy_region
from wengert.ir.tensor_types import dtype_of, element, f32, f64, is_complex, real_element, shape, tensor

Accumulating = hlo.ReduceOp | hlo.ReduceWindowOp | hlo.ScatterOp | hlo.SelectAndScatterOp


def recognise_promotion(b: OpBuilder, op: Accumulating) -> Sequence[SSAValue] | None:
    """The same op on operands of the results' element types, where one of them has another. What is selected is by comparisons of what there was."""
    element_types = [element(result) for result in op.results]
    if isinstance(op, hlo.SelectAndScatterOp):
        operands: list[SSAValue] = [b.convert(x, element_types[0]) for x in op.operands]
    else:
        between = [op.scatter_indices] if isinstance(op, hlo.ScatterOp) else []
        first, second = (op.inputs, op.updates) if isinstance(op, hlo.ScatterOp) else (op.inputs, op.init_values)
        wide = [[b.convert(x, to) for x, to in zip(values, element_types, strict=True)] for values in (first, second)]
        operands = [*wide[0], *between, *wide[1]]
    if all(new is old for new, old in zip(operands, op.operands, strict=True)):
        return None
    regions = [copy_region(region) for region in op.regions]
    if isinstance(op, hlo.SelectAndScatterOp):
        regions[0] = _of_wider(op.select, element_types[0])
    return b.create(type(op), operands, [r.type for r in op.results], op.properties, regions)


def _of_wider(region: Region, to: Attribute) -> Region:
    """A copy of a region on scalars, which takes them in a wider type and converts them to what it had."""
    block = block_with([tensor((), to) for _ in region.block.args])
    b = OpBuilder(block)
    values: dict[SSAValue, SSAValue] = {old: b.convert(new, element(old)) for old, new in zip(region.block.args, block.args, strict=True)}
    for op in region.block.ops:
        append(block, copy_op(op, values))
    return Region(block)


def recognise_mixed_product(b: OpBuilder, op: hlo.DotGeneralOp | hlo.ConvolutionOp) -> Sequence[SSAValue] | None:
    """A product of real and complex numbers, as one of complex numbers; of real numbers to complex ones, as one of real numbers that is converted.

    The cotangent of what is real is then the real part, which the conversion takes.
    """
    complexes = [is_complex(element(x)) for x in (op.lhs, op.rhs, op.result)]
    if all(complexes) or not complexes[2]:
        return None
    if not any(complexes[:2]):
        to = element(op.result)
        return [b.convert(b.one(type(op), (op.lhs, op.rhs), tensor(shape(op.result), real_element(to)), **op.properties), to)]
    part = f64 if any(dtype_of(real_element(element(x))).itemsize > 4 for x in (op.lhs, op.rhs)) else f32
    converted = [x if is_complex(element(x)) else b.convert(x, ComplexType(part)) for x in (op.lhs, op.rhs)]
    return [b.one(type(op), converted, op.result.type, **op.properties)]

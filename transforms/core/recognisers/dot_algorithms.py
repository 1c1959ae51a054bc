"""Contractions that ask for an algorithm: they are computed with at least the precision that it asks for.

An algorithm of fewer bits than the operands have (``tf32``, or three products of ``bf16``) asks for speed; the operands are multiplied
as they are. One that sums in a wider type than theirs gets operands of that type. Before and after::

    %0 = stablehlo.dot_general %x, %y, ..., algorithm = <... accumulation_type = f64 ...>       %1 = stablehlo.convert %x : tensor<2x3xf64>
                                                                                                %2 = stablehlo.convert %y : tensor<3x4xf64>
                                                                                                %3 = stablehlo.dot_general %1, %2, ...
                                                                                                %0 = stablehlo.convert %3 : tensor<2x4xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import bf16, dtype_of, element, f16, f32, f64, is_float, shape, tensor

_SUMMED_IN_F32 = (bf16, f16, f32)


def recognise_algorithm(b: OpBuilder, op: stablehlo.DotGeneralOp) -> Sequence[SSAValue] | None:
    """The contraction without its algorithm, of operands that are wide enough."""
    algorithm = op.properties.get("algorithm")
    if not isinstance(algorithm, DotAlgorithmAttr):
        return None
    element_types = [element(v) for v in (op.lhs, op.rhs, op.result)]
    if not all(map(is_float, element_types)):
        types = f"{element_types[0]} and {element_types[1]}"
        raise error_at(op, f"stablehlo.dot_general: algorithms multiply real floating-point numbers, found {types}", "leave the algorithm out")
    total = algorithm.accumulation_type
    wide = f64 if total == f64 else f32
    operands = [op.lhs, op.rhs]
    if any(dtype_of(e).itemsize < dtype_of(wide).itemsize for e in element_types) and (wide == f64 or not all(e in _SUMMED_IN_F32 for e in element_types)):
        operands = [b.convert(x, wide) if dtype_of(element(x)).itemsize < dtype_of(wide).itemsize else x for x in operands]
    properties = {name: value for name, value in op.properties.items() if name != "algorithm"}
    result = element_types[2] if all(x is y for x, y in zip(operands, op.operands, strict=True)) else element(operands[0])
    product = b.one(stablehlo.DotGeneralOp, operands, tensor(shape(op.result), result), **properties)
    return [b.convert(product, element_types[2])]

"""Sums and products of 16-bit floats are computed in f32 and rounded once, as the interpreter does.

::

    %s = core.reduce add %x across [0] : (tensor<1000x8xbf16>) -> tensor<8xbf16>

becomes a conversion to f32, the reduction of f32, and a conversion back. Fusion takes the conversions into the kernels
around them, so only what accumulates in memory is twice as wide.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import bf16, element, f16, f32, shape, tensor
from wengert.ir.traversal import ops_of


def widened(function: FuncOp) -> FuncOp:
    """The function itself if it combines no 16-bit floats, else a copy that combines them in f32."""
    if not any(_rounds(op) for op in ops_of(function, core.ReduceOp, core.ScatterOp)):
        return function
    copy = function.clone()
    for op in [op for op in ops_of(copy, core.ReduceOp, core.ScatterOp) if _rounds(op)]:
        _widen(op)
    return copy


def _rounds(op: core.ReduceOp | core.ScatterOp) -> bool:
    return op.kind.data in (Kind.add, Kind.mul) and element(op.operand) in (f16, bf16)


def _widen(op: Operation) -> None:
    block, held = op.parent, element(op.operands[0])
    assert block is not None

    def converted(value: SSAValue, target: SSAValue, wide: bool) -> Operation:
        found = stablehlo.ConvertOp.create(operands=[value], result_types=[tensor(shape(target), f32 if wide else held)], location=op.location)
        block.insert_op_before(found, op)
        return found

    operands = [converted(value, value, True).results[0] if element(value) == held else value for value in op.operands]
    wide = type(op).create(operands=operands, result_types=[tensor(shape(op.results[0]), f32)], properties=op.properties, location=op.location)
    block.insert_op_before(wide, op)
    back = converted(wide.results[0], op.results[0], False)
    op.results[0].replace_all_uses_with(back.results[0])
    op.detach()
    op.erase()

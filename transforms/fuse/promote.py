"""Promotes the accumulators of 16-bit floats: sums and products are computed in f32 and rounded once, as the interpreter does.

::

    %s = core.reduce add %x across [0] : (tensor<1000x8xbf16>) -> tensor<8xbf16>

becomes a conversion to f32, the reduction of f32, and a conversion back. Fusion takes the conversions into the kernels
around them, so only what accumulates in memory is twice as wide. Products of matrices likewise: then their operands are in
memory as f32 (rounded to 16 bits), and one that several products need is converted once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import EIGHT_BITS, bf16, element, f16, f32, is_float, shape, tensor
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

NARROW = (f16, bf16)


@dataclass(frozen=True)
class PromoteAccumulatorsPass(ModulePass):
    """Computes sums and products of 16-bit floats in f32, and rounds them once."""

    name = "promote-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.ReduceOp, core.ScatterOp, stablehlo.DotGeneralOp), _rounds, _promoted)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.ReduceOp, core.ScatterOp, stablehlo.DotGeneralOp), _rounds)


def _rounds(op: Operation) -> bool:
    if isinstance(op, stablehlo.DotGeneralOp):
        types = [element(value) for value in (op.lhs, op.rhs, op.result)]
        return op.algorithm is None and any(type != f32 for type in types) and types != [bf16, bf16, f32] and all(type in (*NARROW, *EIGHT_BITS, f32) for type in types)
    assert isinstance(op, core.ReduceOp | core.ScatterOp)
    return op.kind.data in (Kind.add, Kind.mul) and element(op.operand) in NARROW


def _multiplied_as_they_are(op: Operation) -> bool:
    """Whether the operands are of bf16: products have kernels for those, or convert them when they copy them, and those of small products are converted later."""
    return isinstance(op, stablehlo.DotGeneralOp) and element(op.lhs) == element(op.rhs) == bf16


def _promoted(b: OpBuilder, op: Operation, rounds: bool) -> SSAValue:
    result = op.results[0]
    operands = [b.convert(value, f32) if is_float(element(value)) and not _multiplied_as_they_are(op) else value for value in op.operands]
    (wide,) = b.create(type(op), operands, [tensor(shape(result), f32)], op.properties)
    return wide if element(result) == f32 else b.convert(wide, element(result))

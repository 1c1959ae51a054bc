"""Promotes the accumulators of 16-bit floats: sums and products are computed in f32 and rounded once, as the interpreter does.

::

    %s = core.reduce add %x across [0] : (tensor<1000x8xbf16>) -> tensor<8xbf16>

becomes a conversion to f32, the reduction of f32, and a conversion back. Fusion takes the conversions into the kernels
around them, so only what accumulates in memory is twice as wide. Products of matrices likewise: then their operands of f16 are in
memory as f32 (rounded to 16 bits), and one that several products need is converted once. So are operands of bf16, unless a processor multiplies or
converts them in the panels of large products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import EIGHT_BITS, bf16, element, f16, f32, is_float, shape, tensor
from wengert.transforms.fuse.operand_conversions import fits_panels, large_operand
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

NARROW = (f16, bf16)
Promotion = Literal["operands", "lhs", "rhs", "sums"]
"""What is computed in f32: the operands of an op and what it accumulates, one operand of a product and its sums, or these alone."""


@dataclass(frozen=True)
class PromoteAccumulatorsPass(ModulePass):
    """Computes sums and products of 16-bit floats in f32, and rounds them once."""

    name = "promote-accumulators"

    target: str = ""
    """A processor by name, as for the pass ``schedule``, whose large products take operands of bf16 as they are; none do by default."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.ReduceOp, core.ScatterOp, stablehlo.DotGeneralOp), self._promotion, _promoted)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.ReduceOp, core.ScatterOp, stablehlo.DotGeneralOp), self._promotion)

    def _promotion(self, op: Operation) -> Promotion | None:
        if not isinstance(op, stablehlo.DotGeneralOp):
            assert isinstance(op, core.ReduceOp | core.ScatterOp)
            return "operands" if op.kind.data in (Kind.add, Kind.mul) and element(op.operand) in NARROW else None
        types = [element(value) for value in (op.lhs, op.rhs, op.result)]
        if op.algorithm is not None or types == [f32] * 3 or not all(type in (*NARROW, *EIGHT_BITS, f32) for type in types):
            return None
        if not self.target or types[0] not in NARROW or types[1] != types[0]:
            return "operands"
        if types[0] == bf16 and fits_panels(op, "f32", self.target):
            return None if types[2] == f32 else "sums"
        kept = large_operand(op, self.target)
        return "operands" if kept is None else "lhs" if kept == 1 else "rhs"


def _promoted(b: OpBuilder, op: Operation, promotion: Promotion) -> SSAValue:
    result, converted = op.results[0], {"sums": (), "lhs": (0,), "rhs": (1,)}.get(promotion, range(len(op.operands)))
    operands = [b.convert(value, f32) if number in converted and is_float(element(value)) else value for number, value in enumerate(op.operands)]
    (wide,) = b.create(type(op), operands, [tensor(shape(result), f32)], op.properties)
    return wide if element(result) == f32 else b.convert(wide, element(result))

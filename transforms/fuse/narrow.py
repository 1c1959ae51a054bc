"""The pass ``widen-narrow-elements``: computes with integers of 4 bits in 8, and combines floats of 8 bits in f32.

Kernels move and convert these types. Integers of 4 bits have no arithmetic there, and neither type is combined by reductions, windows or scatters. The
results are those of the interpreter: integers wrap, so taking the low bits at the end is the same, and floats are rounded once, at the end.

Before and after::

    %0 = stablehlo.add %x, %y : tensor<3xi4>       %1 = stablehlo.convert %x : (tensor<3xi4>) -> tensor<3xi8>
                                                   %2 = stablehlo.convert %y : (tensor<3xi4>) -> tensor<3xi8>
                                                   %3 = stablehlo.add %1, %2 : tensor<3xi8>
                                                   %0 = stablehlo.convert %3 : (tensor<3xi8>) -> tensor<3xi4>

Products and convolutions of booleans are sums that count, of which any but zero is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.facts import facts_of
from wengert.ir.tensor_types import EIGHT_BITS, bf16, element, f16, f32, f64, i1, i4, i8, i32, shape, tensor, ui4, ui8
from wengert.ir.traversal import all_ops
from wengert.transforms.rewriter import Rewriter

_FOUR_BITS: dict[Attribute, Attribute] = {i4: i8, ui4: ui8}
_NARROW: dict[Attribute, Attribute] = {**_FOUR_BITS, **dict.fromkeys(EIGHT_BITS, f32)}
"""What elements of a type are computed in."""
_COMBINING = (core.ReduceOp, core.WindowReduceOp, core.CumulativeOp, core.ArgReduceOp, core.ScatterOp)
_CONTRACTING = (hlo.DotGeneralOp, hlo.ConvolutionOp)
_INDEXED = (hlo.DynamicSliceOp, hlo.DynamicUpdateSliceOp, hlo.GatherOp, core.ScatterOp)
_MOVING = (hlo.ConvertOp, hlo.SelectOp, hlo.BitcastConvertOp)
"""What kernels do with narrow elements as they are."""
_LOW_BITS, _TOP_BIT = 0x0F, 0x08


@dataclass(frozen=True)
class WidenNarrowElementsPass(ModulePass):
    """Computes with integers of 4 bits in 8, and combines floats of 8 bits in f32."""

    name = "widen-narrow-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        b = Rewriter(self.name)
        for narrow in [inner for inner in all_ops(op) if widening(inner)]:
            b.move_to(narrow)
            b.replace(narrow, _widened(b, narrow, widening(narrow)))

    def changes(self, module: ModuleOp) -> bool:
        return any(widening(op) for op in all_ops(module))


def widening(op: Operation) -> dict[Attribute, Attribute]:
    """The element types that an op's are computed in instead; nothing if the op stays as it is."""
    if isinstance(op, _CONTRACTING):
        return _of_contraction(op)
    if isinstance(op, _INDEXED) and (types := {element(value) for value in _indices(op)} & set(_FOUR_BITS)):
        return {type: _FOUR_BITS[type] for type in types}
    if isinstance(op, _COMBINING):
        combined = element(op.operands[0])
        is_moved = isinstance(op, core.ScatterOp) and op.kind.data is Kind.set
        return {combined: _NARROW[combined]} if combined in _NARROW and not is_moved else {}
    taken = {getattr(value.type, "element_type", None) for value in op.operands}
    if isinstance(op, hlo.ClampOp) and taken == {i1}:
        return {i1: ui8}
    wide = {type: wide for type, wide in _FOUR_BITS.items() if type in taken}
    return wide if wide and op.results and not isinstance(op, _MOVING) and facts_of(type(op)).has_function else {}


def _indices(op: hlo.DynamicSliceOp | hlo.DynamicUpdateSliceOp | hlo.GatherOp | core.ScatterOp) -> Sequence[SSAValue]:
    """The positions that an op is given."""
    if isinstance(op, hlo.DynamicSliceOp | hlo.DynamicUpdateSliceOp):
        return op.start_indices
    return [op.start_indices if isinstance(op, hlo.GatherOp) else op.scatter_indices]


def _of_contraction(op: hlo.DotGeneralOp | hlo.ConvolutionOp) -> dict[Attribute, Attribute]:
    """Products of booleans and of integers of 4 bits, and convolutions of these and of floats of 8 bits."""
    types, result = {element(op.lhs), element(op.rhs)}, element(op.result)
    if types <= {i1, *_FOUR_BITS}:
        wide = i32 if result in (i1, *_FOUR_BITS) else result
    elif isinstance(op, hlo.ConvolutionOp) and types & set(EIGHT_BITS):
        wide = f32 if result in (f16, bf16, *EIGHT_BITS) else result
    else:
        return {}
    if wide not in (i32, f32, f64) and wide in types:
        return {}
    return dict.fromkeys([*types, result], wide)


def _widened(b: OpBuilder, op: Operation, wide: dict[Attribute, Attribute]) -> list[SSAValue]:
    """The op on converted operands, and its results converted back."""
    operands = [b.convert(value, wide.get(element(value), element(value))) for value in op.operands]
    if isinstance(op, hlo.ShiftRightLogicalOp | hlo.PopcntOp | hlo.CountLeadingZerosOp):
        operands[0] = b.and_(operands[0], b.full_like(operands[0], _LOW_BITS))  # not the copies of a sign
    if isinstance(op, hlo.ShiftRightArithmeticOp):
        top = b.full_like(operands[0], _TOP_BIT)  # which is copied whether it is a sign or not
        operands[0] = b.subtract(b.xor(b.and_(operands[0], b.full_like(operands[0], _LOW_BITS)), top), top)
    types = [tensor(shape(result), wide.get(element(result), element(result))) for result in op.results]
    results = list(b.create(type(op), operands, types, op.properties))
    if isinstance(op, hlo.CountLeadingZerosOp):
        results[0] = b.subtract(results[0], b.full_like(results[0], 4))
    return [b.convert(value, element(result)) for value, result in zip(results, op.results, strict=True)]

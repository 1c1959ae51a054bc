"""The pass ``convert-operands``: operands of small products that are narrower than the result are converted before, by an op of their own.

Large products convert elements where they copy them into panels. The kernels of smaller ones would have to make a converted copy of the whole operand first,
an element at a time and on one thread; a conversion is a loop in vectors, which threads share, which the ops that compute the operand take in, and which
several products have in common. It is exact, so nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.kernel.product_elements import COMPLEX, NAMES, NARROW, convertible
from wengert.ir.tensor_types import element, shape, size, tensor
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

LEAST_VOLUME = 160**3
LEAST_SIDE = 16
"""Products of so many multiplications, with so many rows and columns, convert elements in panels (:mod:`wengert.transforms.schedule.products.choice`)."""


@dataclass(frozen=True)
class ConvertOperandsPass(ModulePass):
    """Converts narrow operands of small products by ops of their own."""

    name = "convert-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.DotGeneralOp,), _narrow, _converted)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.DotGeneralOp,), _narrow)


def _narrow(op: stablehlo.DotGeneralOp) -> bool:
    """Whether an operand is narrower than the result, and the product too small to convert it in panels."""
    *given, wide = (NAMES.get(element(x), "") for x in (op.lhs, op.rhs, op.result))
    if op.algorithm is not None or not wide or wide in (*NARROW, *COMPLEX) or given == [wide, wide] or not all(x and convertible(x, wide) for x in given):
        return False
    numbers = op.dot_dimension_numbers
    batch = prod([shape(op.lhs)[d] for d in numbers.dims("lhs_batching_dimensions")])
    terms = prod([shape(op.lhs)[d] for d in numbers.dims("lhs_contracting_dimensions")])
    rows, columns = (size(x) // max(batch * terms, 1) for x in (op.lhs, op.rhs))
    return size(op.result) > 0 and terms > 0 and (rows * columns * terms < LEAST_VOLUME or min(rows, columns) < LEAST_SIDE)


def _converted(b: OpBuilder, op: stablehlo.DotGeneralOp, narrow: bool) -> SSAValue:
    wide = element(op.result)
    (result,) = b.create(stablehlo.DotGeneralOp, [b.convert(x, wide) for x in op.operands], [tensor(shape(op.result), wide)], op.properties)
    return result

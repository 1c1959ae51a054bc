"""``chlo-to-stablehlo``: CHLO's ops that are one or two ops of StableHLO.

Before and after::

    %y = chlo.square %x     ->     %y = stablehlo.multiply %x, %x

StableHLO's portable artifacts have no ops of CHLO. Those whose numbers are approximations (``erf``, ``lgamma``, ``digamma``, inverse and hyperbolic functions)
stay: what they are made of is a library's affair. Artifacts for versions since 1.11 hold them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import chlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex
from wengert.ir.traversal import all_ops
from wengert.transforms.rewriter import Rewriter

Written = Callable[[OpBuilder, Any], Value]

_WRITTEN: dict[type[Operation], Written] = {
    chlo.SquareOp: lambda b, op: b.multiply(op.operand, op.operand),
    chlo.TanOp: lambda b, op: b.tan(op.operand),
    chlo.IsInfOp: lambda b, op: b.compare("EQ", b.abs(op.operand), b.full_like(op.operand, math.inf)),
    chlo.IsPosInfOp: lambda b, op: b.compare("EQ", op.operand, b.full_like(op.operand, math.inf)),
    chlo.IsNegInfOp: lambda b, op: b.compare("EQ", op.operand, b.full_like(op.operand, -math.inf)),
}


@dataclass(frozen=True)
class ChloToStablehloPass(ModulePass):
    """Writes CHLO's ops in StableHLO that are one or two ops there."""

    name = "chlo-to-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chlo_to_stablehlo(op)


def has_written(module: Operation) -> bool:
    """Whether there is an op that :func:`chlo_to_stablehlo` writes."""
    return any(_is_written(op) for op in all_ops(module))


def chlo_to_stablehlo(module: ModuleOp) -> None:
    """Writes such ops of a module, in place. Squares of complex numbers stay, whose infinities a product has not."""
    b = Rewriter("chlo-to-stablehlo")
    for op in [op for op in all_ops(module) if _is_written(op)]:
        b.move_to(op)
        b.replace(op, [_WRITTEN[type(op)](b, op)])


def _is_written(op: Operation) -> bool:
    return type(op) in _WRITTEN and not is_complex(element(op.operands[0]))

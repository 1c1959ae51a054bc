"""The logistic function, which JAX lowers as ``1 / (1 + exp(-x))``.

The quotient's derivative is zero times infinity where the exponential overflows, at x < -709 in f64 and x < -88 in f32; that of
``stablehlo.logistic``, y (1 - y), is zero there, as it is in JAX, which differentiates before it lowers. XLA evaluates the op as
that same quotient. Only f32 and f64 are recognised: in 16 bits a program may count on the rounding of each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.elements import splat_value
from wengert.ir.tensor_types import element, f32, f64


def recognise_logistic(b: OpBuilder, op: hlo.DivideOp) -> Sequence[SSAValue] | None:
    """``one / (one + exponential(negate(x)))``, the sum in either order, as logistic(x)."""
    total = op.rhs.owner
    if element(op.lhs) not in (f32, f64) or not isinstance(total, hlo.AddOp) or not _is_one(op.lhs):
        return None
    for one, power in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        if isinstance(power.owner, hlo.ExponentialOp) and isinstance(power.owner.operand.owner, hlo.NegateOp) and _is_one(one):
            return [b.logistic(power.owner.operand.owner.operand)]
    return None


def _is_one(value: SSAValue) -> bool:
    """Whether a value is a constant of ones, or one repeated."""
    owner = value.owner
    while isinstance(owner, hlo.BroadcastInDimOp):
        owner = owner.operand.owner
    if not isinstance(owner, hlo.ConstantOp):
        return False
    number = splat_value(cast("DenseIntOrFPElementsAttr[Any]", owner.value))
    return number is not None and float(number) == 1

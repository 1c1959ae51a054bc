"""log(exp(a) + exp(b)), which JAX lowers as ``max(a, b) + log(1 + exp(-|a - b|))``: softplus, log_sigmoid, logaddexp.

It is smooth, but taken apart its derivative at a = b is half of the maximum's tie plus whatever convention holds for the absolute value at 0,
which gives 0 instead of 1/2 to ``a`` with JAX's convention (JAX itself differentiates before it lowers). With ``max(a, b) - min(a, b)``
for ``|a - b|``, the same number to the last bit, both ties share equally and the half remains.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import size


def recognise_logaddexp(b: OpBuilder, op: hlo.AddOp) -> Sequence[SSAValue] | None:
    """``maximum(x, y) + log_plus_one(exponential(-|x - y|))``, the sum in either order."""
    for larger, rest in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        top, difference = larger.owner, _difference(rest)
        if isinstance(top, hlo.MaximumOp) and difference is not None and {_identity(v) for v in difference.operands} == {_identity(v) for v in top.operands}:
            gap = b.subtract(larger, b.minimum(top.lhs, top.rhs))
            return [b.add(larger, b.log_plus_one(b.exponential(b.negate(gap))))]
    return None


def _difference(value: SSAValue) -> hlo.SubtractOp | None:
    """x - y where the value is log_plus_one(exponential(-|x - y|))."""
    for kind in (hlo.LogPlusOneOp, hlo.ExponentialOp, hlo.NegateOp, hlo.AbsOp):
        if not isinstance(value.owner, kind):
            return None
        value = value.owner.operand
    return value.owner if isinstance(value.owner, hlo.SubtractOp) else None


def _identity(value: SSAValue) -> object:
    """Equal for values that are the same: a scalar that is spread out several times counts as one, and so do equal constants."""
    owner = value.owner
    if isinstance(owner, hlo.BroadcastInDimOp) and size(owner.operand) == 1:
        return _identity(owner.operand)
    return owner.value if isinstance(owner, hlo.ConstantOp) else value

"""Detects affine functions that are declared to be linear: they add a term that does not depend on their linear arguments.

Such a function has no transpose; op-by-op transposition would give that of another function. A term is detected if it is known
not to be zero always: an argument, a constant, or arithmetic on these. Other terms (a loop that computes zeros) are taken to be zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from wengert.dialects import ad, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.facts import facts_of
from wengert.ir import elements

_ZERO_OF_ZEROS = (
    hlo.BroadcastInDimOp, hlo.ReshapeOp, hlo.TransposeOp, hlo.ConvertOp, hlo.NegateOp, hlo.SliceOp, hlo.ReverseOp, hlo.AddOp, hlo.SubtractOp, hlo.PadOp,
    hlo.ConcatenateOp, hlo.SineOp, hlo.TanhOp, hlo.SqrtOp, core.ReduceOp, ad.StopGradientOp,
)  # fmt: skip
_NEVER_ZERO = (hlo.CosineOp, hlo.ExponentialOp)


def adds_a_constant(op: Operation, operands: Sequence[SSAValue], linear: Sequence[bool]) -> bool:
    """Whether an op adds a term that does not depend on a tangent, and is not zero, to one that does (``linear`` flags such operands)."""
    positions = facts_of(type(op)).linear_operands(len(operands))
    return any(linear[i] for i in positions) and any(not linear[i] and _differs_from_zero(operands[i], {}) for i in positions)


def _differs_from_zero(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    if value not in known:
        known[value] = False
        known[value] = _compute_differs(value, known)
    return known[value]


def _compute_differs(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    op = value.owner
    if not isinstance(op, Operation) or isinstance(op, _NEVER_ZERO):
        return True
    if isinstance(op, hlo.ConstantOp):
        return bool(elements.to_numpy(op.value).any())
    if isinstance(op, hlo.MultiplyOp | hlo.DotGeneralOp):
        return all(_differs_from_zero(v, known) for v in op.operands[:2])
    if isinstance(op, hlo.DivideOp):
        return _differs_from_zero(op.operands[0], known)
    if isinstance(op, hlo.SelectOp):
        return any(_differs_from_zero(v, known) for v in op.operands[1:])
    return isinstance(op, _ZERO_OF_ZEROS) and any(_differs_from_zero(v, known) for v in op.operands)

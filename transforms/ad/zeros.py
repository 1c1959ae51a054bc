"""Values of a linear program that are zero whatever its residuals are: what linear ops make of zeros.

A linear function may have results that its linear arguments do not reach. They are linear in them only if they are zero, and that is seen
by going through the ops that compute them. A product with a zero is zero here, as everywhere in a linear program, where zeros are structural.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.stablehlo import ConstantOp
from wengert.ir import elements
from wengert.ir.tensor_types import is_differentiable, size
from wengert.transforms.ad.backward import NONLINEAR_OPERANDS, ONE_OF_TWO
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, TRANSPOSES


def is_zero(value: SSAValue) -> bool:
    """Whether a value of a linear program's block is zero."""
    return _is_zero(value, {})


def _is_zero(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    if value not in known:
        known[value] = size(value) == 0 or (isinstance(value.owner, Operation) and _gives_zero(value.owner, known))
    return known[value]


def _gives_zero(op: Operation, known: dict[SSAValue, bool]) -> bool:
    if isinstance(op, ConstantOp):
        return not elements.to_numpy(op.value).any()
    if op.regions or not (type(op) in TRANSPOSES or type(op) in TRANSPOSE_STEPS):
        return False
    if (kind := op.properties.get("kind")) is not None and getattr(kind, "data", None) not in (core.Kind.add, core.Kind.set):
        return False
    if isinstance(op, ONE_OF_TWO):
        return any(_is_zero(operand, known) for operand in op.operands[:2])
    fixed = NONLINEAR_OPERANDS.get(type(op), ())
    linear = [operand for position, operand in enumerate(op.operands) if position not in fixed and is_differentiable(operand.type)]
    return bool(linear) and all(_is_zero(operand, known) for operand in linear)

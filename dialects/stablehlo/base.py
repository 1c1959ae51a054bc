"""What every StableHLO op shares: one text syntax declaration and one typing rule, both found by class.

An op's textual form is a declaration (``syntax``), so that the fast reader, stock xDSL and the printer all follow one
definition. Its typing rule lives in ``dialects/stablehlo/typing``, one function per op.
"""

from __future__ import annotations

from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.ir.typing_rules import TYPING_RULES


class TensorOp(IRDLOperation):
    """An op on tensors: checked by the typing rule that is registered for its class."""

    def verify_(self) -> None:
        rule = TYPING_RULES.get(type(self))
        if rule is not None:
            rule(self)


class UnaryOp(TensorOp):
    """One operand, one result of the same shape."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


class BinaryOp(TensorOp):
    """Two operands and a result of the same shape."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

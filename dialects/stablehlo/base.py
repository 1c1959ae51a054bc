"""The base of every StableHLO op: a text syntax, a typing rule and facts for passes, all found by class.

An op's textual form is a declaration (``SYNTAX``), so that the fast reader, stock xDSL and the printer all follow one
definition. Its typing rule lives in ``dialects/stablehlo/typing``, one function per op. Its facts (``FACTS``) are what costs, fusion,
batching and schedules know of it (:mod:`wengert.dialects.facts`).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import Facts
from wengert.ir.operations import DialectOperation
from wengert.ir.syntax import parts as sx
from wengert.ir.syntax.foreign import print_operation, read_operation
from wengert.ir.verification.typing_rules import TYPING_RULES


class TensorOp(DialectOperation):
    """An op on tensors: checked by the typing rule that is registered for its class, written by its declared syntax.

    A class without a syntax is written in MLIR's generic form.
    """

    SYNTAX: ClassVar[sx.Syntax | None] = None
    FACTS: ClassVar[Facts | None] = None

    def verify_(self) -> None:
        rule = TYPING_RULES.get(type(self))
        if rule is not None:
            rule(self)

    def __init_subclass__(cls, **arguments: object) -> None:
        """Lets stock xDSL read and write the op by its syntax; without one, xDSL uses the generic form."""
        super().__init_subclass__(**arguments)
        if cls.SYNTAX is not None:
            cls.parse = classmethod(read_operation)  # pyright: ignore[reportAttributeAccessIssue]
            cls.print = print_operation  # pyright: ignore[reportAttributeAccessIssue]


class UnaryOp(TensorOp):
    """One operand, one result of the same shape."""

    SYNTAX: ClassVar[sx.Syntax | None] = sx.elementwise()
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


class BinaryOp(TensorOp):
    """Two operands and a result of the same shape."""

    SYNTAX: ClassVar[sx.Syntax | None] = sx.elementwise()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

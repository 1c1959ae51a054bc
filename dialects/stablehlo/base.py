"""What every StableHLO op shares: one text syntax declaration and one typing rule, both found by class.

An op's textual form is a declaration (``SYNTAX``), so that the fast reader, stock xDSL and the printer all follow one
definition. Its typing rule lives in ``dialects/stablehlo/typing``, one function per op.
"""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from wengert.ir import syntax as sx
from wengert.ir.foreign import print_operation, read_operation
from wengert.ir.typing_rules import TYPING_RULES


class TensorOp(IRDLOperation):
    """An op on tensors: checked by the typing rule that is registered for its class, written by its declared syntax.

    A class without a syntax is written in MLIR's generic form.
    """

    SYNTAX: ClassVar[sx.Syntax | None] = None

    def verify_(self) -> None:
        rule = TYPING_RULES.get(type(self))
        if rule is not None:
            rule(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the op for stock xDSL (our own parser follows the syntax itself)."""
        return read_operation(cls, parser)

    def print(self, printer: Printer) -> None:
        """Writes the op for stock xDSL (our own printer follows the syntax itself)."""
        print_operation(self, printer)


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

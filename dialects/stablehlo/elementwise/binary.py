"""StableHLO's elementwise ops of two operands: arithmetic, logic, shifts."""

from __future__ import annotations

from typing import ClassVar

from wengert.dialects.facts import CHEAP, DIVISION, NO_FLOPS, SPECIAL, elementwise, transcendental
from wengert.dialects.stablehlo.base import BinaryOp
from wengert.ir.element_classes import ANY, FLOAT, INEXACT, INTEGER, LOGICAL, NUMBER
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class AddOp(BinaryOp):
    """Sum (or for booleans)."""

    name = "stablehlo.add"
    FACTS: ClassVar = elementwise(ANY, CHEAP, flops=(1, 2), linear="all")


@op_definition
class Atan2Op(BinaryOp):
    """Angle of the point (rhs, lhs)."""

    name = "stablehlo.atan2"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL, complex=None)


@op_definition
class DivideOp(BinaryOp):
    """Quotient."""

    name = "stablehlo.divide"
    FACTS: ClassVar = elementwise(NUMBER, DIVISION, integers=SPECIAL, flops=(1, 11), linear=(0,))


@op_definition
class MaximumOp(BinaryOp):
    """Larger of two; NaN if either is NaN."""

    name = "stablehlo.maximum"
    FACTS: ClassVar = elementwise(ANY, CHEAP, complex=None, flops=(1, 1))


@op_definition
class MinimumOp(BinaryOp):
    """Smaller of two; NaN if either is NaN."""

    name = "stablehlo.minimum"
    FACTS: ClassVar = elementwise(ANY, CHEAP, complex=None, flops=(1, 1))


@op_definition
class MultiplyOp(BinaryOp):
    """Product (and for booleans)."""

    name = "stablehlo.multiply"
    FACTS: ClassVar = elementwise(ANY, CHEAP, flops=(1, 6), bilinear=True)


@op_definition
class PowerOp(BinaryOp):
    """Lhs to the power of rhs."""

    name = "stablehlo.power"
    FACTS: ClassVar = transcendental(NUMBER, SPECIAL)


@op_definition
class RemainderOp(BinaryOp):
    """Remainder with the sign of lhs."""

    name = "stablehlo.remainder"
    FACTS: ClassVar = elementwise(NUMBER, SPECIAL, complex=None, flops=(1, 1))


@op_definition
class SubtractOp(BinaryOp):
    """Difference."""

    name = "stablehlo.subtract"
    FACTS: ClassVar = elementwise(NUMBER, CHEAP, flops=(1, 2), linear="all")


@op_definition
class AndOp(BinaryOp):
    """Bitwise or logical and."""

    name = "stablehlo.and"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class OrOp(BinaryOp):
    """Bitwise or logical or."""

    name = "stablehlo.or"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class XorOp(BinaryOp):
    """Bitwise or logical exclusive or."""

    name = "stablehlo.xor"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class ShiftLeftOp(BinaryOp):
    """Shift left."""

    name = "stablehlo.shift_left"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """Shift right, copying the sign bit."""

    name = "stablehlo.shift_right_arithmetic"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ShiftRightLogicalOp(BinaryOp):
    """Shift right, filling with zeros."""

    name = "stablehlo.shift_right_logical"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ComplexOp(BinaryOp):
    """Complex number from real and imaginary parts."""

    name = "stablehlo.complex"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.ComplexTypes())

"""StableHLO's conversions between floating-point numbers and the integers that stand for them."""

from __future__ import annotations

from typing import ClassVar

from wengert.dialects.facts import NO_FLOPS, elementwise
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.element_classes import REAL
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class UniformQuantizeOp(UnaryOp):
    """The nearest integers that stand for the operand; of quantized numbers, by other scales."""

    name = "stablehlo.uniform_quantize"
    FACTS: ClassVar = elementwise(REAL, one_type=False, flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.plain()


@op_definition
class UniformDequantizeOp(UnaryOp):
    """The numbers that quantized ones stand for."""

    name = "stablehlo.uniform_dequantize"
    FACTS: ClassVar = elementwise(REAL, one_type=False, flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.plain()

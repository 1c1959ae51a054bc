"""StableHLO's elementwise ops that change the element type or its precision."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import CHEAP, NO_FLOPS, Batching, Facts, Work, elementwise
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.base import TensorOp, UnaryOp
from wengert.ir.attributes import I32Attr
from wengert.ir.element_classes import ANY, FLOAT, INTEGER, REAL
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class ConvertOp(UnaryOp):
    """Conversion to the result's element type."""

    name = "stablehlo.convert"
    FACTS: ClassVar = elementwise(ANY, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)


@op_definition
class BitcastConvertOp(UnaryOp):
    """The same bits under another element type."""

    name = "stablehlo.bitcast_convert"
    FACTS: ClassVar = Facts(work=Work.NONE, takes=FLOAT | INTEGER, floats=CHEAP, integers=CHEAP, batching=Batching.SAME_OP)
    SYNTAX: ClassVar = sx.plain()


@op_definition
class ReducePrecisionOp(TensorOp):
    """Rounding to a format of fewer exponent and mantissa bits, and back."""

    name = "stablehlo.reduce_precision"
    FACTS: ClassVar = elementwise(REAL, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), st.FormatText(), sx.SameType())
    operand = operand_def()
    exponent_bits = prop_def(I32Attr)
    mantissa_bits = prop_def(I32Attr)
    result = result_def()
    traits = traits_def(Pure())

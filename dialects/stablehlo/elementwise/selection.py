"""StableHLO's elementwise ops that compare and choose."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import CHEAP, NO_FLOPS, Batching, elementwise
from wengert.dialects.stablehlo.attributes import ComparisonDirectionAttr, ComparisonTypeAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.element_classes import ANY
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx

_COMPARISONS = tuple(f"{order}{name}" for order in ("", "total_") for name in ("eq", "ne", "lt", "le", "gt", "ge"))
"""The scalar functions of ``compare``, by direction and order."""


@op_definition
class CompareOp(TensorOp):
    """Comparison; the result is boolean."""

    name = "stablehlo.compare"
    FACTS: ClassVar = elementwise(ANY, CHEAP, flops=(1, 2), one_type=False, functions=_COMPARISONS)
    SYNTAX: ClassVar = sx.Syntax(
        sx.Value("comparison_direction", sx.Word(ComparisonDirectionAttr)),
        sx.Mark(","),
        sx.Operands(),
        sx.Value("compare_type", sx.Word(ComparisonTypeAttr), ",", optional=True),
        sx.FunctionType(),
    )
    lhs = operand_def()
    rhs = operand_def()
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class SelectOp(TensorOp):
    """on_true where pred holds, else on_false; pred may be a scalar."""

    name = "stablehlo.select"
    FACTS: ClassVar = elementwise(ANY, CHEAP, one_type=False, linear=(1, 2), batching=Batching.RULE, flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.SelectType())
    pred = operand_def()
    on_true = operand_def()
    on_false = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ClampOp(TensorOp):
    """min(max(operand, min), max); min and max may be scalars."""

    name = "stablehlo.clamp"
    FACTS: ClassVar = elementwise(ANY, CHEAP, booleans=None, complex=None, flops=(2, 2), one_type=False, batching=Batching.RULE)
    SYNTAX: ClassVar = sx.elementwise()
    min = operand_def()
    operand = operand_def()
    max = operand_def()
    result = result_def()
    traits = traits_def(Pure())

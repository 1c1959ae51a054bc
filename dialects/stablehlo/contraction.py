"""StableHLO's contractions: products of tensors summed over shared dimensions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, StringAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import EXPANSION, Facts, Work
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, DotDimensionNumbersAttr, PrecisionAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class DotGeneralOp(TensorOp):
    """Batched contraction of two tensors; result dimensions are batch, then lhs free, then rhs free."""

    name = "stablehlo.dot_general"
    FACTS: ClassVar = Facts(work=Work.FORMULA, bilinear=True)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), st.DotText(), sx.FunctionType())
    lhs = operand_def()
    rhs = operand_def()
    dot_dimension_numbers = prop_def(DotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr)
    algorithm = opt_prop_def(DotAlgorithmAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ConvolutionOp(TensorOp):
    """Windowed contraction of lhs with the kernel rhs, with strides, padding, dilations, reversal and groups."""

    name = "stablehlo.convolution"
    FACTS: ClassVar = Facts(work=Work.FORMULA, bilinear=True)
    SYNTAX: ClassVar = sx.Syntax(sx.ParenthesizedOperands(), st.ConvolutionText(), sx.FunctionType())
    lhs = operand_def()
    rhs = operand_def()
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    lhs_dilation = opt_prop_def(DenseArrayBase)
    rhs_dilation = opt_prop_def(DenseArrayBase)
    window_reversal = opt_prop_def(DenseArrayBase)
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(I64Attr)
    batch_group_count = prop_def(I64Attr)
    precision_config = opt_prop_def(ArrayAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DotOp(TensorOp):
    """The sum of products over the last dimension of lhs and the first one of rhs, which are vectors or matrices; older text has it."""

    name = "stablehlo.dot"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.Keys(sx.Key("precision", "precision_config", sx.Words(PrecisionAttr), optional=True)), sx.FunctionType())
    lhs = operand_def()
    rhs = operand_def()
    precision_config = opt_prop_def(ArrayAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class EinsumOp(TensorOp):
    """Einstein's summation of two tensors, whose dimensions einsum_config names: ``"ij,jk->ik"``; older text has it."""

    name = "stablehlo.einsum"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.keyed(sx.Key("config", "einsum_config", sx.STRING))
    lhs = operand_def()
    rhs = operand_def()
    einsum_config = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class UnaryEinsumOp(TensorOp):
    """The same of one tensor: ``"ij->ji"``."""

    name = "stablehlo.unary_einsum"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.keyed(sx.Key("config", "einsum_config", sx.STRING))
    operand = operand_def()
    einsum_config = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

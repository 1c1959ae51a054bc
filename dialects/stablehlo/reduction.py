"""StableHLO's reductions and sorts: ops with a region that combines or compares elements."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, DenseIntOrFPElementsAttr
from xdsl.irdl import (
    SameVariadicOperandSize,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from wengert.dialects.facts import FORMULA
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class ReduceOp(TensorOp):
    """Folds dimensions away with the region, starting from the initial values."""

    name = "stablehlo.reduce"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(st.ReduceText())
    inputs = var_operand_def()
    init_values = var_operand_def()
    dimensions = prop_def(DenseArrayBase)
    body = region_def()
    results_ = var_result_def()
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())


@op_definition
class ReduceWindowOp(TensorOp):
    """Folds every window of the inputs with the region."""

    name = "stablehlo.reduce_window"
    FACTS: ClassVar = FORMULA
    inputs = var_operand_def()
    init_values = var_operand_def()
    window_dimensions = prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    base_dilations = opt_prop_def(DenseArrayBase)
    window_dilations = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    body = region_def()
    results_ = var_result_def()
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())


@op_definition
class SelectAndScatterOp(TensorOp):
    """Selects one element of every window and scatters the source value of that window onto it."""

    name = "stablehlo.select_and_scatter"
    FACTS: ClassVar = FORMULA
    operand = operand_def()
    source = operand_def()
    init_value = operand_def()
    window_dimensions = opt_prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    select = region_def()
    scatter = region_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class SortOp(TensorOp):
    """Sorts the inputs together along a dimension by the comparator region."""

    name = "stablehlo.sort"
    FACTS: ClassVar = FORMULA
    inputs = var_operand_def()
    dimension = opt_prop_def(I64Attr)
    is_stable = opt_prop_def(BoolAttr)
    comparator = region_def()
    results_ = var_result_def()
    traits = traits_def(Pure())


@op_definition
class MapOp(TensorOp):
    """Applies a scalar region elementwise."""

    name = "stablehlo.map"
    FACTS: ClassVar = FORMULA
    inputs = var_operand_def()
    dimensions = prop_def(DenseArrayBase)
    computation = region_def()
    result = result_def()
    traits = traits_def(Pure())

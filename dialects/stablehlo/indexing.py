"""StableHLO's ops that read or write at computed positions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase
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

from wengert.dialects.facts import Batching, Facts, Traffic, Work
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class DynamicSliceOp(TensorOp):
    """A slice of static size at a computed start, clamped so that it fits."""

    name = "stablehlo.dynamic_slice"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.SLICE, recompute=True, linear=(0,))
    SYNTAX: ClassVar = sx.keyed(sx.Key("sizes", "slice_sizes", sx.INTS))
    operand = operand_def()
    start_indices = var_operand_def()
    slice_sizes = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicUpdateSliceOp(TensorOp):
    """The operand with a slice replaced at a computed start, clamped so that it fits."""

    name = "stablehlo.dynamic_update_slice"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.UPDATE, linear=(0, 1))
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def()
    update = operand_def()
    start_indices = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class GatherOp(TensorOp):
    """Slices of the operand at computed starts (clamped), arranged by the dimension numbers."""

    name = "stablehlo.gather"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.SLICE, linear=(0,))
    operand = operand_def()
    start_indices = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    slice_sizes = prop_def(DenseArrayBase)
    indices_are_sorted = opt_prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ScatterOp(TensorOp):
    """The inputs with updates combined into them by the region at computed positions; those out of bounds are dropped."""

    name = "stablehlo.scatter"
    FACTS: ClassVar = Facts(work=Work.FORMULA, traffic=Traffic.SCATTER)
    inputs = var_operand_def()
    scatter_indices = operand_def()
    updates = var_operand_def()
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    update_computation = region_def()
    results_ = var_result_def()
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())


@op_definition
class TorchIndexSelectOp(TensorOp):
    """Slices of the operand along a dimension at the given indices."""

    name = "stablehlo.torch_index_select"
    FACTS: ClassVar = Facts(work=Work.NONE, traffic=Traffic.SLICE, batching=Batching.LOOP)
    operand = operand_def()
    index = operand_def()
    dim = prop_def(I64Attr)
    batch_dims = prop_def(I64Attr)
    result = result_def()
    traits = traits_def(Pure())

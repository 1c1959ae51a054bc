"""StableHLO's ops for shapes that are known only at run time. AD and compilation see the static forms that ``refine-shapes`` gives them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import MOVEMENT, UNBATCHED
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, GatherDimensionNumbersAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class GetDimensionSizeOp(TensorOp):
    """The extent of a dimension."""

    name = "stablehlo.get_dimension_size"
    FACTS: ClassVar = MOVEMENT
    SYNTAX: ClassVar = sx.keyed(sx.Key("dim", "dimension", sx.INT))
    operand = operand_def()
    dimension = prop_def(I64Attr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class SetDimensionSizeOp(TensorOp):
    """The operand with the extent of a dimension cut to a run-time value."""

    name = "stablehlo.set_dimension_size"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.keyed(sx.Key("dim", "dimension", sx.INT))
    operand = operand_def()
    size = operand_def()
    dimension = prop_def(I64Attr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicBroadcastInDimOp(TensorOp):
    """broadcast_in_dim to a computed shape."""

    name = "stablehlo.dynamic_broadcast_in_dim"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.keyed(sx.Key("dims", "broadcast_dimensions", sx.INTS))
    operand = operand_def()
    output_dimensions = operand_def()
    broadcast_dimensions = prop_def(DenseArrayBase)
    known_expanding_dimensions = opt_prop_def(DenseArrayBase)
    known_nonexpanding_dimensions = opt_prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicIotaOp(TensorOp):
    """iota of a computed shape."""

    name = "stablehlo.dynamic_iota"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.keyed(sx.Key("dim", "iota_dimension", sx.INT))
    output_shape = operand_def()
    iota_dimension = prop_def(I64Attr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicReshapeOp(TensorOp):
    """reshape to a computed shape."""

    name = "stablehlo.dynamic_reshape"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def()
    output_shape = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicPadOp(TensorOp):
    """pad by computed amounts."""

    name = "stablehlo.dynamic_pad"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def()
    padding_value = operand_def()
    edge_padding_low = operand_def()
    edge_padding_high = operand_def()
    interior_padding = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicGatherOp(TensorOp):
    """gather with computed slice sizes."""

    name = "stablehlo.dynamic_gather"
    FACTS: ClassVar = UNBATCHED
    operand = operand_def()
    start_indices = operand_def()
    slice_sizes = operand_def()
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class DynamicConvOp(TensorOp):
    """convolution with computed padding."""

    name = "stablehlo.dynamic_conv"
    FACTS: ClassVar = UNBATCHED
    lhs = operand_def()
    rhs = operand_def()
    padding = operand_def()
    window_strides = opt_prop_def(DenseArrayBase)
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
class RealDynamicSliceOp(TensorOp):
    """slice with computed bounds."""

    name = "stablehlo.real_dynamic_slice"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.plain()
    operand = operand_def()
    start_indices = operand_def()
    limit_indices = operand_def()
    strides = operand_def()
    result = result_def()
    traits = traits_def(Pure())

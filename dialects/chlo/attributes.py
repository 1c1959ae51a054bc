"""CHLO's attributes: its own spellings of StableHLO's enumerations, and the dimension numbers of a ragged contraction."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, param_def

from wengert.dialects.stablehlo.attributes import ComparisonDirection, ComparisonType, DimensionNumbers, Dimensions, Precision


@irdl_attr_definition
class ChloComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    name = "chlo.comparison_direction"


@irdl_attr_definition
class ChloComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    name = "chlo.comparison_type"


@irdl_attr_definition
class ChloPrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    name = "chlo.precision"


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(DimensionNumbers):
    """Those of a dot_general, the dimension of lhs that is cut into groups, and the one of rhs that holds a matrix for each group."""

    name = "chlo.ragged_dot"
    LISTS: ClassVar[tuple[str, ...]] = (
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
        "lhs_ragged_dimensions",
        "rhs_group_dimensions",
    )
    lhs_batching_dimensions: Dimensions = param_def()
    rhs_batching_dimensions: Dimensions = param_def()
    lhs_contracting_dimensions: Dimensions = param_def()
    rhs_contracting_dimensions: Dimensions = param_def()
    lhs_ragged_dimensions: Dimensions = param_def()
    rhs_group_dimensions: Dimensions = param_def()


ALL = (ChloComparisonDirectionAttr, ChloComparisonTypeAttr, ChloPrecisionAttr, RaggedDotDimensionNumbersAttr)

"""CHLO's elementwise ops of operands whose shapes differ: the smaller ones are repeated, as NumPy does, or along ``broadcast_dimensions``."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.chlo.attributes import ChloComparisonDirectionAttr, ChloComparisonTypeAttr
from wengert.dialects.facts import EXPANSION
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


class BroadcastingOp(TensorOp):
    """Two operands, written ``%x, %y {broadcast_dimensions = array<i64: 1>} : (T, U) -> V``.

    Dimension i of the operand of lower rank is repeated along dimension broadcast_dimensions[i] of the result; by default its last dimension along the
    last one, and so on. An extent of 1 is repeated.
    """

    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar[sx.Syntax | None] = sx.plain()
    lhs = operand_def()
    rhs = operand_def()
    broadcast_dimensions = opt_prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class BroadcastAddOp(BroadcastingOp):
    """The sum."""

    name = "chlo.broadcast_add"


@op_definition
class BroadcastAndOp(BroadcastingOp):
    """Bitwise or logical and."""

    name = "chlo.broadcast_and"


@op_definition
class BroadcastAtan2Op(BroadcastingOp):
    """The angle of the point (rhs, lhs)."""

    name = "chlo.broadcast_atan2"


@op_definition
class BroadcastComplexOp(BroadcastingOp):
    """Complex numbers of real parts and imaginary parts."""

    name = "chlo.broadcast_complex"


@op_definition
class BroadcastDivideOp(BroadcastingOp):
    """The quotient."""

    name = "chlo.broadcast_divide"


@op_definition
class BroadcastMaximumOp(BroadcastingOp):
    """The larger."""

    name = "chlo.broadcast_maximum"


@op_definition
class BroadcastMinimumOp(BroadcastingOp):
    """The smaller."""

    name = "chlo.broadcast_minimum"


@op_definition
class BroadcastMultiplyOp(BroadcastingOp):
    """The product."""

    name = "chlo.broadcast_multiply"


@op_definition
class BroadcastNextAfterOp(BroadcastingOp):
    """The next representable number after lhs towards rhs."""

    name = "chlo.broadcast_next_after"


@op_definition
class BroadcastOrOp(BroadcastingOp):
    """Bitwise or logical or."""

    name = "chlo.broadcast_or"


@op_definition
class BroadcastPolygammaOp(BroadcastingOp):
    """Derivative of order lhs of digamma at rhs."""

    name = "chlo.broadcast_polygamma"


@op_definition
class BroadcastPowerOp(BroadcastingOp):
    """Lhs to the power rhs."""

    name = "chlo.broadcast_power"


@op_definition
class BroadcastRemainderOp(BroadcastingOp):
    """The remainder of a division, of the sign of lhs."""

    name = "chlo.broadcast_remainder"


@op_definition
class BroadcastShiftLeftOp(BroadcastingOp):
    """Lhs shifted left by rhs bits."""

    name = "chlo.broadcast_shift_left"


@op_definition
class BroadcastShiftRightArithmeticOp(BroadcastingOp):
    """Lhs shifted right by rhs bits, filled with its sign."""

    name = "chlo.broadcast_shift_right_arithmetic"


@op_definition
class BroadcastShiftRightLogicalOp(BroadcastingOp):
    """Lhs shifted right by rhs bits, filled with zeros."""

    name = "chlo.broadcast_shift_right_logical"


@op_definition
class BroadcastSubtractOp(BroadcastingOp):
    """The difference."""

    name = "chlo.broadcast_subtract"


@op_definition
class BroadcastXorOp(BroadcastingOp):
    """Bitwise or logical exclusive or."""

    name = "chlo.broadcast_xor"


@op_definition
class BroadcastZetaOp(BroadcastingOp):
    """Hurwitz zeta function of exponent lhs and offset rhs."""

    name = "chlo.broadcast_zeta"


@op_definition
class BroadcastCompareOp(BroadcastingOp):
    """Comparison; the result is boolean."""

    name = "chlo.broadcast_compare"
    comparison_direction = prop_def(ChloComparisonDirectionAttr)
    compare_type = opt_prop_def(ChloComparisonTypeAttr)


@op_definition
class BroadcastSelectOp(TensorOp):
    """One of two values, where a predicate holds and where it does not; all three are repeated as NumPy does."""

    name = "chlo.broadcast_select"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.plain()
    pred = operand_def()
    on_true = operand_def()
    on_false = operand_def()
    result = result_def()
    traits = traits_def(Pure())


ALL = (
    BroadcastAddOp,
    BroadcastAndOp,
    BroadcastAtan2Op,
    BroadcastComplexOp,
    BroadcastDivideOp,
    BroadcastMaximumOp,
    BroadcastMinimumOp,
    BroadcastMultiplyOp,
    BroadcastNextAfterOp,
    BroadcastOrOp,
    BroadcastPolygammaOp,
    BroadcastPowerOp,
    BroadcastRemainderOp,
    BroadcastShiftLeftOp,
    BroadcastShiftRightArithmeticOp,
    BroadcastShiftRightLogicalOp,
    BroadcastSubtractOp,
    BroadcastXorOp,
    BroadcastZetaOp,
    BroadcastCompareOp,
    BroadcastSelectOp,
)

"""The CHLO dialect: StableHLO's client ops, mostly scalar special functions, kept as primitives."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.stablehlo.base import BinaryOp, TensorOp, UnaryOp
from wengert.ir.attributes import I64Attr


@irdl_op_definition
class AcosOp(UnaryOp):
    """Arc cosine."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Inverse hyperbolic cosine."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(UnaryOp):
    """Arc sine."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Inverse hyperbolic sine."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(UnaryOp):
    """Arc tangent."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Inverse hyperbolic tangent."""

    name = "chlo.atanh"


@irdl_op_definition
class BesselI1eOp(UnaryOp):
    """Exponentially scaled modified Bessel function of order 1."""

    name = "chlo.bessel_i1e"


@irdl_op_definition
class ConjOp(UnaryOp):
    """Complex conjugate."""

    name = "chlo.conj"


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class DigammaOp(UnaryOp):
    """Logarithmic derivative of the gamma function."""

    name = "chlo.digamma"


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function."""

    name = "chlo.erf"


@irdl_op_definition
class ErfInvOp(UnaryOp):
    """Inverse error function."""

    name = "chlo.erf_inv"


@irdl_op_definition
class ErfcOp(UnaryOp):
    """Complementary error function."""

    name = "chlo.erfc"


@irdl_op_definition
class IsInfOp(UnaryOp):
    """Infinite of either sign."""

    name = "chlo.is_inf"


@irdl_op_definition
class IsNegInfOp(UnaryOp):
    """Negative infinity."""

    name = "chlo.is_neg_inf"


@irdl_op_definition
class IsPosInfOp(UnaryOp):
    """Positive infinity."""

    name = "chlo.is_pos_inf"


@irdl_op_definition
class LgammaOp(UnaryOp):
    """Logarithm of |gamma(x)|."""

    name = "chlo.lgamma"


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class SquareOp(UnaryOp):
    """X times x."""

    name = "chlo.square"


@irdl_op_definition
class TanOp(UnaryOp):
    """Tangent."""

    name = "chlo.tan"


@irdl_op_definition
class NextAfterOp(BinaryOp):
    """The next representable number after lhs towards rhs."""

    name = "chlo.next_after"


@irdl_op_definition
class PolygammaOp(BinaryOp):
    """Derivative of order lhs of digamma at rhs."""

    name = "chlo.polygamma"


@irdl_op_definition
class ZetaOp(BinaryOp):
    """Hurwitz zeta function of exponent lhs and offset rhs."""

    name = "chlo.zeta"


@irdl_op_definition
class ConstantOp(TensorOp):
    """A constant tensor."""

    name = "chlo.constant"
    value = prop_def()
    output = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class TopKOp(TensorOp):
    """The k largest (or smallest) elements of the last dimension, in order, and their positions."""

    name = "chlo.top_k"
    operand = operand_def()
    k = prop_def(I64Attr)
    largest = opt_prop_def(BoolAttr)
    values = result_def()
    indices = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class RaggedDotOp(TensorOp):
    """A contraction over groups of rows of different sizes."""

    name = "chlo.ragged_dot"
    lhs = operand_def()
    rhs = operand_def()
    group_sizes = operand_def()
    ragged_dot_dimension_numbers = prop_def()
    precision_config = opt_prop_def()
    result = result_def()
    traits = traits_def(Pure())


Chlo = Dialect(
    "chlo",
    [
        AcosOp,
        AcoshOp,
        AsinOp,
        AsinhOp,
        AtanOp,
        AtanhOp,
        BesselI1eOp,
        ConjOp,
        ConstantOp,
        CoshOp,
        DigammaOp,
        ErfOp,
        ErfInvOp,
        ErfcOp,
        IsInfOp,
        IsNegInfOp,
        IsPosInfOp,
        LgammaOp,
        NextAfterOp,
        PolygammaOp,
        RaggedDotOp,
        SinhOp,
        SquareOp,
        TanOp,
        TopKOp,
        ZetaOp,
    ],
)

"""The CHLO dialect: StableHLO's client ops, mostly scalar special functions, kept as primitives."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, BoolAttr
from xdsl.ir import Dialect, Operation
from xdsl.irdl import operand_def, opt_attr_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.chlo import attributes, broadcast
from wengert.dialects.chlo.attributes import RaggedDotDimensionNumbersAttr
from wengert.dialects.chlo.scan import ScanOp
from wengert.dialects.facts import CHEAP, ELEMENTARY, EXPANSION, FORMULA, NO_FLOPS, SPECIAL, elementwise, expanded, transcendental
from wengert.dialects.stablehlo.base import BinaryOp, TensorOp, UnaryOp
from wengert.dialects.stablehlo.syntax import ConstantText
from wengert.ir.attributes import I64Attr
from wengert.ir.element_classes import COMPLEX, FLOAT, INTEGER
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer
from wengert.ir.syntax import parts as sx

_ARROW = sx.Syntax(sx.Operands(), sx.ArrowTypes())


class ChloUnaryOp(UnaryOp):
    """One operand, written ``%x : T -> T``."""

    SYNTAX: ClassVar = _ARROW


class ChloBinaryOp(BinaryOp):
    """Two operands, written ``%x, %y : T, T -> T``."""

    SYNTAX: ClassVar = _ARROW


class TopKText:
    """``(%x, k = 2)``."""

    properties = ("k",)

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need("(")
        state.operands.append(reader.operand())
        _TOP_K.read(reader, state)
        reader.need(")")

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f"({writer.values(op.operands)}")
        _TOP_K.write(op, writer)
        writer.write(")")


_TOP_K = sx.Keys(sx.Key("k", "k", sx.INT))


@op_definition
class AcosOp(ChloUnaryOp):
    """Arc cosine."""

    name = "chlo.acos"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class AcoshOp(ChloUnaryOp):
    """Inverse hyperbolic cosine."""

    name = "chlo.acosh"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class AsinOp(ChloUnaryOp):
    """Arc sine."""

    name = "chlo.asin"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class AsinhOp(ChloUnaryOp):
    """Inverse hyperbolic sine."""

    name = "chlo.asinh"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class AsinAcosKernelOp(ChloUnaryOp):
    """For complex z the square root of (1 - z)(1 + z) taken as two factors, and the size of the imaginary part of asin(z): of these asin, acos, asinh
    and acosh are put together."""

    name = "chlo._asin_acos_kernel"
    FACTS: ClassVar = expanded(COMPLEX)


@op_definition
class AtanOp(ChloUnaryOp):
    """Arc tangent."""

    name = "chlo.atan"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class AtanhOp(ChloUnaryOp):
    """Inverse hyperbolic tangent."""

    name = "chlo.atanh"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class BesselI1eOp(ChloUnaryOp):
    """Exponentially scaled modified Bessel function of order 1."""

    name = "chlo.bessel_i1e"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL)


@op_definition
class ConjOp(ChloUnaryOp):
    """Complex conjugate."""

    name = "chlo.conj"
    FACTS: ClassVar = elementwise(FLOAT | COMPLEX, CHEAP, flops=(0, 1), linear="all")


@op_definition
class CoshOp(ChloUnaryOp):
    """Hyperbolic cosine."""

    name = "chlo.cosh"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class DigammaOp(ChloUnaryOp):
    """Logarithmic derivative of the gamma function."""

    name = "chlo.digamma"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL)


@op_definition
class ErfOp(ChloUnaryOp):
    """Error function."""

    name = "chlo.erf"
    FACTS: ClassVar = transcendental(FLOAT, ELEMENTARY)


@op_definition
class ErfInvOp(ChloUnaryOp):
    """Inverse error function."""

    name = "chlo.erf_inv"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL)


@op_definition
class ErfcOp(ChloUnaryOp):
    """Complementary error function."""

    name = "chlo.erfc"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL)


@op_definition
class IsInfOp(ChloUnaryOp):
    """Infinite of either sign."""

    name = "chlo.is_inf"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, one_type=False, flops=NO_FLOPS)


@op_definition
class IsNegInfOp(ChloUnaryOp):
    """Negative infinity."""

    name = "chlo.is_neg_inf"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, one_type=False, flops=NO_FLOPS)


@op_definition
class IsPosInfOp(ChloUnaryOp):
    """Positive infinity."""

    name = "chlo.is_pos_inf"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, one_type=False, flops=NO_FLOPS)


@op_definition
class LgammaOp(ChloUnaryOp):
    """Logarithm of |gamma(x)|."""

    name = "chlo.lgamma"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL)


@op_definition
class SinhOp(ChloUnaryOp):
    """Hyperbolic sine."""

    name = "chlo.sinh"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class SquareOp(ChloUnaryOp):
    """X times x."""

    name = "chlo.square"
    FACTS: ClassVar = elementwise(FLOAT | COMPLEX, CHEAP, flops=(1, 6))


@op_definition
class TanOp(ChloUnaryOp):
    """Tangent."""

    name = "chlo.tan"
    FACTS: ClassVar = transcendental(FLOAT | COMPLEX, SPECIAL)


@op_definition
class MulhiOp(ChloBinaryOp):
    """The upper half of the bits of an integer product."""

    name = "chlo.mulhi"
    FACTS: ClassVar = expanded(INTEGER)


@op_definition
class NextAfterOp(ChloBinaryOp):
    """The next representable number after lhs towards rhs."""

    name = "chlo.next_after"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, flops=NO_FLOPS)


@op_definition
class PolygammaOp(ChloBinaryOp):
    """Derivative of order lhs of digamma at rhs."""

    name = "chlo.polygamma"
    FACTS: ClassVar = transcendental(FLOAT, SPECIAL, functions=("trigamma",))


@op_definition
class ZetaOp(ChloBinaryOp):
    """Hurwitz zeta function of exponent lhs and offset rhs."""

    name = "chlo.zeta"
    FACTS: ClassVar = transcendental(FLOAT, None)


@op_definition
class ConstantOp(TensorOp):
    """A constant tensor."""

    name = "chlo.constant"
    FACTS: ClassVar = EXPANSION
    SYNTAX: ClassVar = sx.Syntax(ConstantText())
    value = prop_def()
    output = result_def()
    traits = traits_def(Pure())


@op_definition
class ConstantLikeOp(TensorOp):
    """A number in the shape of the operand."""

    name = "chlo.constant_like"
    FACTS: ClassVar = EXPANSION
    operand = operand_def()
    value = prop_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class TopKOp(TensorOp):
    """The k largest (or smallest) elements of the last dimension, in order (of floats the total order), and their positions."""

    name = "chlo.top_k"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(TopKText(), sx.ArrowTypes())
    operand = operand_def()
    k = prop_def(I64Attr)
    largest = opt_attr_def(BoolAttr)
    values = result_def()
    indices = result_def()
    traits = traits_def(Pure())


@op_definition
class RaggedDotOp(TensorOp):
    """A contraction over groups of rows of different sizes."""

    name = "chlo.ragged_dot"
    FACTS: ClassVar = EXPANSION
    lhs = operand_def()
    rhs = operand_def()
    group_sizes = operand_def()
    ragged_dot_dimension_numbers = prop_def(RaggedDotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr)
    result = result_def()
    traits = traits_def(Pure())


Chlo = Dialect(
    "chlo",
    [
        AcosOp,
        AcoshOp,
        AsinAcosKernelOp,
        AsinOp,
        AsinhOp,
        AtanOp,
        AtanhOp,
        BesselI1eOp,
        ConjOp,
        ConstantLikeOp,
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
        MulhiOp,
        NextAfterOp,
        PolygammaOp,
        RaggedDotOp,
        ScanOp,
        SinhOp,
        SquareOp,
        TanOp,
        TopKOp,
        ZetaOp,
        *broadcast.ALL,
    ],
    list(attributes.ALL),
)

__all__ = [
    "AcosOp",
    "AcoshOp",
    "AsinAcosKernelOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "BesselI1eOp",
    "Chlo",
    "ChloBinaryOp",
    "ChloUnaryOp",
    "ConjOp",
    "ConstantLikeOp",
    "ConstantOp",
    "CoshOp",
    "DigammaOp",
    "ErfInvOp",
    "ErfOp",
    "ErfcOp",
    "IsInfOp",
    "IsNegInfOp",
    "IsPosInfOp",
    "LgammaOp",
    "MulhiOp",
    "NextAfterOp",
    "PolygammaOp",
    "RaggedDotOp",
    "ScanOp",
    "SinhOp",
    "SquareOp",
    "TanOp",
    "TopKOp",
    "TopKText",
    "ZetaOp",
]

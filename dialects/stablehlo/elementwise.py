"""StableHLO's elementwise ops: each element of the result depends on the same element of every operand."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import CHEAP, DIVISION, ELEMENTARY, NO_FLOPS, ROOT, SPECIAL, Batching, Facts, Work, elementwise, transcendental
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.annotations import ResultAccuracyAttr
from wengert.dialects.stablehlo.attributes import ComparisonDirectionAttr, ComparisonTypeAttr
from wengert.dialects.stablehlo.base import BinaryOp, TensorOp, UnaryOp
from wengert.ir.attributes import I32Attr
from wengert.ir.element_classes import ANY, COMPLEX, FLOAT, INEXACT, INTEGER, LOGICAL, NUMBER, REAL, SIGNED
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class AbsOp(UnaryOp):
    """Absolute value; the modulus of a complex number."""

    name = "stablehlo.abs"
    FACTS: ClassVar = elementwise(SIGNED | INEXACT, CHEAP, complex=DIVISION, flops=(1, 4), one_type=False)


@op_definition
class CbrtOp(UnaryOp):
    """Cube root."""

    name = "stablehlo.cbrt"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class CeilOp(UnaryOp):
    """Least integer not below."""

    name = "stablehlo.ceil"
    FACTS: ClassVar = elementwise(REAL, CHEAP, flops=(1, 1))


@op_definition
class CosineOp(UnaryOp):
    """Cosine."""

    name = "stablehlo.cosine"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class CountLeadingZerosOp(UnaryOp):
    """Number of leading zero bits."""

    name = "stablehlo.count_leading_zeros"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ExponentialOp(UnaryOp):
    """E to the power of the operand."""

    name = "stablehlo.exponential"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class ExponentialMinusOneOp(UnaryOp):
    """Exp(x) - 1, accurate near 0."""

    name = "stablehlo.exponential_minus_one"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class FloorOp(UnaryOp):
    """Greatest integer not above."""

    name = "stablehlo.floor"
    FACTS: ClassVar = elementwise(REAL, CHEAP, flops=(1, 1))


@op_definition
class ImagOp(UnaryOp):
    """Imaginary part."""

    name = "stablehlo.imag"
    FACTS: ClassVar = elementwise(FLOAT | COMPLEX, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)


@op_definition
class IsFiniteOp(UnaryOp):
    """Neither infinite nor NaN."""

    name = "stablehlo.is_finite"
    FACTS: ClassVar = elementwise(REAL, CHEAP, one_type=False, flops=NO_FLOPS)


@op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "stablehlo.log"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class LogPlusOneOp(UnaryOp):
    """Log(1 + x), accurate near 0."""

    name = "stablehlo.log_plus_one"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class LogisticOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "stablehlo.logistic"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class NegateOp(UnaryOp):
    """Negation."""

    name = "stablehlo.negate"
    FACTS: ClassVar = elementwise(NUMBER, CHEAP, flops=(1, 2), linear="all")


@op_definition
class NotOp(UnaryOp):
    """Bitwise or logical complement."""

    name = "stablehlo.not"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class PopcntOp(UnaryOp):
    """Number of bits set."""

    name = "stablehlo.popcnt"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class RealOp(UnaryOp):
    """Real part."""

    name = "stablehlo.real"
    FACTS: ClassVar = elementwise(FLOAT | COMPLEX, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)


@op_definition
class RoundNearestAfzOp(UnaryOp):
    """Rounding, ties away from zero."""

    name = "stablehlo.round_nearest_afz"
    FACTS: ClassVar = elementwise(REAL, CHEAP, flops=(1, 1))


@op_definition
class RoundNearestEvenOp(UnaryOp):
    """Rounding, ties to even."""

    name = "stablehlo.round_nearest_even"
    FACTS: ClassVar = elementwise(REAL, CHEAP, flops=(1, 1))


@op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "stablehlo.rsqrt"
    FACTS: ClassVar = elementwise(INEXACT, ROOT, complex=SPECIAL, flops=(2, 15))
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 by sign; z / |z| for complex numbers."""

    name = "stablehlo.sign"
    FACTS: ClassVar = elementwise(SIGNED | INEXACT, CHEAP, complex=SPECIAL, flops=(1, 5))


@op_definition
class SineOp(UnaryOp):
    """Sine."""

    name = "stablehlo.sine"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class SqrtOp(UnaryOp):
    """Square root."""

    name = "stablehlo.sqrt"
    FACTS: ClassVar = elementwise(INEXACT, DIVISION, complex=SPECIAL, flops=(1, 4))
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class TanOp(UnaryOp):
    """Tangent."""

    name = "stablehlo.tan"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "stablehlo.tanh"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


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
class AddOp(BinaryOp):
    """Sum (or for booleans)."""

    name = "stablehlo.add"
    FACTS: ClassVar = elementwise(ANY, CHEAP, flops=(1, 2), linear="all")


@op_definition
class Atan2Op(BinaryOp):
    """Angle of the point (rhs, lhs)."""

    name = "stablehlo.atan2"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL, complex=None)


@op_definition
class DivideOp(BinaryOp):
    """Quotient."""

    name = "stablehlo.divide"
    FACTS: ClassVar = elementwise(NUMBER, DIVISION, integers=SPECIAL, flops=(1, 11), linear=(0,))


@op_definition
class MaximumOp(BinaryOp):
    """Larger of two; NaN if either is NaN."""

    name = "stablehlo.maximum"
    FACTS: ClassVar = elementwise(ANY, CHEAP, complex=None, flops=(1, 1))


@op_definition
class MinimumOp(BinaryOp):
    """Smaller of two; NaN if either is NaN."""

    name = "stablehlo.minimum"
    FACTS: ClassVar = elementwise(ANY, CHEAP, complex=None, flops=(1, 1))


@op_definition
class MultiplyOp(BinaryOp):
    """Product (and for booleans)."""

    name = "stablehlo.multiply"
    FACTS: ClassVar = elementwise(ANY, CHEAP, flops=(1, 6), bilinear=True)


@op_definition
class PowerOp(BinaryOp):
    """Lhs to the power of rhs."""

    name = "stablehlo.power"
    FACTS: ClassVar = transcendental(NUMBER, SPECIAL)


@op_definition
class RemainderOp(BinaryOp):
    """Remainder with the sign of lhs."""

    name = "stablehlo.remainder"
    FACTS: ClassVar = elementwise(NUMBER, SPECIAL, complex=None, flops=(1, 1))


@op_definition
class SubtractOp(BinaryOp):
    """Difference."""

    name = "stablehlo.subtract"
    FACTS: ClassVar = elementwise(NUMBER, CHEAP, flops=(1, 2), linear="all")


@op_definition
class AndOp(BinaryOp):
    """Bitwise or logical and."""

    name = "stablehlo.and"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class OrOp(BinaryOp):
    """Bitwise or logical or."""

    name = "stablehlo.or"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class XorOp(BinaryOp):
    """Bitwise or logical exclusive or."""

    name = "stablehlo.xor"
    FACTS: ClassVar = elementwise(LOGICAL, CHEAP, flops=NO_FLOPS)


@op_definition
class ShiftLeftOp(BinaryOp):
    """Shift left."""

    name = "stablehlo.shift_left"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """Shift right, copying the sign bit."""

    name = "stablehlo.shift_right_arithmetic"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ShiftRightLogicalOp(BinaryOp):
    """Shift right, filling with zeros."""

    name = "stablehlo.shift_right_logical"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ComplexOp(BinaryOp):
    """Complex number from real and imaginary parts."""

    name = "stablehlo.complex"
    FACTS: ClassVar = elementwise(FLOAT, CHEAP, one_type=False, linear="all", flops=NO_FLOPS)
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.ComplexTypes())


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

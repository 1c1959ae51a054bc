"""StableHLO's elementwise ops of one operand: functions, signs, rounding, parts of complex numbers, bits."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import opt_prop_def

from wengert.dialects.facts import CHEAP, DIVISION, ELEMENTARY, NO_FLOPS, ROOT, SPECIAL, elementwise, transcendental
from wengert.dialects.stablehlo.annotations import ResultAccuracyAttr
from wengert.dialects.stablehlo.base import UnaryOp
from wengert.ir.element_classes import COMPLEX, FLOAT, INEXACT, INTEGER, LOGICAL, NUMBER, REAL, SIGNED
from wengert.ir.operations import op_definition


class ApproximatedOp(UnaryOp):
    """The base of the functions that are computed as accurately as ``result_accuracy`` says."""

    result_accuracy = opt_prop_def(ResultAccuracyAttr)


@op_definition
class AbsOp(UnaryOp):
    """Absolute value; the modulus of a complex number."""

    name = "stablehlo.abs"
    FACTS: ClassVar = elementwise(SIGNED | INEXACT, CHEAP, complex=DIVISION, flops=(1, 4), one_type=False)


@op_definition
class CbrtOp(ApproximatedOp):
    """Cube root."""

    name = "stablehlo.cbrt"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)


@op_definition
class CeilOp(UnaryOp):
    """Least integer not below."""

    name = "stablehlo.ceil"
    FACTS: ClassVar = elementwise(REAL, CHEAP, flops=(1, 1))


@op_definition
class CosineOp(ApproximatedOp):
    """Cosine."""

    name = "stablehlo.cosine"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)


@op_definition
class CountLeadingZerosOp(UnaryOp):
    """Number of leading zero bits."""

    name = "stablehlo.count_leading_zeros"
    FACTS: ClassVar = elementwise(INTEGER, CHEAP, recompute=False, flops=NO_FLOPS)


@op_definition
class ExponentialOp(ApproximatedOp):
    """E to the power of the operand."""

    name = "stablehlo.exponential"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)


@op_definition
class ExponentialMinusOneOp(ApproximatedOp):
    """Exp(x) - 1, accurate near 0."""

    name = "stablehlo.exponential_minus_one"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)


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
class LogOp(ApproximatedOp):
    """Natural logarithm."""

    name = "stablehlo.log"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)


@op_definition
class LogPlusOneOp(ApproximatedOp):
    """Log(1 + x), accurate near 0."""

    name = "stablehlo.log_plus_one"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)


@op_definition
class LogisticOp(ApproximatedOp):
    """1 / (1 + exp(-x))."""

    name = "stablehlo.logistic"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)


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
class RsqrtOp(ApproximatedOp):
    """1 / sqrt(x)."""

    name = "stablehlo.rsqrt"
    FACTS: ClassVar = elementwise(INEXACT, ROOT, complex=SPECIAL, flops=(2, 15))


@op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 by sign; z / |z| for complex numbers."""

    name = "stablehlo.sign"
    FACTS: ClassVar = elementwise(SIGNED | INEXACT, CHEAP, complex=SPECIAL, flops=(1, 5))


@op_definition
class SineOp(ApproximatedOp):
    """Sine."""

    name = "stablehlo.sine"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)


@op_definition
class SqrtOp(ApproximatedOp):
    """Square root."""

    name = "stablehlo.sqrt"
    FACTS: ClassVar = elementwise(INEXACT, DIVISION, complex=SPECIAL, flops=(1, 4))


@op_definition
class TanOp(ApproximatedOp):
    """Tangent."""

    name = "stablehlo.tan"
    FACTS: ClassVar = transcendental(INEXACT, SPECIAL)


@op_definition
class TanhOp(ApproximatedOp):
    """Hyperbolic tangent."""

    name = "stablehlo.tanh"
    FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)

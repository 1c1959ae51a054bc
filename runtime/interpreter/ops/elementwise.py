"""Elementwise ops: a table of kernels by kind of element, and the few ops that need more than a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute, Operation

from wengert.dialects import chlo, stablehlo
from wengert.ir.tensor_types import element, is_boolean, is_complex, is_integer
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.numerics import complex_numbers, integers, special
from wengert.runtime.interpreter.numerics.precision import arithmetic, transcendental
from wengert.runtime.interpreter.rules import Binary, Function, Ternary, Unary, evaluates


class Kernel(Struct, frozen=True):
    """The functions of an op on real, complex, integer and boolean elements (None: not defined for them)."""

    real: Function | None = None
    complex: Function | None = None
    integer: Function | None = None
    boolean: Function | None = None
    transcendental: bool = False

    def function(self, element_type: Attribute) -> Function | None:
        """The kernel for this element type in the precision it is computed in."""
        if is_boolean(element_type):
            return self.boolean
        if is_integer(element_type):
            width = element_type.width.data
            return self.integer and arithmetic(integers.of_width(self.integer, width) if width < 8 else self.integer, element_type)
        kernel = self.complex if is_complex(element_type) else self.real
        return kernel and (transcendental if self.transcendental else arithmetic)(kernel, element_type)


def _numeric(function: Function, boolean: Function | None = None) -> Kernel:
    return Kernel(function, function, function, boolean)


def _logical(integer: Function, boolean: Function) -> Kernel:
    return Kernel(integer=integer, boolean=boolean)


def _elementary(real: Function, complex: Function | None = None) -> Kernel:
    return Kernel(real, complex, transcendental=True)


def _same(x: Any) -> Any:
    return x


def _nothing(x: Any) -> Any:
    return np.zeros(np.shape(x)).astype(x.dtype)


KERNELS: dict[type[Operation], Kernel] = {
    stablehlo.AddOp: _numeric(np.add, np.logical_or),
    stablehlo.SubtractOp: _numeric(np.subtract),
    stablehlo.MultiplyOp: _numeric(np.multiply, np.logical_and),
    stablehlo.DivideOp: Kernel(np.divide, complex_numbers.divide, integers.divide),
    stablehlo.RemainderOp: Kernel(np.fmod, None, integers.remainder),
    stablehlo.MaximumOp: Kernel(special.maximum, np.maximum, np.maximum, np.logical_or),
    stablehlo.MinimumOp: Kernel(special.minimum, np.minimum, np.minimum, np.logical_and),
    stablehlo.NegateOp: _numeric(np.negative),
    stablehlo.AbsOp: Kernel(np.abs, np.abs, np.abs),
    stablehlo.SignOp: Kernel(special.sign, complex_numbers.sign, integers.sign),
    stablehlo.CeilOp: Kernel(np.ceil),
    stablehlo.FloorOp: Kernel(np.floor),
    stablehlo.RoundNearestAfzOp: Kernel(special.round_half_away),
    stablehlo.RoundNearestEvenOp: Kernel(np.rint),
    stablehlo.SqrtOp: Kernel(np.sqrt, np.sqrt),
    chlo.SquareOp: Kernel(np.square, complex_numbers.square, np.square),
    chlo.ConjOp: Kernel(_same, np.conj),
    stablehlo.AndOp: _logical(np.bitwise_and, np.logical_and),
    stablehlo.OrOp: _logical(np.bitwise_or, np.logical_or),
    stablehlo.XorOp: _logical(np.bitwise_xor, np.logical_xor),
    stablehlo.NotOp: _logical(np.bitwise_not, np.logical_not),
    stablehlo.ShiftLeftOp: Kernel(integer=integers.shift_left),
    stablehlo.ShiftRightLogicalOp: Kernel(integer=integers.shift_right_logical),
    stablehlo.ShiftRightArithmeticOp: Kernel(integer=integers.shift_right_arithmetic),
    stablehlo.PopcntOp: Kernel(integer=integers.popcnt),
    stablehlo.CountLeadingZerosOp: Kernel(integer=integers.count_leading_zeros),
    stablehlo.PowerOp: Kernel(np.power, complex_numbers.power, integers.power, transcendental=True),
    stablehlo.RsqrtOp: _elementary(special.rsqrt, complex_numbers.rsqrt),
    stablehlo.CbrtOp: _elementary(np.cbrt, complex_numbers.cbrt),
    stablehlo.ExponentialOp: _elementary(np.exp, complex_numbers.exp),
    stablehlo.ExponentialMinusOneOp: _elementary(np.expm1, complex_numbers.expm1),
    stablehlo.LogOp: _elementary(np.log, np.log),
    stablehlo.LogPlusOneOp: _elementary(np.log1p, complex_numbers.log1p),
    stablehlo.LogisticOp: _elementary(special.sp.expit, complex_numbers.logistic),
    stablehlo.SineOp: _elementary(np.sin, np.sin),
    stablehlo.CosineOp: _elementary(np.cos, np.cos),
    stablehlo.TanOp: _elementary(np.tan, np.tan),
    stablehlo.TanhOp: _elementary(np.tanh, np.tanh),
    stablehlo.Atan2Op: _elementary(np.arctan2, complex_numbers.atan2),
    chlo.AcosOp: _elementary(np.arccos, np.arccos),
    chlo.AcoshOp: _elementary(np.arccosh, np.arccosh),
    chlo.AsinOp: _elementary(np.arcsin, np.arcsin),
    chlo.AsinhOp: _elementary(np.arcsinh, np.arcsinh),
    chlo.AtanOp: _elementary(np.arctan, np.arctan),
    chlo.AtanhOp: _elementary(np.arctanh, np.arctanh),
    chlo.CoshOp: _elementary(np.cosh, np.cosh),
    chlo.SinhOp: _elementary(np.sinh, np.sinh),
    chlo.TanOp: _elementary(np.tan, np.tan),
    chlo.ErfOp: _elementary(special.sp.erf),
    chlo.ErfcOp: _elementary(special.erfc),
    chlo.ErfInvOp: _elementary(special.erf_inv),
    chlo.LgammaOp: _elementary(special.lgamma),
    chlo.DigammaOp: _elementary(special.digamma),
    chlo.PolygammaOp: _elementary(special.polygamma),
    chlo.ZetaOp: _elementary(special.zeta),
    chlo.BesselI1eOp: _elementary(special.bessel_i1e),
}


@evaluates(*KERNELS)
def kernel(op: Operation) -> Function:
    """An op that is its kernel. The modulus of a complex number is rounded to its own, real type."""
    element_type = element(op.operands[0])
    function = KERNELS[type(op)].function(element_type)
    if function is None:
        raise UnsupportedOpError(op, f"is not defined for elements of type {element_type}")
    return function


@evaluates(stablehlo.SelectOp)
def select(op: stablehlo.SelectOp) -> Function:
    """on_true where the predicate, which may be a scalar, holds."""
    return np.where


@evaluates(stablehlo.ClampOp)
def clamp(op: stablehlo.ClampOp) -> Ternary:
    """min(max(operand, low), high); the bounds may be scalars."""
    element_type = element(op.operand)
    greater, lesser = (KERNELS[cls].function(element_type) for cls in (stablehlo.MaximumOp, stablehlo.MinimumOp))
    assert greater is not None
    assert lesser is not None
    return lambda low, x, high: lesser(greater(x, low), high)


@evaluates(stablehlo.IsFiniteOp)
def is_finite(op: stablehlo.IsFiniteOp) -> Function:
    """Neither infinite nor NaN."""
    return np.isfinite


@evaluates(chlo.IsInfOp)
def is_inf(op: chlo.IsInfOp) -> Function:
    """Infinite of either sign."""
    return np.isinf


@evaluates(chlo.IsPosInfOp)
def is_pos_inf(op: chlo.IsPosInfOp) -> Unary:
    """Positive infinity."""
    return lambda x: np.isinf(x) & (x > 0)


@evaluates(chlo.IsNegInfOp)
def is_neg_inf(op: chlo.IsNegInfOp) -> Unary:
    """Negative infinity."""
    return lambda x: np.isinf(x) & (x < 0)


@evaluates(chlo.NextAfterOp)
def next_after(op: chlo.NextAfterOp) -> Function:
    """The neighbour of lhs towards rhs."""
    return np.nextafter


@evaluates(stablehlo.RealOp)
def real(op: stablehlo.RealOp) -> Function:
    """Real part."""
    return np.real


@evaluates(stablehlo.ImagOp)
def imag(op: stablehlo.ImagOp) -> Function:
    """Imaginary part; zero for a real number."""
    return np.imag if is_complex(element(op.operand)) else _nothing


@evaluates(stablehlo.ComplexOp)
def complex_(op: stablehlo.ComplexOp) -> Function:
    """Real and imaginary part together."""
    return complex_numbers.make_complex


COMPARISONS: dict[str, Function] = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less}


@evaluates(stablehlo.CompareOp)
def compare(op: stablehlo.CompareOp) -> Binary:
    """Comparison of numbers, complex ones by their real parts, then by their imaginary ones.

    In TOTALORDER it is one of bits: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
    """
    direction = op.comparison_direction.data
    function = COMPARISONS[direction]
    if is_complex(element(op.lhs)) and direction not in ("EQ", "NE"):
        strictly = COMPARISONS[direction[0] + "T"]  # NumPy's own order has no place for numbers whose imaginary part is NaN
        return lambda x, y: strictly(x.real, y.real) | ((x.real == y.real) & function(x.imag, y.imag))
    if op.compare_type is not None and op.compare_type.data == "TOTALORDER":
        return lambda x, y: function(total_order(x), total_order(y))
    return function


def total_order(x: Any) -> Any:
    """Signed integers in the total order of floats: for negative numbers more bits mean less. A NaN that stands in the place of -0 is a negative one."""
    if x.dtype.itemsize == 1:
        x = x.astype(np.float32)
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    flipped: Any = np.bitwise_xor(signed, np.where(signed < 0, np.iinfo(signed.dtype).max, 0).astype(signed.dtype))
    return flipped

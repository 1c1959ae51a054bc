"""Elementwise functions in NumPy's long double, by op: what the interpreter's own kernels compute in 64 bits at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from xdsl.ir import Operation

from wengert.dialects import chlo, stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_complex, is_float
from wengert.runtime.interpreter.ops.elementwise import KERNELS

Function = Callable[..., Any]
BITS = int(np.finfo(np.longdouble).nmant) + 1

COMPLEX: dict[type[Operation], Function] = {
    stablehlo.DivideOp: np.divide,
    chlo.SquareOp: np.square,
    stablehlo.RsqrtOp: lambda z: 1 / np.sqrt(z),
    stablehlo.CbrtOp: lambda z: z ** (np.longdouble(1) / 3),
    stablehlo.PowerOp: lambda z, w: np.exp(w * np.log(z)),
    stablehlo.ExponentialOp: np.exp,
    stablehlo.ExponentialMinusOneOp: np.expm1,
    stablehlo.LogPlusOneOp: np.log1p,
    stablehlo.LogisticOp: lambda z: 1 / (1 + np.exp(-z)),
    stablehlo.SignOp: lambda z: z / np.abs(z),
    stablehlo.Atan2Op: lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)),
}
"""Complex functions whose kernels are made for 64 bits; the others are NumPy's."""


def _bessel_i1e(x: Any) -> Any:
    return mpmath.besseli(1, x) * mpmath.exp(-abs(x))


def _lgamma(x: Any) -> Any:
    return mpmath.log(abs(mpmath.gamma(x)))


def _polygamma(n: Any, x: Any) -> Any:
    return mpmath.polygamma(int(n), x)


SPECIAL: dict[type[Operation], Function] = {
    chlo.ErfOp: mpmath.erf,
    chlo.ErfcOp: mpmath.erfc,
    chlo.ErfInvOp: mpmath.erfinv,
    chlo.LgammaOp: _lgamma,
    chlo.DigammaOp: mpmath.digamma,
    chlo.PolygammaOp: _polygamma,
    chlo.ZetaOp: mpmath.zeta,
    chlo.BesselI1eOp: _bessel_i1e,
}
"""Functions that NumPy lacks, of numbers of mpmath."""
NARROW = (stablehlo.BitcastConvertOp, chlo.NextAfterOp, stablehlo.ConstantOp, chlo.ConstantOp)
"""Ops that are about the format itself, or hold numbers in it."""


def reduced_precision(op: stablehlo.ReducePrecisionOp, bits: int) -> Function:
    """Rounds to as many bits less than the widest format has as the op leaves off of its own, whose mantissa has ``bits``: what two ways around the rounding
    differ by becomes as much smaller as other rounding does. The range is that of the widest format."""
    kept = max(BITS - 1 - max(bits - int_of(op.mantissa_bits), 0), 0)

    def rounded(x: Any) -> Any:
        fraction, exponent = np.frexp(np.asarray(x, np.longdouble))
        return np.ldexp(np.ldexp(np.rint(np.ldexp(fraction, kept + 1)), -kept - 1), exponent)[()]

    return rounded


def wide_function(op: Operation, narrow: Function) -> Function | None:
    """The function of an elementwise op on the widest floats; None where its usual rule does. ``narrow``: the same in 64 bits.

    At zeros, infinities, NaN, and wherever a function is not defined, conventions count: there the result is the narrow one.
    """
    if type(op) not in KERNELS or not (is_float(element(op.operands[0])) or is_complex(element(op.operands[0]))):
        return None
    kernel = KERNELS[type(op)]
    if type(op) in SPECIAL:
        return _where_regular(_by_mpmath(SPECIAL[type(op)]), narrow)
    if is_complex(element(op.operands[0])):
        return _where_regular(COMPLEX[type(op)], narrow) if type(op) in COMPLEX else kernel.complex
    return kernel.real


def _where_regular(function: Function, narrow: Function) -> Function:
    def wide(*operands: Any) -> Any:
        results, expected = np.asarray(function(*operands)), np.asarray(narrow(*operands))
        regular = np.isfinite(results) & np.all([np.isfinite(x) & (x != 0) for x in np.broadcast_arrays(*operands)], axis=0)
        # where the narrow result is not finite, it may be by convention (a pole) or since its range ends
        regular &= np.isfinite(expected) | (np.abs(results) > 1e300)
        return np.where(regular, results, expected)[()]

    return wide


def _by_mpmath(function: Function) -> Function:
    def one(*numbers: Any) -> Any:
        try:
            with mpmath.workprec(BITS + 10):
                return _rounded(function(*map(_exact, numbers)))
        except (ValueError, ArithmeticError, NotImplementedError, mpmath.NoConvergence):
            return np.longdouble(np.nan)

    each = np.frompyfunc(one, 1, 1), np.frompyfunc(one, 2, 1)
    return lambda *operands: np.asarray(each[len(operands) - 1](*operands)).astype(np.longdouble)


def _exact(x: Any) -> Any:
    """The number of mpmath that equals a finite long double; others raise a ValueError."""
    mantissa, exponent = np.frexp(np.longdouble(x))
    return mpmath.ldexp(int(mantissa * np.longdouble(2) ** BITS), int(exponent) - BITS)


def _rounded(x: Any) -> Any:
    if isinstance(x, mpmath.mpc) or not mpmath.isfinite(x):
        return np.longdouble(np.nan)
    mantissa, exponent = mpmath.frexp(x)
    return np.ldexp(np.longdouble(int(mpmath.nint(mpmath.ldexp(mantissa, BITS)))), int(exponent) - BITS)

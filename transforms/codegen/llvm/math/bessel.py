"""exp(-|x|) I1(x), the scaled modified Bessel function: the power series times exp(-|x|) up to 2, a polynomial up to 8, and one in 1/x divided by
sqrt(x) beyond. (The series has positive terms only, so that nothing cancels; source: DLMF 10.25.2.)"""

from __future__ import annotations

from math import factorial

from wengert.transforms.codegen.llvm.math import coefficients
from wengert.transforms.codegen.llvm.math.exponential import exp
from wengert.transforms.codegen.llvm.math.expressions import Float, MathBuilder

_SERIES = tuple(0.5 / (factorial(k) * factorial(k + 1)) for k in range(13))
"""I1(x) / x in powers of x^2 / 4; the terms that are left out are below 2^-60 of the sum up to x = 2."""


def bessel_i1e(builder: MathBuilder, x: Float) -> Float:
    """An odd function; zero at infinities. In f32 it is computed in f64: one step of polynomials there costs less than pairs of f32."""
    if not builder.double:
        wide = builder.widen(x)
        return builder.narrow(bessel_i1e(wide.builder, wide))
    a = builder.abs(x)
    beyond = a > 8.0
    large, small = builder.select(beyond, a, 8.0), builder.at_most(a, 2.0)
    near = builder.polynomial(_SERIES, small * small * 0.25) * small * exp(builder, -small)
    middle = builder.polynomial(coefficients.I1E_MIDDLE_F64, (a - 5.0) * (1.0 / 3.0))
    far = builder.polynomial(coefficients.I1E_FAR_F64, 16.0 / large - 1.0) / builder.sqrt(large)
    y = builder.select(beyond, far, builder.select(a > 2.0, middle, near))
    return builder.copysign(builder.select(x.is_nan(), x, y), x)

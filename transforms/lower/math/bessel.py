"""exp(-|x|) I1(x), the scaled modified Bessel function: x p(x) up to 2, a polynomial up to 8, and one in 1/x divided by sqrt(x) beyond."""

from __future__ import annotations

from wengert.transforms.lower.math import coefficients
from wengert.transforms.lower.math.vector import Code, Float


def bessel_i1e(code: Code, x: Float) -> Float:
    """An odd function; zero at infinities."""
    a = code.abs(x)
    beyond = a > 8.0
    large = code.select(beyond, a, 8.0)
    near = code.polynomial(code.pick(coefficients.I1E_NEAR_F32, coefficients.I1E_NEAR_F64), a - 1.0) * a
    middle = code.polynomial(code.pick(coefficients.I1E_MIDDLE_F32, coefficients.I1E_MIDDLE_F64), (a - 5.0) * (1.0 / 3.0))
    far = code.polynomial(code.pick(coefficients.I1E_FAR_F32, coefficients.I1E_FAR_F64), 16.0 / large - 1.0) / code.sqrt(large)
    y = code.select(beyond, far, code.select(a > 2.0, middle, near))
    return code.copysign(code.select(x.is_nan(), x, y), x)

"""The exponential of a matrix: a plain method, whose derivative is that of its operations."""

from __future__ import annotations

import math
from typing import Any

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import same
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.frontends.transforms.differentiation_control import stop_gradient
from wengert.ir.tensor_types import shape
from wengert.numpy import abs as absolute
from wengert.numpy import astype, ceil, eye, int64, isfinite, linalg, log2, where
from wengert.numpy import max as largest
from wengert.numpy import sum as total

_PADE = [math.factorial(26 - k) * math.factorial(13) / (math.factorial(26) * math.factorial(k) * math.factorial(13 - k)) for k in range(14)]
"""The numerator of the Padé approximation of exp of degree 13; the denominator has the same with signs."""
_RADIUS = 5.371920351148152
"""The norm up to which it is exact in double precision."""


def _expm(a: Any) -> Any:
    """exp of matrices ``[..., n, n]`` by scaling and squaring (N. J. Higham, "The scaling and squaring method for the matrix exponential
    revisited", 2005), for all matrices with as many squarings as the largest needs, of which each takes those that it needs."""
    norm = stop_gradient(largest(total(absolute(a), axis=-2), axis=-1))
    needed = ceil(log2(where(norm > _RADIUS, norm / _RADIUS, 1.0)))
    scaled = a * astype(2.0**-needed, norm.dtype)[..., None, None]
    squared, one = scaled @ scaled, eye(a.shape[-1], dtype=a.dtype)
    odd, even, power = _PADE[1] * one, _PADE[0] * one, one
    for k in range(2, 14, 2):
        power = power @ squared
        even = even + _PADE[k] * power
        odd = odd + _PADE[k + 1] * power
    odd = scaled @ odd
    first = linalg.solve(even - odd, even + odd)
    steps = astype(largest(where(isfinite(needed), needed, 0.0)), int64)

    def square(i: Any, x: Any) -> Any:
        return where((i < needed)[..., None, None], x @ x, x)

    return fori_loop(0, steps, square, first)


@means("linalg_matrix_exp.default(self)", "matrix_exp.default(self)", results=same)
def matrix_exp(b: AtenBuilder, a: Value) -> Value:
    """The exponential of square matrices."""
    return b.by_numpy(_expm, a) if shape(a)[-1] else a

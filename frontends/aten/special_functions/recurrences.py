"""The recurrences of orthogonal polynomials (DLMF, section 18.9), for numbers of any kind: arrays, and values that are traced."""

# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[Any, Any, Any, Any], Any]
"""The polynomial of degree k + 1 from x, those of degrees k and k - 1, and k."""


def _doubling(x: Any, p: Any, q: Any, k: Any) -> Any:
    return 2 * x * p - q


RECURRENCES: dict[str, tuple[Callable[[Any], Any], Step]] = {
    "chebyshev_polynomial_t": (lambda x: x, _doubling),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _doubling),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _doubling),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _doubling),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, p, q, k: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": (lambda x: x, lambda x, p, q, k: x * p - k * q),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, p, q, k: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, p, q, k: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}
"""The polynomial of degree 1, and the step; that of degree 0 is 1."""

"""What is the same to rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Way = tuple[str, Callable[[], None]]
"""A name, and what raises where the way differs from another one."""
TOLERANCE = 1e-8


def assert_near(actual: Sequence[Any], expected: Sequence[Any], tolerance: float = TOLERANCE) -> None:
    """The same to rounding, relative to the largest element of each array."""
    for a, b in zip(actual, expected, strict=True):
        finite = np.abs(b[np.isfinite(b)])
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, float(finite.max(initial=0.0))))

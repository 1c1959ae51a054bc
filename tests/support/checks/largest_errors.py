"""How far arrays are from those that are expected, as one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.lab.corpus import array_error


def largest_error(given: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest error of any array, relative to the largest element of the one that is expected; 0 of none. Shapes have to be equal."""
    assert [np.shape(a) for a in given] == [np.shape(b) for b in expected]
    return max((array_error(a, np.asarray(b)) for a, b in zip(given, expected, strict=True)), default=0.0)

"""A yardstick: a call that no compiler of ours has a part in, timed in the same rounds as what is recorded.

A machine is slower at one time than at another: others share its caches and its cores, its clock changes. The yardstick is slower then too, so that times in
units of it can be compared where seconds cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

ELEMENTS = 2048


def yardstick() -> Callable[[], Any]:
    """NumPy's sine of 2048 numbers: vector arithmetic on 32 KiB, about ten microseconds."""
    angles = np.linspace(0.0, 1.0, ELEMENTS)
    return partial(np.sin, angles, out=np.empty_like(angles))

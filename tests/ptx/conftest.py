"""Reference results overflow and are NaN on purpose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _no_floating_point_warnings() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield

"""Numbers of bytes as people write them: ``65536``, ``64MB``, ``1.5GiB``."""

from __future__ import annotations

import re
from fractions import Fraction

UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T"), 1)},
    **{f"{unit}B": 1000**power for power, unit in enumerate(("", "K", "M", "G", "T"))},
    **{f"{unit}iB": 1024**power for power, unit in enumerate(("K", "M", "G", "T"), 1)},
}
"""The units, with what they stand for."""


def byte_count(text: str | int) -> int:
    """The number of bytes that is written so. Raises ValueError, whose message says what is expected."""
    if isinstance(text, int):
        if text < 0:
            raise ValueError(f"expected a number of bytes, found {text}")
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2] not in UNITS:
        raise ValueError(f"expected bytes, as in 65536, 64MB or 1.5GiB, found {text!r}")
    return int(Fraction(match[1]) * UNITS[match[2]])

"""A program with inputs: what is made smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

Array = np.ndarray[Any, np.dtype[Any]]


class Candidate(Struct, frozen=True):
    """The text of a program, and inputs for its ``@main``."""

    text: str
    inputs: tuple[Array, ...]

    @property
    def key(self) -> tuple[str, bytes]:
        """Equal for candidates that are the same."""
        return self.text, b"".join(np.ascontiguousarray(x).tobytes() for x in self.inputs)

"""A side of a benchmark: one implementation of one workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Side:
    """One implementation of one workload, compiled.

    Attributes:
        name: ``wengert`` or the peer's.
        call: computes the value and the gradients.
        results: what the first call computed.
        compile_seconds: CPU time to the first result.
        memory: bytes that a call needs at most besides its inputs, with its results; None where nobody counts them.
    """

    name: str
    call: Callable[[], Any]
    results: list[Array]
    compile_seconds: float
    memory: int | None = None


class Unavailable(Exception):
    """This side cannot run the workload; the message says why."""

"""Anomaly detection: where in the forward code the operation stands whose derivative gave NaN.

While it is on, backward passes are walked, operation by operation, and what arrives at every operand is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self
from warnings import warn

import numpy as np

from wengert.eager.errors import AnomalyError
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.places import describe
from wengert.eager.recording.record import Record

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def check(record: Record, arrived: Sequence[Tensor | None]) -> None:
    """Raises an AnomalyError if a cotangent that a record hands on has a NaN."""
    for position, cotangent in enumerate(arrived):
        if cotangent is None or not bool(np.isnan(cotangent.array).any()):
            continue
        count, size = int(np.isnan(cotangent.array).sum()), cotangent.array.size
        raise AnomalyError(
            f"Function '{record.name()}' returned nan values in its {position}th output."
            f" {count} of the {size} elements of the gradient of operand {position} are NaN:"
            f" the derivative of '{record.signature.operation.name}' at {describe(record.place)}"
        )


def report(record: Record) -> None:
    """Warns that the derivative of a record failed, and where it stands in the forward code; where warnings are errors, it is written to stderr."""
    said = f"Error detected in {record.name()}, the derivative of '{record.signature.operation.name}' at {describe(record.place)}"
    try:
        warn(said, UserWarning, stacklevel=2)
    except UserWarning:
        sys.stderr.write(f"{said}\n")


class set_detect_anomaly:  # noqa: N801  (the name under which it is known)
    """Turns the search for NaN on or off: at once when it is called, and until the end of the block where it is a context manager.

    Args:
        mode: on or off.
        check_nan: whether NaN are looked for; without it, nothing is.

    >>> import wengert.eager as eager
    >>> x = eager.tensor([1.0, 0.0], requires_grad=True)
    >>> with eager.autograd.set_detect_anomaly(True):
    ...     y = (x.sqrt() * eager.tensor([1.0, 0.0])).sum()
    ...     y.backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    wengert.eager.errors.AnomalyError: Function 'SqrtBackward0' returned nan values in its 0th output. 1 of the 2 elements ...
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = STATE.anomaly
        STATE.anomaly = bool(mode) and check_nan

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        STATE.anomaly = self._before


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    """The search for NaN, on until the end of the block; a warning says that it is slow."""

    def __init__(self, check_nan: bool = True):
        warn("Anomaly Detection has been enabled. Backward passes are walked and looked at, which is slow: for debugging only", UserWarning, stacklevel=2)
        super().__init__(True, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether backward passes look for NaN."""
    return STATE.anomaly

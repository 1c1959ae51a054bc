"""The errors of define-by-run code. Every class is a RuntimeError, as PyTorch's errors of the same kind are."""

from __future__ import annotations

from collections.abc import Iterable

from wengert.ir.diagnostics import did_you_mean


class AutogradError(RuntimeError):
    """A gradient that cannot be computed, or code that would make one wrong."""


class NotTrackedError(AutogradError):
    """A gradient is asked of a value that was not computed from any tensor that requires one."""


class NonScalarError(AutogradError):
    """The cotangent of a result with more than one element was left out."""


class FreedTapeError(AutogradError):
    """A tape is run backwards a second time, and what its first run used is no longer there."""


class ModifiedError(AutogradError):
    """A value that the derivative needs was changed in place after it was saved."""


class LeafModifiedError(AutogradError):
    """A leaf that requires a gradient, or a view of one, is changed in place."""


class InPlaceError(AutogradError):
    """A change in place that is not possible: of the wrong shape or dtype, or through a view that does not allow it."""


class CheckpointError(AutogradError):
    """A checkpoint cannot be computed again: it changes its arguments, or did something else the second time."""


class UnusedInputError(AutogradError):
    """A gradient is asked with respect to a tensor that the result does not depend on."""


class InferenceTensorError(AutogradError):
    """A tensor made in inference mode is used where a tape needs it."""


HINTS = {
    "cuda": "there is one device",
    "register_backward_hook": "use register_hook",
    "storage": "memory is seen through .array",
}
"""Hints at what to write instead of functions that are left out on purpose."""


def missing(message: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for something that is not here, with what to write instead where there is a word for it."""
    hint = HINTS.get(name) or ("" if name.startswith("__") else did_you_mean(name, known))
    return AttributeError(f"{message}: {hint}" if hint else message)


class GradcheckError(AutogradError):
    """A gradient is not what differences say; the message has a line for each element that differs."""


class ShapeError(AutogradError):
    """Operands whose shapes or dtypes do not go together."""


class PositionError(AutogradError, IndexError):
    """A position that is out of range."""


class AnomalyError(AutogradError):
    """A derivative gave NaN while anomalies are looked for."""

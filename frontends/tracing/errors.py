"""Errors at the user's line while a function is traced.

Each is a diagnostic (file, line, column, message, hint), and also the exception of Python that the mistake would raise without
tracing, so that code which catches ``TypeError`` or ``IndexError`` goes on working.
"""

from __future__ import annotations

from wengert.frontends.tracing.source_lines import diagnostic_here
from wengert.ir.diagnostics import DiagnosticError


class TracingError(DiagnosticError):
    """A function cannot be traced as it is written."""


class TracedTypeError(TracingError, TypeError):
    """A traced value was used where only a concrete one can be, or types do not fit."""


class TracedValueError(TracingError, ValueError):
    """Shapes or options that do not fit."""


class TracedIndexError(TracingError, IndexError):
    """An index that the array does not have."""


class TracedAxisError(TracedValueError, IndexError):
    """A dimension that the array does not have, which in NumPy is both kinds of error."""


def type_error(message: str, hint: str = "") -> TracedTypeError:
    """The error to raise for a wrong type, at the user's line."""
    return TracedTypeError(diagnostic_here(message, hint))


def value_error(message: str, hint: str = "") -> TracedValueError:
    """The error to raise for a wrong shape or option, at the user's line."""
    return TracedValueError(diagnostic_here(message, hint))


def axis_error(message: str, hint: str = "") -> TracedAxisError:
    """The error to raise for a dimension that there is not, at the user's line."""
    return TracedAxisError(diagnostic_here(message, hint))


def index_error(message: str, hint: str = "") -> TracedIndexError:
    """The error to raise for a bad index, at the user's line."""
    return TracedIndexError(diagnostic_here(message, hint))

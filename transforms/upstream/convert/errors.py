"""Errors and requirements of converters: what they refuse, and what they ask for."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.unregistered import written_name


class NeedsConstantError(DiagnosticError):
    """Something has to be a constant and is none: a loop around it may be unrolled."""


class NotElementwiseError(DiagnosticError):
    """An op of a body has no meaning on a whole iteration space at once: the body is run element by element."""


def refusal(op: Operation, message: str, hint: str = "") -> DiagnosticError:
    """The error for an op that is refused, with its name and place."""
    return error_at(op, f"{written_name(op)}: {message}", hint)


def needs_constant(op: Operation, what: str) -> NeedsConstantError:
    """The error for a size that is computed from more than shapes."""
    hint = "sizes have to follow from the shapes of arguments, constants, and counters of loops with constant bounds"
    return NeedsConstantError(*_diagnostics(refusal(op, f"{what} is not a constant", hint)))


def not_elementwise(op: Operation) -> NotElementwiseError:
    """The error for an op that is not elementwise."""
    return NotElementwiseError(*_diagnostics(refusal(op, "this op is not elementwise")))


def _diagnostics(error: DiagnosticError) -> tuple[Diagnostic, ...]:
    return error.diagnostics

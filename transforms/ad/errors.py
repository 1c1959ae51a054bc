"""Errors for ops that cannot be differentiated or batched, with the op's name and location."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.host_calls import called_function
from wengert.dialects.stablehlo import CustomCallOp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.unregistered import written_name

OF_COMPLEX = "has no derivative for complex numbers, for which nothing says what it is"
"""Why an op is refused whose typing rule takes complex numbers, as the specification's does, and which neither backend computes of them."""


def refuse(op: Operation, why: str, hint: str = "") -> DiagnosticError:
    """The error to raise for an op that cannot be differentiated: ``file:line:col: error: <op> <why>``. For a custom call it also names the target."""
    called = f" of @{op.call_target_name.data}" if isinstance(op, CustomCallOp) else ""
    return error_at(op, f"{written_name(op)}{called} {why}", hint=hint)


def no_rule(op: Operation, what: str = "derivative rule") -> DiagnosticError:
    """The error to raise for an op without a rule; of a Python function it says what JAX says of callbacks."""
    if (called := called_function(op)) is not None:
        return error_at(op, f"{called} has no derivative", hint="give it one where it is written: jax.custom_jvp or jax.custom_vjp around the callback")
    return refuse(op, f"has no {what}")

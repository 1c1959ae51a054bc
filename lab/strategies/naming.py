"""Strategies for Jacobians by name: rows of the table that are one program, and passes that make Jacobians."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.strategies.plans import plans
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program

JACOBIAN_PASSES = ("jacfwd", "jacrev", "joined-jacobian", "seeded-jacobian", "mixed-jacobian", "eliminate")
"""The passes that replace a function by its Jacobian, and take ``wrt`` and ``of``."""


def passes_of(program: Program, wrt: Sequence[int], of: Sequence[int], strategy: str) -> str:
    """The pass that makes the Jacobian, as text. Raises InputError for a name that there is not, with those that there are."""
    name, brace, options = strategy.partition("{")
    if brace:
        return _with_positions(name, options, wrt, of, strategy)
    rows = {plan.name: plan for plan in plans(program, "jacobian", wrt, of) if plan.at_once is None}
    if strategy in rows:
        return rows[strategy].passes or rows[strategy].name
    if strategy in JACOBIAN_PASSES:
        return _with_positions(strategy, "}", wrt, of, strategy)
    hint = did_you_mean(strategy, [*rows, *JACOBIAN_PASSES])
    raise InputError(
        f"strategy: there is no {strategy!r} for this Jacobian; there are {', '.join(rows)}, and the pass eliminate{{...}}" + (f" ({hint})" if hint else "")
    )


def check_hessian_row(program: Program, wrt: Sequence[int], of: Sequence[int], strategy: str) -> None:
    """Raises InputError, with the rows that there are, for a name that is no row for Hessians, or one that takes several calls."""
    rows = [plan.name for plan in plans(program, "hessian", wrt, of) if plan.at_once is None]
    if strategy not in rows:
        hint = did_you_mean(strategy, rows)
        raise InputError(f"strategy: there is no {strategy!r} for this Hessian; there are {', '.join(rows)}" + (f" ({hint})" if hint else ""))


def _with_positions(name: str, options: str, wrt: Sequence[int], of: Sequence[int], strategy: str) -> str:
    if name not in JACOBIAN_PASSES:
        raise InputError(f"strategy: {name!r} is no pass that makes a Jacobian; these are {', '.join(JACOBIAN_PASSES)}")
    inside = options.removesuffix("}").strip()
    if not options.endswith("}") or "{" in inside or "}" in inside:
        raise InputError(f"strategy: {strategy!r} is not one pass with its options, such as eliminate{{order=search}}")
    if any(word.partition("=")[0] in ("wrt", "of", "fn") for word in inside.split()):
        raise InputError(f"strategy: {strategy!r} names positions; give them as wrt and of")
    return f"{name}{{{inside}{' ' if inside else ''}wrt={positions_text(wrt)} of={positions_text(of)}}}"

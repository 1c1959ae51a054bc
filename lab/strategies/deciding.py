"""Chooses among the plans that are one program with the arguments and results of ``jacfwd``, for :mod:`wengert.lab.strategies.default`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.inputs import random_inputs
from wengert.lab.strategies.choice import UNDECIDED, choose
from wengert.lab.strategies.measuring import near, timed
from wengert.lab.strategies.plan import Plan
from wengert.lab.strategies.plans import check_real, modes, plans
from wengert.lab.strategies.remembered import How, Question, remember
from wengert.lab.strategies.row import PlanCosts, Row
from wengert.runtime.derived.jacobian_passes import JacobianMode
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.program import Program
from wengert.transforms.ad.strategies import DEFAULT
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

SHORT = 0.2
"""Seconds that the runs of all plans worth measuring may take together, as predicted, if nobody has asked for a measurement: it takes a few times as long."""


def decided(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], *, measure: bool | None) -> tuple[str, How]:
    """The answer, and what it rests on: ``measured`` where plans were measured, or were to be and are too far apart for that.

    With None, plans are measured unless that takes long. Nothing is run whose number of iterations is not known: at inputs that are drawn it might not end.

    Where the prediction depends on what only a run tells, or something is complex (holomorphic functions are not predicted), the number of directions decides,
    and Hessians are forward over reverse.
    """
    alone: How = "not measured" if measure is None else "predicted"
    rows = [row for row in _rows(program, question, wrt, of) if not row.problem]
    choice = choose(rows)
    if choice.row is None or choice.verdict not in ("faster", "tie", "only"):
        return "forward over reverse" if question == "hessian" else _with_fewer_directions(program, wrt, of), alone
    worth = near(rows, UNDECIDED)
    if measure is False or (measure is None and not _is_short(worth)):
        return _written(choice.row.plan, question), alone
    if len(worth) < 2:
        return _written(choice.row.plan, question), "measured"
    try:
        best = choose(list(timed(worth, random_inputs(program.signature, 0)).values())).row
    except (DiagnosticError, InputError, ExecutionError, UnsupportedOpError):
        best = None
    return (_written(choice.row.plan, question), alone) if best is None else (_written(best.plan, question), "measured")


def _is_short(rows: Sequence[Row]) -> bool:
    times = [row.seconds.constant for row in rows if row.seconds is not None]
    return len(times) == len(rows) and sum(float("inf") if time is None else float(time) for time in times) <= SHORT


def keep_measured(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], table: Sequence[Row]) -> None:
    """Keeps what the measured rows of a table say of the plans that ``p.jacobian()`` and ``p.hessian()`` choose among, if they say it."""
    candidates = {plan.name for plan in _plans(program, question, wrt, of) if plan.at_once is None}
    rows = [row for row in table if row.name in candidates and not row.problem]
    close = near([row.unmeasured for row in rows], UNDECIDED)
    measured = [row for row in rows if row.measured is not None]
    if len(close) < 2 or not {row.name for row in close} <= {row.name for row in measured}:
        return
    best = choose(measured).row
    if best is not None:
        remember(program, question, wrt, of, "measured", _written(best.plan, question))


def _rows(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int]) -> list[Row]:
    try:
        unknowns = Unknowns()
        return [Row(PlanCosts(plan, unknowns)) for plan in _plans(program, question, wrt, of) if plan.at_once is None]
    except InputError:
        return []


def _plans(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int]) -> Sequence[Plan]:
    if question == "mode":
        check_real(program, wrt, of)
        return modes(program, wrt, of)
    if question == "hessian":
        return plans(program, "hessian", wrt, of)
    every = plans(program, "jacobian", wrt, of, [DEFAULT])
    searched = any(plan.name == "eliminated search" for plan in every)  # of larger programs elimination takes too long to be tried unasked
    return [plan for plan in every if searched or not plan.passes.startswith("eliminate")]


def _written(plan: Plan, question: Question) -> str:
    return plan.passes or plan.name if question == "jacobian" else plan.name


def _with_fewer_directions(program: Program, wrt: Sequence[int], of: Sequence[int]) -> JacobianMode:
    signature = program.signature
    arguments, results = sum(prod(signature.arguments[i].shape) for i in wrt), sum(prod(signature.results[j].shape) for j in of)
    return "jacfwd" if arguments <= results else "jacrev"

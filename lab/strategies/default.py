"""What ``p.jacobian()`` and ``p.hessian()`` do: what is predicted to be the fastest, of the plans that are one program with the arguments and results of
``jacfwd``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from wengert.lab.strategies.choice import choose
from wengert.lab.strategies.plan import Plan
from wengert.lab.strategies.plans import modes, plans
from wengert.lab.strategies.row import PlanCosts, Row
from wengert.runtime.errors import InputError
from wengert.runtime.jacobians import JacobianMode
from wengert.runtime.program import Program
from wengert.transforms.ad.strategies import DEFAULT
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


def jacobian_passes(program: Program, wrt: Sequence[int], of: Sequence[int]) -> str:
    """How to make the Jacobian: ``jacfwd``, ``jacrev``, or the text of another pass. Where that depends on what only a run tells, or nothing is predicted, the
    mode with fewer directions."""
    plan = _chosen(lambda: plans(program, "jacobian", wrt, of, [DEFAULT]))
    return _with_fewer_directions(program, wrt, of) if plan is None else plan.passes or plan.name


def jacobian_mode(program: Program, wrt: Sequence[int], of: Sequence[int]) -> JacobianMode:
    """The better one of ``jacfwd`` and ``jacrev``, chosen likewise."""
    plan = _chosen(lambda: modes(program, wrt, of))
    return _with_fewer_directions(program, wrt, of) if plan is None else "jacfwd" if plan.name == "jacfwd" else "jacrev"


def hessian_plan(program: Program, wrt: Sequence[int], of: Sequence[int]) -> str:
    """The row of the table for Hessians to use, by name; ``forward over reverse`` where nothing is predicted."""
    plan = _chosen(lambda: plans(program, "hessian", wrt, of))
    return "forward over reverse" if plan is None else plan.name


def _chosen(candidates: Callable[[], Sequence[Plan]]) -> Plan | None:
    """The plan of the row that is chosen, of those that are one program; None if there is no answer, or something is complex (holomorphic functions are not
    predicted)."""
    try:
        unknowns = Unknowns()
        rows = [Row(PlanCosts(plan, unknowns)) for plan in candidates() if plan.at_once is None]
    except InputError:
        return None
    choice = choose([row for row in rows if not row.problem])
    return choice.row.plan if choice.row is not None and choice.verdict in ("faster", "tie", "only") else None


def _with_fewer_directions(program: Program, wrt: Sequence[int], of: Sequence[int]) -> JacobianMode:
    signature = program.signature
    arguments, results = sum(prod(signature.arguments[i].shape) for i in wrt), sum(prod(signature.results[j].shape) for j in of)
    return "jacfwd" if arguments <= results else "jacrev"

"""The mode of ``p.jacobian()``: that of the two batched ones which is predicted to be faster."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.lab.strategies.choice import choose
from wengert.lab.strategies.plans import plans
from wengert.lab.strategies.row import PlanCosts, Row
from wengert.runtime.errors import InputError
from wengert.runtime.jacobians import JacobianMode
from wengert.runtime.program import Program
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


def jacobian_mode(program: Program, wrt: Sequence[int], of: Sequence[int]) -> JacobianMode:
    """The mode whose compiled program is predicted to be faster. Where that depends on what only a run tells, or one of them is refused, the one with fewer
    directions that can be made."""
    try:
        candidates = [plan for plan in plans(program, "jacobian", wrt, of, ["transpose"]) if plan.name in ("jacfwd", "jacrev")]
    except InputError:  # something is complex: holomorphic functions are not predicted
        return "jacfwd" if _arguments_are_fewer(program, wrt, of) else "jacrev"
    unknowns = Unknowns()
    rows = [row for row in (Row(PlanCosts(plan, unknowns)) for plan in candidates) if not row.problem]
    choice = choose(rows)
    if choice.verdict in ("faster", "only") and choice.row is not None:
        return "jacfwd" if choice.row.name == "jacfwd" else "jacrev"
    return "jacfwd" if _arguments_are_fewer(program, wrt, of) else "jacrev"


def _arguments_are_fewer(program: Program, wrt: Sequence[int], of: Sequence[int]) -> bool:
    """Whether the arguments have no more elements than the results."""
    signature = program.signature
    return sum(prod(signature.arguments[i].shape) for i in wrt) <= sum(prod(signature.results[j].shape) for j in of)

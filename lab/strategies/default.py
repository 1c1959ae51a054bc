"""The choice behind ``p.jacobian()`` and ``p.hessian()``: the plan that was chosen before for this program on this machine, else the one that is chosen now.

``measure`` says by what: False, by prediction alone; True, by measuring the plans that the prediction cannot tell apart, if there are several; None, by that
too, unless their runs take long. What was measured once on a machine is not measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.lab.strategies.remembered import How, Question, recalled, remember
from wengert.runtime.derived.jacobian_passes import JacobianMode

if TYPE_CHECKING:
    from wengert.runtime.program import Program

_LOOKED_FOR: dict[bool | None, tuple[How, ...]] = {None: ("measured", "not measured"), False: ("predicted",), True: ("measured",)}


def jacobian_passes(program: Program, wrt: Sequence[int], of: Sequence[int], measure: bool | None) -> str:
    """How to make the Jacobian: ``jacfwd``, ``jacrev``, or the text of another pass. Where that depends on what only a run tells, or nothing is predicted, the
    mode with fewer directions."""
    return _answer(program, "jacobian", wrt, of, measure)


def passes_of_strategy(program: Program, wrt: Sequence[int], of: Sequence[int], strategy: str) -> str:
    """How to make the Jacobian by a row of the table that is one program, by its name, or by a pass, by its text. Raises InputError for any other."""
    from wengert.lab.strategies.naming import passes_of

    return passes_of(program, wrt, of, strategy)


def check_hessian_strategy(program: Program, wrt: Sequence[int], of: Sequence[int], strategy: str) -> None:
    """Raises InputError if there is no row of this name for Hessians that is one program."""
    from wengert.lab.strategies.naming import check_hessian_row

    check_hessian_row(program, wrt, of, strategy)


def jacobian_mode(program: Program, wrt: Sequence[int], of: Sequence[int], measure: bool | None) -> JacobianMode:
    """The better one of ``jacfwd`` and ``jacrev``, chosen likewise."""
    return "jacfwd" if _answer(program, "mode", wrt, of, measure) == "jacfwd" else "jacrev"


def hessian_plan(program: Program, wrt: Sequence[int], of: Sequence[int], measure: bool | None) -> str:
    """The row of the table for Hessians to use, by name; ``forward over reverse`` where nothing is predicted."""
    return _answer(program, "hessian", wrt, of, measure)


def _answer(program: Program, question: Question, wrt: Sequence[int], of: Sequence[int], measure: bool | None) -> str:
    for how in _LOOKED_FOR[measure]:
        if (answer := recalled(program, question, wrt, of, how)) is not None:
            return answer
    from wengert.lab.strategies.deciding import decided

    answer, how = decided(program, question, wrt, of, measure=measure)
    remember(program, question, wrt, of, how, answer)
    return answer

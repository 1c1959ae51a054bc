"""The rewrite within a pass that breaks a program: bisection over how many of its rewrites a pass may make.

If a pass is right when it makes none and wrong when it makes all, there is a number such that it is right when it makes that many and wrong when it makes
one more; a binary search finds one. The idea is that of LLVM's ``-opt-bisect-limit``.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.ir.pipeline.actions import Action, Counted
from wengert.ir.pipeline.passes import Step
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.judgement import Point, judge
from wengert.lab.bisect.stages import Stage


class WrongRewrite(Struct, frozen=True):
    """The rewrite with which a pass becomes wrong, and the number of all that it makes."""

    action: Action
    of: int


def find_rewrite(before: Stage, step: Step, point: Point, fault: Fault) -> WrongRewrite | None:
    """The rewrite that breaks a program; None if the step makes none that can be left out, or is wrong without them too."""
    every = Counted()
    if not _is_wrong(before, step, point, fault, every) or every.attempt is None or _is_wrong(before, step, point, fault, Counted(0)):
        return None
    # one more than were made: the last one may have raised an exception before it was
    right, wrong = 0, len(every.actions) + 1
    actions = [*every.actions, every.attempt]
    while wrong - right > 1:
        middle = (right + wrong) // 2
        counted = Counted(middle)
        if _is_wrong(before, step, point, fault, counted):
            wrong, actions = middle, counted.actions
        else:
            right = middle
    return WrongRewrite(actions[wrong - 1], len(every.actions))


def _is_wrong(before: Stage, step: Step, point: Point, fault: Fault, counted: Counted) -> bool:
    return fault.is_like(judge(before, step, point, counted).fault)

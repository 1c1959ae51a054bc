"""Counted rewrites: the single steps of a pass, by number, so that a pass can be told to stop after some of them.

A pass asks before each rewrite whether it may make it::

    if may_rewrite("double-negation", op):
        b.replace(op, [inner])

Nothing is counted unless somebody counts, and then the answer is always yes. Inside :class:`Counted` every rewrite has a number, from 1, and those behind
a limit are not made. A pass does the same work in the same order up to the limit, whatever the limit is; so the rewrite that breaks a program is found by
bisection over the limit (LLVM's ``-opt-bisect-limit`` and ``DebugCounter``, and MLIR's actions, are this idea). Whatever a limit cuts off, what is left
must be valid IR that can be run: a rewrite that cannot stay undone once others are made belongs to these, and asks no question of its own.
"""

from __future__ import annotations

from typing import Self

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from wengert.ir.pipeline.stages import LOCK


class Action(Struct, frozen=True):
    """A rewrite: its number within what is counted, its name, and the op that it is about, as it was before."""

    number: int
    name: str
    op: str
    location: LocationAttr


class Counted:
    """Counts the rewrites of the passes that run inside, and refuses those behind a limit.

    Attributes:
        limit: how many rewrites may be made; None for all.
        actions: those that were made, in order.
        attempt: the one that was tried last; one that raises an exception before it is made is in no list.
    """

    def __init__(self, limit: int | None = None):
        self.limit = limit
        self.actions: list[Action] = []
        self.attempt: Action | None = None

    def allows(self, name: str, op: Operation) -> bool:
        """Whether one more rewrite may be made, which is then counted."""
        if not self.tries(name, op):
            return False
        assert self.attempt is not None, "it has just been tried"
        self.actions.append(self.attempt)
        return True

    def tries(self, name: str, op: Operation) -> bool:
        """Whether one more rewrite may be tried, which is not counted yet: for those that are known to apply only when they are built."""
        number = len(self.actions) + 1
        if self.limit is not None and number > self.limit:
            return False
        self.attempt = Action(number, name, op.name, op.location)
        return True

    def __enter__(self) -> Self:
        LOCK.acquire()  # passes of other threads are not counted
        _COUNTING.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _COUNTING.pop()
        LOCK.release()


_COUNTING: list[Counted] = []
"""Those who count, the innermost last."""


def counting() -> Counted | None:
    """Whoever counts, if anybody does."""
    return _COUNTING[-1] if _COUNTING else None


def may_rewrite(name: str, op: Operation) -> bool:
    """Whether a pass may make a rewrite of an op: yes, unless rewrites are counted and their limit is reached.

    Args:
        name: the rewrite, in kebab-case, as users are told of it.
        op: what it replaces, moves or removes.
    """
    return not _COUNTING or _COUNTING[-1].allows(name, op)

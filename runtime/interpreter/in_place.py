"""Updates in place: an op that replaces a part of its first operand writes to it, where nobody can see that.

The operand's slot dies with the op, and must be all that refers to the array: then no other value, no view, no caller and no constant
can see the change. Python counts references, and a view refers to the array whose memory it shows. Arrays that do not own their memory
are copied. So a loop that fills a stack row by row copies it once, at its first iteration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.runtime.interpreter.rules import UPDATES, Function, Scope

Step = Callable[[], None]


def update_function(op: Operation, scope: Scope) -> Function | None:
    """The function that writes to the first operand, if the op has one and reads that operand once."""
    rule = UPDATES.get(type(op))
    return None if rule is None or op.operands[0] in list(op.operands)[1:] else rule(op, scope)


def updating_step(values: list[Any], function: Function, update: Function, operands: Sequence[int], target: int) -> Step:
    """Applies the function, or where its first operand is the slot's alone, the one that writes to it."""
    first, read = operands[0], itemgetter(*operands)

    def step() -> None:
        chosen = update if _is_owned(values[first]) and _references(values, first) == _ALONE else function
        values[target] = chosen(*read(values))

    return step


def _is_owned(x: Any) -> bool:
    return type(x) is np.ndarray and x.base is None and x.flags.owndata and x.flags.writeable


def _references(values: list[Any], slot: int) -> int:
    """Counts the references to what a slot holds, always in the same way."""
    return sys.getrefcount(values[slot])


_ALONE = _references([np.empty(1)], 0)
"""The reference count of an array that only its slot refers to."""

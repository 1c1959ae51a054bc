"""Finding the op whose own derivative is wrong.

The program is run op by op in the interpreter. Every op with float operands is made a program of its own, whose JVP is
examined at the values that reach it (:mod:`wengert.lab.recorded_ops`). The first one to fail is named. (``wengert.lab.check.declared_rules`` does the same
for functions with derivatives of their own.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.ir.location.places import describe
from wengert.ir.unregistered import written_name
from wengert.lab.check.declared_rules import Examine
from wengert.lab.recorded_ops import Patience, ops_with_values
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Culprit:
    """An op that fails a check by itself."""

    op: str
    place: str
    finding: str

    def __str__(self) -> str:
        return f"{self.op} at {self.place}: {self.finding}"


def find_culprit(program: Program, inputs: Sequence[Array], examine: Examine) -> tuple[Culprit | None, int]:
    """The first op of a program that fails the examination at the values that reach it, or None; and how many ops there was no time for."""
    patience = Patience(program.core_module)
    for op, alone, values in ops_with_values(program.core_module, inputs):
        if patience.ends():
            break
        single = Program(alone, name=f"{written_name(op)} at {describe(op.location)}")
        if any(p.differentiable for p in single.signature.arguments) and any(p.differentiable for p in single.signature.results):
            finding = examine(single, values)
            if finding is not None:
                return Culprit(op.name, describe(op.location), finding), 0
    return None, patience.left

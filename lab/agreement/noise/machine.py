"""Runs of a program in which every inexact op errs by a few units in the last place, at random: how far results may be apart.

Two right implementations differ by rounding, and what becomes of that depends on the program. So a tolerance is not a number here: where two
results differ, the program is run with errors in every op that may have them (Vignes, "A stochastic arithmetic for reliable scientific
computation", 1993). A result that two implementations may disagree on, for whatever reason (cancellation, a comparison at a tie, a sort of equal
keys), differs among these runs; one that does not differ among them must be the same in both.

What is exact stays so: moves and selections, and arithmetic whose results have few significant bits, so that ties between small integers are ties
in every run.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.lab.agreement.noise.disturbance import Disturbance
from wengert.lab.agreement.noise.floats import Array
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine

Taken = dict[tuple[Operation, int], Array]
"""What ops that take floats apart were given in the first of several runs, by op and by how often it was run before."""


def noisy_run(
    module: ModuleOp,
    inputs: Sequence[Array],
    seed: int,
    scale: float = 2.0,
    *,
    flushing: bool = False,
    other_terms: bool = False,
    taken: Taken | None = None,
) -> list[Array]:
    """The results of @main with errors of this many units in the last place; the same ones for the same seed.

    ``flushing``: small numbers may become zero, as where subnormal ones are not kept. ``other_terms``: derivatives that are multiplied in another
    order round other terms to few bits (``reduce_precision``). ``taken`` is shared by the runs of one program.
    """
    machine = NoisyMachine(module, Disturbance(seed, scale, flushing=flushing), {} if taken is None else taken, other_terms=other_terms)
    with np.errstate(all="ignore"):
        results = machine.function("main", counting=False)(*[machine.noise.flushed(np.asarray(x))[()] for x in inputs])
    return [np.array(r) for r in results]


class NoisyMachine(Machine):
    """A machine whose ops err."""

    def __init__(self, module: ModuleOp, noise: Disturbance, taken: Taken, *, other_terms: bool = False):
        super().__init__(module)
        self.noise, self.taken, self.other_terms = noise, taken, other_terms
        self.runs: Counts[Operation] = Counts()

    def frame(self, counter: Counter | None) -> Frame:
        from wengert.lab.agreement.noise.frame import NoisyFrame

        return NoisyFrame(self, counter)

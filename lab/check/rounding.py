"""Measures how far rounding moves the results of a program at a point.

A bound on accumulated rounding that is a multiple of the unit of rounding fits short programs and well-conditioned ones. What rounding does to a deep one
depends on how each op magnifies the errors of those before it, so it is measured: the program is run with errors of two units in the last place in
every op (:mod:`wengert.lab.agreement.noise`), and compared with the run without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from wengert.lab.agreement.noise.machine import Taken, noisy_run
from wengert.lab.check.differences import Array
from wengert.runtime.derived.derivation import needs_ad_lowering, runnable
from wengert.runtime.interpreter import run
from wengert.runtime.program import Program

RUNS = 3
"""How many noisy runs there are."""


class Rounding:
    """Noisy runs of a program at a point, made when they are first asked for. A program that the interpreter cannot run is moved by nothing."""

    def __init__(self, program: Program, inputs: Sequence[Array]):
        self._program, self._inputs = program, inputs

    @cached_property
    def _results(self) -> list[list[Array]]:
        """The results of the run without errors, then those of runs with errors."""
        program, taken = self._program, Taken()
        try:
            module = program.core_module
            if needs_ad_lowering(program.module):
                module = runnable(module, as_given=program.as_given)
            with np.errstate(all="ignore"):
                return [[np.array(y) for y in run(module, self._inputs)], *(noisy_run(module, self._inputs, seed, taken=taken) for seed in range(RUNS))]
        except Exception:  # an op that the interpreter does not implement, or a type that noise knows nothing of
            return [[]]

    def of(self, position: int) -> float:
        """By how much the elements of a result move at most; those that are not finite do not count."""
        return self.through(lambda results: results[position])

    def through(self, function: Callable[[Sequence[Array]], Array | float]) -> float:
        """By how much what a function makes of the results moves at most."""
        exact, *noisy = self._results
        return max((_largest(np.asarray(function(sample)), np.asarray(function(exact))) for sample in noisy), default=0.0)


def _largest(a: Array, b: Array) -> float:
    with np.errstate(all="ignore"):
        apart = np.abs(_wide(a) - _wide(b))
    return float(np.max(apart, initial=0.0, where=np.isfinite(apart)))


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)

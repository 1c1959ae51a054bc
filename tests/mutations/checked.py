"""The checks of random programs put to planted mistakes: which are seen, and of these, which are taken for rounding.

Before a difference is a finding it has to stand in wide arithmetic, or one op has to be wrong on its own (``tests/fuzz``). That must not hide mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mutations.mutation import Mutation, planted

import wengert as wg
from fuzz.case import Case
from fuzz.checks.every_check import CHECKS
from fuzz.generator import Program, generate
from fuzz.trial import Finding, Rounding, attempt, chosen
from wengert.lab.isolation import ProcessEndedError, in_copy

SECONDS = 300.0


@dataclass(frozen=True)
class Checked:
    """What the checks say of programs while a mistake is planted.

    Attributes:
        findings: the checks that report it.
        rounding: the checks that see a difference and take it for rounding.
    """

    mutation: Mutation
    findings: tuple[str, ...]
    rounding: tuple[str, ...]

    @property
    def is_seen(self) -> bool:
        """Whether some check sees a difference."""
        return bool(self.findings or self.rounding)


def checked(mutation: Mutation, seeds: Sequence[int] = ()) -> Checked:
    """Makes all checks but those that ask JAX of the mistake's own program, or of the random programs of seeds, in a copy of this process."""

    def work() -> Checked:
        findings: list[str] = []
        rounding: list[str] = []
        with planted(mutation):
            for program in map(generate, seeds) if seeds else [_own(mutation)]:
                case = Case(program)
                for check in chosen(case.seed, oracle=False) if seeds else [c for c in CHECKS if not c.oracle]:
                    outcome = attempt(case, check)
                    findings += [check.name] * isinstance(outcome, Finding)
                    rounding += [check.name] * isinstance(outcome, Rounding)
        return Checked(mutation, tuple(findings), tuple(rounding))

    try:
        return in_copy(work, SECONDS)
    except ProcessEndedError:
        return Checked(mutation, ("crash",), ())


def _own(mutation: Mutation) -> Program:
    """The mistake's program, with inputs."""
    rng = np.random.default_rng(7)

    def drawn(dtype: Any, shape: tuple[int, ...]) -> Any:
        return rng.integers(1, 3, shape).astype(dtype) if np.dtype(dtype).kind in "iub" else rng.uniform(0.3, 1.3, shape).astype(dtype)

    arguments = wg.parse(mutation.program).signature.arguments
    return Program(mutation.program, tuple(drawn(a.dtype, a.shape) for a in arguments), smooth=True)

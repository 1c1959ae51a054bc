"""Putting bisection to a planted mistake."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mutations.mutation import Mutation, planted

import wengert as wg
from wengert.lab.bisect import Bisection, bisect
from wengert.lab.inspection.subject import Request
from wengert.lab.isolation import in_copy

SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """What came of one mistake."""

    mutation: Mutation
    result: Bisection
    seconds: float

    @property
    def named(self) -> str:
        """The culprit that was named."""
        culprit = self.result.culprit
        return "-" if culprit is None else f"{culprit.kind} {culprit.name}"

    @property
    def wrong(self) -> str:
        """What should have been named and was not; empty if all is well."""
        step = self.result.step.partition("{")[0]
        if step != self.mutation.step:
            return f"pass {step or 'none'} instead of {self.mutation.step}"
        culprit = self.result.culprit
        if self.mutation.culprit is not None and (culprit is None or (culprit.kind, culprit.name) != self.mutation.culprit):
            return f"{self.named} instead of {' '.join(self.mutation.culprit)}"
        return "" if self.result.reproducer is not None else "no reproducer"

    @property
    def ops(self) -> int:
        """The ops of the reproducer."""
        return -1 if self.result.reproducer is None else self.result.reproducer.ops


def tried(mutation: Mutation, seconds: float = 20.0) -> Trial:
    """Bisects with a mistake planted, in a copy of this process: it may crash, and leaves nothing behind."""
    program = wg.parse(mutation.program)
    started = time.monotonic()

    def work() -> Bisection:
        with planted(mutation):
            request = Request(mutation.mode, strategy=mutation.strategy) if mutation.mode else None
            return bisect(program, mutation.pipeline, request=request, seconds=seconds)

    result = in_copy(work, SECONDS)
    return Trial(mutation, result, time.monotonic() - started)

"""The walk over a pipeline, step by step, to the first one that does not do what it has to.

To run every stage of a program of ten thousand ops takes much longer than to make it. So long programs are walked over in leaps: the steps between
derivative passes are made at once, and what the last one leaves is run. If it is wrong, there is a step such that the stage before it is right and the one
behind it is wrong, and a binary search finds one. What a step breaks and a later one mends is not seen then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.passes import Pipeline, Step
from wengert.ir.verification.verifier import verify
from wengert.lab.bisect.derivatives import EXPECTATIONS
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.judgement import Point, judge, judge_results, started
from wengert.lab.bisect.stages import SECONDS, Array, Stage, made, types_of

LEAST_PATIENCE = 1.5
"""The least that a step is waited for, in seconds, once one is known not to end."""
LONG = 4000
"""Ops from which on a program is walked over in leaps."""
OVER = "stepped over"
"""The outcome of a step behind which nothing was run."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Tried:
    """A step that was tried: its position from 1, the text of the step, and the outcome in a few words."""

    position: int
    step: str
    outcome: str


@dataclass(frozen=True)
class Broken:
    """The first step that is wrong, with what it was given.

    Attributes:
        position: its position in the pipeline, from 1.
        step: the step.
        before: the stage before it.
        values: the last stage before it whose values are tensors and not buffers, and ``behind``: the steps from there to this one, which is the last.
        point: what the stages before it are run on, and compute.
        fault: what is wrong.
        seconds: how long whoever tries again needs to wait: no step before it has taken nearly as long.
    """

    position: int
    step: Step
    before: Stage
    values: Stage
    behind: tuple[Step, ...]
    point: Point
    fault: Fault
    seconds: float = SECONDS


@dataclass(frozen=True)
class Walk:
    """The steps that were tried, and the first that is wrong."""

    tried: tuple[Tried, ...]
    broken: Broken | None


def walk(pipeline: Pipeline, module: ModuleOp, inputs: Sequence[Array], seed: int = 0, progress: Progress = lambda line: None) -> Walk:
    """Tries the steps of a pipeline in turn on a module, which stays as it is."""
    stage = Stage(module)
    point, note = started(stage, inputs, seed)
    walker = _Walker(pipeline, stage, point, progress, [Tried(0, "input", note or "runs")])
    is_long = is_long_program(module)
    while walker.position < len(pipeline):
        if is_long and walker.leap():
            continue
        broken = walker.step()
        if broken is not None:
            return Walk(tuple(walker.tried), broken)
    return Walk(tuple(walker.tried), None)


def is_long_program(module: ModuleOp) -> bool:
    """Whether a program is walked over in leaps."""
    return sum(1 for _ in module.walk()) > LONG


class _Walker:
    """A place in a pipeline, up to which all is right.

    Attributes:
        position: the number of steps up to it.
        tried: what was tried.
    """

    def __init__(self, pipeline: Pipeline, stage: Stage, point: Point, progress: Progress, tried: list[Tried]):
        self.position, self.tried = 0, tried
        self._pipeline, self._stage, self._point, self._progress = pipeline, stage, point, progress
        self._values, self._behind, self._slowest = stage, list[Step](), 0.0

    def step(self) -> Broken | None:
        """Tries the next step, and goes behind it if it is right."""
        step, position = self._pipeline.steps[self.position], self.position + 1
        self._progress(f"{position} of {len(self._pipeline)}: {print_pass(step)}")
        begun = time.monotonic()
        judged = judge(self._stage, step, self._point)
        if judged.fault is not None:
            self.tried.append(Tried(position, print_pass(step), str(judged.fault)))
            behind = (*self._behind, step)
            return Broken(position, step, self._stage, self._values, behind, self._point, judged.fault, _patience(self._slowest))
        assert judged.after is not None, "there is no fault"
        self._point, self._slowest = judged.point, max(self._slowest, time.monotonic() - begun)
        self._go((step,), judged.after, judged.note or "right")
        return None

    def leap(self) -> bool:
        """Makes the steps up to the next derivative pass at once, and goes behind them if what the last one leaves is right; else, by bisection, behind as many
        of them as leave something right. Whether it went anywhere."""
        steps = self._pipeline.steps[self.position :]
        wrong = next((k for k, step in enumerate(steps) if step.name in EXPECTATIONS), len(steps)) + 1
        right, middle, start = 0, wrong - 1, self.position
        while middle > right:
            ahead = steps[right:middle]
            self._progress(f"{start + right + 1} to {start + middle} of {len(self._pipeline)}: {print_pass(ahead[0])} ... {print_pass(ahead[-1])}")
            after = self._right_behind(ahead)
            if after is None:
                wrong = middle
            else:
                self._go(ahead, after, "right")
                right = middle
            middle = (right + wrong) // 2
        return right > 0

    def _right_behind(self, steps: Sequence[Step]) -> Stage | None:
        """The stage behind some steps; None if it is not right, or cannot be told to be."""
        try:
            after = made(self._stage, steps)
            if after.form == "mlir":
                verify(after.module)
            if not _is_on_buffers(after) and types_of(after) != types_of(self._stage):
                return None
        except Exception:  # the step that raises it is tried by itself
            return None
        judged = judge_results(after, self._point)
        self._point = judged.point
        return after if judged.fault is None else None

    def _go(self, steps: Sequence[Step], after: Stage, outcome: str) -> None:
        self.tried += [Tried(self.position + k, print_pass(step), OVER) for k, step in enumerate(steps[:-1], 1)]
        self.position += len(steps)
        self.tried.append(Tried(self.position, print_pass(steps[-1]), outcome))
        self._stage = after
        self._behind += steps
        if not _is_on_buffers(after):
            self._values, self._behind = after, []


def _patience(slowest: float) -> float:
    return min(max(LEAST_PATIENCE, 10 * slowest), SECONDS)


def _is_on_buffers(stage: Stage) -> bool:
    from wengert.dialects.kernel.buffers import is_bufferized
    from wengert.runtime.functions import entry_function

    return stage.form != "mlir" or is_bufferized(entry_function(stage.module, "main"))

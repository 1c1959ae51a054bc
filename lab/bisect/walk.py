"""The walk over a pipeline, step by step, to the first one that does not do what it has to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pass_options import print_pass
from wengert.ir.passes import Pipeline, Step
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.judgement import Point, judge, started
from wengert.lab.bisect.stages import SECONDS, Array, Stage

LEAST_PATIENCE = 1.5
"""The least that a step is waited for, in seconds, once one is known not to end."""
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
    tried = [Tried(0, "input", note or "runs")]
    values, behind, slowest = stage, list[Step](), 0.0
    for position, step in enumerate(pipeline.steps, 1):
        progress(f"{position} of {len(pipeline)}: {print_pass(step)}")
        behind.append(step)
        begun = time.monotonic()
        judged = judge(stage, step, point)
        if judged.fault is not None:
            tried.append(Tried(position, print_pass(step), str(judged.fault)))
            return Walk(tuple(tried), Broken(position, step, stage, values, tuple(behind), point, judged.fault, _patience(slowest)))
        assert judged.after is not None, "there is no fault"
        tried.append(Tried(position, print_pass(step), judged.note or "right"))
        stage, point, slowest = judged.after, judged.point, max(slowest, time.monotonic() - begun)
        if not _is_on_buffers(stage):
            values, behind = stage, []
    return Walk(tuple(tried), None)


def _patience(slowest: float) -> float:
    return min(max(LEAST_PATIENCE, 10 * slowest), SECONDS)


def _is_on_buffers(stage: Stage) -> bool:
    from wengert.dialects.kernel.buffers import is_bufferized
    from wengert.runtime.functions import entry_function

    return stage.form != "mlir" or is_bufferized(entry_function(stage.module, "main"))

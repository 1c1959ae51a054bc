"""The steps of a pipeline up to one, made without being tried: for programs that differ little from one that was tried step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.passes import Pipeline, Step
from wengert.lab.agreement.agreement import MORE
from wengert.lab.bisect.derivatives import as_given, drawn
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.judgement import difference, judge, started
from wengert.lab.bisect.stages import Array, Stage, advanced, types_of
from wengert.lab.bisect.walk import Broken
from wengert.runtime.functions import entry_function
from wengert.transforms.pipelines import parse_pipeline

FEW_RUNS = 6
"""How many noisy runs there are before a difference counts, for programs that differ little from one that is known to show one."""


def broken_at(pipeline: Pipeline, position: int, module: ModuleOp, inputs: Sequence[Array], seed: int, runs: int = MORE) -> Broken | None:
    """The step at a position, if it is wrong on a module, and what is before it is not; None otherwise. Raises what the steps before it raise."""
    stage, start = Stage(module), started(Stage(module), inputs, seed)[0]
    values, behind = stage, list[Step]()
    for step in pipeline.steps[: position - 1]:
        behind.append(step)
        following = advanced(stage, step)
        if not _is_on_buffers(following):
            if types_of(following) != types_of(stage):
                start = started(following, _inputs(stage, following, start.inputs, seed), seed)[0]
            values, behind = following, []
        stage = following
    point = replace(started(stage, start.inputs, seed)[0], reference=start.reference, runs=runs)
    if start.expected is not None and point.expected is not None and difference(point.expected, start) is not None:
        return None
    step = pipeline.steps[position - 1]
    fault = judge(stage, step, point).fault
    return None if fault is None else Broken(position, step, stage, values, (*behind, step), point, fault)


def shows(pipeline: Pipeline, position: int, fault: Fault, module: ModuleOp, inputs: Sequence[Array], seed: int) -> bool:
    """Whether a module shows the same kind of fault at the same step."""
    broken = broken_at(pipeline, position, module, inputs, seed, FEW_RUNS)
    return broken is not None and fault.is_like(broken.fault)


def _is_on_buffers(stage: Stage) -> bool:
    return stage.form != "mlir" or is_bufferized(entry_function(stage.module, "main"))


def _inputs(before: Stage, after: Stage, inputs: Sequence[Array], seed: int) -> tuple[Array, ...]:
    """Inputs for a stage that takes others: the same as far as they fit, and drawn from there on."""
    taken, wanted = types_of(before)[0], types_of(after)[0]
    kept = next((k for k, (a, b) in enumerate(zip(taken, wanted, strict=False)) if a != b), min(len(taken), len(wanted)))
    return (*inputs[:kept], *drawn(as_given(after.module), kept, seed))


def shown_with(pipeline: Pipeline, is_shown: Callable[[Pipeline], bool]) -> Pipeline | None:
    """The pipeline with derivatives by all arguments and of all results, which smaller programs have others of, if it shows something then; else the pipeline
    as it is, if that does; None if neither does."""
    changed = parse_pipeline(",".join(_without_positions(step) for step in pipeline.steps))
    return next((one for one in (changed, pipeline) if is_shown(one)), None)


def _without_positions(step: Step) -> str:
    names = [name for name in ("wrt", "of") if getattr(step, name, None) is not None]
    return print_pass(replace(step, **dict.fromkeys(names)) if names else step)  # pyright: ignore[reportArgumentType]

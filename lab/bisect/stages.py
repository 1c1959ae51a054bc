"""The stages of a pipeline one by one: what a step makes of the stage before it, and what a stage computes.

MLIR is run by the interpreter at every level; LLVM text and assembly are compiled and run in a copy of this process, which may crash. A stage that cannot
be run here (assembly of another machine, code of a device) is said to be so.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.construction import copy_module
from wengert.ir.pipeline.passes import Step
from wengert.ir.pipeline.translations import Form
from wengert.lab.bisect.halves import as_one
from wengert.lab.isolation import in_copy, time_limit
from wengert.runtime.errors import InputError, UnsupportedOpError
from wengert.runtime.functions import entry_function
from wengert.runtime.interpreter import run
from wengert.transforms.ad.requests.lower import uses_ad
from wengert.transforms.ad.requests.request import has_requests
from wengert.transforms.codegen.cpu.translations import EmitAsm, EmitLlvm, OptimizeLlvm
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.schedule.host import HOST

Array = np.ndarray[Any, np.dtype[Any]]

SECONDS = 20.0
"""How long one stage may run, or be made, unless somebody has less patience."""
_PATIENCE = ContextVar("patience", default=SECONDS)


@contextmanager
def patience(seconds: float) -> Generator[None]:
    """Inside, stages are waited for no longer than so many seconds."""
    token = _PATIENCE.set(seconds)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


class NotRunError(Exception):
    """A stage that cannot be run here; the message says why."""


class Stage(Struct, frozen=True):
    """The state of a program behind some steps of a pipeline.

    Attributes:
        module: what the last pass left.
        text: what the last translation wrote; empty if there was none.
        before: the LLVM text that assembly was made of.
        form: MLIR, LLVM text, assembly.
        emission: the step that wrote LLVM text, whose options say how it is to be compiled.
        last: the last step.
    """

    module: ModuleOp
    text: str = ""
    before: str = ""
    form: Form = "mlir"
    emission: EmitLlvm | None = None
    last: Step | None = None


def advanced(stage: Stage, step: Step) -> Stage:
    """The stage behind one more step; the stage before it stays as it is. Raises what the step raises, and TimeoutError."""
    with time_limit(_PATIENCE.get()):
        if isinstance(step, ModulePass):
            module = copy_module(stage.module)
            step.apply(Context(), module)
            return Stage(module, last=step)
        text = step.translate(stage.text or stage.module)
    emission = step if isinstance(step, EmitLlvm) else stage.emission
    return replace(stage, text=text, before=stage.text, form=step.writes, emission=emission, last=step)


def made(stage: Stage, steps: Sequence[Step]) -> Stage:
    """The stage behind several steps; the stage before them stays as it is. Raises what they raise, and TimeoutError."""
    module = copy_module(stage.module) if isinstance(steps[0], ModulePass) else stage.module
    for step in steps:
        if isinstance(step, ModulePass):
            with time_limit(_PATIENCE.get()):
                step.apply(Context(), module)
            stage = Stage(module, last=step)
        else:
            stage = advanced(stage, step)
    return stage


def types_of(stage: Stage) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    """The types that a stage takes and returns, if it is MLIR on values; halves of a derivative count as one function."""
    kind = entry_function(as_one(stage.module), "main").function_type
    return kind.inputs.data, kind.outputs.data


def results_of(stage: Stage, inputs: Sequence[Array]) -> list[Array]:
    """Runs a stage; its results.

    Raises:
        NotRunError: it cannot be run here.
        ProcessEndedError: its code crashes, or takes too long.
        TimeoutError: the interpreter takes too long.
        Exception: it raises an exception, which no valid program does.
    """
    if stage.form == "mlir":
        return _interpreted(stage.module, inputs)
    last, emission = stage.last, stage.emission
    if not isinstance(last, EmitLlvm | OptimizeLlvm | EmitAsm) or emission is None:
        raise NotRunError("code of a device is not run here")
    if last.target != HOST or emission.target != HOST:
        raise NotRunError(f"code for the target '{last.target}' is not run here")
    return in_copy(lambda: _compiled(stage, emission, inputs), _PATIENCE.get())


def _compiled(stage: Stage, emission: EmitLlvm, inputs: Sequence[Array]) -> list[Array]:
    from wengert.runtime.cpu.compilation import compile_text

    text, opt = (stage.before, stage.last.opt) if isinstance(stage.last, EmitAsm) else (stage.text, "fast")
    program = compile_text(stage.module, text, strict=emission.strict, opt=opt, flush_subnormals=emission.flush_subnormals)
    return [np.array(result) for result in program.in_poisoned_memory(*inputs)]


def _interpreted(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    try:
        with time_limit(_PATIENCE.get()):
            return run(runnable(module), inputs)
    except UnsupportedOpError as error:
        raise NotRunError(str(error)) from None
    except InputError as error:
        raise NotRunError(str(error)) from None


def runnable(module: ModuleOp) -> ModuleOp:
    """The module as the interpreter runs it: halves of a derivative as one function, without what declares derivatives."""
    if has_requests(module):
        raise NotRunError("requests for derivatives are not expanded yet")
    module = as_one(module)
    if holds_kernels(module) or not uses_ad(module):
        return module
    return parse_pipeline("lower-ad").applied(module)

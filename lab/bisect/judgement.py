"""Whether a step of a pipeline does what it has to: what it leaves is valid, runs, and computes the same as before, or its derivative.

Results of passes that keep what a program means are compared with those of the program before, as nearly as rounding lets them be compared
(:mod:`wengert.lab.agreement`). What a derivative pass leaves is tried as ``wengert check`` tries derivatives (:mod:`wengert.lab.bisect.derivatives`); from
there on, its own results are what later passes have to keep.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.kernel.buffers import is_bufferized
from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.actions import Counted
from wengert.ir.pipeline.passes import Step
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.lab.agreement.agreement import MORE, Mismatch, Noisy, assert_agree
from wengert.lab.agreement.noise.machine import Taken, noisy_run
from wengert.lab.bisect.derivatives import EXPECTATIONS, NotComparedError
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.stages import Array, NotRunError, Stage, advanced, results_of, runnable, types_of
from wengert.lab.isolation import ProcessEndedError
from wengert.runtime.functions import entry_function


@dataclass(frozen=True)
class Point:
    """The inputs that stages are run on, and the results that they have to compute.

    Attributes:
        inputs: the inputs.
        expected: the results; None as long as no stage could be run.
        reference: the module that says how far rounding may move them; None where that is not known.
        seed: for directions, cotangents and tangents.
        runs: how many noisy runs of the reference there are before a difference counts.
    """

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...] | None = None
    reference: ModuleOp | None = None
    seed: int = 0
    runs: int = MORE


@dataclass(frozen=True)
class Judged:
    """A step that was tried.

    Attributes:
        after: the stage behind it; None if it leaves none.
        point: what later stages have to compute.
        fault: what is wrong, if anything.
        note: why nothing was compared, or that there was nothing to compare.
    """

    after: Stage | None
    point: Point
    fault: Fault | None = None
    note: str = ""


def started(stage: Stage, inputs: Sequence[Array], seed: int) -> tuple[Point, str]:
    """The point for the first stage, and a note where that cannot be run."""
    point = Point(tuple(inputs), seed=seed)
    try:
        results = results_of(stage, inputs)
    except (NotRunError, TimeoutError, ProcessEndedError) as error:
        return point, f"not run: {_line(error)}"
    return replace(point, expected=tuple(results), reference=_reference(stage)), ""


def judge(before: Stage, step: Step, point: Point, counted: Counted | None = None) -> Judged:
    """Makes a step, and tries what it leaves. The rewrites of the step may be counted, and limited."""
    try:
        with nullcontext() if counted is None else counted:
            after = advanced(before, step)
    except DiagnosticError as error:
        return Judged(None, point, Fault("refusal", error.diagnostic.message, error.render()))
    except TimeoutError as error:
        return Judged(None, point, Fault("no end", f"the step gives {error}"))
    except Exception as error:
        return Judged(None, point, _raised(error))
    if after.form == "mlir":
        try:
            verify(after.module)
        except DiagnosticError as error:
            return Judged(after, point, Fault("invalid IR", error.diagnostic.message, error.render()))
        except Exception as error:  # IR that the verifier cannot even look at
            return Judged(after, point, Fault("invalid IR", f"{type(error).__name__}: {_line(error)}"))
        if print_module(after.module) == print_module(before.module):
            return Judged(after, point, note="no change")
        if _changes_type(before, after):
            return _judge_derivative(before, step, after, point)
    return judge_results(after, point)


def _changes_type(before: Stage, after: Stage) -> bool:
    if is_bufferized(entry_function(after.module, "main")):
        return False
    return types_of(before) != types_of(after)


def _judge_derivative(before: Stage, step: Step, after: Stage, point: Point) -> Judged:
    expectation = EXPECTATIONS.get(step.name)
    inputs, fault, note = point.inputs, None, ""
    try:
        if expectation is None:
            raise NotComparedError("it changes what the function takes or returns")
        if point.expected is None:
            raise NotComparedError("the program before it could not be run")
        inputs, fault = expectation(before.module, step, after.module, point.inputs, point.seed)
    except NotComparedError as reason:
        note = f"not compared: {reason}"
        inputs = ()
    except (TimeoutError, ProcessEndedError) as error:
        fault = Fault("no end", f"what it leaves gives {_line(error)}")
    except Exception as error:
        fault = _raised(error)
    if fault is not None or not inputs:
        return Judged(after, replace(point, expected=None, reference=None), fault, note)
    fresh, unrun = started(after, inputs, point.seed)
    return Judged(after, replace(fresh, runs=point.runs), None, note or unrun)


def judge_results(after: Stage, point: Point) -> Judged:
    """Tries a stage of the function that the point is about."""
    try:
        results = results_of(after, point.inputs)
    except NotRunError as error:
        return Judged(after, point, note=f"not run: {_line(error)}")
    except TimeoutError as error:
        return Judged(after, point, Fault("no end", f"what it leaves gives {error}"))
    except ProcessEndedError as error:
        return Judged(after, point, Fault("no end" if "no answer" in str(error) else "crash", f"the code that it leads to: {error}"))
    except Exception as error:
        return Judged(after, point, _raised(error))
    if point.expected is None:
        return Judged(after, replace(point, expected=tuple(results), reference=_reference(after)), note="the first stage that could be run")
    return Judged(after, point, difference(results, point))


def difference(results: Sequence[Array], point: Point) -> Fault | None:
    """A fault if results are not those that are expected, as nearly as rounding lets them be compared."""
    assert point.expected is not None
    try:
        assert_agree("results", results, point.expected, _noise(point), runs=point.runs)
    except Mismatch as mismatch:
        return Fault("wrong result", mismatch.details or mismatch.what)
    return None


def _noise(point: Point) -> Noisy:
    """Noisy runs of the reference; where there is none, the expected results with errors of a share of the largest."""
    taken, made = Taken(), dict[int, Sequence[Array]]()

    def noisy(seed: int) -> Sequence[Array]:
        if seed not in made:
            made[seed] = _noisy(point, seed, taken)
        return made[seed]

    return noisy


def _noisy(point: Point, seed: int, taken: Taken) -> Sequence[Array]:
    assert point.expected is not None
    if point.reference is not None:
        try:
            return noisy_run(point.reference, point.inputs, seed, taken=taken)
        except Exception:  # a type that noise knows nothing of
            pass
    generator = np.random.default_rng(seed)
    return [_moved(np.asarray(e), generator) for e in point.expected]


def _moved(x: Any, generator: np.random.Generator) -> Array:
    """An array with errors of a share of its largest element."""
    if x.dtype.kind not in "fcV" or not x.size:
        return np.asarray(x)
    wide: Array = np.asarray(x, np.complex128 if x.dtype.kind == "c" else np.float64)
    size = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
    share = 1e-13 if x.dtype.itemsize >= 8 else 1e-5 if x.dtype.itemsize == 4 else 1e-2
    errors: Array = cast(Any, generator).uniform(-size * share, size * share, x.shape)
    return (wide + errors).astype(x.dtype)


def _reference(stage: Stage) -> ModuleOp | None:
    return None if stage.form != "mlir" or holds_kernels(stage.module) else runnable(stage.module)


def _raised(error: Exception) -> Fault:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" in {frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in last)
    return Fault("exception", f"{type(error).__name__}{place}: {_line(error)}", "".join(traceback.format_exception(error)))


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]

"""Conformance: a corpus of programs run, differentiated and compared with stored references.

Kinds: ``primal``, ``jvp``, ``vjp``, ``hvp`` (the JVP of the VJP), ``jac`` (the whole Jacobian by JVPs or VJPs over a
basis, whichever are fewer), and ``text-*``: the same for the printed text, read and run by XLA.

A kind of a program passes if every array agrees within the corpus's tolerance; it is refused if a diagnostic says that
something is not yet supported; everything else, an exception of any kind included, is a failure.
"""

from __future__ import annotations

import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.plugins import UndoneWarning, load_plugin
from wengert.lab.corpus import Array, CorpusProgram, Reference, array_error
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.loading import load
from wengert.runtime.program import Program

KINDS = ("primal", "jvp", "vjp", "hvp", "jac", "text-primal", "text-jvp", "text-vjp", "text-hvp")
GROUPS = {"all": KINDS[:5], "text": KINDS[5:]}
REFUSALS = ("not yet supported", "has no derivative rule", "cannot be compiled")
"""Parts of a diagnostic that refuses a program because something is not covered, rather than because it is wrong."""
Status = Literal["passed", "failed", "refused"]
Runner = Callable[[Program, Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True)
class Task:
    """One program of a corpus in one precision, with the kinds to try."""

    program: CorpusProgram
    precision: str
    kinds: tuple[str, ...]
    backend: str
    generic: bool = False
    strategy: str = "transpose"
    plugins: tuple[str, ...] = ()
    """The plug-ins to load first, in the process that does the task."""

    @property
    def label(self) -> str:
        return f"{self.program.name} {self.precision}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one kind of one task."""

    program: str
    precision: str
    kind: str
    status: Status
    error: float | None = None
    tolerance: float | None = None
    reason: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON; errors that are not finite become text."""
        fields = asdict(self)
        if self.error is not None and not np.isfinite(self.error):
            fields["error"] = str(self.error)
        return fields

    def __str__(self) -> str:
        return f"{self.program} {self.precision} {self.kind}: {self.status}" + (f": {self.reason}" if self.reason else "")


def expand_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Kinds by name, the groups ``all`` and ``text`` expanded, in the order of KINDS; raises InputError."""
    wanted: set[str] = set()
    for name in names:
        if name not in KINDS and name not in GROUPS:
            raise InputError(f"there is no kind {name!r}; known: {', '.join((*KINDS, *GROUPS))}")
        wanted.update(GROUPS.get(name, (name,)))
    return tuple(k for k in KINDS if k in wanted)


def run_task(task: Task) -> Iterator[Outcome]:
    """The outcomes of a task, one kind after the other; kinds without a reference are left out. Raises nothing."""
    for source in task.plugins:
        load_plugin(source)
    if task.plugins:
        warnings.simplefilter("ignore", UndoneWarning)  # in a process of its own, which judges whether derivatives are right and not what they cost
    state = _Differentiated(task)
    for kind in task.kinds:
        start = time.perf_counter()
        outcome = _attempt(state, kind)
        if outcome is not None:
            status, error, tolerance, reason = outcome
            yield Outcome(task.program.name, task.precision, kind, status, error, tolerance, reason, round(time.perf_counter() - start, 4))


def _attempt(state: _Differentiated, kind: str) -> tuple[Status, float | None, float | None, str] | None:
    try:
        error = state.error(kind)
    except Exception as exception:
        status: Status = "refused" if is_refusal(exception) else "failed"
        return status, None, None, summarize(exception)
    if error is None:
        return None
    tolerance = state.task.program.tolerance(kind.removeprefix("text-"), state.task.precision)
    if error.value <= tolerance:
        return "passed", error.value, tolerance, ""
    return "failed", error.value, tolerance, f"{error.where} differs by {error.value:.2e}, tolerance {tolerance:.0e}"


def is_refusal(exception: BaseException) -> bool:
    """Whether an exception says that something is not yet covered, rather than wrong."""
    if isinstance(exception, DiagnosticError | InputError):
        return any(words in str(exception) for words in REFUSALS)
    return isinstance(exception, UnsupportedOpError)


def summarize(exception: BaseException) -> str:
    """An exception in one line: its type, its message, and for unexpected ones where it was raised."""
    message = " ".join(str(exception).split())
    if isinstance(exception, DiagnosticError | InputError | ExecutionError):
        return message[:400]
    root = exception
    while root.__cause__ is not None:
        root = root.__cause__
    ours = [f for f in traceback.extract_tb(root.__traceback__) if not f.filename.startswith(("<", sys.prefix))]
    place = f" (at {Path(ours[-1].filename).name}:{ours[-1].lineno} in {ours[-1].name})" if ours else ""
    return f"{type(exception).__name__}: {message[:400]}{place}"


@dataclass(frozen=True)
class Difference:
    """The largest error and the array that has it."""

    value: float
    where: str


def worst(name: str, arrays: dict[Any, Any], reference: dict[Any, Array]) -> Difference:
    """The array that differs most from its reference."""
    errors = {key: array_error(arrays[key], array) if key in arrays else float("inf") for key, array in reference.items()}
    if not errors:
        return Difference(0.0, name)
    key = max(errors, key=lambda k: errors[k])
    return Difference(errors[key], f"{name} {key}")


class _Differentiated:
    """One corpus program with its derivatives, made when first asked for."""

    def __init__(self, task: Task):
        self.task = task

    @cached_property
    def reference(self) -> Reference:
        return self.task.program.reference(self.task.precision)

    @cached_property
    def program(self) -> Program:
        return load(self.task.program.path(self.task.precision, generic=self.task.generic))

    @property
    def wrt(self) -> tuple[int, ...]:
        return tuple(sorted(self.reference.tangents))

    @property
    def of(self) -> tuple[int, ...]:
        return tuple(sorted(self.reference.cotangents))

    @cached_property
    def jvp(self) -> Program:
        return self.program.jvp(wrt=self.wrt, of=self.of, strategy=self.task.strategy)

    @cached_property
    def vjp(self) -> Program:
        return self.program.vjp(wrt=self.wrt, of=self.of, strategy=self.task.strategy)

    @cached_property
    def hvp(self) -> Program:
        """(inputs, cotangents, tangents) -> (outputs, input cotangents, their tangents)."""
        first = len(self.reference.outputs)
        return self.vjp.jvp(wrt=self.wrt, of=range(first, first + len(self.wrt)))

    def error(self, kind: str) -> Difference | None:
        """The largest error of a kind, or None where the corpus holds no reference for it."""
        if kind.startswith("text-"):
            return self._error(kind.removeprefix("text-"), run_in_xla)
        return self._error(kind, self._run)

    def _error(self, kind: str, run: Runner) -> Difference | None:
        d = self.reference
        outputs = dict(enumerate(d.outputs))
        if kind == "primal":
            return worst("output", dict(enumerate(run(self.program, d.inputs))), outputs)
        if kind == "jvp":
            got = run(self.jvp, [*d.inputs, *(d.tangents[i] for i in self.wrt)])
            return self._with_outputs(got, "tangent of output", self.of, d.jvp)
        if kind == "vjp":
            got = run(self.vjp, [*d.inputs, *(d.cotangents[j] for j in self.of)])
            return self._with_outputs(got, "cotangent of input", self.wrt, d.vjp)
        if kind == "hvp":
            if not d.hvp:
                return None
            got = run(self.hvp, [*d.inputs, *(d.cotangents[j] for j in self.of), *(d.tangents[i] for i in self.wrt)])
            return worst("second derivative in input", dict(zip(self.wrt, got[len(got) - len(self.wrt) :], strict=True)), d.hvp)
        return worst("Jacobian block", self._jacobian(run), d.jac) if d.jac else None

    def _with_outputs(self, got: Sequence[Array], name: str, positions: tuple[int, ...], reference: dict[int, Array]) -> Difference:
        """The error of a derivative program's outputs and of what it adds to them."""
        count = len(self.reference.outputs)
        derivatives = worst(name, dict(zip(positions, got[count:], strict=True)), reference)
        values = worst("output", dict(enumerate(got[:count])), dict(enumerate(self.reference.outputs)))
        outside = values.value > self.task.program.tolerance("primal", self.task.precision)
        return values if outside and values.value > derivatives.value else derivatives

    def _run(self, program: Program, inputs: Sequence[Array]) -> Sequence[Array]:
        return program.compile(backend=self.task.backend)(*inputs)

    def _jacobian(self, run: Runner) -> dict[tuple[int, int], Array]:
        d = self.reference
        inputs, outputs = {i: d.inputs[i] for i in self.wrt}, {j: d.outputs[j] for j in self.of}
        forward = sum(a.size for a in inputs.values()) <= sum(a.size for a in outputs.values())
        program, moved, seen = (self.jvp, inputs, outputs) if forward else (self.vjp, outputs, inputs)
        columns: dict[tuple[int, int], list[Array]] = {(a, b): [] for a in moved for b in seen}
        for position, seeds in basis(moved):
            got = run(program, [*d.inputs, *seeds])[len(d.outputs) :]
            for b, column in zip(seen, got, strict=True):
                columns[position, b].append(column)
        return {((b, a) if forward else (a, b)): _block(stack, moved[a], seen[b], forward) for (a, b), stack in columns.items()}


def _block(stack: list[Array], moved: Array, seen: Array, forward: bool) -> Array:
    """Derivatives along each element of ``moved`` as a block of shape outputs + inputs."""
    dtype = stack[0].dtype if stack else seen.dtype
    rows = np.asarray(stack, dtype).reshape(moved.shape + seen.shape)
    return np.moveaxis(rows, range(moved.ndim), range(seen.ndim, seen.ndim + moved.ndim)) if forward else rows


def basis(arrays: dict[int, Array]) -> Iterator[tuple[int, list[Array]]]:
    """Every unit vector of the space of these arrays, with the key of the array that holds the one."""
    for key, array in arrays.items():
        for index in range(prod(array.shape)):
            seeds = {k: np.zeros(a.shape, a.dtype) for k, a in arrays.items()}
            seeds[key].reshape(-1)[index] = 1
            yield key, list(seeds.values())


def run_in_xla(program: Program, inputs: Sequence[Array]) -> Sequence[Array]:
    """The program's printed text, read and run by XLA."""
    from wengert.lab.xla import compile_text

    text = str(program)
    beyond = re.search(r"\bcore\.\w+", text)
    if beyond:
        raise InputError(f"{beyond[0]} has no form in StableHLO that XLA reads: not yet supported")
    return compile_text(text)(*inputs)

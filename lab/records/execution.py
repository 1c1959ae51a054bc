"""Runs tasks: makes what is derived, counts it, and times all tasks of one program in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.tensor_types import bytes_of_type
from wengert.lab.conformance import is_refusal, summarize
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.cost_report import dimension, symbols_at
from wengert.lab.costs.time_model import predicted
from wengert.lab.inputs import random_like
from wengert.lab.measure import measure_samples
from wengert.lab.records.interference import interference, moment
from wengert.lab.records.record import Result
from wengert.lab.records.work import Array, Point, Work, module_hash
from wengert.lab.records.yardstick import yardstick
from wengert.lab.tables import seconds
from wengert.runtime.errors import InputError, UnsupportedOpError
from wengert.runtime.memory import physical, plain
from wengert.runtime.program import Program
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import ProgramCost, program_cost
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

FEWEST_CALLS = 10
"""A task that is predicted to take more than its time for so many calls is not begun."""


@dataclass(frozen=True)
class Effort:
    """The extent of measurements.

    Attributes:
        measure: whether they are compiled and run at all.
        rounds: the most samples of each.
        budget: seconds for each, after which there are no more rounds.
        limit: seconds that a task may take in all.
    """

    measure: bool = True
    rounds: int = 25
    budget: float = 0.5
    limit: float = float("inf")


@dataclass(frozen=True)
class _Ready:
    """A task that was counted and compiled."""

    work: Work
    result: Result
    call: Callable[[], Sequence[Array]]


def run_works(point: Point, works: Sequence[Work], effort: Effort) -> Iterator[tuple[Work, Result]]:
    """The result of each task; those that are timed come last. Raises nothing."""
    ready: list[_Ready] = []
    for work in works:
        try:
            made = _prepared(point, work, effort)
        except Exception as error:
            yield work, _problem(error)
            continue
        if isinstance(made, Result):
            yield work, made
        else:
            ready.append(made)
    if ready:
        begun = moment()
        unit, *taken = measure_samples([yardstick(), *(one.call for one in ready)], rounds=effort.rounds, budget=effort.budget)
        disturbed = interference(begun)
        for one, samples in zip(ready, taken, strict=True):
            yield one.work, replace(one.result, samples=samples.seconds, calls=samples.calls, yardstick=unit.seconds, interference=disturbed)


def _problem(error: Exception) -> Result:
    refused = isinstance(error, InputError | UnsupportedOpError) or is_refusal(error)
    return Result("refused" if refused else "failed", summarize(error))


def _prepared(point: Point, work: Work, effort: Effort) -> _Ready | Result:
    """The task compiled and run once; its result where it is not to be timed, or does not fit."""
    start = time.perf_counter()
    program = program_of(point.program, work)
    assert program.optimized_module
    derive_seconds = time.perf_counter() - start
    types = [parameter.type for parameter in (*program.signature.arguments, *program.signature.results)]
    interface = sum(bytes_of_type(cast("TensorType[Any]", type)) for type in types if isinstance(type, TensorType))
    if interface > physical() // 2:
        return Result("refused", _too_large(interface), directions=directions(point.program, work))
    arrays = inputs_of(point, work, program)
    result = counted(program, work, point, arrays)
    problem = _too_much(result, effort)
    if problem:
        return replace(result, status="refused", reason=problem)
    if not effort.measure:
        return result
    start = time.perf_counter()
    function = program.compile(work.backend)
    result = replace(result, compile_seconds=derive_seconds + time.perf_counter() - start)

    def call() -> Sequence[Array]:
        return function(*arrays)

    return _Ready(work, replace(result, norms=tuple(map(norm, call()))), call)


def program_of(program: Program, work: Work) -> Program:
    """The program that is run."""
    made = work.derived(program)
    return made if work.pipeline is None else made.compile("interpreter", pipeline=work.pipeline).program


def inputs_of(point: Point, work: Work, program: Program) -> list[Array]:
    """The inputs of the program that is run: those that are given, with their types, and drawn ones. Each argument is drawn by itself, so that numbers such as
    how often a loop runs do not change with the sizes of other arguments."""
    given = [typed(np.asarray(array), parameter.dtype) for array, parameter in zip(point.given, program.signature.arguments, strict=False)]
    rest = program.signature.arguments[len(given) :]
    return [*given, *(random_like(parameter, np.random.default_rng([work.seed, parameter.position])) for parameter in rest)]


def typed(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array as it was before it was kept: files have no names for the types of machine learning."""
    return array.view(dtype) if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize else array


def counted(program: Program, work: Work, point: Point, arrays: Sequence[Any]) -> Result:
    """The figures that need no run: counts, memory, the predicted time. What only a run tells is counted by the interpreter."""
    unknowns = Unknowns()
    cost = program_cost(program.counted_module, unknowns=unknowns)
    values = symbols_at(program, arrays, cost) if cost.unknown else {}
    try:
        below = compiled(program, unknowns)
    except DiagnosticError:
        below = None
    figures = {name: number for name, figure in _figures(cost, below).items() if (number := _number(figure.at(values))) is not None}
    time = predicted(program, below).at(values) if below is not None and work.backend == "cpu" else None
    return Result(
        "ok",
        counts=figures,
        predicted=None if time is None or time.seconds.constant is None else float(time.seconds.constant),
        factor=None if time is None else time.factor,
        directions=directions(point.program, work),
        values=values,
        derived=module_hash(program.optimized_module),
    )


def _figures(cost: ProgramCost, below: CompiledCost | None) -> dict[str, Polynomial]:
    figures = {"ops": cost.count, "flops": cost.flops, "transcendentals": cost.transcendentals, "bytes": cost.bytes}
    if below is None:
        return figures
    memory, tapes = below.memory, below.tape_bytes
    inside = {"kept": tapes + memory.kept, "arena": Polynomial.of(memory.arena), "peak": tapes + memory.total}
    return {**figures, "launches": below.launches, "moved": below.total("bytes"), **inside}


def _number(figure: Polynomial) -> int | None:
    constant = figure.constant
    return None if constant is None else int(constant)


def directions(program: Program, work: Work) -> int:
    """How many runs of this work a full first derivative takes."""
    if work.mode == "forward":
        return dimension([program.signature.arguments[i] for i in work.wrt])
    return dimension([program.signature.results[j] for j in work.of]) if is_reverse(work.mode) else 1


def is_reverse(mode: str) -> bool:
    """Whether a mode is a VJP, by whatever strategy or policy."""
    return mode not in ("primal", "forward", "jacfwd", "jacrev", "hvp", "hessian")


def _too_much(result: Result, effort: Effort) -> str:
    """Why a task is not begun: what it takes does not fit; empty if it does."""
    peak = result.counts.get("peak", 0)
    if peak > physical() // 2:
        return _too_large(peak)
    if effort.measure and result.predicted is not None and FEWEST_CALLS * result.predicted > effort.limit:
        return f"a call is predicted to take {seconds(result.predicted)}, too long for a limit of {seconds(effort.limit)}"
    return ""


def _too_large(size: int) -> str:
    return f"takes {plain(size)} of memory, more than half of the {plain(physical())} of this machine"


def norm(array: Any) -> float:
    """The Euclidean norm of an array's elements."""
    flat = np.asarray(array).astype(np.complex128).ravel()
    with np.errstate(all="ignore"):
        return float(np.linalg.norm(flat))

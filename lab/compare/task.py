"""Makes, judges, counts and times the reverse derivatives of one program by several strategies.

All strategies of a program are timed in turns in one process, so that a busy machine is busy for all of them: their ratios mean more than their times.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.ir.plugins import UndoneWarning, load_plugin
from wengert.lab.compare.outcome import Outcome
from wengert.lab.conformance import is_refusal, summarize, worst
from wengert.lab.corpus import Array, CorpusProgram, Reference
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.cost_report import symbols_at
from wengert.lab.measure import measure_samples
from wengert.lab.records.execution import norm
from wengert.lab.records.work import module_hash
from wengert.lab.records.yardstick import yardstick
from wengert.runtime.compiled_program import CompiledProgram
from wengert.runtime.loading import load
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


@dataclass(frozen=True)
class CompareTask:
    """One program of a corpus in one precision.

    Attributes:
        strategies: their names; the others are compared with the first one.
        plugins: the plug-ins to load first, in the process that does the task.
    """

    program: CorpusProgram
    precision: str
    strategies: tuple[str, ...]
    plugins: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """For messages."""
        return f"{self.program.name} {self.precision}"

    def outcome(self, strategy: str, exception: Exception) -> Outcome:
        """The outcome of a strategy that raised an exception."""
        status = "refused" if is_refusal(exception) else "failed"
        return Outcome(self.program.name, self.precision, strategy, status, reason=summarize(exception))


@dataclass(frozen=True)
class _Made:
    """A derivative by one strategy, compiled."""

    outcome: Outcome
    program: Program
    call: Callable[[], Sequence[Array]]


def run_task(task: CompareTask) -> Iterator[Outcome]:
    """The outcome of each strategy, and those that could be timed once more with the time. Raises nothing."""
    for source in task.plugins:
        load_plugin(source)
    warnings.simplefilter("ignore", UndoneWarning)  # in a process of its own; derivatives that are equal after clean-up are said to be in the outcome
    try:
        reference, primal = task.program.reference(task.precision), _optimized(task)
    except Exception as exception:
        yield from (task.outcome(strategy, exception) for strategy in task.strategies)
        return
    made: list[_Made] = []
    for strategy in task.strategies:
        try:
            made.append(_make(task, strategy, primal, reference, made))
            yield made[-1].outcome
        except Exception as exception:
            yield task.outcome(strategy, exception)
    yield from _timed(task, reference, made)


def _timed(task: CompareTask, reference: Reference, made: Sequence[_Made]) -> Iterator[Outcome]:
    """The outcomes with the times of calls, and of compiling once more."""
    again = [_derived(_optimized(task), reference, one.outcome.strategy)[2] for one in made]
    unit, *samples = measure_samples([yardstick(), *(one.call for one in made)], rounds=25, budget=0.3)
    for one, second, taken in zip(made, again, samples, strict=True):
        assert one.outcome.compile_seconds is not None
        timed = replace(one.outcome, seconds=min(taken.seconds), samples=taken.seconds, calls=taken.calls, yardstick=unit.seconds)
        yield replace(timed, compile_seconds=min(one.outcome.compile_seconds, second))


def _optimized(task: CompareTask) -> Program:
    """The program, read and optimised: all strategies begin with that, so it is no part of their times."""
    program = load(task.program.path(task.precision))
    assert program.optimized_module
    return program


def _derived(primal: Program, reference: Reference, strategy: str) -> tuple[Program, CompiledProgram, float]:
    """The derivative by a strategy, compiled, and the seconds that both took."""
    start = time.perf_counter()
    program = primal.vjp(tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents)), strategy=strategy)
    function = program.compile()
    return program, function, time.perf_counter() - start


def _make(task: CompareTask, strategy: str, primal: Program, reference: Reference, before: Sequence[_Made]) -> _Made:
    """The derivative by a strategy with all of its figures but the time of a call; ``before`` are those by the strategies before it."""
    arrays = [*reference.inputs, *(reference.cotangents[j] for j in sorted(reference.cotangents))]
    program, function, taken = _derived(primal, reference, strategy)

    def call() -> Sequence[Array]:
        return function(*arrays)

    results = call()
    known = {"norms": tuple(map(norm, results)), "derived": module_hash(program.optimized_module)}
    outcome = replace(_judged(task, strategy, reference, results), compile_seconds=taken, **known, **_figures(program, arrays))
    first = before[0] if before and before[0].outcome.strategy == task.strategies[0] else None
    if first is not None and first.program.optimized_module.is_structurally_equivalent(program.optimized_module):
        outcome = replace(outcome, equal_to=first.outcome.strategy)
    return _Made(outcome, program, call)


def _judged(task: CompareTask, strategy: str, reference: Reference, results: Sequence[Array]) -> Outcome:
    """Whether outputs and cotangents are those of the corpus."""
    count, wrt = len(reference.outputs), sorted(reference.tangents)
    values = worst("output", dict(enumerate(results[:count])), dict(enumerate(reference.outputs)))
    bars = worst("cotangent of input", dict(zip(wrt, results[count:], strict=True)), reference.vjp)
    for difference, kind in ((bars, "vjp"), (values, "primal")):
        tolerance = task.program.tolerance(kind, task.precision)
        if not difference.value <= tolerance:
            reason = f"{difference.where} differs by {difference.value:.2e}, tolerance {tolerance:.0e}"
            return Outcome(task.program.name, task.precision, strategy, "wrong", difference.value, tolerance, reason)
    return Outcome(task.program.name, task.precision, strategy, "right", bars.value, task.program.tolerance("vjp", task.precision))


def _figures(program: Program, arrays: Sequence[Array]) -> dict[str, Any]:
    """Counts and memory; what only a run tells is counted by the interpreter."""
    unknowns = Unknowns()
    cost, below = program_cost(program.counted_module, unknowns=unknowns), compiled(program, unknowns)
    values = symbols_at(program, [np.asarray(array) for array in arrays], cost) if cost.unknown else {}
    on_tapes = _number(below.tape_bytes.at(values))
    return {
        "ops": _number(cost.count.at(values)),
        "flops": _number(cost.flops.at(values)),
        "kept": None if on_tapes is None else below.memory.kept + on_tapes,
        "arena": below.memory.arena,
    }


def _number(figure: Polynomial) -> int | None:
    constant = figure.constant
    return None if constant is None else int(constant)

"""Compares predicted costs with what is so, over a corpus: counts with the interpreter's, memory with what is allocated, times with measured ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wengert.lab.conformance import is_refusal, summarize
from wengert.lab.corpus import CorpusProgram
from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.time_model import predicted
from wengert.lab.measure import measure_times
from wengert.runtime.interpreter import Counter, run
from wengert.runtime.loading import load
from wengert.runtime.program import Program
from wengert.transforms.ad.strategies import strategy_names
from wengert.transforms.analysis.compiled_cost import CompiledCost
from wengert.transforms.analysis.program_cost import measured, program_cost
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

FACTOR = 2.0
"""A prediction is called right if the measured time is within this factor."""
WANTED = 0.9
"""The share of predictions that should be right."""


@dataclass(frozen=True)
class CostTask:
    """One program of a corpus in one precision."""

    program: CorpusProgram
    precision: str
    strategies: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.program.name} {self.precision}"


@dataclass(frozen=True)
class CostOutcome:
    """The comparison for one form of a program: ``primal``, ``jvp``, ``vjp``, or a reverse derivative by another strategy.

    Attributes:
        counts: whether ops, flops, transcendentals and bytes are those that the interpreter counts.
        memory: whether inputs, results, constants and arena are those of the compiled program.
        predicted, measured: seconds of a call.
        reason: what differs, or why nothing was compared.
        refused: whether the program is not covered.
    """

    program: str
    precision: str
    form: str
    counts: bool = False
    memory: bool = False
    predicted: float = math.nan
    measured: float = math.nan
    reason: str = ""
    refused: bool = False

    @property
    def within(self) -> bool:
        """Whether the predicted time is within the factor."""
        return 1 / FACTOR <= self.predicted / self.measured <= FACTOR

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON; numbers that are not there are None."""
        return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return f"{self.program} {self.precision} {self.form}: {self.reason}"


def run_cost_task(task: CostTask) -> Iterator[CostOutcome]:
    """The comparisons for a program and its derivatives, one after the other. Raises nothing."""
    unknowns = Unknowns()
    for form, strategy in (("primal", None), ("jvp", None), ("vjp", None), *((name, name) for name in task.strategies)):
        try:
            yield _compared(task, form, *_derived(task, form, strategy), unknowns)
        except Exception as exception:
            yield CostOutcome(task.program.name, task.precision, form, reason=summarize(exception), refused=is_refusal(exception))


def all_strategies() -> tuple[str, ...]:
    """The strategies of reverse mode besides the default one."""
    return tuple(name for name in strategy_names() if name != "transpose")


def _derived(task: CostTask, form: str, strategy: str | None) -> tuple[Program, list[Any]]:
    """A program and its inputs."""
    d, program = task.program.reference(task.precision), load(task.program.path(task.precision))
    wrt, of = tuple(sorted(d.tangents)), tuple(sorted(d.cotangents))
    if form == "primal":
        return program, list(d.inputs)
    if form == "jvp":
        return program.jvp(wrt, of), [*d.inputs, *(d.tangents[i] for i in wrt)]
    return program.vjp(wrt, of, strategy=strategy or "transpose"), [*d.inputs, *(d.cotangents[j] for j in of)]


def _compared(task: CostTask, form: str, program: Program, inputs: Sequence[Any], unknowns: Unknowns) -> CostOutcome:
    cost, counter = program_cost(program.counted_module, unknowns=unknowns), Counter()
    run(program.counted_module, [np.asarray(x) for x in inputs], counter=counter)
    values = measured(cost, counter.blocks)
    at = cost.at(values)
    differences = [
        f"{name} {getattr(at, name)} predicted, {getattr(counter, name)} counted"
        for name in ("flops", "transcendentals", "bytes_read", "bytes_written")
        if getattr(at, name) != getattr(counter, name)
    ]
    if at.ops != dict(counter.ops):
        differences.append(f"{at.count} ops predicted, {counter.ops.total()} counted")
    below = compiled(program, unknowns)
    wrong = _memory_differences(program, below, inputs)
    function = program.compile()
    (times,) = measure_times([lambda: function(*inputs)], rounds=9, budget=0.1)
    seconds = predicted(program, below).at(values).seconds.constant
    return CostOutcome(
        task.program.name,
        task.precision,
        form,
        not differences,
        not wrong,
        float(seconds) if seconds is not None else math.nan,
        times.minimum,
        "; ".join([*differences, *wrong]),
    )


def _memory_differences(program: Program, cost: CompiledCost, inputs: Sequence[Any]) -> list[str]:
    """What of the predicted memory is not that of the compiled program."""
    function, memory = program.compile(), cost.memory
    stats, results = function.stats, function(*inputs)
    allocated = {
        "inputs": (memory.inputs, sum(np.asarray(x).nbytes for x in inputs)),
        "results": (memory.results, sum(result.nbytes for result in results)),
        "constants": (memory.constants, stats.constant_bytes),
        "arena": (memory.arena, stats.arena_bytes),
    }
    return [f"{name}: {guess} bytes predicted, {real} allocated" for name, (guess, real) in allocated.items() if guess != real]


def cost_summary(outcomes: Sequence[CostOutcome]) -> list[str]:
    """The figures: how many counts and memories are exact, and how good times are."""
    compared = [o for o in outcomes if not o.refused]
    counts, memory = sum(o.counts for o in compared), sum(o.memory for o in compared)
    lines = [f"counts exact: {counts} of {len(compared)}", f"memory exact: {memory} of {len(compared)}"]
    if len(compared) < len(outcomes):
        lines.append(f"refused:      {len(outcomes) - len(compared)}")
    timed = [o for o in compared if not math.isnan(o.predicted) and not math.isnan(o.measured)]
    if timed:
        logs = np.log([o.predicted / o.measured for o in timed])
        within = sum(o.within for o in timed)
        low, high = np.exp(np.quantile(logs, [0.05, 0.95]))
        lines.append(f"times within a factor of {FACTOR:g}: {within} of {len(timed)} ({100 * within / len(timed):.1f} %)")
        lines.append(f"predicted over measured: geometric mean {np.exp(logs.mean()):.2f}, nine of ten between {low:.2f} and {high:.2f}")
    return lines


def is_good(outcomes: Sequence[CostOutcome]) -> bool:
    """Whether all counts and memories are exact, and enough times are right."""
    compared = [o for o in outcomes if not o.refused]
    timed = [o for o in compared if not math.isnan(o.measured)]
    return all(o.counts and o.memory for o in compared) and sum(o.within for o in timed) >= WANTED * len(timed)

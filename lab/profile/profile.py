"""A profile: the time of each kernel of a compiled run, beside bytes, flops and the predicted time, by kernel and by source line.

The program is compiled with a clock around each kernel, and once more with one around the whole alone. Both run by turns, so that the report can say what
the clocks add. Times are those of single runs: the least, and the median of all.

    >>> import wengert as wg
    >>> p = wg.load("examples/mlp.mlir")     # doctest: +SKIP
    >>> print(p.vjp().profile())             # doctest: +SKIP
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects.kernel.buffers import ForOp, StripLoopOp, is_bufferized
from wengert.dialects.kernel.buffers.control import known_number
from wengert.ir.attributes import int_of
from wengert.ir.location.locations import Role, provenance
from wengert.ir.traversal import all_ops
from wengert.lab.costs.features import kernel_features
from wengert.lab.costs.time_model import machine_model
from wengert.lab.inputs import random_inputs
from wengert.lab.inspection.html import folded, fragment, html_table, paragraph
from wengert.lab.inspection.naming import SourceNames, line_text
from wengert.lab.inspection.sources import Sources
from wengert.lab.inspection.subject import Request, Subject, subject_of
from wengert.lab.inspection.terminal import WIDTH, fitted_table
from wengert.lab.memory.arena_level import Describer, location_of
from wengert.lab.profile.timed import Run, TimedProgram
from wengert.lab.profile.trace import Event, chrome_trace
from wengert.lab.tables import count, seconds
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.runtime.program import Program
from wengert.transforms.analysis.compiled_cost import CompiledCost, Kernel, compiled_cost
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns
from wengert.transforms.codegen.cpu.clock import EMPTY, FIRST
from wengert.transforms.lowering import placed

SHOWN = 25
"""Kernels and lines that are listed as text, unless asked otherwise."""
LEAST_RUNS, MOST_RUNS, BUDGET = 5, 1000, 1.0
"""Runs that are made in any case, at most so many, and the seconds within which more are made."""
_KERNELS = ("time", "share", "runs", "kernel", "at", "Gflop/s", "GB/s", "predicted", "ratio")
_LINES = ("time", "share", "forward", "reverse", "at", "source")


@dataclass(frozen=True)
class KernelTime:
    """A kernel and its times in a call of the program.

    Attributes:
        name: what it computes: the value in the source, its kind, its role in a derivative.
        line: file and line in the source.
        reverse: whether it computes cotangents.
        runs: how often it runs in a call.
        least, median: seconds in a call, all runs together.
        flops, bytes: of all runs in a call.
        predicted: seconds by the machine model.
    """

    name: str
    line: tuple[str, int]
    reverse: bool
    runs: int
    least: float
    median: float
    flops: int
    bytes: int
    predicted: float

    @property
    def ratio(self) -> float:
        """The measured time in units of the predicted one."""
        return self.least / self.predicted if self.predicted else float("nan")


@dataclass(frozen=True)
class Profile:
    """The times of a program's kernels.

    Attributes:
        title: what was run.
        kernels: in the order of the program.
        calls: how many runs were timed.
        between: of the least call, the seconds outside of kernels: loops, branches, and the clock itself.
        empty: seconds that the clock finds at least between two readings, which each run of a kernel includes.
        plain: seconds of the least call of the program with a clock around the whole alone.
        plain_median: the median of these.
        timed: seconds of the least call of the program with a clock around each kernel.
        events: the log of the least run.
        logged: whether the log holds all of it.
        sources: the texts that lines of the source are taken from.
        file: the file that the program was read from; its name is left out beside its lines.
    """

    title: str
    kernels: tuple[KernelTime, ...]
    calls: int
    between: float
    empty: float
    plain: float
    plain_median: float
    timed: float
    events: tuple[Event, ...]
    logged: bool
    sources: Sources
    file: str = ""

    @property
    def total(self) -> float:
        """The seconds of all kernels in a call."""
        return sum(kernel.least for kernel in self.kernels)

    @cached_property
    def lines(self) -> tuple[tuple[tuple[str, int], float, float], ...]:
        """Every source line with the seconds of its kernels, those forward and those that compute cotangents; the longest first."""
        times: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for kernel in self.kernels:
            times[kernel.line][kernel.reverse] += kernel.least
        return tuple(sorted(((line, both[0], both[1]) for line, both in times.items()), key=lambda row: -(row[1] + row[2])))

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH, limit: int | None = SHOWN) -> str:
        """The profile as text of at most so many columns, with at most so many kernels and lines."""
        kernels = sorted(self.kernels, key=lambda kernel: -kernel.least)
        shown = kernels if limit is None else kernels[:limit]
        lines = [*self._head(), "", *fitted_table(_KERNELS, [self.cells(k) for k in shown], width, right=(0, 1, 2, 5, 6, 7, 8), elastic=(3,))]
        rest = kernels[len(shown) :]
        if rest:
            lines.append(f"and {len(rest)} more of {seconds(sum(k.least for k in rest))}; --all shows them")
        by_line = self.lines if limit is None else self.lines[:limit]
        lines += ["", "by source line:", *fitted_table(_LINES, [self.line_cells(*row) for row in by_line], width, right=(0, 1, 2, 3), elastic=(5,))]
        if len(by_line) < len(self.lines):
            lines.append(f"and {len(self.lines) - len(by_line)} more lines")
        return "\n".join(lines)

    def _head(self) -> list[str]:
        added = self.timed / self.plain - 1 if self.plain else 0.0
        runs = sum(kernel.runs for kernel in self.kernels)
        of_clock = f"{seconds(runs * self.empty)} of it the clock's, {seconds(self.empty)} for each run"
        clock = f" ({of_clock})" if self.empty else ""
        model = machine_model()
        predicted = sum(kernel.predicted for kernel in self.kernels)
        whose = "this machine" if model.calibrated else f"a {model.processor} (wengert calibrate fits this one)"
        return [
            f"profile of {self.title}: {_several(len(self.kernels), 'kernel')}, {_several(runs, 'run')} of them in a call, least of {self.calls} calls",
            f"kernels take {seconds(self.total)}{clock}, all else {seconds(self.between)}",
            f"a call takes {seconds(self.plain)} (median {seconds(self.plain_median)}), {seconds(self.timed)} with the clock: timing adds {100 * added:.0f} %",
            *([f"predicted: {seconds(predicted)}, by the model of {whose}"] if predicted else []),
        ]

    def cells(self, k: KernelTime) -> tuple[str, ...]:
        """A kernel as cells of a table."""
        share = f"{100 * k.least / self.total:.1f} %" if self.total else ""
        rates = [f"{amount / k.least / 1e9:.3g}" if amount and k.least else "" for amount in (k.flops, k.bytes)]
        predicted = (seconds(k.predicted), f"{k.ratio:.2f}") if k.predicted else ("", "")
        return seconds(k.least), share, str(k.runs), k.name, line_text(k.line, self.file), *rates, *predicted

    def line_cells(self, line: tuple[str, int], forward: float, reverse: float) -> tuple[str, ...]:
        """A source line as cells of a table."""
        share = f"{100 * (forward + reverse) / self.total:.1f} %" if self.total else ""
        source = self.sources.line((*line, 0)).strip()
        parts = [seconds(part) if part else "" for part in (forward, reverse)]
        return seconds(forward + reverse), share, *parts, line_text(line, self.file) or "?", source

    def trace(self) -> dict[str, Any]:
        """The least run as a trace in Chrome's format, which Perfetto opens."""
        return chrome_trace(self.title, self.events, self.kernels)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON; times in seconds."""
        names = ("name", "reverse", "runs", "least", "median", "flops", "bytes", "predicted")
        head = {name: getattr(self, name) for name in ("title", "calls", "between", "empty", "plain", "plain_median", "timed", "total")}
        return {
            **head,
            "kernels": [{**{name: getattr(k, name) for name in names}, "file": k.line[0], "line": k.line[1]} for k in self.kernels],
            "lines": [{"file": line[0], "line": line[1], "forward": forward, "reverse": reverse} for line, forward, reverse in self.lines],
        }

    def _repr_html_(self) -> str:
        """For notebooks."""
        kernels = sorted(self.kernels, key=lambda kernel: -kernel.least)
        right = (0, 1, 2, 5, 6, 7, 8)
        parts = [paragraph(line, faint=n > 0) for n, line in enumerate(self._head())]
        parts.append(html_table(_KERNELS, [self.cells(k) for k in kernels[:SHOWN]], right=right))
        if len(kernels) > SHOWN:
            parts.append(folded(f"{len(kernels) - SHOWN} more", html_table(_KERNELS, [self.cells(k) for k in kernels[SHOWN:]], right=right)))
        parts.append(folded("by source line", html_table(_LINES, [self.line_cells(*row) for row in self.lines], right=(0, 1, 2, 3))))
        return fragment(*parts)


def profile(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    vjp: bool = False,
    jvp: bool = False,
    wrt: Positions = None,
    of: Positions = None,
    strategy: str = "transpose",
    residuals: str = "auto",
    budget: float = BUDGET,
) -> Profile:
    """Times the kernels of a program, or of a derivative of it.

    Args:
        program: the program; a derivative is one too.
        inputs: what it is run on (of a derivative, its inputs); drawn at random by default.
        vjp: run the reverse derivative.
        jvp: run the forward derivative.
        wrt: of a derivative, as for :meth:`wengert.Program.vjp`; so are ``of``, ``strategy`` and ``residuals``.
        of: see ``wrt``.
        strategy: see ``wrt``.
        residuals: see ``wrt``.
        budget: the seconds that runs may take.

    Raises:
        InputError: the inputs do not fit; this processor has no counter that programs may read.
        DiagnosticError: the program cannot be compiled.
    """
    if vjp and jvp:
        raise InputError("profile looks at one program: vjp or jvp, not both")
    request = Request("vjp" if vjp else "jvp", wrt, of, strategy, residuals) if vjp or jvp else None
    return profile_of_subject(subject_of(program, request), inputs, budget)


def profile_of_subject(subject: Subject, inputs: Sequence[Any] | None = None, budget: float = BUDGET) -> Profile:
    """Times the kernels of what a command looks at. Raises as :func:`profile`."""
    program = subject.program.specialize() if inputs is None else subject.program.specialized_for(inputs)
    given = random_inputs(program.signature, 0) if inputs is None else list(inputs)
    core = program.module if is_bufferized(entry_function(program.module, program.entry)) else runnable(program.optimized_module, as_given=program.as_given)
    module = core if core is program.module and is_bufferized(entry_function(core, program.entry)) else placed(core)
    unknowns = Unknowns()
    cost = compiled_cost(module, executions(core, "main", STATIC, unknowns), unknowns)
    timed, plain = TimedProgram(program, module), TimedProgram(program, module, "whole")
    runs, others = _runs(timed, plain, given, budget)
    best = min(runs, key=lambda run: run.whole)
    logged, per_second = timed.run(given, log=True), timed.ticks_per_second
    kernels = tuple(_kernels(timed, runs, cost, SourceNames(subject.primal, subject.sources), per_second))
    return Profile(
        title=subject.title,
        kernels=kernels,
        calls=len(runs),
        between=(best.whole - int(best.ticks.sum())) / per_second,
        empty=min([min(run.empty for run in runs) / per_second, *(kernel.least / kernel.runs for kernel in kernels if kernel.runs)]),
        plain=min(run.whole for run in others) / per_second,
        plain_median=median(run.whole for run in others) / per_second,
        timed=best.whole / per_second,
        events=tuple(_events(logged, per_second)),
        logged=logged.events == len(logged.log),
        sources=Sources(subject.sources),
        file=subject.name,
    )


def _runs(timed: TimedProgram, plain: TimedProgram, inputs: Sequence[Any], budget: float) -> tuple[list[Run], list[Run]]:
    """Runs of both programs by turns, after one of each that is not counted."""
    timed.run(inputs)
    plain.run(inputs)
    runs, others = list[Run](), list[Run]()
    start = time.perf_counter()
    while len(runs) < LEAST_RUNS or (time.perf_counter() - start < budget and len(runs) < MOST_RUNS):
        others.append(plain.run(inputs))
        runs.append(timed.run(inputs))
    return runs, others


def _kernels(timed: TimedProgram, runs: Sequence[Run], cost: CompiledCost, names: SourceNames, per_second: float) -> list[KernelTime]:
    describe = Describer(names)
    known: dict[Any, Kernel] = {kernel.op: kernel for kernel in cost.kernels}
    ticks = np.array([run.ticks for run in runs], np.float64) / per_second
    least, middle = (ticks.min(axis=0), np.median(ticks, axis=0)) if len(timed.ops) else (ticks, ticks)
    times: list[KernelTime] = []
    for number, op in enumerate(timed.ops):
        inside = [(known[inner], _runs_within(inner, op)) for inner in all_ops(op) if inner in known]
        count = int(runs[0].runs[number])
        location = location_of(op)
        derived = provenance(location)
        times.append(
            KernelTime(
                describe.kernel(op),
                describe.line(op),
                derived is not None and derived.role in (Role.COTANGENT, Role.ACCUMULATION),
                count,
                float(least[number]),
                float(middle[number]),
                count * sum(times_run * kernel.flops for kernel, times_run in inside),
                count * sum(times_run * kernel.bytes for kernel, times_run in inside),
                count * sum(times_run * _predicted(kernel) for kernel, times_run in inside),
            )
        )
    return times


def _runs_within(kernel: Operation, op: Operation) -> int:
    """How often a kernel runs in one run of the strips that it is timed with: in how many strips, and iterations of counted loops in these."""
    times, around = 1, kernel
    while around is not op:
        parent = around.parent_op()
        assert parent is not None
        around = parent
        if isinstance(around, StripLoopOp):
            times *= int_of(around.iterations)
        elif isinstance(around, ForOp):
            times *= known_number(around.count) or 1
    return times


def _several(number: int, what: str) -> str:
    return f"{count(number)} {what}{'s' * (number != 1)}"


def _predicted(kernel: Kernel) -> float:
    """The seconds of one execution of a kernel by the machine model."""
    features = {name: Polynomial.of(amount) for name, amount in kernel_features(kernel, default_threads()).items()}
    time = machine_model().total(features).constant
    return 0.0 if time is None else float(time)


def _events(run: Run, per_second: float) -> list[Event]:
    """The log as events in seconds since the first one."""
    if not len(run.log):
        return []
    start = int(run.log[:, 1].min())
    return [
        Event(int(number) - FIRST, (int(begin) - start) / per_second, (int(end) - int(begin)) / per_second) for number, begin, end in run.log if number != EMPTY
    ]

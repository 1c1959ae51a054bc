"""The cost report: what a program, its forward and its reverse derivative cost, and which mode to use.

A full derivative needs one JVP per input element or one VJP per output element (a complex element counts twice). Costs
are counted on the IR and, on request, measured: times interleaved, so that a busy machine is busy for all of them.

Both peaks include the inputs; the measured one is inputs, arena and constants of the compiled code, and what Python and
NumPy allocate during a call. Predicted times come from a fixed model of a machine (flops, transcendental functions and bytes per second, a cost per
op). Only their ratios are used; measured times decide where there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from wengert.lab.draw.escaping import markup
from wengert.lab.inputs import Shapes, random_inputs, shaped
from wengert.lab.measure import Measurement, measure_peaks, measure_times
from wengert.lab.plain import plain
from wengert.lab.tables import count, seconds, size, table
from wengert.runtime.arguments import bind
from wengert.runtime.known_ops import check_values
from wengert.runtime.positions import Positions
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter
from wengert.transforms.analysis.program_cost import ProgramCost, described, program_cost
from wengert.transforms.pipelines import FRONT, OPTIMIZE

Mode = Literal["forward", "reverse"]
STAGE = f"{FRONT},{OPTIMIZE}"
"""The pipeline after which ops are counted (with the derivative's pass before the last part): before any fusion."""

FLOPS_PER_SECOND = 4e9
TRANSCENDENTALS_PER_SECOND = 4e8
BYTES_PER_SECOND = 1e10
SECONDS_PER_OP = 5e-8


@dataclass(frozen=True)
class Row:
    """One program of the report, and how many runs of it a full derivative takes (1 for the primal)."""

    name: str
    runs: int
    cost: ProgramCost
    measured: Measurement | None = None
    strategy: str = "transpose"

    @property
    def predicted_seconds(self) -> float:
        """One run on the model machine."""
        c = self.cost
        return c.flops / FLOPS_PER_SECOND + c.transcendentals / TRANSCENDENTALS_PER_SECOND + c.bytes / BYTES_PER_SECOND + c.count * SECONDS_PER_OP

    @property
    def predicted_total(self) -> float:
        """All runs on the model machine."""
        return self.runs * self.predicted_seconds

    @property
    def measured_total(self) -> float | None:
        """All runs at the measured minimum."""
        return self.runs * self.measured.minimum if self.measured else None


@dataclass(frozen=True)
class CostReport:
    """The rows, and the decision."""

    program: str
    primal: Row
    forward: Row
    reverse: Row
    wrt: tuple[int, ...]
    of: tuple[int, ...]
    stage: str = STAGE
    backend: str | None = None
    others: tuple[Row, ...] = ()
    """The reverse derivatives by the other strategies that were asked for."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the report."""
        return (self.primal, self.forward, self.reverse, *self.others)

    @property
    def predicted_mode(self) -> Mode:
        """The mode whose full derivative costs less by the counts."""
        return "forward" if self.forward.predicted_total <= self.reverse.predicted_total else "reverse"

    @property
    def measured_mode(self) -> Mode | None:
        """The mode whose full derivative took less time, where times were measured."""
        forward, reverse = self.forward.measured_total, self.reverse.measured_total
        if forward is None or reverse is None:
            return None
        return "forward" if forward <= reverse else "reverse"

    @property
    def mode(self) -> Mode:
        """The mode to use."""
        return self.measured_mode or self.predicted_mode

    @cached_property
    def decision(self) -> str:
        """The line that says which mode to use, and why."""
        chosen, other = (self.forward, self.reverse) if self.mode == "forward" else (self.reverse, self.forward)
        names = {"forward": ("JVP", "VJP"), "reverse": ("VJP", "JVP")}[self.mode]
        instead = f"{count(chosen.runs)} {_plural(names[0], chosen.runs)} instead of {count(other.runs)} {_plural(names[1], other.runs)}"
        parts = [f"{other.predicted_total / chosen.predicted_total:.3g} times cheaper by the counts" if chosen.predicted_total else "nothing to compute"]
        if chosen.measured_total and other.measured_total:
            parts.append(f"{other.measured_total / chosen.measured_total:.3g} times by the clock")
        line = f"Use {self.mode}: {instead} for the full derivative ({', '.join(parts)})."
        if self.measured_mode is not None and self.measured_mode != self.predicted_mode:
            line += f" The counts alone would have said {self.predicted_mode}."
        return line

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        names = ("primal", "forward", "reverse", *(row.strategy for row in self.others))
        rows = {name: {"runs": row.runs, **_cost_json(row.cost), "measured": plain(row.measured)} for name, row in zip(names, self.rows, strict=True)}
        return {
            "program": self.program,
            "stage": self.stage,
            "backend": self.backend,
            "wrt": list(self.wrt),
            "of": list(self.of),
            "rows": rows,
            "predicted_ratio": self.reverse.predicted_total / self.forward.predicted_total if self.forward.predicted_total else None,
            "predicted_mode": self.predicted_mode,
            "measured_mode": self.measured_mode,
            "mode": self.mode,
            "decision": self.decision,
        }

    def _repr_html_(self) -> str:
        return f"<pre>{markup(str(self))}</pre>"

    def __str__(self) -> str:
        lines = [f"costs of {self.program}, d results {_listed(self.of)} / d arguments {_listed(self.wrt)}"]
        lines += [f"counted before fusion, after: {self.stage}", ""]
        lines += table(self._header(), [cells for row in self.rows for cells in self._cells(row)])
        lines += ["", *self._notes(), self.decision]
        return "\n".join(lines)

    def _header(self) -> list[str]:
        measured = ["peak measured", "time min", "median"] if self.backend else []
        return ["", "ops", "flops", "transc.", "bytes", "peak predicted", *measured]

    def _cells(self, row: Row) -> list[list[str]]:
        c, m = row.cost, row.measured
        counts = (c.count, c.flops, c.transcendentals)
        first = ["primal" if row is self.primal else f"{row.name}, 1 run", *map(count, counts), size(c.bytes), size(c.peak_bytes)]
        first += [size(m.peak_bytes), seconds(m.minimum), seconds(m.median)] if m else []
        if row is self.primal:
            return [first]
        n = row.runs
        whole = [f"  full: {count(n)} {_plural('run', n)}", *(count(n * value) for value in counts), size(n * c.bytes), ""]
        whole += ["", seconds(n * m.minimum), seconds(n * m.median)] if m else []
        return [first, whole]

    def _notes(self) -> list[str]:
        uncounted = list(dict.fromkeys(p for row in self.rows for p in row.cost.uncounted))
        branches = list(dict.fromkeys(p for row in self.rows for p in row.cost.branches))
        notes: list[str] = []
        if uncounted:
            notes.append(f"the trip count of the loop at {described(uncounted)} depends on data: its body is counted once, so counts are too low")
        if branches:
            notes.append(f"of the branch at {described(branches)} the costliest alternative is counted")
        return notes


def report(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    wrt: Positions = None,
    of: Positions = None,
    measure: bool = False,
    backend: str = "cpu",
    seed: int = 0,
    strategies: Sequence[str] = (),
    shapes: Shapes | None = None,
) -> CostReport:
    """Counts, and measures if asked, the costs of the program and its derivatives.

    Args:
        program: the program.
        inputs: the point to measure at; drawn with the seed by default.
        wrt: arguments to differentiate by; every float or complex one by default.
        of: results to differentiate; every float or complex one by default.
        measure: whether to run them for times and memory.
        backend: what runs them.
        seed: for inputs, tangents and cotangents.
        strategies: the strategies, by name, whose reverse derivatives are shown beside that of ``transpose``.
        shapes: the shapes of the arguments of a program that leaves extents open, where there are no inputs to tell them.
    """
    check_values(program.module)
    program = shaped(program, inputs, shapes)
    moved, asked = program.resolve(wrt=wrt, of=of)
    jvp, vjp = program.jvp(wrt=moved, of=asked), program.vjp(wrt=moved, of=asked)
    programs = [program, jvp, vjp]
    n = dimension([program.signature.arguments[i] for i in moved])
    m = dimension([program.signature.results[j] for j in asked])
    rows = [Row("primal", 1, _counted(program)), Row("forward (JVP)", n, _counted(jvp)), Row("reverse (VJP)", m, _counted(vjp))]
    for strategy in dict.fromkeys(strategies):
        if strategy != "transpose":
            programs.append(program.vjp(wrt=moved, of=asked, strategy=strategy))
            rows.append(Row(f"reverse ({strategy})", m, _counted(programs[-1]), strategy=strategy))
    if measure:
        given = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
        runs = [_Run(p, given, seed, backend) for p in programs]
        peaks, times = measure_peaks(runs), measure_times(runs)
        measured = [Measurement(t.minimum, t.median, t.rounds, run.resident_bytes + peak) for run, t, peak in zip(runs, times, peaks, strict=True)]
        rows = [replace(row, measured=m) for row, m in zip(rows, measured, strict=True)]
    return CostReport(program.name, *rows[:3], wrt=moved, of=asked, backend=backend if measure else None, others=tuple(rows[3:]))


def dimension(parameters: Sequence[Parameter]) -> int:
    """The dimension over the reals of the space of these values."""
    total = 0
    for parameter in parameters:
        elements = 1
        for extent in parameter.shape:
            elements *= extent
        total += elements * (2 if parameter.dtype.kind == "c" else 1)
    return total


def _counted(program: Program) -> ProgramCost:
    """The cost of a program at the stage that all rows are counted at."""
    return program_cost(program.optimized_module)


class _Run:
    """A compiled program with its inputs, those beyond the given ones drawn at random.

    ``resident_bytes`` is the memory that a run needs and that exists before it: inputs, constants, and the arena that
    compiled code keeps its buffers in.
    """

    def __init__(self, program: Program, given: Sequence[Any], seed: int, backend: str):
        self._compiled = program.compile(backend)
        self._arrays = [*given, *random_inputs(program.signature, seed)[len(given) :]]
        stats = self._compiled.stats
        kept = getattr(stats, "arena_bytes", 0) + getattr(stats, "constant_bytes", 0)
        self.resident_bytes: int = kept + sum(array.nbytes for array in self._arrays)

    def __call__(self) -> Any:
        return self._compiled(*self._arrays)


def _cost_json(c: ProgramCost) -> dict[str, Any]:
    return {**plain(c), "ops": dict(sorted(c.ops.items())), "op_count": c.count}


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _listed(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))

"""The cost report: what a program, its forward and its reverse derivative cost, and which mode to use.

A full derivative needs one JVP per input element or one VJP per output element (a complex element counts twice). Costs are counted on the core-level
IR; kernels, memory and time are those of the compiled program, of which ``fusion`` says how it relates to the first. What only a run tells stays a symbol
(``T0``: iterations of a loop in all), and so do figures and decisions that depend on it. Times are measured on request, interleaved, so that a busy
machine is busy for all of them; then they decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from wengert.lab.costs.decision import Decision, Mode, decide
from wengert.lab.costs.rows import Row, amount, amount_of_bytes, check_symbols, fusion_of, memory_table, row_json
from wengert.lab.draw.escaping import markup
from wengert.lab.inputs import Shapes, random_inputs, shaped
from wengert.lab.measure import Measurement, measure_peaks, measure_times
from wengert.lab.tables import count, seconds, table
from wengert.runtime.arguments import bind
from wengert.runtime.derived.positions import Positions
from wengert.runtime.known_ops import check_values
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter
from wengert.transforms.analysis.program_cost import ProgramCost, described, program_cost
from wengert.transforms.analysis.program_cost import measured as symbol_values
from wengert.transforms.analysis.symbolic.polynomial import Number, Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknown, Unknowns
from wengert.transforms.pipelines import FRONT, OPTIMIZE

STAGE = f"{FRONT},{OPTIMIZE}"
"""The pipeline after which ops are counted (with the derivative's pass before the last part): before any fusion."""


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
    def row_names(self) -> tuple[str, ...]:
        """Short names of the rows: ``primal``, ``forward``, ``reverse``, and the names of other strategies."""
        return ("primal", "forward", "reverse", *(row.strategy for row in self.others))

    @cached_property
    def predicted_decision(self) -> Decision:
        """The mode whose full derivative takes less time as predicted; withheld where something is not known."""
        if self.forward.cost.uncounted or self.reverse.cost.uncounted:
            return Decision("withheld")
        forward, reverse = self.forward.predicted_total, self.reverse.predicted_total
        if forward is None or reverse is None:
            return Decision("withheld")
        return decide(forward, reverse, list({**self.forward.cost.alternatives, **self.reverse.cost.alternatives}.items()))

    @cached_property
    def measured_decision(self) -> Decision | None:
        """The mode whose full derivative took less time, where times were measured."""
        forward, reverse = self.forward.measured_total, self.reverse.measured_total
        return None if forward is None or reverse is None else decide(Polynomial.of(Fraction(forward)), Polynomial.of(Fraction(reverse)))

    @property
    def mode(self) -> Mode | None:
        """The mode to use; None for a tie, or where it depends on what is not known."""
        return (self.measured_decision or self.predicted_decision).mode

    @cached_property
    def decision(self) -> str:
        """The line that says which mode to use, and why."""
        n, m = self.forward.runs, self.reverse.runs
        forward, reverse = f"{count(n)} {_plural('JVP', n)}", f"{count(m)} {_plural('VJP', m)}"
        chosen, by_counts = self.measured_decision or self.predicted_decision, self.predicted_decision
        if chosen.verdict == "withheld":
            places = described([*self.forward.cost.uncounted, *self.reverse.cost.uncounted][:3]) or "of programs that are not compiled"
            return f"No recommendation for {forward} against {reverse}: it is not known what the call at {places} costs."
        if chosen.verdict == "tie":
            return f"A tie: {forward} and {reverse} take the same time within 5 % ({self._how(chosen)})."
        if chosen.verdict == "conditional":
            return f"Use forward ({forward}) if {chosen.condition}, else reverse ({reverse}), as predicted."
        words = f"{forward} instead of {reverse}" if chosen.verdict == "forward" else f"{reverse} instead of {forward}"
        line = f"Use {chosen.verdict}: {words} for the full derivative ({self._how(chosen)})."
        if self.measured_decision is not None and by_counts.verdict != chosen.verdict:
            line += f" Predicted was {_verdict(by_counts)}."
        return line

    def _how(self, chosen: Decision) -> str:
        how = "as measured" if self.measured_decision is not None else "as predicted"
        if chosen.verdict == "tie" or chosen.ratio is None:
            return how if chosen.verdict == "tie" else f"{how}, whatever is not known"
        return f"{chosen.ratio:.3g} times faster {how}"

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        measured = self.measured_decision
        return {
            "program": self.program,
            "stage": self.stage,
            "backend": self.backend,
            "wrt": list(self.wrt),
            "of": list(self.of),
            "symbols": {symbol.name: str(symbol) for row in self.rows for symbol in row.cost.unknown},
            "values": dict(self.primal.values),
            "rows": {name: row_json(row) for name, row in zip(self.row_names, self.rows, strict=True)},
            "predicted_decision": self.predicted_decision.to_json(),
            "measured_decision": measured.to_json() if measured is not None else None,
            "mode": self.mode,
            "decision": self.decision,
        }

    def _repr_html_(self) -> str:
        return f"<pre>{markup(str(self))}</pre>"

    def __str__(self) -> str:
        lines = [f"costs of {self.program}, d results {_listed(self.of)} / d arguments {_listed(self.wrt)}"]
        lines += [f"counted before fusion, after: {self.stage}", ""]
        lines += table(self._header(), [cells for row in self.rows for cells in self._cells(row)])
        lines += ["", *memory_table(self.rows), ""]
        lines += [*self._notes(), self.decision]
        return "\n".join(lines)

    def _header(self) -> list[str]:
        measured = ["measured min", "median"] if self.backend else []
        return ["", "ops", "flops", "transc.", "bytes", "launches", "moved", "predicted", *measured]

    def _cells(self, row: Row) -> list[list[str]]:
        name = "primal" if row is self.primal else f"{row.name}, 1 run"
        first = self._figures(name, row, 1)
        if row is self.primal or row.runs == 1:
            return [first]
        return [first, self._figures(f"  full: {count(row.runs)} runs", row, row.runs)]

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols whose values no row knows."""
        return frozenset(name for row in self.rows for name in row.cost.at(row.values).symbols)

    def _figures(self, name: str, row: Row, runs: int) -> list[str]:
        c, compiled, m = row.cost.at(row.values), row.compiled, row.measured
        cells = [name, *(amount(figure * runs) for figure in (c.count, c.flops, c.transcendentals)), amount_of_bytes(c.bytes * runs)]
        moved = [compiled.launches.at(row.values) * runs, compiled.total("bytes").at(row.values) * runs] if compiled is not None else []
        cells += [amount(moved[0]), amount_of_bytes(moved[1])] if moved else ["-", "-"]
        cells += [str(row.predicted * runs) if row.predicted is not None else "-"]
        return cells + ([seconds(runs * m.minimum), seconds(runs * m.median)] if m else [])

    def _notes(self) -> list[str]:
        notes = [note(symbol, self.primal.values) for symbol in dict.fromkeys(symbol for row in self.rows for symbol in row.cost.unknown)]
        notes += [fusion for row in self.rows if row.compiled is not None and (fusion := fusion_of(row))]
        uncounted = list(dict.fromkeys(p for row in self.rows for p in row.cost.uncounted))
        if uncounted:
            notes.append(f"it is not known what the call at {described(uncounted)} computes: flops and times are without it")
        return notes


def note(symbol: Unknown, values: Mapping[str, Number]) -> str:
    """The meaning of a symbol, and its value if it is known."""
    return f"{symbol}, {values[symbol.name]} here" if symbol.name in values else str(symbol)


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
    values: Mapping[str, Number] | None = None,
) -> CostReport:
    """Counts, predicts, and measures if asked, the costs of the program and its derivatives.

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
        values: values of symbols for what only a run tells (``T0``); where times are measured, those of the point are counted by the interpreter.

    Raises:
        InputError: no such argument, result or symbol.
    """
    check_values(program.module)
    program = shaped(program, inputs, shapes)
    moved, asked = program.resolve(wrt=wrt, of=of)
    n = dimension([program.signature.arguments[i] for i in moved])
    m = dimension([program.signature.results[j] for j in asked])
    unknowns = Unknowns()

    def row(name: str, runs: int, derived: Program, strategy: str = "transpose") -> Row:
        return Row(name, runs, derived, program_cost(derived.counted_module, unknowns=unknowns), unknowns, values or {}, strategy=strategy)

    rows = [row("primal", 1, program), row("forward (JVP)", n, program.jvp(moved, asked)), row("reverse (VJP)", m, program.vjp(moved, asked))]
    others = [strategy for strategy in dict.fromkeys(strategies) if strategy != "transpose"]
    rows += [row(f"reverse ({strategy})", m, program.vjp(moved, asked, strategy=strategy), strategy) for strategy in others]
    check_symbols(values or {}, dict.fromkeys(symbol.name for each in rows for symbol in each.cost.unknown))
    if measure:
        given = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
        rows = _measured(rows, given, backend, seed)
    return CostReport(program.name, *rows[:3], wrt=moved, of=asked, backend=backend if measure else None, others=tuple(rows[3:]))


def _measured(rows: Sequence[Row], given: Sequence[Any], backend: str, seed: int) -> list[Row]:
    """The rows with measured times and memory, and with what symbols are at the point."""
    runs = [_Run(row.program, given, seed, backend) for row in rows]
    peaks, times = [run.peak_bytes() for run in runs], measure_times(runs)
    values: dict[str, Number] = {}
    for row, run in zip(rows, runs, strict=True):
        if row.cost.unknown:
            values |= symbols_at(row.program, run.arrays, row.cost)
    measured = [Measurement(t.minimum, t.median, t.rounds, peak) for t, peak in zip(times, peaks, strict=True)]
    return [replace(row, measured=m, values={**values, **row.values}) for row, m in zip(rows, measured, strict=True)]


def symbols_at(program: Program, arrays: Sequence[Any], cost: ProgramCost) -> dict[str, int]:
    """The values of a program's symbols at a point, counted by the interpreter."""
    from wengert.runtime.interpreter import Counter, run

    counter = Counter()
    run(program.counted_module, [np.asarray(array) for array in arrays], counter=counter)
    return symbol_values(cost, counter.blocks)


def dimension(parameters: Sequence[Parameter]) -> int:
    """The dimension over the reals of the space of these values."""
    total = 0
    for parameter in parameters:
        elements = 1
        for extent in parameter.shape:
            elements *= extent
        total += elements * (2 if parameter.dtype.kind == "c" else 1)
    return total


class _Run:
    """A compiled program with its inputs, those beyond the given ones drawn at random."""

    def __init__(self, program: Program, given: Sequence[Any], seed: int, backend: str):
        self._compiled = program.compile(backend)
        self.arrays = [*given, *random_inputs(program.signature, seed)[len(given) :]]

    def peak_bytes(self) -> int:
        """The memory that a call takes, with its inputs and results: of compiled code the arrays that there are, else what Python traces."""
        inputs, stats = sum(np.asarray(array).nbytes for array in self.arrays), self._compiled.stats
        arena: int | None = getattr(stats, "arena_bytes", None)
        if arena is None:
            return inputs + measure_peaks([self])[0]
        return inputs + arena + stats.constant_bytes + sum(result.nbytes for result in self())

    def __call__(self) -> Any:
        return self._compiled(*self.arrays)


def _verdict(decision: Decision) -> str:
    return (
        f"forward if {decision.condition}"
        if decision.verdict == "conditional"
        else {"tie": "a tie", "withheld": "nothing"}.get(decision.verdict, decision.verdict)
    )


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _listed(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))

"""The certificate that derivatives are cheap: ``ops(JVP) <= omega' ops(f)`` and ``ops(VJP) <= omega ops(f)``, and the op that breaks it.

*Ops* are floating-point operations and numbers written: what an op of the program computes and what it moves, loops as often as they go round, and the
program's inputs and results once; constants are there before it runs. So a program that only moves elements costs something too (Griewank and Walther,
*Evaluating Derivatives*, 2008, count moves for the same reason; their constants are 2.5 and 4). The theorem, and the table over the reference programs,
are in ``docs/derivative_costs.md``.

Counting is done by the interpreter at a point, so that nothing is estimated; what a loop or a branch does depends on the point, for the program and its
derivative alike. Every op of a derivative names the op of the program that it was derived from, so the costs of both are compared op by op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.ir.location.locations import provenance
from wengert.ir.location.places import describe
from wengert.lab.corpus import Array, read_corpus
from wengert.lab.inputs import Shapes, random_inputs, random_like, shaped
from wengert.lab.tables import count, table
from wengert.runtime.arguments import bind
from wengert.runtime.derived.positions import Positions
from wengert.runtime.interpreter import Counter, run
from wengert.runtime.loading import load
from wengert.runtime.program import Program
from wengert.transforms.analysis.opcost import cost

FORWARD, REVERSE = 5.0, 5.0
"""The bounds omega' and omega: a JVP and a VJP take at most so many times the ops of the program, which is among them."""

Place = tuple[str, str]
"""Where an op of the program stands, and its name."""


@dataclass(frozen=True)
class OpCost:
    """The costs of one op of the program in all its executions, and of what is derived from it in each mode."""

    op: str
    place: str
    own: float
    forward: float
    reverse: float


@dataclass(frozen=True)
class CostCertificate:
    """The ops of a program and of its derivatives, with the bounds.

    Attributes:
        program, strategy: what was counted.
        ops, forward, reverse: flops and numbers written by the program, its JVP and its VJP.
        bounds: omega' and omega.
        rows: the same for each op of the program, those first from which most is derived in reverse mode.
    """

    program: str
    strategy: str
    ops: float
    forward: float
    reverse: float
    bounds: tuple[float, float] = (FORWARD, REVERSE)
    rows: tuple[OpCost, ...] = ()

    @property
    def ratios(self) -> tuple[float, float]:
        """The ops of the JVP and of the VJP for each op of the program."""
        return (self.forward / self.ops, self.reverse / self.ops) if self.ops else (0.0, 0.0)

    @property
    def holds(self) -> bool:
        """Whether both bounds hold."""
        return all(ratio <= bound for ratio, bound in zip(self.ratios, self.bounds, strict=True))

    def __bool__(self) -> bool:
        return self.holds

    @property
    def breaking(self) -> OpCost | None:
        """The op that most is derived from beyond the bound that is broken; None where both hold."""
        if self.holds:
            return None
        reverse = self.ratios[1] > self.bounds[1]
        return max(self.rows, key=lambda row: (row.reverse if reverse else row.forward) - (self.bounds[reverse] - 1) * row.own)

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        breaking = self.breaking
        return {
            "program": self.program,
            "strategy": self.strategy,
            "ops": self.ops,
            "forward": {"ops": self.forward, "ratio": self.ratios[0], "bound": self.bounds[0]},
            "reverse": {"ops": self.reverse, "ratio": self.ratios[1], "bound": self.bounds[1]},
            "holds": self.holds,
            "breaking": vars(breaking) if breaking is not None else None,
            "by_op": [vars(row) for row in self.rows],
        }

    def __str__(self) -> str:
        how = "" if self.strategy == "transpose" else f", strategy {self.strategy}"
        lines = [f"ops of {self.program}{how}: {count(round(self.ops))} (flops and numbers written)"]
        for name, ops, ratio, bound in zip(("JVP", "VJP"), (self.forward, self.reverse), self.ratios, self.bounds, strict=True):
            lines.append(f"{name}: {count(round(ops))} ops, {ratio:.2f} times the program's: {'at most' if ratio <= bound else 'MORE THAN'} {bound:g}")
        rows = [(f"{row.op} at {row.place}", *(f"{value:.0f}" for value in (row.own, row.forward, row.reverse))) for row in self.rows[:MOST_ROWS]]
        lines += ["", *table(("most is derived from", "own ops", "derived, JVP", "derived, VJP"), rows), "", self._closing()]
        return "\n".join(lines)

    def _closing(self) -> str:
        breaking = self.breaking
        if breaking is None:
            return "ok"
        mode, derived = ("VJP", breaking.reverse) if self.ratios[1] > self.bounds[1] else ("JVP", breaking.forward)
        return f"BOUND BROKEN by {breaking.op} at {breaking.place}: {derived:.0f} ops of the {mode} are derived from its {breaking.own:.0f}"


MOST_ROWS = 5
"""So many ops are shown."""


def certify(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    wrt: Positions = None,
    of: Positions = None,
    seed: int = 0,
    strategy: str = "transpose",
    bounds: tuple[float, float] = (FORWARD, REVERSE),
    shapes: Shapes | None = None,
) -> CostCertificate:
    """Counts the ops of a program and its derivatives at a point.

    Args:
        program: what is differentiated.
        inputs: the point; drawn at random with the seed by default.
        wrt: the arguments to differentiate by; every float or complex one by default.
        of: the results to differentiate; every float or complex one by default.
        seed: for inputs, tangents and cotangents.
        strategy: how the derivatives are made, by name.
        bounds: omega' and omega.
        shapes: the shapes of the arguments of a program that leaves extents open, where there are no inputs to tell them.

    Raises:
        InputError: positions or inputs that do not fit.
        DiagnosticError: the program cannot be differentiated.
    """
    program = shaped(program, inputs, shapes)
    given = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
    moved, asked = program.resolve(wrt=wrt, of=of)
    generator = np.random.default_rng(seed)
    tangents = [random_like(program.signature.arguments[i], generator) for i in moved]
    cotangents = [random_like(program.signature.results[j], generator) for j in asked]
    jvp, vjp = program.jvp(moved, asked, strategy=strategy), program.vjp(moved, asked, strategy=strategy)
    word = max([p.dtype.itemsize for p in (*program.signature.arguments, *program.signature.results) if p.differentiable])
    ends = sum(int(np.prod(p.shape)) for p in (*program.signature.arguments, *program.signature.results))
    own, forward, reverse = (_counted(p, values, word) for p, values in ((program, given), (jvp, [*given, *tangents]), (vjp, [*given, *cotangents])))
    rows = [
        OpCost(name, place, own.primal.get((place, name), 0.0), forward.derived.get((place, name), 0.0), reverse.derived.get((place, name), 0.0))
        for place, name in dict.fromkeys([*own.primal, *forward.derived, *reverse.derived])
    ]
    rows.sort(key=lambda row: -max(row.reverse, row.forward))
    totals = [ends + counter.total for counter in (own, forward, reverse)]
    return CostCertificate(program.name, strategy, *totals, bounds=bounds, rows=tuple(rows))


def certify_corpus(folder: str | Path, *, strategy: str = "transpose", only: Sequence[str] = ()) -> list[CostCertificate]:
    """The certificates of all programs of a corpus, in double precision, at the points that it stores."""
    certificates: list[CostCertificate] = []
    for entry in read_corpus(folder, set(only) or None):
        reference = entry.reference("f64")
        program = load(entry.path("f64"))
        program.name = entry.name
        wrt, of = tuple(sorted(reference.tangents)), tuple(sorted(reference.cotangents))
        certificates.append(certify(program, reference.inputs, wrt=wrt, of=of, strategy=strategy))
    return certificates


def corpus_table(certificates: Sequence[CostCertificate], *, markdown: bool = False) -> str:
    """A line for each program, those first whose VJPs cost most."""
    header = ("program", "ops", "JVP", "VJP", "most is derived from")
    ordered = sorted(certificates, key=lambda c: -c.ratios[1])
    cells = [(c.program, count(round(c.ops)), *(f"{ratio:.2f}" for ratio in c.ratios), c.rows[0].op if c.rows else "") for c in ordered]
    if markdown:
        return "\n".join(f"| {' | '.join(row)} |" for row in (header, ("---", "--:", "--:", "--:", "---"), *cells))
    return "\n".join(table(header, cells))


@dataclass
class _Weighing(Counter):
    """Counts flops and numbers written, of the program's own ops and of those that are derived from each."""

    word: int = 8
    total: float = 0.0
    primal: dict[Place, float] = field(default_factory=dict[Place, float])
    derived: dict[Place, float] = field(default_factory=dict[Place, float])

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        super().executed(op, results, operands)
        if isinstance(op, stablehlo.ConstantOp):
            return
        of_op = cost(op)
        weight = float(of_op.flops) + float(of_op.bytes_written) / self.word
        source = provenance(op.location)
        counted = self.primal if source is None else self.derived
        place = (describe(op.location), op.name if source is None else source.op_name)
        counted[place] = counted.get(place, 0.0) + weight
        self.total += weight


def _counted(program: Program, values: Sequence[Array], word: int) -> _Weighing:
    counter = _Weighing(word=word)
    with np.errstate(all="ignore"):
        run(program.optimized_module, list(values), counter=counter)
    return counter

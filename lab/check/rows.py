"""The check of whole Jacobians and Hessians by rows of the table of strategies: along random directions, against differences.

A block of a derivative times a direction is a tangent, whatever way the block was computed; it is compared with differences as the JVP is. Rows for
Hessians are compared with differences of the VJP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from wengert.ir.diagnostics import DiagnosticError, did_you_mean
from wengert.lab.check.checker import Checker
from wengert.lab.check.comparison import overall
from wengert.lab.check.differences import Array
from wengert.lab.check.report import Finding, Outcome, Verdict
from wengert.lab.inputs import Shapes, random_inputs, shaped
from wengert.lab.plain import plain
from wengert.lab.strategies.plan import Plan
from wengert.lab.strategies.plans import Wanted, plans
from wengert.lab.tables import count
from wengert.runtime.arguments import bind
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.program import Program

MOST_ELEMENTS = 1 << 22
"""A derivative with more elements is not computed for a check."""
Derivative = Literal["jacobian", "hessian"]


@dataclass(frozen=True)
class RowCheck:
    """The findings for a row, one for each argument that is moved."""

    name: str
    derivative: Derivative
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    reason: str = ""

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest error."""
        wrong = [f for f in self.findings if f.verdict == self.verdict]
        return max(wrong or self.findings, key=lambda f: f.error / (f.bound or 1), default=None)


@dataclass(frozen=True)
class RowsReport:
    """The outcome of a check of rows; true if all were seen to be right."""

    program: str
    backend: str
    seed: int
    precision: str
    rows: tuple[RowCheck, ...]

    @property
    def outcome(self) -> Outcome:
        """As of a check of modes."""
        verdicts = {row.verdict for row in self.rows}
        return "MISMATCH" if "MISMATCH" in verdicts else "not settled" if "unsettled" in verdicts else "ok"

    def __bool__(self) -> bool:
        return self.outcome == "ok"

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {**plain(self), "outcome": self.outcome, "ok": bool(self)}

    def __str__(self) -> str:
        lines = [f"check of strategies for {self.program} on backend {self.backend}, seed {self.seed}, rounding of {self.precision}"]
        width = max((len(row.name) for row in self.rows), default=0)
        for row in self.rows:
            worst = row.worst
            said = row.reason if worst is None else f"error {worst.error:.1e}, bound {worst.bound:.1e}" if row.verdict == "ok" else str(worst)
            lines.append(f"  {row.derivative:8}  {row.name:{width}}  {row.verdict}" + (f": {said}" if said else ""))
        bad = [row.name for row in self.rows if row.verdict in ("MISMATCH", "unsettled")]
        said = ", ".join(bad) if bad else "" if any(row.findings for row in self.rows) else "no row was checked"
        return "\n".join([*lines, self.outcome + (f": {said}" if said else "")])


def check_rows(
    program: Program,
    inputs: Sequence[Any] | None = None,
    *,
    rows: Sequence[str] = (),
    wrt: Positions = None,
    of: Positions = None,
    seed: int = 0,
    backend: str = "cpu",
    shapes: Shapes | None = None,
) -> RowsReport:
    """Checks rows of the table of strategies at a point: all by default, those of Hessians where the result is one number.

    Args:
        program: what to check.
        inputs: the point; drawn at random with the seed by default.
        rows: names of rows, such as "jacrev" or "edge pushing".
        wrt: positions of the arguments; every float one by default.
        of: positions of the results; every float one by default.
        seed: for directions, cotangents and default inputs.
        backend: what runs the program and the rows.
        shapes: the shapes of the arguments of a program that leaves extents open.

    Raises:
        InputError: there is no such row.
        DiagnosticError: the program cannot be differentiated.

    Rows that have no meaning for complex arguments or results are skipped, with the reason.
    """
    program = shaped(program, inputs, shapes)
    arrays = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
    chosen, asked = program.resolve(wrt=wrt, of=of)
    checker = Checker(program, arrays, chosen, asked, seed, backend, set())
    every = list(_plans(program, chosen, asked))
    known = [plan.name for _, plan in every]
    for name in rows:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"there is no row {name!r} for this program; there are: {', '.join(known)}" + (f" ({hint})" if hint else ""))
    checks = [_check(checker, derivative, plan) for derivative, plan in every if not rows or plan.name in rows]
    return RowsReport(program.name, backend, seed, checker.precision, tuple(checks))


def _plans(program: Program, wrt: Sequence[int], of: Sequence[int]) -> list[tuple[Derivative, Plan]]:
    numbers = sum(int(np.prod(program.signature.results[j].shape)) for j in of)
    first: Wanted = "gradient" if numbers == 1 else "jacobian"
    made: list[tuple[Derivative, Plan]] = [("jacobian", plan) for plan in plans(program, first, wrt, of, of_complex=True)]
    signature = program.signature
    is_real = not any(parameter.dtype.kind == "c" for parameter in (*(signature.arguments[i] for i in wrt), *(signature.results[j] for j in of)))
    hessians: list[tuple[Derivative, Plan]] = [("hessian", plan) for plan in plans(program, "hessian", wrt, of)] if numbers == 1 and is_real else []
    return made + hessians


def _check(checker: Checker, derivative: Derivative, plan: Plan) -> RowCheck:
    elements = plan.blocks.columns * plan.blocks.rows
    if elements > MOST_ELEMENTS:
        return RowCheck(plan.name, derivative, "skipped", reason=f"it has {count(elements)} elements")
    if refusal := plan.refusal():
        return RowCheck(plan.name, derivative, "skipped", reason=refusal)
    try:
        blocks = plan.compile(checker.backend)(*checker.inputs)
    except (DiagnosticError, InputError, ExecutionError, UnsupportedOpError) as error:
        return RowCheck(plan.name, derivative, "skipped", reason=f"it is refused: {str(error).strip().splitlines()[0]}")
    findings = [_settled(checker, _along(checker, derivative, blocks, checker.direction(i))) for i in checker.wrt]
    return RowCheck(plan.name, derivative, overall(findings), tuple(findings))


def _settled(checker: Checker, finding: Finding) -> Finding:
    """A finding, which settles nothing where it differs at a point at which results are not finite: modes multiply these by zeros or leave them out."""
    finite = all(np.isfinite(checker.outputs[j]).all() for j in checker.of)
    return finding if finite or finding.verdict != "MISMATCH" else replace(finding, verdict="unsettled", right="results are not finite at this point")


def _along(checker: Checker, derivative: Derivative, blocks: Sequence[Array], v: Sequence[Array]) -> Finding:
    """A derivative along a direction against differences."""
    moved = len(v)
    tangents = [_total(blocks[k : k + moved], v) for k in range(0, len(blocks), moved)]
    if derivative == "jacobian":
        results = [checker.program.signature.results[j] for j in checker.of]  # a real one moves by the real part of cotangent times direction
        tangents = [y_dot if y.dtype.kind == "c" else np.real(y_dot) for y, y_dot in zip(results, tangents, strict=True)]
        return checker.first_order_of("differences", v, tangents)
    y_bar = np.asarray(checker.cotangents[0]).reshape(())
    along = [np.asarray(y_bar * x_dot.reshape(checker.inputs[i].shape)) for i, x_dot in zip(checker.wrt, tangents, strict=True)]
    return checker.second_order(v, along)


def _total(blocks: Sequence[Array], v: Sequence[Array]) -> Array:
    """Blocks times directions, added up."""
    total = _times(blocks[0], v[0])
    for block, x_dot in zip(blocks[1:], v[1:], strict=True):
        total = total + _times(block, x_dot)
    return np.asarray(total)


def _times(block: Array, x_dot: Array) -> Array:
    """A block times a direction, summed over the dimensions of the direction."""
    return np.asarray(np.tensordot(np.asarray(block), np.asarray(x_dot), x_dot.ndim))

"""The table of strategies: every way to compute a derivative, what each costs, and the line that decides.

Figures before a compiler has run are read off the IR: ops and flops before fusion, the arena and the predicted time after the passes down to buffers. Times
are measured on request, of whole plans, interleaved, so that a busy machine is busy for all of them; then they decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from wengert.lab.costs.rows import amount, check_symbols
from wengert.lab.draw.escaping import markup
from wengert.lab.inputs import Shapes, random_inputs, shaped
from wengert.lab.strategies.choice import UNDECIDED, Choice, choose
from wengert.lab.strategies.deciding import keep_measured
from wengert.lab.strategies.measuring import SLOWER, measured, near, with_values
from wengert.lab.strategies.plan import JacobianFunction
from wengert.lab.strategies.plans import Wanted, plans
from wengert.lab.strategies.row import PlanCosts, Row
from wengert.lab.tables import count, seconds, size, table
from wengert.runtime.arguments import bind
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.known_ops import check_values
from wengert.runtime.program import Program, own_program
from wengert.transforms.analysis.symbolic.polynomial import Number
from wengert.transforms.analysis.symbolic.unknowns import Unknowns


@dataclass(frozen=True)
class StrategyTable:
    """The rows, of which some may be refused or too large, and the choice among the others.

    Attributes:
        program: its name.
        wanted: the derivative.
        wrt, of: positions of arguments and results.
        rows: every plan.
        budget: the largest arena that a row may have, in bytes.
        reference: what errors are measured against.
        settles_ties: whether rows were to be measured that are predicted within 50 per cent of the best.
    """

    program: str
    wanted: Wanted
    wrt: tuple[int, ...]
    of: tuple[int, ...]
    rows: tuple[Row, ...]
    budget: int | None = None
    reference: str = ""
    settles_ties: bool = False

    @cached_property
    def usable(self) -> tuple[Row, ...]:
        """The rows that can be made, within the budget."""
        return tuple(row for row in self._possible if self.budget is None or (row.arena is not None and row.arena <= self.budget))

    @cached_property
    def _possible(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.problem)

    @cached_property
    def choice(self) -> Choice:
        """Which row to use."""
        return choose(self._exact)

    @cached_property
    def predicted(self) -> Choice:
        """Which row to use by prediction alone."""
        return choose([row.unmeasured for row in self._exact])

    @property
    def _exact(self) -> list[Row]:
        """The usable rows that are no estimates."""
        return [row for row in self.usable if not row.plan.off]

    @property
    def best(self) -> Row:
        """The row to use. Raises InputError, with the line that says why, where there is none."""
        row = self.choice.row if self.choice.verdict != "conditional" else None
        if row is None:
            raise InputError(self.decision)
        return row

    @cached_property
    def decision(self) -> str:
        """The line that decides."""
        if self.budget is not None and not self.usable and self._possible:
            least = min((row for row in self._possible if row.arena is not None), key=lambda row: row.arena or 0, default=None)
            rest = f": {least.name} needs the least, {_exact(least.arena or 0)}" if least is not None else ""
            return f"No row has an arena of at most {_exact(self.budget)}{rest}."
        line = self.choice.line()
        if self._is_measured:
            return f"{line.removesuffix('.')}; predicted was {self.predicted.outcome()}."
        if self.settles_ties and self.choice.verdict == "faster":
            return f"{line.removesuffix('.')}; no other row is predicted within {100 * (UNDECIDED - 1):.0f} % of it, so none was measured."
        return line

    def row(self, name: str) -> Row:
        """The row of this name. Raises InputError, which lists them."""
        for row in self.rows:
            if row.name == name:
                return row
        raise InputError(f"there is no row {name!r}; there are: {', '.join(row.name for row in self.rows)}")

    def compile(self, backend: str = "cpu") -> JacobianFunction:
        """The chosen row as a function: the program's inputs in, the blocks of the derivative out."""
        return self.best.compile(backend)

    def __len__(self) -> int:
        return len(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        head = {"program": self.program, "of": self.wanted, "arguments": list(self.wrt), "results": list(self.of), "budget": self.budget}
        symbols = {symbol.name: str(symbol) for row in self._possible for symbol in row.counted.unknown}
        by = {"by": "measurement" if self._is_measured else "prediction", "measured": [row.name for row in self.rows if row.measured is not None]}
        choice = {**self.choice.to_json(), "line": self.decision, **by, "predicted": self.predicted.to_json()}
        return {**head, "reference": self.reference, "symbols": symbols, "rows": [row.to_json() for row in self.rows], "decision": choice}

    def __str__(self) -> str:
        shown = sorted(self.usable, key=_order)
        lines = [f"strategies for the {self.wanted} of {self.program}, d results {_listed(self.of)} / d arguments {_listed(self.wrt)}"]
        width = max((len(row.name) for row in shown), default=0)
        cells = [self._cells(row) for row in shown]
        named = [[f"{name:{width + 2}}  {row.plan.how}", *rest] for row, (name, *rest) in zip(shown, cells, strict=True)]
        lines += ["", *table(self._header, named)] if shown else []
        lines += ["", *self._notes(), self.decision]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [self._header, *(self._cells(row) for row in sorted(self.usable, key=_order))]
        cells = ["".join(f"<{'td' if number else 'th'}>{markup(cell)}</{'td' if number else 'th'}>" for cell in row) for number, row in enumerate(rows)]
        notes = "".join(f"<p>{markup(line)}</p>" for line in (*self._notes(), self.decision))
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>{notes}"

    @cached_property
    def _is_measured(self) -> bool:
        return any(row.measured is not None for row in self.rows)

    @property
    def _header(self) -> list[str]:
        return ["", "passes", "ops", "flops", "arena", "predicted", *(["measured", "median", "compile", "error"] if self._is_measured else [])]

    def _cells(self, row: Row) -> list[str]:
        mark = "*" if row is self.choice.row and self.choice.verdict != "conditional" else " "
        cells = [f"{mark} {row.name}", _passes(row), amount(row.ops), amount(row.flops)]
        cells += ["-" if row.arena is None else size(row.arena), str(row.predicted) if row.predicted is not None else "-"]
        m = row.measured
        if m is not None:
            return [*cells, seconds(m.times.minimum), seconds(m.times.median), seconds(m.compile_seconds), f"{m.error:.0e}"]
        return [*cells, *(["-"] * 4 if self._is_measured else [])]

    def _notes(self) -> list[str]:
        notes = [f"{row.name} is refused: {row.problem}" for row in self.rows if row.problem]
        notes += [f"{row.name} is left out: its arena of {_exact(row.arena or 0)} is larger" for row in self._possible if row not in self.usable]
        notes += list(dict.fromkeys(str(symbol) for row in self.usable for symbol in row.counted.unknown))
        if self.reference:
            skipped = any(row.measured is None for row in self.usable)
            notes.append(f"errors are those against {self.reference}" + ("; rows without times are predicted to be slower" if skipped else ""))
        return notes


def strategies(
    program: Any,
    inputs: Sequence[Any] | None = None,
    *,
    of: Wanted = "jacobian",
    wrt: Positions = None,
    results: Positions = None,
    measure: bool | Literal["ties"] = "ties",
    budget: int | None = None,
    strategies: Sequence[str] | None = None,
    estimates: int | None = None,
    values: Mapping[str, Number] | None = None,
    shapes: Shapes | None = None,
    seed: int = 0,
) -> StrategyTable:
    """Every way to compute a derivative of a program, with costs and the one to use.

    Args:
        program: a :class:`wengert.Program`, or what has one (``wg.from_jax(f, x)``); of a traced function it is ``f.program(x)``.
        inputs: the point at which loops and branches are counted, and times measured; drawn with the seed if it is needed.
        of: "jacobian", "gradient" (of one number) or "hessian".
        wrt: positions of the arguments; every float one by default.
        results: positions of the results; every float one by default.
        measure: which rows to compile and run, whose measured times then decide. By default ("ties") those that are predicted within 50 per cent of the best,
            which is closer than the model tells, if there are several; none where the prediction depends on what only a run tells, and no inputs are given.
            True: all but those that are predicted to take eight times as long as the best. False: none.
        budget: the largest arena of a row, in bytes.
        strategies: strategies of reverse mode, by name; all by default, those of plug-ins included.
        estimates: adds rows that estimate a first derivative from one random direction and from so many, with their error; none of them is chosen.
        values: values of symbols for what only a run tells (``T0``).
        shapes: the shapes of the arguments of a program that leaves extents open.
        seed: for inputs.

    Raises:
        InputError: no such derivative; complex arguments or results; a value of what is no symbol.
        DiagnosticError: the program is wrong.
    """
    program = own_program(program)
    if not isinstance(program, Program):
        raise InputError(f"strategies takes a program, found {type(program).__name__}: wg.load, wg.parse, wg.from_jax and wg.jit(f).program(x) make them")
    check_values(program.module)
    program = shaped(program, inputs, shapes)
    moved, asked = program.resolve(wrt=wrt, of=results)
    unknowns = Unknowns()
    rows = [Row(PlanCosts(plan, unknowns), values or {}) for plan in plans(program, of, moved, asked, strategies, budget, estimates)]
    if values:
        check_symbols(values, dict.fromkeys(symbol.name for row in rows if not row.problem for symbol in row.costs.counted.unknown))
    reference = ""
    given = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed) if measure is not False else None
    if given is not None and (inputs is not None or measure is True):
        rows = [with_values(row, given) for row in rows]
    if measure is not False and given is not None:
        within = [row for row in rows if not row.problem and (budget is None or (row.arena or 0) <= budget)]
        exact = [row for row in within if not row.plan.off]
        worth = near(exact, SLOWER) if measure is True else _undecided(exact, inputs is not None)
        worth += [row for row in within if row.plan.off] if worth else []
        if worth:
            timed, reference = measured(worth, given)
            rows = [timed.get(row.name, row) for row in rows]
    if reference:
        keep_measured(program, "hessian" if of == "hessian" else "jacobian", moved, asked, [row for row in rows if not row.plan.off])
    return StrategyTable(program.name, of, moved, asked, tuple(rows), budget, reference, measure == "ties")


def _undecided(rows: Sequence[Row], at_inputs: bool) -> list[Row]:
    """The rows that the prediction cannot tell apart, if there are several. None where times depend on what only a run tells, or on values that were given for
    it, unless the inputs were given too: inputs that are drawn stand for no particular iterations."""
    if not at_inputs and any(row.values or row.seconds is None or row.seconds.constant is None for row in rows):
        return []
    close = near(rows, UNDECIDED)
    return close if len(close) > 1 else []


def _order(row: Row) -> tuple[bool, float]:
    """Measured rows first, then the predicted ones, by time."""
    time = row.seconds.constant if row.seconds is not None else None
    return row.measured is None, float(time) if time is not None else float("inf")


def _passes(row: Row) -> str:
    plan = row.plan
    return count(plan.calls) if plan.at_once == 0 or not plan.directions else f"{count(plan.calls)} of {count(plan.at_once or plan.directions)}"


def _exact(number: int) -> str:
    return f"{size(number)} ({number} bytes)" if number >= 1024 else size(number)


def _listed(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))

"""The report on what a reverse derivative keeps: each residual with its source, who needs it, what computing it again would cost, and why it is kept.

>>> import wengert as wg
>>> p = wg.load("examples/mlp.mlir")         # doctest: +SKIP
>>> print(p.kept(wrt=(1, 3, 5)))             # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.ir import BlockArgument, Operation

from wengert.ir.location.locations import provenance
from wengert.ir.location.places import describe
from wengert.ir.printing.printer import printed_names
from wengert.lab.costs.rows import amount, amount_of_bytes, figure
from wengert.lab.draw.graph import short_type
from wengert.lab.inspection.html import folded, fragment, html_table, paragraph
from wengert.lab.inspection.naming import SourceNames, derived_from, line_text, owner_of, plain_name, source_line
from wengert.lab.inspection.subject import Request
from wengert.lab.inspection.terminal import WIDTH, fitted_table
from wengert.lab.kept.parts import Parts, parts_of
from wengert.lab.kept.recomputation import LONGEST, Again
from wengert.lab.kept.residuals import ResidualFacts, Residuals
from wengert.lab.tables import seconds
from wengert.runtime.derived.positions import Positions
from wengert.runtime.program import Program
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial

SHOWN = 30
"""Rows of a table as text, unless asked otherwise."""
_HEADER = ("bytes", "value", "at", "needed by", "again: ops", "flop", "time", "verdict")
_NUMBERS = (0, 4, 5, 6)


@dataclass(frozen=True)
class Consumer:
    """An op of the reverse part that needs a residual: its role, its name, and the place that it comes from."""

    op: str
    what: str
    place: str
    line: tuple[str, int]


@dataclass(frozen=True)
class Residual:
    """A value of the forward part that the reverse part uses, or one that it computes again.

    Attributes:
        name: its name in the derivative as it is differentiated (core-level IR); source_name: the name that it has in the source, or that of the op that
            it is a coefficient of.
        op: the op that makes it, or ``argument``.
        role: ``primal``, ``coefficient``, ...
        type: its type; of what a loop records, that of one entry.
        place: ``file:line:column`` in the source.
        each: bytes of one.
        times: how many are kept: 1, or the iterations of the loops that record it.
        where: ``memory`` of its own; that of a ``result`` or of an ``input``; or ``kernels``, which compute it where they use it.
        consumers: the ops of the reverse part that need it.
        again: what computing it again costs, for each that is kept; None where that cannot be.
        verdict: ``kept``, ``cheaper again`` (kept, though computing it again would take less time), ``not stored``, ``result``, ``input``, ``recomputed``.
        why: the reason.
        far: whether computing it again would take more ops than are looked at.
    """

    name: str
    source_name: str
    op: str
    role: str
    type: str
    place: str
    line: tuple[str, int]
    each: int
    times: Polynomial
    where: str
    consumers: tuple[Consumer, ...]
    again: Again | None
    verdict: str
    why: str
    far: bool = False

    @property
    def bytes(self) -> Polynomial:
        """The bytes of all that are kept."""
        return self.times * self.each

    @property
    def title(self) -> str:
        """``%7 tanh 32x64xf64``."""
        name = (self.source_name or self.name).partition("#")[0]
        made = f"{self.op} for {name}" if self.role == "coefficient" else f"{name} {self.op}" if self.op != "argument" else name
        return f"{made} {self.type}"

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        simple = {name: getattr(self, name) for name in ("name", "source_name", "op", "role", "type", "place", "where", "verdict", "why")}
        sizes = {"bytes": figure(self.bytes), "bytes_each": self.each, "times": figure(self.times)}
        return {**simple, **sizes, "consumers": [{"op": c.op, "what": c.what, "place": c.place} for c in self.consumers], "again": _again_json(self)}


@dataclass(frozen=True)
class Kept:
    """The values that a reverse derivative keeps.

    Attributes:
        title: what was looked at.
        residuals: what crosses from the forward to the reverse part, largest first.
        recomputed: what the reverse part computes again.
        unknown: what the symbols stand for.
        forward_ops, reverse_ops: ops at the top level of both parts.
        file: the file that the program was read from; its name is left out beside its lines.
    """

    title: str
    residuals: tuple[Residual, ...]
    recomputed: tuple[Residual, ...]
    unknown: tuple[str, ...]
    forward_ops: int
    reverse_ops: int
    file: str = ""

    @cached_property
    def stored(self) -> tuple[Residual, ...]:
        """The residuals that have memory of their own."""
        return tuple(r for r in self.residuals if r.where == "memory")

    @property
    def bytes(self) -> Polynomial:
        """The bytes that residuals take which have memory of their own."""
        return _total(self.stored)

    def total(self, verdict: str) -> Polynomial:
        """The bytes of the residuals with a verdict."""
        return _total(r for r in self.residuals if r.verdict == verdict)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH, limit: int | None = SHOWN) -> str:
        """The report as text of at most so many columns, with at most so many rows."""
        lines = [self.title, *self._summary()]
        if self.residuals:
            lines += ["", *self._table(self.residuals, width, limit)]
        if self.recomputed:
            lines += ["", "computed again in the reverse part, not kept:", *self._table(self.recomputed, width, limit)]
        lines += [f"where {text}" for text in self.unknown]
        return "\n".join(lines)

    def _summary(self) -> list[str]:
        """What is kept in all, in words."""
        if not self.residuals:
            return ["nothing is kept: the reverse part uses no value of the forward part"]
        count = len(self.stored)
        lines = [
            f"{amount_of_bytes(self.bytes)} are kept, in {count} value{'s' * (count != 1)} ({self.forward_ops} ops forward, {self.reverse_ops} in reverse)"
        ]
        others = [
            ("not stored", "more would be, if the kernels that use them did not compute them"),
            ("result", "more are kept as results, which are returned in any case"),
            ("input", "are arguments, which the caller holds"),
            ("cheaper again", "of what is kept would be cheaper to compute again (residuals=recompute-cheap, ad.checkpoint)"),
        ]
        lines += [f"  {amount_of_bytes(total)} {words}" for verdict, words in others if (total := self.total(verdict)) != ZERO]
        if self.recomputed:
            recorded = _total(r for r in self.recomputed if r.where == "memory")
            again = f", {amount_of_bytes(recorded)} of them by loops that run again and record them in memory" if recorded != ZERO else ""
            lines.append(f"  {amount_of_bytes(_total(self.recomputed))} are computed again instead{again}")
        by_op = Counter[str]()
        for r in self.stored:
            by_op[r.op] += int(r.bytes.constant or 0)
        most = [f"{op} {amount_of_bytes(Polynomial.of(n))}" for op, n in by_op.most_common(5) if n]
        return [*lines, f"  by op: {', '.join(most)}"] if len(by_op) > 1 and most else lines

    def _table(self, residuals: Sequence[Residual], width: int, limit: int | None) -> list[str]:
        shown = residuals if limit is None else residuals[:limit]
        lines = fitted_table(_HEADER, [self.cells(r) for r in shown], width, right=_NUMBERS, elastic=(1, 3))
        rest = residuals[len(shown) :]
        return [*lines, f"and {len(rest)} more of {amount_of_bytes(_total(rest))}; --all shows them"] if rest else lines

    def cells(self, r: Residual) -> tuple[str, ...]:
        """A residual as cells of a table."""
        size = amount_of_bytes(r.bytes) if r.times == 1 else f"{amount_of_bytes(r.bytes)} = {amount(r.times)} x {amount_of_bytes(Polynomial.of(r.each))}"
        verdict = r.verdict if r.verdict == "recomputed" else f"{r.verdict}: {r.why}"
        place = "" if r.op == "argument" else line_text(r.line, self.file)
        return size, r.title, place, self._needed_by(r), *_again_cells(r), verdict

    def _needed_by(self, r: Residual) -> str:
        kinds = list(dict.fromkeys(f"{c.what} {line_text(c.line, self.file)}" for c in r.consumers))
        return ", ".join(kinds[:2]) + (f" and {len(kinds) - 2} more" if len(kinds) > 2 else "")

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        verdicts = dict.fromkeys(r.verdict for r in self.residuals)
        return {
            "title": self.title,
            "bytes": figure(self.bytes),
            "bytes_by_verdict": {verdict: figure(self.total(verdict)) for verdict in verdicts},
            "residuals": [r.to_json() for r in self.residuals],
            "recomputed": [r.to_json() for r in self.recomputed],
            "unknown": list(self.unknown),
        }

    def _repr_html_(self) -> str:
        """For notebooks."""
        parts = [paragraph(self.title), *(paragraph(line.strip(), faint=n > 0) for n, line in enumerate(self._summary()))]
        parts.append(html_table(_HEADER, [self.cells(r) for r in self.residuals[:SHOWN]], right=_NUMBERS))
        if len(self.residuals) > SHOWN:
            rest = self.residuals[SHOWN:]
            parts.append(folded(f"{len(rest)} more of {amount_of_bytes(_total(rest))}", html_table(_HEADER, [self.cells(r) for r in rest], right=_NUMBERS)))
        if self.recomputed:
            rows = [self.cells(r) for r in self.recomputed]
            parts.append(folded(f"{len(rows)} values are computed again in the reverse part", html_table(_HEADER, rows, right=_NUMBERS)))
        return fragment(*parts, *(paragraph(f"where {text}", faint=True) for text in self.unknown))


def kept(
    program: Program,
    wrt: Positions = None,
    of: Positions = None,
    *,
    strategy: str = "transpose",
    residuals: str = "auto",
    sources: Mapping[str, str] | None = None,
) -> Kept:
    """Reports what the reverse derivative of a program keeps.

    Args:
        program: the program.
        wrt: as for :meth:`wengert.Program.vjp`.
        of: as for :meth:`wengert.Program.vjp`.
        strategy: as for :meth:`wengert.Program.vjp`.
        residuals: as for :meth:`wengert.Program.vjp`.
        sources: texts by the file names that locations have, for names as they were written.

    Raises:
        InputError, DiagnosticError: what :meth:`wengert.Program.vjp` raises.
    """
    request = Request("vjp", wrt, of, strategy, residuals)
    derivative = request.derivative(program)
    return kept_of(parts_of(derivative, program), f"what {request} of {program.name} keeps", SourceNames(program, sources))


def kept_of(parts: Parts, title: str, names: SourceNames) -> Kept:
    """Reports what the parts of a reverse derivative keep."""
    of_parts = Residuals(parts)
    printed = printed_names(parts.function)
    describer = _Describer(names, printed)
    kept = sorted(map(describer.residual, of_parts.kept), key=_order)
    again = sorted(map(describer.residual, of_parts.recomputed), key=_order)
    symbols = [str(symbol) for symbol in of_parts.symbols if any(symbol.name in r.times.symbols for r in (*kept, *again))]
    return Kept(title, tuple(kept), tuple(again), tuple(symbols), len(parts.forward), len(parts.reverse), names.file)


class _Describer:
    """Describes what was found by the names and places of the source."""

    def __init__(self, names: SourceNames, printed: Mapping[Any, str]):
        self.names = names
        self.printed = printed

    def residual(self, facts: ResidualFacts) -> Residual:
        """A residual as it is reported."""
        value, owner = facts.value, facts.value.owner
        if isinstance(value, BlockArgument) or not isinstance(owner, Operation):
            assert isinstance(value, BlockArgument)
            parent = owner_of(value)
            at_top = parent.name == "func.func"
            location = value.location if at_top or source_line(value.location)[1] else parent.location
            source = self.names.argument(value.index) if at_top else ""
            op, role = ("argument" if at_top else "carried by the loop"), "primal"
        else:
            location, known = owner.location, provenance(owner.location)
            source, op, role = self.names.at(location), plain_name(owner), known.role.value if known is not None else "primal"
        return Residual(
            name=self.printed.get(value, ""),
            source_name=source,
            op=op,
            role=role,
            type=short_type(value.type),
            place=describe(location),
            line=source_line(location),
            each=facts.each,
            times=facts.times,
            where=facts.where,
            consumers=tuple(_consumer(op) for op in facts.users),
            again=facts.again,
            verdict=facts.verdict,
            why=facts.why,
            far=facts.far,
        )


def _consumer(op: Operation) -> Consumer:
    return Consumer(op.name, derived_from(op), describe(op.location), source_line(op.location))


def _order(r: Residual) -> tuple[int, float, str, int]:
    """Memory of its own first, then by bytes; what only a run tells in front."""
    rank = {"memory": 0, "result": 1, "kernels": 2, "input": 3}[r.where]
    number = r.bytes.constant
    return rank, -float("inf") if number is None else -float(number), *r.line


def _total(residuals: Iterable[Residual]) -> Polynomial:
    total = ZERO
    for r in residuals:
        total = total + r.bytes
    return total


def _again_cells(r: Residual) -> tuple[str, str, str]:
    if r.again is None:
        return f"> {LONGEST}" if r.far else "" if r.op == "argument" else "-", "", ""
    time = "" if r.again.seconds is None else seconds(r.again.seconds) if r.again.seconds else "0"
    return amount(r.again.ops), amount(r.again.flops), time


def _again_json(r: Residual) -> dict[str, Any] | None:
    if r.again is None:
        return None
    return {
        "ops": figure(r.again.ops),
        "flops": figure(r.again.flops),
        "transcendentals": figure(r.again.transcendentals),
        "predicted_seconds": r.again.seconds,
        "origins": len(r.again.origins),
    }

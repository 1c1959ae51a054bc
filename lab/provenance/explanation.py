"""The explanation of an op: where it comes from, its rule, its operands and users, and what passes did to it; as text, JSON and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wengert.ir.location.locations import Certainty, Role
from wengert.lab.inspection.html import fragment, paragraph
from wengert.lab.plain import plain
from wengert.lab.provenance.rules import DeclaredRule

SHOWN = 4
"""So many sources, users and ops are shown as text; JSON has all."""


@dataclass(frozen=True)
class Origin:
    """A source of an op.

    Attributes:
        what: ``cotangent of stablehlo.tanh``, or the op's name.
        place: ``file:line:column``.
        certainty: ``exact``, ``inferred`` or ``unknown``.
        text: the line there; empty if it is not known.
        column: the column that the caret is under, from 1; 0 without a line.
        op_name: the op that was written there.
        calls: the places of the calls around it, the innermost first.
    """

    what: str
    place: str
    certainty: Certainty
    text: str
    column: int
    op_name: str
    calls: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The place, and the line with a caret."""
        mark = "" if self.certainty is Certainty.EXACT else f"   ({self.certainty})"
        called = "".join(f", called at {place}" for place in self.calls[:2]) + (", ..." if len(self.calls) > 2 else "")
        head = f"{self.place}: {self.what}{called}{mark}"
        if not self.text:
            return [head]
        start = max(0, self.column - 61)
        shown = self.text[start : start + 110].rstrip()
        named = shown.find(self.op_name, self.column - 1 - start)
        at, length = (named, len(self.op_name)) if named >= 0 and self.op_name else (self.column - 1 - start, 1)
        return [head, f"    {shown}", f"    {' ' * at}{'^' * length}"]


@dataclass(frozen=True)
class Value:
    """A value that an op uses or feeds: its name, what makes it or uses it, and how it comes there (``kept``, ``recomputed``, ``argument``, ...)."""

    name: str
    what: str
    type: str
    state: str
    place: str

    def __str__(self) -> str:
        return "  ".join(part for part in (self.name, f"({self.what})", self.type, self.state, self.place) if part)


@dataclass(frozen=True)
class Explanation:
    """All that is known of one op.

    Attributes:
        name: its first result as it is printed, or its name.
        op: its name.
        line: its line as it is printed, and ``number``, which line of the text that is.
        role: its role in the derivative; ``primal`` for an op of the program itself; empty where nothing was differentiated.
        origins: its sources, the most important first; ``left_off`` more are counted.
        rule: the rule that it was made by; None for an op of the program itself.
        through: the cotangents (or tangents) that it is applied to.
        factors: what else it computes with, and whether that is kept or computed again.
        feeds: the ops that use it, and results.
        passes: what passes did to it, in order.
    """

    name: str
    op: str
    line: str
    number: int
    role: str
    origins: tuple[Origin, ...]
    left_off: int
    rule: DeclaredRule | None
    through: tuple[Value, ...]
    factors: tuple[Value, ...]
    feeds: tuple[Value, ...]
    passes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The explanation as text."""
        lines = [f"{self.number}: {self.line.strip()[:160]}"]
        for title, origin_ in zip(["from", *[""] * SHOWN], self.origins[:SHOWN], strict=False):
            lines += _entry(title, origin_.lines())
        more = len(self.origins) - SHOWN + self.left_off if len(self.origins) > SHOWN else self.left_off
        if more:
            lines += _entry("", [f"and {more} more"])
        lines += _entry("role", [_ROLES[Role(self.role)]]) if self.role else []
        if self.rule is not None:
            lines += _entry("rule", [self.rule.math or self.rule.kind, f"{self.rule.kind} rule of {self.rule.op_name}, {self.rule.place}"])
        with_ = "with" if self.rule is not None else "operands"
        for title, values in (("applied to", self.through), (with_, self.factors), ("feeds", self.feeds)):
            lines += _entry(title, _listed(values)) if values else []
        return lines + (_entry("passes", list(self.passes)) if self.passes else [])

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return plain(self)


_ROLES = {
    Role.PRIMAL: "primal: an op of the program itself",
    Role.COEFFICIENT: "coefficient: a local derivative, or what is computed for one",
    Role.TANGENT: "tangent: propagated forward",
    Role.COTANGENT: "cotangent: propagated backward",
    Role.ACCUMULATION: "accumulation: the sum of cotangents of a value that is used several times",
}


def _entry(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title if number == 0 else '':11} {line}" for number, line in enumerate(lines)]


def _listed(values: Sequence[Value]) -> list[str]:
    more = [f"and {len(values) - SHOWN * 2} more"] if len(values) > SHOWN * 2 else []
    return [*map(str, values[: SHOWN * 2]), *more]


@dataclass(frozen=True)
class Explanations:
    """All that is known of the ops that a selector names."""

    title: str
    selector: str
    all: tuple[Explanation, ...]

    def __iter__(self) -> Any:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, number: int) -> Explanation:
        return self.all[number]

    def __str__(self) -> str:
        return self.text()

    def text(self, most: int = SHOWN) -> str:
        """The first explanations as text, and how many there are."""
        parts = [str(each) for each in self.all[:most]]
        if len(self.all) > most:
            others = ", ".join(each.name for each in self.all[most : most + 12]) + (", ..." if len(self.all) > most + 12 else "")
            parts.append(f"'{self.selector}' names {len(self.all)} ops; the others: {others}")
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {"title": self.title, "selector": self.selector, "ops": [each.to_json() for each in self.all]}

    def _repr_html_(self) -> str:
        from wengert.lab.draw.escaping import markup

        return fragment(paragraph(self.title, faint=True), f"<pre>{markup(self.text())}</pre>")

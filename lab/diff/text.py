"""A difference as text for terminals: signs stand beside colours, which are only written where they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.lab.diff.changes import Change, SourceChanges
from wengert.lab.inspection.sources import NOWHERE
from wengert.lab.tables import count, size
from wengert.transforms.analysis.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from wengert.lab.diff.difference import Difference, Total

_RED, _GREEN, _YELLOW, _DIM, _BOLD, _RESET = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[1m", "\x1b[0m"
LONGEST = 240
"""Characters of a line of a program that are shown; constants can be megabytes long."""


def render(difference: Difference, color: bool, limit: int | None) -> str:
    """The difference as text; at most ``limit`` sources."""
    return "\n".join(_Text(color).difference(difference, limit))


class _Text:
    def __init__(self, color: bool):
        self.color = color

    def paint(self, code: str, text: str) -> str:
        return f"{code}{text}{_RESET}" if self.color and text else text

    def difference(self, d: Difference, limit: int | None) -> list[str]:
        lines = [self.paint(_RED, f"--- {d.a}"), self.paint(_GREEN, f"+++ {d.b}"), self.paint(_BOLD, headline(d)), *(f"~ {line}" for line in d.signature)]
        changed = [source for source in d.sources if source.changes]
        shown = changed if limit is None else changed[:limit]
        for source in shown:
            lines += ["", *self.source(source)]
        if len(changed) > len(shown):
            lines += ["", f"... and {len(changed) - len(shown)} more places (--limit {len(changed)} shows all)"]
        lines += self.elsewhere([source for source in d.sources if not source.changes])
        lines += ["", *totals(d.totals)]
        if d.values is not None:
            lines += ["", str(d.values)]
        return lines

    def source(self, source: SourceChanges) -> list[str]:
        place = place_text(source)
        lines = [self.paint(_DIM, place) + (f"  {shortened(source.text)}" if _says_more(source) else "")]
        for change in source.changes:
            lines += self.change(change)
        weights = weights_text(source)
        return [*lines, *([f"    {weights}"] if weights else [])]

    def change(self, change: Change) -> list[str]:
        role = f"   [{change.derivation}]" if change.derivation else ""
        if change.kind == "added":
            lines = [self.paint(_GREEN, f"  + {shortened(change.after)}") + self.paint(_DIM, role)]
        elif change.kind == "removed":
            lines = [self.paint(_RED, f"  - {shortened(change.before)}") + self.paint(_DIM, role)]
        elif change.kind == "alike":
            lines = [f"  = {shortened(change.after)}" + self.paint(_DIM, role)]
        else:
            lines = [self.paint(_YELLOW, f"  ~ {shortened(change.before)}") + self.paint(_DIM, role)]
            lines += [self.paint(_YELLOW, f" -> {shortened(change.after)}")] if change.after != change.before else []
        return lines + [f"      {note}" for note in change.notes]

    def elsewhere(self, sources: list[SourceChanges]) -> list[str]:
        """What is alike, and weighs something else at the peak."""
        more, less = sum(s.peak for s in sources if s.peak > 0), sum(s.peak for s in sources if s.peak < 0)
        if not sources:
            return []
        return ["", f"ops of {len(sources)} other places are alike; at the peak {size(more)} more of them and {size(-less)} less is live"]


def headline(d: Difference) -> str:
    """The counts, and how many of the ops that are alike read something else."""
    rewired = f" ({d.rewired} of them {'read' if d.rewired != 1 else 'reads'} something new)" if d.rewired else ""
    return d.headline + rewired


def place_text(source: SourceChanges) -> str:
    """``file:line:column``."""
    file, line, column = source.place
    return "no known source" if source.place == NOWHERE else f"{file}:{line}:{column}"


def weights_text(source: SourceChanges) -> str:
    """``flops +3, kept -8 KiB, peak +16 KiB``: what is different."""
    parts = [f"flops {signed(source.flops)}"] if source.flops != 0 else []
    parts += [f"{name} {signed_size(value)}" for name, value in (("kept", source.kept), ("peak", source.peak)) if value]
    return ", ".join(parts)


def signed(figure: Polynomial) -> str:
    """A number or a polynomial with its sign."""
    number = figure.constant
    if number is None:
        return f"+({figure})"
    return f"{'+' if number >= 0 else '-'}{count(abs(int(number)))}"


def signed_size(value: int) -> str:
    """Bytes with their sign."""
    return f"{'+' if value >= 0 else '-'}{size(abs(value))}"


def totals(rows: tuple[Total, ...]) -> list[str]:
    """A table of the figures of both programs."""
    from wengert.lab.tables import table

    cells = [(row.name, _figure(row.name, row.a), _figure(row.name, row.b), _change(row)) for row in rows]
    return table(("", "---", "+++", "change"), cells)


def _figure(name: str, figure: Polynomial) -> str:
    number = figure.constant
    if number is None:
        return str(figure)
    return size(int(number)) if name in ("kept", "peak") else count(int(number))


def _change(row: Total) -> str:
    difference = row.b - row.a
    number = difference.constant
    return signed(difference) if number is None or row.name not in ("kept", "peak") else signed_size(int(number))


def shortened(line: str) -> str:
    """A line without what is too long to read."""
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 30]} ... {line[-25:]}"


def _says_more(source: SourceChanges) -> bool:
    """Whether the line of the source is another one than those of the changes."""
    plain = source.text.removesuffix(" {").strip()
    return bool(plain) and all(plain not in (change.before, change.after) for change in source.changes)

"""The table of JAX's libraries in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.jax_library.comparison import KINDS, Comparison, Outcome
from benchmarks.jax_library.program import Program

HEAD = ("library", "program", "values", "reverse", "JVP", "second order")


def rows(results: Sequence[tuple[Program, Mapping[str, Comparison]]]) -> list[str]:
    """A row for each program; errors in f64 and, behind a comma, in f32. What is refused is told below the table."""
    lines, notes = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"], list[str]()
    for program, by_precision in results:
        cells = [_cell([c.outcomes.get(kind, Outcome()) for c in by_precision.values()], [*by_precision], notes) for kind in KINDS]
        if (skipped := next((c.skipped for c in by_precision.values() if c.skipped), "")) and not program.only:
            cells = [f"skipped: {skipped}", "", "", ""]
        lines.append(f"| {' | '.join([program.library, program.name, *cells])} |")
    return [*lines, *([""] if notes else []), *(f"{number}. {note}" for number, note in enumerate(notes, 1))]


def _cell(outcomes: Sequence[Outcome], precisions: Sequence[str], notes: list[str]) -> str:
    parts: list[str] = []
    for outcome, precision in zip(outcomes, precisions, strict=True):
        if outcome.refused:
            if outcome.refused not in notes:
                notes.append(outcome.refused)
            parts.append(f"{'refused, as by JAX' if outcome.by_jax else 'refused'} ({notes.index(outcome.refused) + 1})")
        elif outcome.error is not None:
            parts.append(f"{outcome.error:.0e}" if outcome.right(precision) else f"WRONG {outcome.error:.0e}")
    return ", ".join(dict.fromkeys(parts)) if parts and len(set(parts)) == 1 else ", ".join(parts)

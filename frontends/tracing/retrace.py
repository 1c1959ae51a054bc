"""Explains why a function was traced again: what each trace was made for, and in what it differs from the most similar one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TraceRecord:
    """One trace: where the call stands that needed it, and what each argument was."""

    line: str
    arguments: tuple[tuple[str, str], ...]
    """Name and description of each leaf (``x``, ``float64[3]``), of what is static too."""
    structure: str = ""


@dataclass(frozen=True)
class RetraceReport:
    """All traces of a function; prints as text."""

    name: str
    records: tuple[TraceRecord, ...]

    def reasons(self, index: int) -> list[str]:
        """In what a trace differs from the most similar one before it."""
        record = self.records[index]
        if index == 0:
            return ["the first call"]
        return min((_differences(earlier, record) for earlier in self.records[:index]), key=len)

    def __str__(self) -> str:
        if not self.records:
            return f"{self.name} was not traced yet"
        lines = [f"{self.name} was traced {len(self.records)} time{'s' if len(self.records) > 1 else ''}"]
        for i, record in enumerate(self.records):
            lines.append(f"  {i + 1}. {record.line}: {'; '.join(self.reasons(i))}")
        if len(self.records) > 8 and (hint := _hint(self.records)):
            lines.append(f"  hint: {hint}")
        return "\n".join(lines)


def _differences(before: TraceRecord, after: TraceRecord) -> list[str]:
    old, new = dict(before.arguments), dict(after.arguments)
    if old.keys() != new.keys() or before.structure != after.structure:
        added, gone = [k for k in new if k not in old], [k for k in old if k not in new]
        parts = [f"{', '.join(added)} is new"] * bool(added) + [f"{', '.join(gone)} is gone"] * bool(gone)
        return [f"the structure of the arguments changed{': ' if parts else ''}{', '.join(parts)}"]
    return [f"{name} was {old[name]}, is {new[name]}" for name in new if old[name] != new[name]] or ["something outside of the arguments"]


def _hint(records: Sequence[TraceRecord]) -> str:
    changing = [name for name in dict(records[0].arguments) if len({dict(r.arguments).get(name) for r in records}) > len(records) // 2]
    return (
        f"{', '.join(changing)} changes in most calls; pad arrays to a few sizes, and pass static numbers as arrays where they may be traced"
        if changing
        else ""
    )

"""A timeline as a chart of characters: a column for each op, or for the fullest of several, stacked by role."""

from __future__ import annotations

import numpy as np

from wengert.lab.memory.timeline import ROLES, Bytes, Role, Timeline
from wengert.lab.tables import size

MARKS: dict[Role, str] = {"input": "░", "constant": "c", "result": "▒", "kept": "█", "temporary": "╱", "inside": "·"}
HEIGHT = 10
"""Rows of a chart."""


def chart(timeline: Timeline, width: int, height: int = HEIGHT) -> list[str]:
    """The lines of a chart of at most so many columns, with a scale of bytes, where the reverse part begins, the peak, and what the marks mean."""
    scales = {row: size(round(timeline.peak * (row + 1) / height)) for row in (height - 1, height // 2)}
    label = max(6, *map(len, scales.values()))
    columns = _columns(len(timeline.steps), max(width - label - 2, 8))
    shown = [first + int(np.argmax(timeline.total[first:end])) for first, end in columns]
    heights = _heights(timeline, shown, height)
    rows = range(height - 1, -1, -1)
    lines = [f"{scales.get(row, ''):>{label}} │{''.join(_mark(stack, row) for stack in heights)}".rstrip() for row in rows]
    lines.append(f"{'0':>{label}} └{'─' * len(columns)}")
    return [*lines, *_below(timeline, columns, label), _legend(timeline, label)]


def _columns(steps: int, width: int) -> list[tuple[int, int]]:
    """The steps that each column stands for: one of several columns, or several in one."""
    if steps <= width:
        repeat = max(1, min(max(6, 48 // max(steps, 1)), width // max(steps, 1)))
        return [(n, n + 1) for n in range(steps) for _ in range(repeat)]
    ends = [round(steps * (n + 1) / width) for n in range(width)]
    return [(first, end) for first, end in zip([0, *ends], ends) if end > first]


def _heights(timeline: Timeline, shown: list[int], height: int) -> list[list[tuple[Role, float]]]:
    """For each column the roles from below, each with where it ends, in rows."""
    bytes_of: dict[Role, Bytes] = {role: timeline.live((role,)) for role in ROLES}
    stacks: list[list[tuple[Role, float]]] = []
    for step in shown:
        stack, total = list[tuple[Role, float]](), 0
        for role in ROLES:
            total += int(bytes_of[role][step])
            stack.append((role, height * total / max(timeline.peak, 1)))
        stacks.append(stack)
    return stacks


def _mark(stack: list[tuple[Role, float]], row: int) -> str:
    """What is drawn in a row of a column: the role in the middle of the row."""
    return next((MARKS[role] for role, end in stack if end >= row + 0.5), " ")


def _below(timeline: Timeline, columns: list[tuple[int, int]], label: int) -> list[str]:
    """The line below the axis: the two parts, and where the peak is."""
    line = [" "] * len(columns)
    split = timeline.split
    if split is not None:
        at = next((n for n, (_, end) in enumerate(columns) if end > split), len(columns))
        for text, start in (("forward", 0), ("│ reverse", at)):
            if start + len(text) <= len(columns) and (start or at > len(text)):
                line[start : start + len(text)] = text
    peak = next((n for n, (_, end) in enumerate(columns) if end > timeline.peak_step), 0)
    marker = "▲ peak"
    start = peak if peak + len(marker) <= len(columns) else max(peak - len(marker) + 1, 0)
    text = marker if start == peak else "peak ▲"
    arrow = " " * start + text
    first = f"{' ' * label}  {''.join(line).rstrip()}".rstrip()
    return [part for part in (first, f"{' ' * label}  {arrow}") if part.strip()]


def _legend(timeline: Timeline, label: int) -> str:
    there: list[Role] = [role for role in ROLES if any(piece.role == role for piece in timeline.pieces)]
    return f"{' ' * label}  " + "   ".join(f"{MARKS[role]} {role}" for role in there)

"""Text for terminals: tables that fit a width."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

WIDTH = 120
"""The width of a report that is printed in Python."""
FILE_WIDTH = 200
"""The width of what goes to a file or a pipe, where no row is too narrow for names and places."""


def width_of_output() -> int:
    """The columns of the terminal that stdout is; :data:`FILE_WIDTH` for a file or a pipe."""
    return max(60, shutil.get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else FILE_WIDTH


def shortened(text: str, width: int) -> str:
    """The text, its end cut off where it is longer than a width."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def fitted_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, right: Sequence[int] = (), elastic: Sequence[int] = ()) -> list[str]:
    """Lines of a table that is at most so wide: the columns in ``elastic`` are shortened where it would be wider, the widest first.

    Args:
        header: the names of the columns.
        rows: the cells of each row.
        width: columns of text.
        right: the columns that are set to the right.
        elastic: the columns that may be shortened, to no less than 10.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    gaps = 2 * (len(widths) - 1)
    while sum(widths) + gaps > width and any(widths[i] > 10 for i in elastic):
        widest = max(elastic, key=lambda i: widths[i])
        widths[widest] -= 1
    lines: list[str] = []
    for row in (header, *rows):
        cells = [shortened(cell, w).rjust(w) if i in right else shortened(cell, w).ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines

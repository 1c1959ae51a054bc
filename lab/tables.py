"""Plain text tables, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines: list[str] = []
    for row in (header, *rows):
        cells = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def count(value: int) -> str:
    """A count: exact below 100000, then 123 k, 4.56 M, ..."""
    if abs(value) < 100_000:
        return str(value)
    scaled, unit = float(value), ""
    for unit in ("k", "M", "G", "T", "P"):
        scaled /= 1000
        if abs(scaled) < 999.5:
            break
    return f"{scaled:.3g} {unit}"


def size(value: int) -> str:
    """Bytes: 96 B, 1.5 KiB, 12 MiB, ..."""
    if value < 1024:
        return f"{value} B"
    scaled, unit = float(value), ""
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        scaled /= 1024
        if scaled < 1000:
            break
    return f"{scaled:.3g} {unit}"


def seconds(value: float) -> str:
    """A duration: 1.23 us, 45.6 ms, ..."""
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"

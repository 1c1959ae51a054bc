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
    return _scaled(value, 1000, ("k", "M", "G", "T", "P"))


def size(value: int) -> str:
    """Bytes: 96 B, 1.5 KiB, 12 MiB, ..."""
    if value < 1024:
        return f"{value} B"
    return _scaled(value, 1024, ("KiB", "MiB", "GiB", "TiB"))


def _scaled(value: float, base: int, units: Sequence[str]) -> str:
    """The value in the first unit in which it has at most three digits before the point."""
    power = next((p for p in range(1, len(units)) if abs(value) / base**p < 999.5), len(units))
    return f"{value / base**power:.3g} {units[power - 1]}"


def seconds(value: float) -> str:
    """A duration: 1.23 us, 45.6 ms, ..."""
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def duration(left: float) -> str:
    """A time to wait, such as ``40 s``, ``12 min`` or ``1 h 5 min``."""
    if left < 60:
        return f"{round(left)} s"
    minutes = round(left / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

"""The measurements as text, as JSON, and as a chart."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.gpu.machine import Figures
from benchmarks.gpu.rows import Row

PACKAGES = ("wengert", "cuda-core", "jax", "torch", "llvmlite", "numpy")


def table(rows: Sequence[Row], peers: Sequence[str], machine: Figures | None) -> str:
    """The rows in columns: our time, the share of a copy's bandwidth or the arithmetic per second, and ratios to the peers (less is better)."""
    lines = [f"{'workload':36}  {'ours':>10}  {'of copy':>8}  {'Tflop/s':>8}  " + "  ".join(f"{'/ ' + peer:>16}" for peer in peers)]
    return "\n".join([*lines, *[line(row, peers, machine) for row in rows]])


def line(row: Row, peers: Sequence[str], machine: Figures | None) -> str:
    """A row as text."""
    if row.wrong:
        return f"{row.name:36}  WRONG, not timed: {row.wrong}"
    if "wengert" not in row.seconds:
        return f"{row.name:36}  {row.missing.get('wengert', '')}"
    ours = row.seconds["wengert"][0]
    share = f"{row.of_copy(machine.copy_bytes_per_second):.0%}" if machine is not None else "-"
    ratios = [f"{ratio:.2f}" if (ratio := row.ratio(peer)) is not None else "-" for peer in peers]
    return f"{row.name:36}  {1e3 * ours:7.3f} ms  {share:>8}  {row.flops / ours / 1e12:8.2f}  " + "  ".join(f"{text:>16}" for text in ratios)


def mean(rows: Sequence[Row], peer: str) -> float | None:
    """The geometric mean of the ratios to a peer."""
    ratios = [ratio for row in rows if (ratio := row.ratio(peer)) is not None]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def document(rows: Sequence[Row], machine: Figures | None, corpus: dict[str, Any], note: str) -> dict[str, Any]:
    """All as JSON."""
    packages = {name: text for name in PACKAGES if (text := _version(name)) is not None}
    return {
        "machine": None if machine is None else asdict(machine),
        "host": platform.platform(),
        "packages": packages,
        "corpus": corpus,
        "rows": [asdict(row) for row in rows],
        "note": note,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def chart(rows: Sequence[Row], peers: Sequence[str], path: str) -> bool:
    """Bars of the ratios to each peer; False if matplotlib is not installed or there is nothing to show."""
    shown = [row for row in rows if any(row.ratio(peer) is not None for peer in peers)]
    if not shown:
        return False
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return False
    figure, axes = plt.subplots(figsize=(9, 1 + 0.4 * len(shown)))
    height = 0.8 / len(peers)
    for number, peer in enumerate(peers):
        values = [row.ratio(peer) or math.nan for row in shown]
        axes.barh([k + number * height for k in range(len(shown))], values, height, label=f"ours / {peer}")
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set_yticks([k + 0.4 - height / 2 for k in range(len(shown))], [row.name for row in shown])
    axes.invert_yaxis()
    axes.set_xlabel("time, ours to theirs: less is better")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True

"""Reports of the measurements: as lines, as the table of the documentation, as JSON, and as a chart."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import Machine, Row

PACKAGES = ("wengert", "jax", "jaxlib", "torch", "numpy", "scipy", "llvmlite")
FLAGS = (
    "XLA_FLAGS",
    "WENGERT_NUM_THREADS",
    "WENGERT_CACHE",
    "WENGERT_FLUSH_SUBNORMALS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
)


def _duration(seconds: float) -> str:
    for unit, size in (("s ", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _ratio(row: Row, peer: str) -> str:
    if peer not in row.peers:
        return "-"
    median = row.median(peer)
    return f"{row.ratio(peer):.3g}" + ("" if median is None else f" ({median:.3g})")


def _compile_ratio(row: Row, peer: str) -> str:
    peer_measured = row.peers.get(peer)
    return f"{row.ours.compile / peer_measured.compile:.2f}" if peer_measured and peer_measured.compile else "-"


def _cells(row: Row, peers: Sequence[str]) -> list[str]:
    limit = f"{row.ours.time.least / row.limit:.1f}" if row.limit else "-"
    return [row.group, row.name, _duration(row.ours.time.least), *[_ratio(row, peer) for peer in peers], limit, _compile_ratio(row, "jax")]


def header(peers: Sequence[str]) -> list[str]:
    """The columns: our time, its ratios to the peers' (of the least times, then of the medians), to the limit, and of compile times to JAX's."""
    return ["group", "workload", "ours", *[f"/ {peer}" for peer in peers], "x limit", "compile / jax"]


def line(cells: Sequence[str], peers: Sequence[str]) -> str:
    """One row of the table on the screen."""
    widths = [14, 24, 9, *[17] * len(peers), 8, 13]
    return "  ".join(f"{cell:<{w}}" if n < 2 else f"{cell:>{w}}" for n, (cell, w) in enumerate(zip(cells, widths, strict=True)))


def row_line(row: Row, peers: Sequence[str]) -> str:
    """A row as text."""
    return line(_cells(row, peers), peers)


def markdown(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """The table of the documentation."""
    columns = header(peers)
    table = [columns, ["---"] * len(columns), *[_cells(row, peers) for row in rows]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)


def summary(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """Geometric means by peer."""
    lines: list[str] = []
    for peer in peers:
        ratios = [row.ratio(peer) for row in rows if peer in row.peers and not row.compiling]
        if ratios:
            lines.append(f"to {peer}: geometric mean {_mean(ratios):.3f}, worst {max(ratios):.2f}, of {len(ratios)}")
    compiled = [row.ours.compile / row.peers["jax"].compile for row in rows if "jax" in row.peers and row.peers["jax"].compile]
    if compiled:
        lines.append(f"compile time to jax: geometric mean {_mean(compiled):.3f}, worst {max(compiled):.2f}")
    reasons = sorted({f"{peer}: {why}" for row in rows for peer, why in row.missing.items()})
    return "\n".join([*lines, *[f"missing: {reason}" for reason in reasons]])


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def document(rows: Sequence[Row], wrong: Sequence[str], limits: Machine, before: Sequence[float]) -> dict[str, Any]:
    """Everything, for a file, with what was wrong and therefore not timed."""
    documented = [asdict(row) | {"ratios": {p: row.ratio(p) for p in row.peers}, "median_ratios": {p: row.median(p) for p in row.peers}} for row in rows]
    return {"environment": environment(limits, before), "rows": documented, "wrong": list(wrong)}


def environment(limits: Machine, before: Sequence[float]) -> dict[str, Any]:
    """The machine and the versions that this was measured with; ``before`` is the load average at the start."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {
        "cpu": _processor(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "cores of this process": cores,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "flags": {name: os.environ[name] for name in FLAGS if name in os.environ} | {"jax_cpu_enable_async_dispatch": "False", "torch threads": "1"},
        "load at start": list(before),
        "load at end": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
        "limits": asdict(limits),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((text.partition(":")[2].strip() for text in lines if text.startswith("model name")), platform.processor())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def chart(rows: Sequence[Row], peers: Sequence[str], path: str) -> bool:
    """Times as multiples of ours on a logarithmic axis, a dot for each peer and a bar at the limit; needs matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no chart: matplotlib is not installed", file=sys.stderr)
        return False
    plot: Any = plt
    figure, axes = plot.subplots(figsize=(9, 0.24 * len(rows) + 1.6))
    places = list(range(len(rows)))
    axes.axvline(1.0, color="black", linewidth=1, label="wengert")
    for peer, marker, colour in zip(peers, "osD^v", ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00"), strict=False):
        points = [(1 / row.ratio(peer), place) for place, row in zip(places, rows, strict=True) if peer in row.peers]
        axes.scatter([x for x, _ in points], [y for _, y in points], marker=marker, color=colour, s=22, label=peer, zorder=3)
    limits = [(row.limit / row.ours.time.least, place) for place, row in zip(places, rows, strict=True) if row.limit]
    axes.scatter([x for x, _ in limits], [y for _, y in limits], marker="|", color="black", s=70, label="limit of the machine", zorder=3)
    axes.set_yticks(places, [f"{row.group}: {row.name}" for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("time as a multiple of wengert's (further right is slower)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=5, fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plot.close(figure)
    return True

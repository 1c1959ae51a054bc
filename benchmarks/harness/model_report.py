"""Tables and the chart of the group ``models``, of what was written for each number of threads.

The tables are Markdown: times and what more threads gain; arithmetic, memory and compile times beside the limits of the machine; errors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

PEERS = ("jax", "torch", "torch.compile", "iree")


def tables(counts: Sequence[int], documents: Sequence[Any]) -> str:
    """All tables, the geometric means, and who is missing or wrong where."""
    by_name = [{row["name"]: row for row in document["rows"]} for document in documents]
    names = [name for name in by_name[0] if all(name in rows for rows in by_name)]
    peers = [peer for peer in PEERS if any(peer in row["peers"] for rows in by_name for row in rows.values())]
    rows = {name: [row[name] for row in by_name] for name in names}
    parts = [_markdown(table) for table in (_times(counts, rows, peers), _machine(counts, documents, rows, peers), _errors(rows, peers))]
    means = [_means(count, list(runs.values()), peers) for count, runs in zip(counts, by_name, strict=True)]
    compiling = _mean([ratio for row in rows.values() if (ratio := _compile_ratio(row[0], "jax"))])
    reasons = {f"{name}, without {peer}: {why}" for name, runs in rows.items() for row in runs for peer, why in row["missing"].items()}
    wrong = {f"WRONG, not timed: {what}" for document in documents for what in document["wrong"]}
    load = max(document["environment"]["load at end"][0] for document in documents if document["environment"]["load at end"])
    notes = [*means, *([f"compile time: geometric mean to jax {compiling:.2f}"] if compiling else []), *sorted(reasons), *sorted(wrong)]
    return "\n\n".join([*parts, "\n".join([*notes, f"load average {load:.1f}: times of several threads need a quiet machine"])])


def _markdown(table: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [table[0], ["---"] * len(table[0]), *table[1:]])


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _times(counts: Sequence[int], rows: dict[str, list[Any]], peers: list[str]) -> list[list[str]]:
    """Our times and their ratios to the peers', and what all gain from the first number of threads to the last."""
    columns = ["training step"]
    for count in counts:
        columns += [f"{_threads(count)}, ms", *[f"/ {peer}" for peer in peers]]
    table = [columns + (["our gain", *[f"{peer}'s" for peer in peers]] if len(counts) > 1 else [])]
    for name, runs in rows.items():
        cells = [name]
        for row in runs:
            cells += [f"{1e3 * row['ours']['time']['least']:.3g}", *[f"{row['ratios'][peer]:.2f}" if peer in row["ratios"] else "-" for peer in peers]]
        if len(counts) > 1:
            cells += [f"{gain:.2f}" if (gain := _gain(runs, peer)) else "-" for peer in ("", *peers)]
        table.append(cells)
    return table


def _machine(counts: Sequence[int], documents: Sequence[Any], rows: dict[str, list[Any]], peers: list[str]) -> list[list[str]]:
    """GFLOP/s of products and convolutions and their part of the peak, GB/s of our kernels and their part of the memory's, memory, compile times."""
    counted = [peer for peer in peers if any(peer in row["peers"] and row["peers"][peer]["memory"] for runs in rows.values() for row in runs)]
    columns = ["training step", "GFLOP", *[f"GFLOP/s, {_threads(count)}" for count in counts], "MB of kernels", f"GB/s, {_threads(counts[0])}", "MB held"]
    table = [[*columns, *[f"/ {peer}" for peer in counted], "compiled in s", *[f"/ {peer}" for peer in peers if peer != "torch"]]]
    for name, runs in rows.items():
        first, cells = runs[0], [name, f"{runs[0]['floats'] / 1e9:.3g}"]
        for document, row in zip(documents, runs, strict=True):
            rate = row["floats"] / row["ours"]["time"]["least"]
            cells.append(f"{rate / 1e9:.0f} ({rate / document['flops']:.0%})")
        rate, most = first["moved"] / first["ours"]["time"]["least"], _bandwidth(documents[0])
        cells += [f"{first['moved'] / 1e6:.0f}", f"{rate / 1e9:.1f} ({rate / most:.0%})", f"{first['ours']['memory'] / 1e6:.3g}"]
        cells += [_ratio(first["ours"]["memory"], first["peers"].get(peer, {}).get("memory")) for peer in counted]
        cells.append(f"{first['ours']['compile']:.2f}")
        cells += [_ratio(first["ours"]["compile"], first["peers"].get(peer, {}).get("compile")) for peer in peers if peer != "torch"]
        table.append(cells)
    return table


def _errors(rows: dict[str, list[Any]], peers: list[str]) -> list[list[str]]:
    """The largest errors beside double precision, of all numbers of threads."""
    table = [["training step", "our error", *[f"{peer}'s" for peer in peers]]]
    for name, runs in rows.items():
        sides = [[row["ours"] for row in runs], *([row["peers"][peer] for row in runs if peer in row["peers"]] for peer in peers)]
        table.append([name, *[f"{max(side['error'] for side in measured):.0e}" if measured else "-" for measured in sides]])
    return table


def _bandwidth(document: Any) -> float:
    """Bytes per second of a triad over more than the caches hold."""
    triads = document["environment"]["limits"]["bandwidth"]
    return triads[max(triads, key=int)]


def _ratio(mine: float, other: float | None) -> str:
    return f"{mine / other:.2f}" if other else "-"


def _compile_ratio(row: Any, peer: str) -> float:
    return row["ours"]["compile"] / row["peers"][peer]["compile"] if peer in row["peers"] else 0.0


def _gain(rows: Sequence[Any], peer: str) -> float:
    """The time with the fewest threads in units of that with the most; 0 where there is none."""
    times = [row["peers"].get(peer) if peer else row["ours"] for row in rows]
    return times[0]["time"]["least"] / times[-1]["time"]["least"] if times[0] and times[-1] else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0


def _means(count: int, rows: Sequence[Any], peers: list[str]) -> str:
    """Geometric means and the worst, to each peer and to the better of PyTorch as it is and compiled."""
    ratios = {peer: [row["ratios"][peer] for row in rows if peer in row["ratios"]] for peer in peers}
    if "torch" in peers and "torch.compile" in peers:
        both = [[row["ratios"][peer] for peer in ("torch", "torch.compile") if peer in row["ratios"]] for row in rows]
        ratios["the better of torch and torch.compile"] = [max(pair) for pair in both if pair]
    shown = [f"to {name} {_mean(values):.2f}, worst {max(values):.2f}" for name, values in ratios.items() if values]
    return f"{_threads(count)}: geometric mean {'; '.join(shown)}"


def chart(counts: Sequence[int], documents: Sequence[Any], path: str) -> bool:
    """Times as multiples of ours on a logarithmic axis, a panel for each number of threads and a dot for each peer; needs matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no chart: matplotlib is not installed", file=sys.stderr)
        return False
    plot: Any = plt
    most = max(len(document["rows"]) for document in documents)
    figure, panels = plot.subplots(1, len(counts), figsize=(4 + 4 * len(counts), 0.28 * most + 1.6), squeeze=False, sharey=False)
    for count, document, axes in zip(counts, documents, panels[0], strict=True):
        rows = document["rows"]
        axes.axvline(1.0, color="black", linewidth=1, label="wengert")
        for peer, marker, colour in zip(PEERS, "osD^", ("#d55e00", "#0072b2", "#009e73", "#cc79a7"), strict=True):
            points = [(1 / row["ratios"][peer], place) for place, row in enumerate(rows) if peer in row["ratios"]]
            if points:
                axes.scatter(*zip(*points, strict=True), marker=marker, color=colour, s=22, label=peer, zorder=3)
        axes.set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.set_title(_threads(count), fontsize=9)
        axes.set_xlabel("time as a multiple of wengert's", fontsize=8)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    panels[0][0].legend(loc="upper right", fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plot.close(figure)
    return True

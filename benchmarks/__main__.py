"""``python -m benchmarks [--groups rows,mlp] [--quick] [--json FILE] [--chart FILE] [--markdown]``: derivatives next to JAX's.

Both sides compute the value and the gradient of the same function, in turn, in one process on one core (the last one, or
``--core``). JAX dispatches synchronously, which is faster for small programs, and its arrays are on the device already.
Results are compared before anything is timed. Ratios are ours to JAX's: less is better.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.measure import Machine, Row


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the groups that were asked for."""
    options = _options(arguments)
    _pin(options.core)
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_enable_x64", True)
    from benchmarks.measure import call_overhead, machine, measure
    from benchmarks.workloads import GROUPS

    asked = options.groups.split(",") if options.groups else [*GROUPS, "calls"]
    if unknown := set(asked) - {*GROUPS, "calls"}:
        print(f"no group {', '.join(sorted(unknown))}; there are {', '.join([*GROUPS, 'calls'])}", file=sys.stderr)
        return 2
    call_overhead(machine(), 0.01)  # both sides load and set up what every program needs
    limits, rows = machine(), list[Any]()
    for group in asked:
        if group == "calls":
            rows.append(call_overhead(limits, options.seconds))
            print(line(rows[-1]), flush=True)
            continue
        for workload in GROUPS[group](options.quick):
            rows.append(measure(group, workload, limits, options.seconds))
            print(line(rows[-1]), flush=True)
    print(summary(rows))
    if options.markdown:
        print(markdown(rows))
    if options.json:
        Path(options.json).write_text(json.dumps({"environment": environment(limits), "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}, indent=1))
    if options.chart:
        chart(rows, options.chart)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", default="", help="names, separated by commas; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each side of each workload")
    parser.add_argument("--core", type=int, default=None)
    parser.add_argument("--json", help="write everything measured, with the environment")
    parser.add_argument("--chart", help="draw the ratios (needs matplotlib)")
    parser.add_argument("--markdown", action="store_true", help="print the table for the documentation as well")
    return parser.parse_args(arguments)


def _pin(core: int | None) -> None:
    """One core, and no thread pools, before anything starts threads; no cached objects, so that compile times are true."""
    os.environ["WENGERT_CACHE"] = "off"
    os.environ.setdefault("WENGERT_NUM_THREADS", "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0)) if core is None else core])


def line(row: Row) -> str:
    """A row as text."""
    compile_ratio = f"{row.compile_ours * 1e3:7.0f} {row.compile_jax * 1e3:7.0f} ms" if row.compile_jax else ""
    limit = f"{row.ours.least / row.limit:6.1f} x limit" if row.limit else " " * 14
    return (
        f"{row.group:15} {row.name:24} {row.ours.least * 1e6:10.2f} {row.jax.least * 1e6:10.2f} us  {row.ratio:6.3f}"
        f" (median {row.ours.median / row.jax.median:6.3f}) {limit}  {compile_ratio}"
    )


def summary(rows: Sequence[Row]) -> str:
    """Geometric means."""
    compiled = [row.compile_ours / row.compile_jax for row in rows if row.compile_jax]
    text = f"geometric mean {_mean([row.ratio for row in rows]):.3f}, worst {max(row.ratio for row in rows):.2f}"
    return text + (f"; compile time {_mean(compiled):.3f}, worst {max(compiled):.2f}" if compiled else "")


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def markdown(rows: Sequence[Row]) -> str:
    """The table of the documentation."""
    found = ["| group | workload | ours, us | JAX, us | ratio | median | times limit | compile ratio |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        limit = f"{row.ours.least / row.limit:.1f}" if row.limit else ""
        compiled = f"{row.compile_ours / row.compile_jax:.2f}" if row.compile_jax else ""
        cells = (
            row.group,
            row.name,
            f"{row.ours.least * 1e6:.2f}",
            f"{row.jax.least * 1e6:.2f}",
            f"{row.ratio:.3f}",
            f"{row.ours.median / row.jax.median:.3f}",
        )
        found.append(f"| {' | '.join((*cells, limit, compiled))} |")
    return "\n".join(found)


def environment(limits: Machine) -> dict[str, Any]:
    """Where and with what this was measured."""
    import jax
    import llvmlite
    import numpy as np

    import wengert

    versions = {"wengert": wengert.__version__, "jax": jax.__version__, "numpy": np.__version__, "llvmlite": llvmlite.__version__}
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {"machine": platform.machine(), "python": platform.python_version(), "load": load, "limits": asdict(limits), **versions}


def chart(rows: Sequence[Row], path: str) -> None:
    """The ratios as bars on a logarithmic axis."""
    try:
        import matplotlib.pyplot as plt  # pyright: ignore
    except ImportError:
        print("no chart: matplotlib is not installed", file=sys.stderr)
        return
    figure: Any
    axes: Any
    figure, axes = plt.subplots(figsize=(8, 0.28 * len(rows) + 1))  # pyright: ignore
    axes.barh([f"{row.group}: {row.name}" for row in rows], [row.ratio for row in rows])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("time of wengert / time of JAX")
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())

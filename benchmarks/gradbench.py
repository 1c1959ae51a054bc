"""The AD benchmark kit, where there is one: its own program runs with our adapter, and its rows join the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import Measured, Row
from benchmarks.harness.timing import Time


def rows(folder: Path, seconds: float, core: int | None) -> list[Row]:
    """Runs ``bench.py`` of the kit in a process of its own. It checks results against JAX's and reports least CPU times.

    Raises:
        FileNotFoundError: the folder holds no kit.
        RuntimeError: the kit's program failed.
    """
    program = folder / "bench.py"
    if not program.exists():
        raise FileNotFoundError(f"{folder} holds no bench.py")
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.json"
        command = [sys.executable, str(program), "--adapter", "benchmarks.gradbench_adapter:make", "--seconds", str(seconds), "--json", str(report)]
        command += [] if core is None else ["--core", str(core)]
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if not report.exists():
            raise RuntimeError(f"the kit's program failed: {done.stderr.strip()[-500:]}")
        kit_report: Any = json.loads(report.read_text())
    return [_row(each) for each in kit_report["workloads"]]


def _row(entry: dict[str, Any]) -> Row:
    """A row of the kit; what failed there has no time of ours, and the kit's own rule for it is a ratio of 10."""
    jax = Measured(Time(entry["t_jax"], None), entry.get("compile_jax") or 0.0, 0.0)
    least = entry["t_ours"] if entry["t_ours"] is not None else 10 * entry["t_jax"]
    ours = Measured(Time(least, None), entry.get("compile_ours") or 0.0, entry.get("max_rel_err") or 0.0)
    missing = {"wengert": f"{entry['eval']} {entry['size']}: {entry['error']} (counted as 10 times JAX's time)"} if entry["error"] else {}
    return Row("gradbench", f"{entry['eval']} {entry['size']}", ours, {"jax": jax}, missing, wrong={}, limit=0.0)

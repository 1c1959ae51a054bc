"""The table of PyTorch's models: ``python -m benchmarks.torch_library.table RESULTS.json`` from the lines that ``benchmarks.torch_models --json`` wrote."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Result = Mapping[str, Any]


def latest(lines: list[str]) -> dict[str, dict[str, Result]]:
    """The last result of each model and precision (or number of threads), by model."""
    made: dict[str, dict[str, Result]] = {}
    for line in lines:
        result = json.loads(line)
        made.setdefault(result["model"], {})[result.get("dtype") or f"{result['threads']} threads"] = result
    return made


def _error(result: Result | None) -> str:
    if result is None:
        return ""
    if "ours" not in result:
        return result["verdict"] + ": " + next(str(result[k]) for k in ("skipped", "unmade", "export", "refused") if k in result)
    beside = f" ({result['torch']:.0e})" if result["dtype"] == "f32" else ""
    parts = " in part f32" if result["dtype"] == "f64" and result["computes_in_f32"] else ""
    kinks = f"; {result['ours_beside_kinks']:.0e} with {result['ours_kinks']} moved" if result["verdict"] == "across a kink" else ""
    return f"{result['verdict']}, {result['ours']:.0e}{beside}{parts}{kinks}"


def support(results: Mapping[str, Mapping[str, Result]]) -> list[str]:
    """Errors, and seconds on the wall."""
    lines = ["| model | library | parameters | f64 | f32 (PyTorch) | ops | export, import, first call (s) |", "| --- | --- | ---: | --- | --- | ---: | --- |"]
    for name, by_dtype in results.items():
        measured = by_dtype.get("f32") or by_dtype.get("f64")
        if measured is None:
            continue
        times = f"{measured['export_s']:.1f}, {measured['import_s']:.1f}, {measured['compile_s']:.1f}" if "ours" in measured else ""
        counts = f"{measured['parameters']:,}" if "ours" in measured else "", str(measured.get("ops", ""))
        row = (name, measured["library"], counts[0], _error(by_dtype.get("f64")), _error(by_dtype.get("f32")), counts[1], times)
        lines.append(f"| {' | '.join(row)} |")
    return lines


def speed(results: Mapping[str, Mapping[str, Result]]) -> list[str]:
    """Times of a loss with all gradients, and ratios."""
    lines = ["| model | threads | wengert (ms) | PyTorch (ms) | ratio | torch.compile (ms) | ratio |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, by_kind in results.items():
        for measured in by_kind.values():
            if "eager_s" not in measured:
                continue
            ours, eager, compiled = float(measured["ours_s"]), float(measured["eager_s"]), measured.get("compiled_s")
            beside = [f"{1e3 * compiled:.2f}", f"{ours / compiled:.2f}"] if compiled else ["", ""]
            row = [name, str(measured["threads"]), f"{1e3 * ours:.2f}", f"{1e3 * eager:.2f}", f"{ours / eager:.2f}", *beside]
            lines.append(f"| {' | '.join(row)} |")
    return lines


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_library.table", description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    lines = [line for path in parser.parse_args().results for line in path.read_text().splitlines()]
    results = latest(lines)
    print("\n".join([*support(results), "", *speed(results)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

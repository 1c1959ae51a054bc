"""``python -m benchmarks.strategies [--only checkpointing] [--json FILE]``: the figures that strategies are held to.

Each section is a function that returns lines and numbers; nothing here depends on the load of the machine, but for seconds of planning, which are
processor time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.strategies import Section
from benchmarks.strategies.checkpointing import checkpointing, checkpoints_of_loops, offloading
from benchmarks.strategies.edge_pushing import edge_pushing
from benchmarks.strategies.elimination import elimination
from benchmarks.strategies.implicit import implicit
from benchmarks.strategies.mixed import mixed
from benchmarks.strategies.sparsity import sparsity
from benchmarks.strategies.stochastic import stochastic
from benchmarks.strategies.taylor import taylor

SECTIONS: dict[str, Callable[[], Section]] = {
    "checkpointing": checkpointing,
    "checkpointing-loops": checkpoints_of_loops,
    "offloading": offloading,
    "taylor": taylor,
    "sparsity": sparsity,
    "elimination": elimination,
    "edge-pushing": edge_pushing,
    "implicit": implicit,
    "stochastic": stochastic,
    "mixed": mixed,
}

_PARTS = {"checkpointing": ("checkpointing", "checkpointing-loops")}
"""Sections that come together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures of all sections, or of those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strategies", description="The figures that strategies are held to.")
    parser.add_argument(
        "--only",
        default=",".join(name for name in SECTIONS if name != "checkpointing-loops"),
        metavar="A,B",
        help=f"sections: {', '.join(SECTIONS)} (default: all)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    options = parser.parse_args(arguments)
    names = [name for asked in options.only.split(",") for name in (_PARTS.get(asked, (asked,)))]
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    numbers: dict[str, Any] = {}
    for name in names:
        lines, numbers[name] = SECTIONS[name]()
        print("\n".join([name, *(f"  {line}" for line in lines)]))
    if options.json:
        Path(options.json).write_text(json.dumps(numbers, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How JAX's libraries fare: ``python -m benchmarks.jax_libraries`` compares typical programs of each with JAX, and prints the table of the documentation.

Each program is a JAX function that ``wg.from_jax`` imports. Its values, its cotangents (reverse mode), its tangents (JVP) and, where they are usual, second
derivatives (forward over reverse) are compared with those that JAX computes in the same precision, along random directions. An error is the largest
difference of an array relative to its largest element (or a thousandth of the largest of all arrays); right is 1e-9 in f64 and 2e-4 in f32.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.jax_library.catalogue import PROGRAMS
from benchmarks.jax_library.comparison import KINDS, Comparison, compared
from benchmarks.jax_library.program import Program
from benchmarks.jax_library.table import rows


def _progress(program: Program, result: Comparison) -> None:
    """A line to the terminal while the table is computed."""
    shown = f"not made: {result.unmade}" if result.unmade else f"skipped: {result.skipped}"
    if result.outcomes:
        parts = {kind: result.outcomes[kind] for kind in KINDS}
        shown = ", ".join(f"{k} {o.refused[:300] or f'{o.error:.1e}'}" for k, o in parts.items() if o.refused or o.error is not None)
        shown = ("right" if result.right else "WRONG") + ": " + shown
    print(f"{program.library:10} {program.name:48} {result.precision}  {shown}", file=sys.stderr, flush=True)


def main() -> int:
    """Compares programs and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jax_libraries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", help="libraries (all where none is named)")
    parser.add_argument("--program", help="only programs whose names hold this")
    parser.add_argument("--dtype", choices=("f64", "f32"), action="append")
    parser.add_argument("--json", type=Path, help="a file for the results")
    options = parser.parse_args()
    there = dict.fromkeys(p.library for p in PROGRAMS)
    if unknown := [name for name in options.libraries if name not in there]:
        parser.error(f"there is no library {', '.join(unknown)}; there are {', '.join(there)}")
    chosen = [p for p in PROGRAMS if (not options.libraries or p.library in options.libraries) and (options.program or "") in p.name]
    results: list[tuple[Program, dict[str, Comparison]]] = []
    for program in chosen:
        by_precision: dict[str, Comparison] = {}
        for precision in options.dtype or ("f64", "f32"):
            by_precision[precision] = compared(program, precision)
            _progress(program, by_precision[precision])
        results.append((program, by_precision))
    print("\n".join(rows(results)))
    if options.json:
        made = [{"library": p.library, "program": p.name, **{name: asdict(c) for name, c in results.items()}} for p, results in results]
        options.json.write_text(json.dumps(made, indent=1) + "\n")
    return 0 if all(c.right for _, by_precision in results for c in by_precision.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

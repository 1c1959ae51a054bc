"""``python -m benchmarks.array_api [NAMES] [--backend cpu] [--failures] [--json] [--write]``: the array namespace beside the standard.

Each function is called at once (on NumPy arrays), beside array-api-strict; traced, beside what it gives at once; and differentiated in both
modes, beside central differences. Names are those of functions (``sum``, ``linalg.solve``, ``__add__``), all by default; ``--write`` puts the tables in
the documentation.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

from benchmarks.array_api.table import ENTRIES, SECTIONS, Row, markdown, row

DOCUMENT = Path(__file__).parents[2] / "docs" / "array_api.md"
BEGIN, END = "<!-- functions -->\n", "<!-- end of functions -->\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.array_api", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions, all by default")
    parser.add_argument("--backend", choices=["interpreter", "cpu"], default="interpreter", help="what runs the traced programs")
    parser.add_argument("--failures", action="store_true", help="show each call that went wrong")
    parser.add_argument("--json", action="store_true", help="one object for each function")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/array_api.md")
    options = parser.parse_args()
    if unknown := set(options.names) - {entry.name for entry in ENTRIES}:
        parser.error(f"the standard has no function {', '.join(sorted(unknown))}; write linalg.solve for that of an extension")
    if options.write and options.names:
        parser.error("--write takes no names: the page has all functions")
    return options


def main() -> int:
    """Runs the calls and prints the tables; 1 where something differs that should not."""
    options = _options()
    try:
        import array_api_strict as strict
    except ImportError:
        print("the standard's reference is not installed: pip install array-api-strict", file=sys.stderr)
        return 2
    strict.set_array_api_strict_flags(api_version="2024.12")
    warnings.simplefilter("ignore")
    rows: dict[str, list[Row]] = {section: [] for section in SECTIONS}
    for section, entries in SECTIONS.items():
        rows[section] += [row(entry, options.backend, strict) for entry in entries if not options.names or entry.name in options.names]
    every = [r for of_section in rows.values() for r in of_section]
    text = "\n".join(markdown(rows))
    print(json.dumps([r.record() for r in every], indent=1) if options.json else text)
    failures = [line for r in every for line in r.failures]
    if not options.json:
        print(_summary(every))
    if options.failures:
        print("\n".join(failures))
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + _summary(every) + "\n\n" + text + END + rest.partition(END)[2])
    return 1 if failures else 0


def _summary(rows: list[Row]) -> str:
    counts = [f"{sum(t.passed for t in tallies)} of {sum(t.total for t in tallies)} {name}" for name, tallies in (
        ("at once", [r.at_once for r in rows]), ("traced", [r.traced for r in rows]), ("gradients", [r.gradients for r in rows]))]  # fmt: skip
    refused, known, failed = (
        sum(len(r.traced.refused) + len(r.gradients.refused) for r in rows),
        sum(len(r.at_once.known) + len(r.traced.known) for r in rows),
        sum(len(r.failures) for r in rows),
    )
    return f"{len(rows)} functions; calls that agree: {', '.join(counts)}. Refused: {refused}; differ at special complex numbers: {known}; wrong: {failed}."


if __name__ == "__main__":
    sys.exit(main())

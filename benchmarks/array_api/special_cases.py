"""``python -m benchmarks.array_api.special_cases [NAMES] [--backend cpu] [--failures] [--write]``: the special cases in the standard's text.

The text is that of version 2024.12 as the package ``types-array-api`` has it (``pip install types-array-api``). Every sentence that can be read
(:mod:`benchmarks.array_api.special_conditions`) is a check: of all special operands it takes those of which the sentence speaks, in both
precisions, and asks whether functions at once (NumPy's) and traced functions have a result that the sentence accepts.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.array_api.elementwise_entries import FUNCTIONS
from benchmarks.array_api.operands import special
from benchmarks.array_api.special_conditions import Sentence, UnreadError, read

import wengert as wg
import wengert.numpy as wnp

DOCUMENT = Path(__file__).parents[2] / "docs" / "array_api.md"
BEGIN, END = "<!-- special cases -->\n", "<!-- end of special cases -->\n"
ELEMENTWISE = frozenset(entry.name for entry in FUNCTIONS)
VERSION = "_2024_12.py"


def standard_text() -> str:
    """The standard's text as Python declarations.

    Raises:
        PackageNotFoundError: ``types-array-api`` is not installed.
    """
    for file in files("types-array-api") or ():
        if file.name == VERSION:
            return Path(str(file.locate())).read_text()
    raise PackageNotFoundError("types-array-api")


def sections(text: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Every function with special cases: its name, whether operands are complex, and the sentences."""
    older = re.sub(r"^type [^\n]*$", "", re.sub(r"^class (\w+)\[[^\n]*\]\(", r"class \1(", text, flags=re.M), flags=re.M)  # without the syntax of Python 3.12
    for declared in ast.parse(older).body:
        said = ast.get_docstring(declared) if isinstance(declared, ast.ClassDef) else None
        if said is None or not isinstance(declared, ast.ClassDef) or "pecial cases" not in said or declared.name not in ELEMENTWISE:
            continue
        of: dict[bool, list[str]] = {False: [], True: []}
        complex_operands = False
        for line in said[said.index("pecial cases") :].splitlines():
            if line.startswith("For "):
                complex_operands = line.startswith("For complex")
            elif line.startswith("- "):
                of[complex_operands].append(line[2:].strip())
        for complex_operands, sentences in of.items():
            if sentences:
                yield declared.name, complex_operands, sentences


@dataclass
class Agreement:
    """What was found of one function: sentences that speak of operands of ours, those that hold at once and traced, and what was not read."""

    name: str
    sentences: int = 0
    at_once: int = 0
    traced: int = 0
    unread: list[str] = field(default_factory=list[str])
    failures: list[str] = field(default_factory=list[str])


def _operands(sentence: str, dtype: np.dtype[Any]) -> tuple[tuple[str, ...], list[Any]]:
    """The names in a sentence's function and rows of operands, all combinations of special values."""
    names = ("x1_i", "x2_i") if re.search(r"x[12]_i", sentence) else ("x_i", "min_i", "max_i") if "min_i" in sentence or "max_i" in sentence else ("x_i",)
    rows = np.array(list(itertools.product(special(dtype), repeat=len(names))), dtype)
    return names, [np.ascontiguousarray(column) for column in rows.T]


def _holds(sentence: Sentence, names: tuple[str, ...], operands: list[Any], result: Any, complex_operands: bool) -> tuple[int, str]:
    """How many operands a sentence speaks of, and the first at which it does not hold."""
    count = 0
    for position, y in enumerate(result):
        values = {name: float(x[position].real) for name, x in zip(names, operands, strict=True)}
        if complex_operands:
            values = {"a": float(operands[0][position].real), "b": float(operands[0][position].imag)}
        if sentence.applies(values):
            count += 1
            if not sentence.accepts(values, complex(y)):
                return count, f"{values} gives {y}"
    return count, ""


def _traced(function: Any, operands: list[Any], backend: str) -> Any:
    return np.asarray(wg.jit(function).program(*operands).compile(backend)(*operands)[0])


def agreement(name: str, complex_operands: bool, sentences: list[str], backend: str) -> Agreement:
    """Checks the sentences of one function."""
    agreed = Agreement(name + (" (complex)" if complex_operands else ""))
    function = getattr(wnp, name)
    checks: list[Sentence] = []
    for text in sentences:
        try:
            if complex_operands and ("``c``" in text or "``d``" in text):  # a table of both operands' parts
                raise UnreadError(text)
            checks.append(read(text))
        except UnreadError:
            agreed.unread.append(text)
    if not checks:
        return agreed
    everything = " ".join(c.text for c in checks)
    right = {text: [True, True] for text in (c.text for c in checks)}
    spoken: set[str] = set()
    for dtype in (np.dtype(d) for d in (("complex64", "complex128") if complex_operands else ("float32", "float64"))):
        names, operands = _operands(everything, dtype)
        with np.errstate(all="ignore"):
            results = [np.asarray(function(*operands)), _traced(function, operands, backend)]
        for check in checks:
            for side, result in enumerate(results):
                count, failure = _holds(check, names, operands, result, complex_operands)
                if count:
                    spoken.add(check.text)
                if failure:
                    right[check.text][side] = False
                    agreed.failures.append(f"{dtype} {('at once', 'traced')[side]}: {check.text} {failure}")
    agreed.sentences = len(spoken)
    agreed.at_once, agreed.traced = (sum(right[text][side] for text in spoken) for side in (0, 1))
    return agreed


def table(results: list[Agreement]) -> str:
    """The table of the documentation: functions of which a sentence does not hold, and the sums."""
    total, at_once, traced = sum(r.sentences for r in results), sum(r.at_once for r in results), sum(r.traced for r in results)
    unread = sum(len(r.unread) for r in results)
    lines = [f"{total} sentences; hold at once (NumPy): {at_once}, traced: {traced}. Not read: {unread}.", ""]
    lines += ["| function | sentences | at once | traced |", "|---|---:|---:|---:|"]
    lines += [f"| `{r.name}` | {r.sentences} | {r.at_once} | {r.traced} |" for r in results if not r.sentences == r.at_once == r.traced]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Checks, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions (all where none is named)")
    parser.add_argument("--backend", default="interpreter")
    parser.add_argument("--failures", action="store_true", help="every sentence that does not hold, and where")
    parser.add_argument("--unread", action="store_true", help="every sentence that is not read")
    parser.add_argument("--write", action="store_true", help="puts the table into the documentation")
    options = parser.parse_args()
    results = [agreement(name, c, s, options.backend) for name, c, s in sections(standard_text()) if not options.names or name in options.names]
    print(table(results), end="")
    for result in results:
        for shown, lines in ((options.failures, result.failures), (options.unread, result.unread)):
            for line in lines if shown else ():
                print(f"{result.name}: {line}")
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + table(results) + END + rest.partition(END)[2])
    return 1 if any(r.traced < r.at_once for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())

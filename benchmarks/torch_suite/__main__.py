"""``python -m benchmarks.torch_suite test_autograd.py [TESTS] [--write]``: a test file of PyTorch's, run with ``torch`` renamed to ``wengert.eager``.

The file comes with PyTorch's sources (``test/test_autograd.py``), not with its packages. It is taken as it is; only what its imports mean is changed, and
PyTorch's own test classes compare (`expecttest` is needed). Tests that PyTorch itself does not pass on the machine are counted apart. Tests run in a
process that is started again where one ends it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "docs" / "define_by_run.md"
BEGIN, END = "<!-- torch tests -->\n", "<!-- end of torch tests -->\n"


@dataclass(frozen=True)
class Result:
    """What came of one test: passed, skipped or failed, why, and seconds."""

    name: str
    status: str
    note: str = ""
    seconds: float = 0.0


def _some(path: Path, side: str, chosen: Sequence[str], seconds: int) -> tuple[list[str], list[Result]]:
    """The names of all tests, and the results of those that a process got to; the one that ended it is failed."""
    command = [sys.executable, "-m", "benchmarks.torch_suite.worker", str(path), side, str(seconds)]
    names: list[str] = []
    results: list[Result] = []
    running = ""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(list(chosen)))
        process.stdin.close()
        for line in process.stdout:
            read: Any = json.loads(line)
            if not names:
                names = read
            elif read[0] == "begin":
                running = read[1]
            else:
                status, name, note, took = read
                results.append(Result(name, status, note, took))
                running = ""
    if running:
        results.append(Result(running, "failed", "the process ended"))
    return names, results


def run(path: Path, side: str, patterns: Sequence[str], seconds: int) -> list[Result]:
    """The results of all tests, or of those whose names contain one of these words.

    Raises:
        ValueError: the file cannot be imported.
    """
    names, _ = _some(path, side, ["no test"], seconds)
    if not names:
        raise ValueError(f"{path} cannot be imported: run `python -m benchmarks.torch_suite.worker {path} {side} 10 < /dev/null` to see why")
    left = [name for name in names if not patterns or any(p in name for p in patterns)]
    results: list[Result] = []
    while left:
        _, done = _some(path, side, left, seconds)
        results += done or [Result(left[0], "failed", "the process ended")]
        reached = {r.name for r in results}
        left = [name for name in left if name not in reached]
    return results


CAUSES: Sequence[tuple[str, str, str]] = (
    (r"_make_wrapper_subclass|_make_subclass|logging_tensor|SinCounterMode", "wrappers by `__torch_dispatch__`", "out of scope: PyTorch's dispatcher"),
    (r"sparse|to_dense", "sparse tensors", "out of scope: all tensors are dense"),
    (r"is_floating_point|Float16DType|test_type_conversions|_sparse_ctor", "`dtype` objects with attributes", "dtypes are NumPy's"),
    (r"selective|SelectiveActivation|_scoped_library", "selective checkpoints", "not written: a policy needs to stand in front of every operation"),
    (r"_vmap|vmap|respects_requires_grad|forward_ad_batched", "`vmap` while code runs", "not written; traced code has it"),
    (r"nested_tensor|as_nested|_calculate_shape|multiple_dispatch", "nested tensors, operations for tests of the dispatcher", "out of scope"),
    (r"_view_tracking|view_func", "functions that replay a view", "not written; `View.path` has the operations"),
    (r"is_conj|is_neg|check_conj", "lazy conjugation and negation", "`conj()` computes at once"),
    (r"'Storage' object", "`storage()` as a list of elements", "memory is seen through `array`"),
    (r"torch\.jit|mkldnn|emit_itt|autocast|_set_cached_tensors", "TorchScript, MKL-DNN, ITT, autocast, CUDA graphs' caches", "out of scope"),
    (r"profiler|record_function", "layers and allocations in profiles", "there is no LSTM yet, and no operation `aten::empty`"),
    (r"anomaly", "what anomaly detection says of the forward code", "the place is known always, so \"no forward pass information\" is never said"),
    (r"use_reentrant_not_passed", "a warning that a default will change", "it will not here"),
    (r"custom_function_works|out_of_context", "errors for what works here", "kept values may be asked for twice, copies outlive their context"),
)  # fmt: skip
"""Causes of failures: what their names and notes have, what it is, and why."""


def causes(failed: Sequence[Result]) -> str:
    """The table of failures by cause, the most frequent first."""
    counts = Counter(next((i for i, (pattern, _, _) in enumerate(CAUSES) if re.search(pattern, f"{r.name} {r.note}")), len(CAUSES)) for r in failed)
    rest = ("", "others", "single functions and texts; see the list below and `--json`")
    lines = ["| not passed for want of | tests | |", "|---|---|---|"]
    for number, count in sorted(counts.items(), key=lambda item: (item[0] == len(CAUSES), -item[1])):
        _, what, why = (*CAUSES, rest)[number]
        lines.append(f"| {what} | {count} | {why} |")
    return "\n".join(lines)


def reason(note: str) -> str:
    """Failures by kind: what is absent by name, other errors by their first words."""
    if "NotImplementedError: there is no" in note:
        return note.partition("there is no ")[2].split()[0]
    return note[:60]


def table(ours: Iterable[Result], theirs: Iterable[Result]) -> str:
    """Counts by class of tests, and what the failures are."""
    passing = {r.name for r in theirs if r.status == "passed"}
    counted = [r for r in ours if r.name in passing]
    classes = sorted({r.name.split(".")[0] for r in counted})
    lines = ["| class | tests | passed |", "|---|---|---|"]
    for name in (*classes, "all"):
        some = [r for r in counted if name in ("all", r.name.split(".")[0])]
        lines.append(f"| {name} | {len(some)} | {sum(r.status == 'passed' for r in some)} |")
    failed = [r for r in counted if r.status != "passed"]
    kinds = Counter(reason(r.note) for r in failed)
    if failed:
        lines += ["", causes(failed)]
    lines.append("\nBy name: " + ", ".join(f"`{k}` ({n})" for k, n in kinds.most_common() if " " not in k) + ".")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_suite", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="PyTorch's test_autograd.py, from its sources")
    parser.add_argument("tests", nargs="*", help="parts of the names of tests; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="the most that a test may take (default 60)")
    parser.add_argument("--side", choices=("ours", "theirs"), default="ours", help="whose results are listed (default ours)")
    parser.add_argument("--json", type=Path, help="where the results of both sides are kept; what is there of PyTorch's is not run again")
    parser.add_argument("--write", action="store_true", help="put the table into docs/define_by_run.md")
    options = parser.parse_args(arguments)
    if not options.file.is_file():
        parser.error(f"there is no file {options.file}: it comes with PyTorch's sources")
    known: dict[str, Any] = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    results = run(options.file, options.side, options.tests, options.seconds)
    for r in results:
        print(f"{r.status:8} {r.seconds:6.1f} {r.name}  {r.note[:200]}")
    print(dict(Counter(r.status for r in results)))
    if options.side == "ours" and not options.tests and (options.write or options.json):
        theirs = [Result(**r) for r in known["theirs"]] if "theirs" in known else run(options.file, "theirs", [], options.seconds)
        if options.json:
            options.json.write_text(json.dumps({"theirs": [asdict(r) for r in theirs], "ours": [asdict(r) for r in results]}, indent=1))
        text = table(results, theirs)
        print(text)
        if options.write:
            before, _, rest = DOCUMENT.read_text().partition(BEGIN)
            DOCUMENT.write_text(before + BEGIN + text + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()

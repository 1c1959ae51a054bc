"""Runs tests of one file, each as a line of JSON on standard output: run by :mod:`benchmarks.torch_suite`, in a process that may die."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any


def plain(path: Path) -> ModuleType:
    """The file as PyTorch runs it."""
    spec = importlib.util.spec_from_file_location("plain_torch_test", path)
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, str(path.parent))
    module = sys.modules["plain_torch_test"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tests(module: ModuleType) -> dict[str, unittest.TestCase]:
    """The tests of a module by name."""
    suites: list[Any] = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    cases: dict[str, unittest.TestCase] = {}
    while suites:
        suite = suites.pop()
        if isinstance(suite, unittest.TestCase):
            cases[".".join(suite.id().split(".")[-2:])] = suite
        else:
            suites += list(suite)
    return dict(sorted(cases.items()))


def outcome(case: unittest.TestCase, seconds: int) -> tuple[str, str]:
    """What comes of a test (passed, skipped, failed), and why."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    result = unittest.TestResult()
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        case.run(result)
    except BaseException as error:
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    broken = result.errors + result.failures
    if broken:
        lines = [line for line in broken[0][1].splitlines() if line.strip() and not line.startswith("To execute this test")]
        return "failed", _message(lines)
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return ("failed", "unexpected success") if result.unexpectedSuccesses else ("passed", "")


def _message(lines: list[str]) -> str:
    """The last line that begins as an exception does."""
    starts = [i for i, line in enumerate(lines) if (line[:1].isalpha() and ":" in line) or line.endswith(("Error", "Exception"))]
    last = [i for i in starts if not lines[i].startswith("This message")]
    return " ".join(lines[last[-1] :][:4])[:600] if last else " ".join(lines[-3:])[:600]


def main(path: str, side: str, chosen: list[str], seconds: int) -> None:
    """Runs the chosen tests (all if there are none chosen), after a line with the names of all."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if side == "ours":
        from benchmarks.torch_suite.renamed import load

        module = load(Path(path))
    else:
        module = plain(Path(path))
    cases = tests(module)
    print(json.dumps(sorted(cases)), file=channel, flush=True)
    for name in [n for n in chosen or cases if n in cases]:
        print(json.dumps(["begin", name, ""]), file=channel, flush=True)
        begun = time.perf_counter()
        status, note = outcome(cases[name], seconds)
        print(json.dumps([status, name, note, round(time.perf_counter() - begun, 2)]), file=channel, flush=True)
    channel.flush()
    os._exit(0)  # threads that tests left behind are not waited for


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.stdin.read() or "[]"), int(sys.argv[3]))

"""The tests that are written as programs: each `.mlir` file with RUN lines, through `wengert-opt` and FileCheck, wherever it lies.

    // RUN: wengert-opt %s -p "fuse,strip-mine" | filecheck %s
    // CHECK: kernel.nest

LLVM's lit would run the same lines; here they run in this process, which takes milliseconds for each, every pass is
verified, and what is printed is read again.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from run_lines import has_run_lines, run_lines

from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify

TESTS = Path(__file__).parents[1]
FILES = [path for path in sorted(TESTS.rglob("*.mlir")) if has_run_lines(path)]


def test_there_are_some() -> None:
    assert {path.relative_to(TESTS).parts[0] for path in FILES} >= {"fuse", "kernel", "schedule", "bufferize"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_file(path: Path) -> None:
    for printed in run_lines(path):
        if printed.startswith("module"):
            again = parse_module(printed)
            verify(again)
            assert print_module(again) == printed, "what is printed is read again"

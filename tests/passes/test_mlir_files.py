"""The tests that are written as programs: each `.mlir` file with RUN lines, through `wengert-opt` and FileCheck.

    // RUN: wengert-opt %s -p "fuse,strip-mine" | filecheck %s
    // CHECK: kernel.nest

LLVM's lit would run the same lines; here they run in this process, which takes milliseconds for each, and every pass is verified.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from wengert.lab.opt import main

TESTS = Path(__file__).parents[1]
RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)
FILES = [path for path in sorted(TESTS.rglob("*.mlir")) if RUN.search(path.read_text())]


def test_there_are_some() -> None:
    assert {path.parent.name for path in FILES} >= {"fuse", "kernel"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_file(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in RUN.findall(path.read_text()):
        command, _, check = line.partition(" | ")
        name, *arguments = shlex.split(command.replace("%s", str(path)))
        assert name == "wengert-opt", line
        status = main([*arguments, "--verify-each"])
        out, error = capsys.readouterr()
        assert status == 0, f"{line}\n{error}"
        if check:
            options = parse_argv_options(shlex.split(check.replace("%s", str(path))))
            status = Matcher(options, FInput("<output>", out), Parser.from_opts(options)).run()
            assert status == 0, f"{line}\n{out}"

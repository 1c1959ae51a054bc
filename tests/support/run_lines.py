"""Runs what the ``// RUN:`` lines of a test program say, as LLVM's lit does, without a shell.

A line is a pipe of ``wengert-opt`` with options and at most one ``filecheck``; ``%s`` is the file::

    // RUN: wengert-opt %s -p "simplify,cse" | filecheck %s
    // RUN: wengert-opt %s --split-input-file --verify-diagnostics
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from file_check import file_check

from wengert.lab.opt import main

_RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)


def run_lines(path: Path) -> list[str]:
    """Runs every line; the texts that the programs printed."""
    source = path.read_text()
    lines = _RUN.findall(source)
    assert lines, f"{path} has no RUN line"
    return [_run(line, path, source) for line in lines]


def _run(line: str, path: Path, source: str) -> str:
    words = [str(path) if word == "%s" else word for word in shlex.split(line)]
    program, *checks = [list(part) for part in _split(words)]
    assert program[0] == "wengert-opt", f"cannot run {line!r}"
    assert all(check == ["filecheck", str(path)] for check in checks), f"cannot run {line!r}"
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        status = main(program[1:])
    assert status == 0, errors.getvalue()
    for _ in checks:
        file_check(printed.getvalue(), source)
    return printed.getvalue()


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts

"""Runs what the ``// RUN:`` lines of a test program say, as LLVM's lit does, without a shell.

A line is a pipe of ``wengert-opt`` with options and at most one ``filecheck``; ``%s`` is the file::

    // RUN: wengert-opt %s -p "simplify,cse" | filecheck %s
    // RUN: wengert-opt %s -p "fuse" | filecheck %s --check-prefixes=CHECK,STRICT
    // RUN: wengert-opt %s --split-input-file --verify-diagnostics

What every pass leaves is verified.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from wengert.lab.opt import main

_RUN = re.compile(r"^// RUN: (.*)$", re.MULTILINE)


def run_lines(path: Path) -> list[str]:
    """Runs every line; the texts that the programs printed."""
    lines = _RUN.findall(path.read_text())
    assert lines, f"{path} has no RUN line"
    return [_run(line, path) for line in lines]


def has_run_lines(path: Path) -> bool:
    """Whether a file says how it is run."""
    return _RUN.search(path.read_text()) is not None


def _run(line: str, path: Path) -> str:
    words = [str(path) if word == "%s" else word for word in shlex.split(line)]
    program, *checks = [list(part) for part in _split(words)]
    assert program[0] == "wengert-opt", f"cannot run {line!r}"
    assert all(check[0] == "filecheck" for check in checks), f"cannot run {line!r}"
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        status = main([*program[1:], "--verify-each"])
    assert status == 0, f"{line}\n{errors.getvalue()}"
    for check in checks:
        options = parse_argv_options(check)
        status = Matcher(options, FInput("<output>", printed.getvalue()), Parser.from_opts(options)).run()
        assert status == 0, f"{line}\n{printed.getvalue()}"
    return printed.getvalue()


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts

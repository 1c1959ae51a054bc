"""Reproducers of a few ops: one file with a program, its inputs, and the command that shows what is wrong with it."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wengert.ir.pipeline.reproducers import REPRODUCER_DIR
from wengert.lab.reduce.annotated import annotated
from wengert.lab.reduce.candidate import Candidate
from wengert.runtime.loading import parse


@dataclass(frozen=True)
class Reproducer:
    """A small program with inputs, in a file.

    Attributes:
        text: the program, without comments.
        ops: how many ops compute something in it, at any depth.
        path: the file; empty if it could not be written.
        command: what shows the fault again.
        trials: how many candidates were tried to find it.
    """

    text: str
    ops: int
    path: str
    command: str
    trials: int = 0

    def __str__(self) -> str:
        return f"reproducer: {counted(self.ops)}, {self.path or 'not written'}"


def counted(ops: int) -> str:
    """``1 op`` or ``3 ops``."""
    return "1 op" if ops == 1 else f"{ops} ops"


def ops_of_program(text: str) -> int:
    """How many ops a program has, without its functions, what ends their blocks and regions, and constants."""
    plain = ("builtin.module", "func.func", "func.return", "stablehlo.return", "stablehlo.constant")
    return sum(1 for op in parse(text).module.walk() if op.name not in plain)


def write(candidate: Candidate, name: str, command: Callable[[str], str], about: list[str], trials: int = 0, path: str | None = None) -> Reproducer:
    """Writes a reproducer to a file, a new one in the folder for reproducers if none is named.

    Args:
        candidate: the program and its inputs.
        name: part of the name of a new file.
        command: the command that shows the fault, given the file's path.
        about: lines that say what is wrong.
        trials: how many candidates were tried.
        path: the file.
    """
    try:
        made = Path(path) if path is not None else _new_file(name)
        header = [command(shlex.quote(str(made))), "", *about, "", *annotated(candidate.inputs)]
        made.write_text("\n".join([*(f"// {line}".rstrip() for line in header), "", candidate.text.rstrip("\n"), ""]), encoding="utf-8")
    except OSError:
        if path is not None:
            raise
        return Reproducer(candidate.text, ops_of_program(candidate.text), "", command("FILE"), trials)
    return Reproducer(candidate.text, ops_of_program(candidate.text), str(made), command(shlex.quote(str(made))), trials)


def _new_file(name: str) -> Path:
    """A new file that only this user can read, under a name that nobody can foresee."""
    folder = Path(os.environ.get(REPRODUCER_DIR) or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(prefix=f"wengert-{name}-", suffix=".mlir", dir=folder)
    os.close(handle)
    return Path(path)

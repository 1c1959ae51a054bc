"""Installations of stock MLIR: LLVM's commands on the path, or the libraries that the package ``torch-mlir`` ships.

Both are asked by text, in a process of their own: a defect that ends it is an error here.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SECONDS = 300
"""How long a process may take."""
MISSING = "neither mlir-opt-22 nor mlir-opt is on the path (Debian: mlir-22-tools), nor is the package torch-mlir installed"


class StockError(RuntimeError):
    """The message of stock MLIR about a text that it did not take."""


class StockMLIR(ABC):
    """An installation.

    Attributes:
        name: which one, with its version.
    """

    name: str

    @abstractmethod
    def after(self, text: str, pipeline: str = "") -> str:
        """What is left of a module after a pipeline of passes, verified.

        Raises:
            StockError: it is not read, or a pass refuses it.
        """

    @abstractmethod
    def llvm(self, text: str) -> str:
        """A module of the LLVM dialect as LLVM text.

        Raises:
            StockError: something in it has no LLVM text.
        """

    @abstractmethod
    def output(self, text: str, entry: str) -> bytes:
        """What a function without arguments and results, of a module of the LLVM dialect, writes to the standard output.

        Raises:
            StockError: it is not compiled, or ends its process.
        """


class Commands(StockMLIR):
    """LLVM's ``mlir-opt``, ``mlir-translate`` and ``mlir-runner``."""

    def __init__(self, suffix: str):
        self._suffix = suffix
        version = re.search(r"version (\S+)", _asked([f"mlir-opt{suffix}", "--version"]).decode())
        self.name = f"mlir-opt {version[1] if version else '(unknown version)'}"

    def after(self, text: str, pipeline: str = "") -> str:
        wanted = [f"--pass-pipeline=builtin.module({pipeline})"] if pipeline else []
        return self._ask("mlir-opt", "--allow-unregistered-dialect", *wanted, text=text).decode()

    def llvm(self, text: str) -> str:
        return self._ask("mlir-translate", "--mlir-to-llvmir", text=text).decode()

    def output(self, text: str, entry: str) -> bytes:
        return self._ask("mlir-runner", "-e", entry, "--entry-point-result=void", "-O2", text=text)

    def _ask(self, tool: str, *words: str, text: str) -> bytes:
        command = shutil.which(tool + self._suffix)
        if command is None:
            raise StockError(f"{tool}{self._suffix} is not on the path")
        return _asked([command, *words], text)


class Bindings(StockMLIR):
    """The libraries in the package ``torch-mlir``, which has all of upstream's passes and an engine that runs what they make."""

    _WORKER = Path(__file__).with_name("bindings_worker.py")

    def __init__(self) -> None:
        try:
            known = version("torch-mlir")
        except PackageNotFoundError:
            known = "(unknown version)"
        self.name = f"torch-mlir {known}"

    def after(self, text: str, pipeline: str = "") -> str:
        return self._ask("after", text, pipeline=pipeline).decode()

    def llvm(self, text: str) -> str:
        return self._ask("llvm", text).decode()

    def output(self, text: str, entry: str) -> bytes:
        return self._ask("output", text, entry=entry)

    def _ask(self, what: str, text: str, **options: str) -> bytes:
        request: dict[str, Any] = {"what": what, "text": text, **options}
        return _asked([sys.executable, "-I", str(self._WORKER)], json.dumps(request))


@cache
def installed() -> StockMLIR | None:
    """The installation that is there, LLVM's own commands before others; None if there is none."""
    for suffix in ("-22", ""):
        if shutil.which(f"mlir-opt{suffix}") is not None:
            return Commands(suffix)
    return Bindings() if importlib.util.find_spec("torch_mlir") is not None else None


def _asked(command: Sequence[str], text: str = "") -> bytes:
    """What a command writes; a StockError with the first error that it reports if it fails."""
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise StockError(f"{Path(command[0]).name} took more than {SECONDS} seconds") from None
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace").strip().splitlines() or [f"{Path(command[0]).name} ended with {done.returncode}, without a word"]
    raise StockError(next((line for line in said if "error:" in line), said[0]))

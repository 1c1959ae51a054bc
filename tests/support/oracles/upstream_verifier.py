"""StableHLO's own verifier, which JAX ships, in a process of its own: some ill-formed programs make it crash.

Types of the dialect ``quant`` are known to it: a pass that depends on that dialect loads it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

CRASHED = "the verifier crashed"


def load_context() -> Any:
    """A context in which StableHLO, CHLO and the dialect of quantized types are loaded, and StableHLO's passes registered."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()
    context: Any = mlir.make_ir_context()
    with context:
        passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(ir.Module.parse("module {}").operation)
    return context


def run_passes(context: Any, text: str, passes: str) -> str:
    """The module after a pipeline of passes on it."""
    from jaxlib.mlir import ir, passmanager

    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return str(module)


def serve() -> None:
    """Answers each line, a text in JSON, with a line: what is wrong with it, or what it prints as after ``print:``."""
    from jaxlib.mlir import ir

    context = load_context()
    for line in sys.stdin:
        with context:
            try:
                module = ir.Module.parse(json.loads(line))
                module.operation.verify()
                answer = ["", str(module)]
            except Exception as error:
                answer = [str(error) or "rejected", ""]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class Upstream:
    """Asks the verifier; starts it again where it crashed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def _ask(self, text: str) -> list[str]:
        if self._process is None:
            command = [sys.executable, "-W", "ignore", __file__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(text) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        self.close()
        return [CRASHED, ""]

    def __call__(self, text: str) -> str:
        """What is wrong with the text; nothing if it is accepted."""
        return self._ask(text)[0]

    def printed(self, text: str) -> str:
        """The text as StableHLO prints it."""
        problem, printed = self._ask(text)
        assert not problem, problem
        return printed

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """StableHLO's verifier."""
    pytest.importorskip("jax", reason="JAX is the oracle")
    asked = Upstream()
    yield asked
    asked.close()


if __name__ == "__main__":
    serve()

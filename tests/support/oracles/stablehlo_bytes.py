"""MLIR's and StableHLO's own reader and writer of bytecode and portable artifacts, as they are in jaxlib."""

from __future__ import annotations

import io
from typing import Any

import pytest


class StablehloBytes:
    """Reads and writes modules by jaxlib."""

    def __init__(self) -> None:
        from jax._src.interpreters.mlir import make_ir_context
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo

        self._ir: Any = ir
        self._stablehlo: Any = stablehlo
        self._context: Any = make_ir_context()
        self._context.allow_unregistered_dialects = True

    @property
    def current(self) -> str:
        """The latest version of StableHLO that it writes."""
        return self._stablehlo.get_current_version()

    def text(self, source: str | bytes) -> str:
        """The text of a module, given as text or bytecode, as MLIR prints it."""
        with self._context:
            return str(self._ir.Module.parse(source))

    def generic(self, source: str | bytes) -> str:
        """The same in the generic form."""
        with self._context:
            return self._ir.Module.parse(source).operation.get_asm(print_generic_op_form=True)

    def bytecode(self, text: str, version: int) -> bytes:
        """A module as bytecode."""
        written = io.BytesIO()
        with self._context:
            self._ir.Module.parse(text).operation.write_bytecode(written, desired_version=version)
        return written.getvalue()

    def artifact(self, text: str, target: str, mixed: bool = False) -> bytes | None:
        """A module as a portable artifact; None where there is none for the target."""
        with self._context:
            try:
                return self._stablehlo.serialize_portable_artifact(self._ir.Module.parse(text), target, mixed)
            except Exception:  # nanobind raises a class of its own
                return None

    def of_artifact(self, data: bytes) -> str:
        """The text of a portable artifact."""
        with self._context:
            return str(self._stablehlo.deserialize_portable_artifact(self._context, data))


@pytest.fixture(scope="session")
def stablehlo_bytes() -> StablehloBytes:
    """MLIR's own reader and writer; tests are skipped where jaxlib is not installed."""
    pytest.importorskip("jaxlib.mlir", reason="jaxlib is not installed")
    return StablehloBytes()

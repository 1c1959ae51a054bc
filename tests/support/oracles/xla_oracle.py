"""XLA on the CPU as an oracle: compiles a module's text and runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

Compiled = Callable[[Sequence[Any]], list[Any]]


@pytest.fixture(scope="session")
def xla() -> Callable[[str], Compiled]:
    """From the text of a module to its public ``@main`` compiled by XLA."""
    jax = pytest.importorskip("jax", reason="JAX is the oracle")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax.extend.backend import get_backend
        from jaxlib import _jax, lapack
        from jaxlib.mlir import ir
    lapack._lapack.initialize()
    backend = get_backend("cpu")
    device = backend.local_devices()[0]

    def compile_text(text: str) -> Compiled:
        with mlir.make_ir_context():
            module = str(ir.Module.parse(text))
            options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
            program = backend.compile_and_load(module.encode(), _jax.DeviceList((device,)), options)

        def execute(inputs: Sequence[Any]) -> list[Any]:
            with jax.enable_x64(True):
                arrays = [jax.device_put(np.asarray(x), device) for x in inputs]
            results = program.execute_sharded(arrays)
            return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]

        return execute

    return compile_text

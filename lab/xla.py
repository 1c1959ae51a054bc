"""Runs StableHLO text in XLA through JAX: an independent reader and executor of what we print.

Needs the ``jax`` extra. XLA's CPU fusion emitters are turned off, because jaxlib 0.10.2 miscompiles some f64 programs
with them. JAX has no public way to run a module's text, so this reaches into it; the version is pinned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from wengert.ir.installation import command
from wengert.runtime.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@cache
def _jax() -> Any:
    """JAX, set up for comparisons: 64-bit types, LAPACK registered."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        jax, lapack = import_module("jax"), import_module("jaxlib.lapack")
    except ImportError:
        raise InputError(f"running text in XLA needs JAX: {command('jax')}") from None
    jax.config.update("jax_enable_x64", True)
    lapack._lapack.initialize()  # without it a custom call to LAPACK ends the process
    return jax


def compile_text(text: str) -> Callable[..., list[Array]]:
    """The public ``@main`` of a module's text, compiled by XLA for the CPU: a function of NumPy arrays."""
    jax = _jax()
    compiler, mlir = import_module("jax._src.compiler"), import_module("jax._src.interpreters.mlir")
    client, ir = import_module("jaxlib._jax"), import_module("jaxlib.mlir.ir")
    backend = import_module("jax.extend.backend").get_backend("cpu")
    device = backend.local_devices()[0]
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        executable = backend.compile_and_load(str(module).encode(), client.DeviceList((device,)), options)

    def run(*inputs: Any) -> list[Array]:
        results = executable.execute_sharded([jax.device_put(np.asarray(x), device) for x in inputs])
        return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]

    return run

"""IREE as a peer: the StableHLO of JAX's value and gradient, compiled by ``iree-compile`` for this processor (``pip install 'wengert[iree]'``).

Its compiler is a process of its own, so that one that fails takes nothing along. On one thread its device runs in the calling thread (``local-sync``), on
more it has as many workers (``local-task``).
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
from __future__ import annotations

import importlib.util
import os
import subprocess
from typing import Any

import jax
import numpy as np
from benchmarks.harness.side import Side, Unavailable
from benchmarks.harness.timing import processor_seconds
from benchmarks.problems.workloads import Workload

LIMIT = 180
"""Seconds that the compiler may take."""
_devices: list[Any] = []
"""Devices stay until the end: one with workers that is released before its buffers brings the process down (3.13)."""


def is_installed() -> bool:
    """Whether compiler and runtime are there."""
    return importlib.util.find_spec("iree") is not None and all(importlib.util.find_spec(f"iree.{part}") for part in ("compiler", "runtime"))


def iree(workload: Workload) -> Side:
    """IREE's program, its arguments on its device.

    Raises:
        Unavailable: it is not installed, or refuses the program, or takes too long to compile.
    """
    if not is_installed():
        raise Unavailable("it is not installed (pip install 'wengert[iree]')")
    import iree.runtime as runtime

    function = jax.value_and_grad(workload.function, workload.wrt) if workload.wrt else workload.function
    text = jax.jit(function).lower(*workload.inputs).as_text()
    start = processor_seconds()
    image = _compiled(text)
    config, device = _configuration(runtime)
    main = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, image), config).main
    placed = [runtime.asdevicearray(device, np.ascontiguousarray(value)) for value in workload.inputs]

    def call() -> Any:
        return main(*placed)

    try:
        results = call()
    except Exception as error:
        raise Unavailable(f"it fails when it runs: {str(error).splitlines()[0]}") from None
    arrays = [value.to_host() for value in (results if isinstance(results, list | tuple) else [results])]
    seconds = processor_seconds() - start
    statistics = device.allocator.statistics if device.allocator.has_statistics else None
    memory = statistics["device_bytes_peak"] - sum(value.nbytes for value in workload.inputs) if statistics else None
    return Side("iree", call, arrays, seconds, memory)


def _compiled(text: str) -> bytes:
    from iree.compiler.tools import binaries

    command = [binaries.find_tool("iree-compile"), "-", "--iree-input-type=stablehlo", "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"its compiler takes more than {LIMIT} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").splitlines()
        reason = next((line for line in said if "error:" in line), said[0] if said else f"exit status {done.returncode}")
        raise Unavailable(f"it refuses the program: {reason.partition('error:')[2].strip() or reason}")
    return done.stdout


def _configuration(runtime: Any) -> tuple[Any, Any]:
    """A device of its own for each program, so that its statistics are the program's."""
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    if threads > 1:
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    device = runtime.get_device("local-task" if threads > 1 else "local-sync", cache=False)
    _devices.append(device)
    return runtime.Config(device=device), device

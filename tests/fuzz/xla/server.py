"""The process in which JAX's parser and XLA run: ``python -m fuzz.xla.server`` answers the requests that it reads, as pickles, until there are none.

XLA has assertions that programs break, and writes where it should not: in a process of its own neither ends a worker, nor is it taken for a mistake of ours.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

# Two passes count the iterations of loops wrongly: none of "from 0 while below 1, by 2", minus one of "from 2 while below 1".
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_disable_hlo_passes=simplify-while-loops,while-loop-trip-count-annotator",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

REFUSALS = ("UNIMPLEMENTED", "can't be translated to XLA HLO", "failed to legalize operation", "Failed after scan_expander")
"""What XLA says of ops that it does not have; a scan over no elements fails in its own expansion."""

_PR_SET_PDEATHSIG = 1

Answer = tuple[str, Any]
"""``ok`` with the result, ``refused`` or ``failed`` with what was said, ``not there`` for ops that XLA does not have."""


@lru_cache(maxsize=1)
def _tools() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax.extend.backend import get_backend
        from jaxlib import _jax, lapack
        from jaxlib.mlir import ir
    lapack._lapack.initialize()
    return jax, compiler, mlir, get_backend("cpu"), _jax, ir


def parse(text: str) -> Answer:
    """The text as JAX prints it."""
    _, _, mlir, _, _, ir = _tools()
    with mlir.make_ir_context():
        try:
            return "ok", str(ir.Module.parse(text))
        except ir.MLIRError as error:
            return "refused", str(error)[:600]


def execute(text: str, inputs: Sequence[Any]) -> Answer:
    """The results that XLA computes."""
    jax, compiler, mlir, backend, _jax, ir = _tools()
    device = backend.local_devices()[0]
    with mlir.make_ir_context():
        module = str(ir.Module.parse(text))
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        try:
            program = backend.compile_and_load(module.encode(), _jax.DeviceList((device,)), options)
        except jax.errors.JaxRuntimeError as error:
            if any(part in str(error) for part in REFUSALS):
                return "not there", ""
            raise
    with jax.enable_x64(True):
        arrays = [jax.device_put(np.asarray(x), device) for x in inputs]
        results = program.execute_sharded(arrays)
        return "ok", [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]


def main() -> None:
    """Answers requests: the name of a function above and its arguments."""
    with suppress(AttributeError):  # Linux alone has it: whatever this is at, it ends with the process that asks
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes to the errors
    while True:
        try:
            name, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = {"parse": parse, "execute": execute}[name](*arguments)
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()

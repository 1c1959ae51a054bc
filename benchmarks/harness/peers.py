"""The sides of a benchmark: ours, JAX, PyTorch as it is and compiled, and IREE (``iree_peer.py``).

Each takes a workload and gives a call of no arguments that computes the value and the gradients (of a workload that asks for no
gradient: the value), with everything that can be prepared outside of it prepared: texts lowered, arrays on the device.
Compile times are CPU time of the process and of the compilers that it starts, from a text or a function to the first result, nothing cached.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from benchmarks.harness import iree_peer
from benchmarks.harness.side import Array, Side, Unavailable
from benchmarks.harness.timing import processor_seconds
from benchmarks.problems.workloads import Workload

import wengert as wg


def ours(workload: Workload) -> Side:
    """Our derivative of the text that JAX lowers the function to."""
    inputs = workload.inputs
    text = jax.jit(workload.function).lower(*inputs).as_text()
    start = processor_seconds()
    program = wg.parse(text, workload.name)
    compiled = (program.vjp(wrt=workload.wrt) if workload.wrt else program).compile()
    arguments = (*inputs, *(np.ones(r.shape, r.dtype) for r in program.signature.results)) if workload.wrt else inputs
    results = compiled(*arguments)
    return Side("wengert", lambda: compiled(*arguments), [np.array(x) for x in results], processor_seconds() - start, compiled.stats.peak_bytes)


def theirs(workload: Workload) -> Side:
    """JAX's, with its arguments on the device and synchronous dispatch."""
    function = jax.value_and_grad(workload.function, workload.wrt) if workload.wrt else workload.function
    placed = [jax.device_put(value) for value in workload.inputs]
    jax.clear_caches()
    start = processor_seconds()
    compiled = jax.jit(function).lower(*placed).compile()
    results = jax.block_until_ready(compiled(*placed))
    seconds = processor_seconds() - start
    memory = compiled.memory_analysis()
    taken = memory.temp_size_in_bytes + memory.output_size_in_bytes if memory else None
    jitted = jax.jit(function)  # its dispatch is faster than that of a compiled object
    return Side("jax", lambda: jax.block_until_ready(jitted(*placed)), [np.asarray(x) for x in jax.tree.leaves(results)], seconds, taken)


def exact(workload: Workload) -> list[Array]:
    """JAX's results in double precision, which all sides are compared with."""
    function = jax.value_and_grad(workload.function, workload.wrt) if workload.wrt else workload.function
    return [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*map(_double, workload.inputs)))]


def _double(value: Array) -> Array:
    """Floats in double precision; integers as they are."""
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def torch_eager(workload: Workload) -> Side:
    """PyTorch op by op.

    Raises:
        Unavailable: compile times are asked for.
    """
    if workload.compile_only:
        raise Unavailable("it compiles nothing")
    return _torch(workload, "torch", lambda function: function)


def torch_compiled(workload: Workload) -> Side:
    """torch.compile of the function, which compiles its backward as well.

    Raises:
        Unavailable: it would unroll a loop of many steps, or there is no C++ compiler.
    """
    import torch

    if not workload.torch_compiles:
        raise Unavailable("torch.compile would unroll its loop")
    torch.compiler.reset()
    compile: Any = torch.compile
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that its caches are off
            return _torch(workload, "torch.compile", compile)
    except Exception as error:
        if type(error).__module__.startswith("torch._"):
            raise Unavailable(f"{type(error).__name__}: {error}".split("\n")[0]) from None
        raise


def _torch(workload: Workload, name: str, wrap: Callable[[Any], Any]) -> Side:
    import torch
    from benchmarks.problems.torch_memory import peak_bytes
    from benchmarks.problems.torch_workloads import function

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    inputs = [torch.from_numpy(value.copy()) for value in workload.inputs]
    chosen = [inputs[i].requires_grad_() for i in workload.wrt]
    start = processor_seconds()
    f: Any = wrap(function(workload.torch, workload.torch_options))

    def call() -> tuple[Any, ...]:
        value = f(*inputs)
        return (value, *torch.autograd.grad(value, chosen)) if chosen else (value,)

    results = call()
    seconds = processor_seconds() - start
    memory = peak_bytes(call) if name == "torch" else None  # what compiled code allocates is not dispatched, so nobody counts it
    return Side(name, call, [x.detach().numpy() for x in results], seconds, memory)


PEERS: dict[str, Callable[[Workload], Side]] = {"jax": theirs, "torch": torch_eager, "torch.compile": torch_compiled, "iree": iree_peer.iree}

"""Nanoseconds per element of the generated math functions, of NumPy and SciPy, and of XLA if JAX is installed.

    python benchmarks/kernels/vector_math.py [function ...]

One core, 4096 elements (they stay in the first two cache levels), the best of several rounds; arguments are ordinary for the function.
XLA runs one compiled program that applies the function to 2^20 elements, single-threaded, so its time contains memory traffic.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import llvmlite.binding as llvm
import numpy as np
from scipy import special

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import BOUNDS, SUPPORTED, emit
from wengert.transforms.codegen.llvm.math.expressions import FORMATS

COUNT = 4096
NUMPY: dict[str, Any] = {
    "logistic": special.expit, "erf": special.erf, "erfc": special.erfc, "erf_inv": special.erfinv, "lgamma": special.gammaln,
    "digamma": special.digamma, "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power,
}  # fmt: skip
RANGES = {"acos": (-1, 1), "asin": (-1, 1), "atanh": (-1, 1), "erf_inv": (-1, 1), "acosh": (1, 20), "log": (0.01, 20), "rsqrt": (0.01, 20)}
RANGES |= {"sqrt": (0.01, 20), "lgamma": (0.01, 20), "digamma": (0.01, 20), "pow": (0.01, 3), "log1p": (-0.9, 20), "erfc": (-3, 6)}
_engines: list[Any] = []


def generated(function: str, element: str, lanes: int) -> Callable[..., None]:
    """A loop over COUNT elements, repeated; arguments: x, y, result, repetitions."""
    kind = FORMATS[element].llvm
    vector = f"<{lanes} x {kind}>"
    builder = FunctionBuilder()
    arguments = ["%a", "%b"][: SUPPORTED[function, element]]
    loads = [f"{x}.at = getelementptr {kind}, ptr {x}.base, i64 %i\n{x} = load {vector}, ptr {x}.at, align 4" for x in arguments]
    result = emit(function, element, lanes, arguments, builder)
    body = "\n".join([*loads, *builder.lines])
    text = f"""{builder.module.text()}
define void @apply(ptr %a.base, ptr %b.base, ptr %y, i64 %times) {{
entry:
  br label %round
round:
  %r = phi i64 [0, %entry], [%r.next, %round.end]
  call void asm sideeffect "", "~{{memory}}"()
  br label %loop
loop:
  %i = phi i64 [0, %round], [%next, %latch]
{body}
  %to = getelementptr {kind}, ptr %y, i64 %i
  store {vector} {result}, ptr %to, align 4
  br label %latch
latch:
  %next = add nuw nsw i64 %i, {lanes}
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %loop, label %round.end
round.end:
  %r.next = add i64 %r, 1
  %again = icmp ult i64 %r.next, %times
  br i1 %again, label %round, label %done
done:
  ret void
}}"""
    module = llvm.parse_assembly(text)
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    pointer = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(engine.get_function_address("apply"))


def best(call: Callable[[], object], rounds: int = 9) -> float:
    """The shortest of several calls."""
    call()
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def xla_time(function: str, inputs: list[Any]) -> float | None:
    """Nanoseconds per element of XLA, if JAX is installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    lax = jax.lax
    names: dict[str, Any] = {"pow": lax.pow, "exp2": jnp.exp2}
    call = names.get(function) or getattr(lax, function)
    tiled = [jax.device_put(np.tile(x, 256)) for x in inputs]
    run = jax.jit(call)
    return best(lambda: run(*tiled).block_until_ready()) / tiled[0].size * 1e9


def main() -> None:
    """One line per function and element type."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    rng = np.random.default_rng(0)
    register = 64 if llvm.get_host_cpu_features().get("avx512f") else 32 if llvm.get_host_cpu_features().get("avx2") else 16
    print(f"{'function':10} {'type':4} {'wengert':>8} {'2 registers':>12} {'NumPy':>8} {'XLA':>8}   ns per element; bound in ulp")
    for function in sys.argv[1:] or sorted({name for name, _ in SUPPORTED}):
        for element, dtype in (("f32", np.float32), ("f64", np.float64)):
            low, high = RANGES.get(function, (-5, 5))
            inputs = [rng.uniform(low, high, COUNT).astype(dtype) for _ in range(SUPPORTED[function, element])]
            result = np.empty(COUNT, dtype)
            own: list[float] = []
            for lanes in (register // result.itemsize, 2 * register // result.itemsize):
                call, repeat = generated(function, element, lanes), 20
                addresses = inputs[0].ctypes.data, inputs[-1].ctypes.data, result.ctypes.data
                own.append(best(lambda call=call, addresses=addresses, repeat=repeat: call(*addresses, repeat)) / repeat / COUNT * 1e9)
            reference = NUMPY.get(function) or getattr(np, function)
            numpy_time = best(lambda reference=reference, inputs=inputs: [reference(*inputs) for _ in range(5)]) / 5 / COUNT * 1e9
            xla = xla_time(function, inputs)
            xla_text = "" if xla is None else f"{xla:8.2f}"
            print(f"{function:10} {element:4} {own[0]:8.2f} {own[1]:12.2f} {numpy_time:8.2f} {xla_text:>8}   {BOUNDS[function, element]}", flush=True)


if __name__ == "__main__":
    main()

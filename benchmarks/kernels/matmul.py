"""GFLOP/s of the generated matrix products and of NumPy's BLAS, single-threaded.

    python -m benchmarks.kernels.matmul [size ...]

Square products of f32 and f64 in the layouts NN (both operands as they are), NT (B turned: the product of a cotangent) and TN, then
batches of small ones; and of bf16 with sums in f32, beside NumPy's products of f32, where the processor adds up pairs. The generated
function is called in a loop of generated code, NumPy from Python (a microsecond per call), and a loop of multiply-adds in registers for as
long: their least processor times, by turns.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from benchmarks.harness.peak import TYPES, address_of, aligned, peak

from wengert.transforms.codegen.cpu import matmul
from wengert.transforms.codegen.cpu.symbols import register_symbols
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.products.choice import choose
from wengert.transforms.schedule.products.operands import product
from wengert.transforms.schedule.products.plan import MatmulPlan, plan_of


def compiled(plan: MatmulPlan, times: int) -> tuple[Any, float]:
    """A function that computes the product `times` times, and the milliseconds that its compilation took."""
    text = "".join(matmul.helpers(plan).values()) + matmul.emit_function(plan, "product")
    text += f"""
define void @repeat(ptr %a, ptr %b, ptr %c, ptr %s) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void asm sideeffect "", "~{{memory}}"()
  call void @product(ptr %a, ptr %b, ptr %c, ptr %s) noinline
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {times}
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
    start = time.perf_counter()
    address = address_of(text, "repeat")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address), 1e3 * (time.perf_counter() - start)


def interleaved(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """The least processor time of each call, by turns: what disturbs one disturbs all."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.thread_time()
            call()
            least[number] = min(least[number], time.thread_time() - start)
    return least


def compare(n: int, element: str, layout: str, batch: int = 1) -> None:
    """Prints one line for a batch of n x n products."""
    rng = np.random.default_rng(0)
    dtype, sums = TYPES[element], "f64" if element == "f64" else "f32"
    a, b, c = (aligned(batch * n * n, each) for each in (dtype, dtype, TYPES[sums]))
    a[:], b[:] = rng.normal(size=a.size), rng.normal(size=b.size)
    shape = (batch, n, n)
    contraction = product(
        shape, shape, sums, lhs_element=element, rhs_element=element, lhs_batch=(0,), rhs_batch=(0,), lhs_contracting=(1 if layout[0] == "T" else 2,),
        rhs_contracting=(2 if layout[1] == "T" else 1,),
    )  # fmt: skip
    plan = plan_of(contraction, choose(contraction, host().target, parallel=False))
    times = max(1, int(4e6 / plan.flops))
    start = time.perf_counter()
    matmul.emit_function(plan, "product")
    emission = 1e3 * (time.perf_counter() - start)
    call, compilation = compiled(plan, times)
    scratch = aligned(plan.scratch_bytes + 1, np.uint8)
    addresses = [x.ctypes.data for x in (a, b, c, scratch)]
    left, right = a.reshape(shape).astype(TYPES[sums]), b.reshape(shape).astype(TYPES[sums])
    left, right = left.swapaxes(1, 2) if layout[0] == "T" else left, right.swapaxes(1, 2) if layout[1] == "T" else right
    if batch == 1:
        left, right = left[0], right[0]
    result = np.empty((batch, n, n)[-left.ndim :], TYPES[sums])
    highest, flops = peak(element)
    repeated = max(1, round(plan.flops * times / flops))  # as long as the product, so that both are disturbed alike
    calls: list[Callable[[], object]] = [
        lambda: call(*addresses),
        lambda: [np.matmul(left, right, out=result) for _ in range(times)],
        lambda: [highest() for _ in range(repeated)],
    ]
    own, other, most = interleaved(calls, 9 if plan.flops < 4e9 else 4)
    own, other, rate = own / times, other / times, flops * repeated / most
    np.testing.assert_allclose(c.reshape(result.shape), result, rtol=1e-3, atol=1e-3)
    size, mine, others = f"{element} {batch:5} x {n:4} {layout} {plan.method:8}", plan.flops / own, plan.flops / other
    print(
        f"{size} {own * 1e6:10.2f} us {mine / 1e9:6.1f} GFLOP/s {mine / rate:4.0%} of the peak   "
        f"NumPy {others / 1e9:6.1f} GFLOP/s {others / rate:4.0%}   text {emission:.2f} ms, compilation {compilation:.1f} ms",
        flush=True,
    )


def main() -> None:
    """All lines."""
    register_symbols(("wg.blas.sgemm", "wg.blas.dgemm"))
    sizes = [int(x) for x in sys.argv[1:]] or [4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 2048, 4096]
    for element in TYPES:
        if element == "bf16":
            if not host().target.bf16_pairs:
                continue
            sizes = [n for n in sizes if n >= 96]  # smaller products are computed in f32, from operands that are converted before
        for layout in ("NN", "NT", "TN"):
            for n in sizes:
                compare(n, element, layout)
        for n in () if element == "bf16" else (3, 4, 8, 16):
            compare(n, element, "NN", 1000)
            compare(n, element, "NT", 1000)


if __name__ == "__main__":
    main()

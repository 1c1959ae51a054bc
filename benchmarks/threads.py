"""One thread against several: ``python -m benchmarks.threads``.

Both run the same machine code in one process, by turns. The table is Markdown; times are in microseconds, the least and the median
of many windows. A core that others use is not there for the second thread, so the load is printed too.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import wengert as wg
from wengert.runtime.cpu import pool

Workload = tuple[str, Callable[..., Any], tuple[Any, ...]]


def floats(*extents: int) -> Any:
    return np.random.default_rng(0).standard_normal(extents).astype(np.float32)


def mlp(weights: list[Any], x: Any, labels: Any) -> Any:
    for w in weights[:-1]:
        x = jnp.tanh(x @ w)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ weights[-1]) * labels, -1))


def workloads() -> Iterator[Workload]:
    for n in (10**4, 10**5, 10**6, 10**7):
        yield f"tanh(x) x, n={n:.0e}", lambda x: jnp.tanh(x) * x, (floats(n),)
        yield f"2 x + 1, n={n:.0e}", lambda x: 2 * x + 1, (floats(n),)
        yield f"sum of tanh(x)^2 and gradient, n={n:.0e}", jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)), (floats(n),)
    for rows in (100, 1000, 10000):
        yield f"softmax {rows}x1024", jax.nn.softmax, (floats(rows, 1024),)
        yield f"sums of columns {rows}x1024", lambda x: jnp.sum(x * x, 0), (floats(rows, 1024),)
    for n in (256, 512, 1024):
        yield f"matmul {n}", jnp.matmul, (floats(n, n), floats(n, n))
    yield "1000 products 16x16", jnp.matmul, (floats(1000, 16, 16), floats(1000, 16, 16))
    yield "Cholesky, 1000 of 8x8", lambda x: jnp.linalg.cholesky(x @ jnp.swapaxes(x, 1, 2) + 8 * jnp.eye(8)), (floats(1000, 8, 8),)
    yield "sort 1000x300", lambda x: jnp.sort(x, 1), (floats(1000, 300),)
    for n in (10**4, 10**6):
        yield f"one row sorted, n={n:.0e}", jnp.sort, (floats(n),)
        yield f"order of one row, n={n:.0e}", jnp.argsort, (floats(n),)
    for n in (10**5, 10**6, 10**7):
        yield f"one running sum, n={n:.0e}", jnp.cumsum, (floats(n),)
    yield "transform 64x64x64", jnp.fft.fftn, (floats(64, 64, 64) + 1j * floats(64, 64, 64),)
    yield "one element changed of a copy, n=1e+07", lambda x: x.at[7].set(1.0), (floats(10**7),)
    convolution = lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # noqa: E731
    yield "convolution 16x32x32", convolution, (floats(16, 32, 32, 16), floats(3, 3, 16, 32))
    for batch, sizes in ((32, (64, 64, 10)), (128, (784, 256, 10)), (256, (1024, 1024, 100))):
        weights = [floats(n, m) / n for n, m in itertools.pairwise(sizes)]
        yield f"MLP B{batch} {'-'.join(map(str, sizes))}", jax.value_and_grad(mlp), (weights, floats(batch, sizes[0]), abs(floats(batch, sizes[-1])))


def compare(call: Callable[[], object], counts: tuple[int, int], seconds: float) -> list[tuple[float, float]]:
    """Least and median time with each number of threads."""
    count_windows: tuple[list[float], list[float]] = ([], [])
    call()
    start = time.perf_counter()
    call()
    repeat = max(1, int(2e-4 / (time.perf_counter() - start)))
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end or len(count_windows[1]) < 5:
        for count, windows in zip(counts, count_windows, strict=True):
            pool.set_threads(count)
            call()
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            windows.append((time.perf_counter() - start) / repeat)
    return [(1e6 * min(windows), 1e6 * statistics.median(windows)) for windows in count_windows]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    options.add_argument("--seconds", type=float, default=0.5, help="for each workload and number of threads")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--only", default="", help="workloads whose name contains this")
    given = options.parse_args()
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}\n")
    print(f"| workload | one thread, least | median | {given.threads} threads, least | median | ratio of the least | of the medians |")
    print("|---|---|---|---|---|---|---|")
    for name, function, inputs in workloads():
        if given.only not in name:
            continue
        compiled = wg.parse(jax.jit(function).lower(*inputs).as_text()).compile()
        flat = jax.tree.leaves(inputs)
        one, several = compare(lambda compiled=compiled, flat=flat: compiled(*flat), (1, given.threads), given.seconds)
        times = " | ".join(f"{t:.1f}" for t in (*one, *several))
        print(f"| {name} | {times} | {several[0] / one[0]:.2f} | {several[1] / one[1]:.2f} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

"""One workload on both sides: correctness first, then time and compile time; and the limits of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from benchmarks.timing import Time, interleaved
from benchmarks.workloads import Workload

import wengert as wg

TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


@dataclass(frozen=True)
class Row:
    """What was measured of one workload; times in seconds, ``limit`` is what the machine needs at least (0: not counted)."""

    group: str
    name: str
    ours: Time
    jax: Time
    compile_ours: float
    compile_jax: float
    limit: float
    error: float

    @property
    def ratio(self) -> float:
        """Ours to JAX's, of the least times."""
        return self.ours.least / self.jax.least


@dataclass(frozen=True)
class Machine:
    """What this core can do: bytes per second from memory (triad), flops per second in f32 (a product of NumPy)."""

    bandwidth: float
    flops: float


def machine() -> Machine:
    """The limits, measured now."""
    a, b, c = (np.ones(1 << 23, np.float32) for _ in range(3))
    (triad,) = interleaved([lambda: np.add(a, b, out=c)], 0.3, 5)
    x = np.ones((1024, 1024), np.float32)
    (product,) = interleaved([lambda: x @ x], 0.5, 5)
    return Machine(3.0 * a.nbytes / triad.least, 2.0 * 1024**3 / product.least)


def measure(group: str, workload: Workload, limits: Machine, seconds: float) -> Row:
    """Compiles and compares both sides, then times them in turn.

    Raises:
        AssertionError: ours is further from JAX's result in double precision than the tolerance, and than twice JAX's in single.
    """
    inputs = workload.inputs
    text = jax.jit(workload.function).lower(*inputs).as_text()
    start = time.process_time()
    compiled = wg.parse(text, workload.name).vjp(wrt=workload.wrt).compile()
    compile_ours = time.process_time() - start
    start = time.process_time()
    theirs = jax.jit(jax.value_and_grad(workload.function, workload.wrt)).lower(*inputs).compile()
    compile_jax = time.process_time() - start
    seed = np.ones((), compiled.signature.results[0].dtype)
    placed = [jax.device_put(value) for value in inputs]
    value, gradients = theirs(*placed)
    exact = jax.jit(jax.value_and_grad(workload.function, workload.wrt))(*[value.astype(np.float64) for value in inputs])
    error, other = (_worst(found, [exact[0], *exact[1]]) for found in (compiled(*inputs, seed), [value, *gradients]))
    allowed = max(TOLERANCE[inputs[0].dtype.name], 2 * other)
    assert error <= allowed, f"{group} {workload.name}: off by {error:.1e}, more than {allowed:.1e}"
    ours, peer = interleaved([lambda: compiled(*inputs, seed), lambda: jax.block_until_ready(theirs(*placed))], seconds)
    limit = max(workload.bytes / limits.bandwidth, workload.floats / limits.flops)
    return Row(group, workload.name, ours, peer, compile_ours, compile_jax, limit, error)


def call_overhead(limits: Machine, seconds: float) -> Row:
    """Five arrays of one element, added: hardly any work."""
    inputs = tuple(np.full(1, float(i)) for i in range(5))
    add: Callable[..., Any] = lambda a, b, c, d, e: a + b + c + d + e  # noqa: E731
    compiled = wg.parse(jax.jit(add).lower(*inputs).as_text()).compile()
    theirs = jax.jit(add)
    placed = [jax.device_put(value) for value in inputs]
    error = _worst(compiled(*inputs), [theirs(*placed)])
    ours, peer = interleaved([lambda: compiled(*inputs), lambda: jax.block_until_ready(theirs(*placed))], seconds)
    return Row("calls", "five arrays", ours, peer, 0.0, 0.0, 0.0, error)


def _worst(ours: Any, theirs: Any) -> float:
    """The largest difference relative to the largest number of the same array."""
    worst = 0.0
    for x, y in zip(map(np.asarray, ours), map(np.asarray, theirs), strict=True):
        worst = max(worst, float(np.max(np.abs(x - y)) / max(float(np.max(np.abs(y))), 1e-30)))
    return worst

"""``python -m benchmarks.traced [--seconds 0.3] [--markdown]``: what a call of a traced function costs, and what tracing does, next to JAX.

Calls are those of functions with next to no work, with NumPy arrays on our side and with JAX's own arrays on JAX's (its fastest way), which
dispatches synchronously. Tracing is the time to the program as text: ``f.ir(*args)`` of a new function, and ``jax.jit(f).lower(*args).as_text()``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmarks.harness.timing import interleaved

import wengert as wg
import wengert.numpy as wnp

Function = Callable[..., Any]


def total(xp: Any) -> Function:
    """The sum of its arguments."""
    return lambda *arrays: sum(arrays[1:], start=arrays[0])


def network(xp: Any) -> Function:
    """The loss of a network of three layers."""

    def loss(x: Any, y: Any, *weights: Any) -> Any:
        for w in weights:
            x = xp.tanh(x @ w)
        return xp.mean((x - y) ** 2)

    return loss


def calls(seconds: float) -> list[tuple[str, float, float]]:
    """Microseconds of a call with one, two and five small arrays, ours and JAX's."""
    table: list[tuple[str, float, float]] = []
    for count in (1, 2, 5):
        arrays = [np.arange(4.0) + i for i in range(count)]
        ours, theirs = wg.jit(total(wnp)), jax.jit(total(jnp))
        on_device = [jax.device_put(a) for a in arrays]
        np.testing.assert_allclose(ours(*arrays), np.asarray(theirs(*on_device)))
        times = interleaved([lambda f=ours, a=arrays: f(*a), lambda f=theirs, a=on_device: jax.block_until_ready(f(*a))], seconds)
        table.append((f"jit call, {count} arrays of 4", *[1e6 * t.least for t in times]))
    return table


def traces(seconds: float) -> list[tuple[str, float, float]]:
    """Microseconds to the text of a loss and of its gradient, traced anew each time."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((8, 16), (8, 4), (16, 16), (16, 16), (16, 4))]
    sides: list[tuple[str, Function, Function]] = [
        ("trace of a loss", lambda: wg.jit(network(wnp)).ir(*arrays), lambda: jax.jit(network(jnp)).lower(*arrays).as_text()),
        (
            "trace of its gradient",
            lambda: wg.jit(wg.grad(network(wnp), argnums=(2, 3, 4))).ir(*arrays),
            lambda: jax.jit(jax.grad(network(jnp), argnums=(2, 3, 4))).lower(*arrays).as_text(),
        ),
    ]
    return [(name, *[1e6 * t.least for t in interleaved([ours, theirs], seconds)]) for name, ours, theirs in sides]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each side of each line")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    lines = [*calls(options.seconds), *traces(options.seconds)]
    if options.markdown:
        print("| what | ours, us | JAX, us | ratio |\n|---|---|---|---|")
    for what, ours, theirs in lines:
        row = f"{what} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.3f}"
        print(f"| {row} |" if options.markdown else row)


if __name__ == "__main__":
    main()

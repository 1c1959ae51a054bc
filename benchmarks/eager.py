"""``python -m benchmarks.eager [--seconds 0.3] [--markdown]``: define-by-run code next to PyTorch's, on one core.

Three things are measured: what a small operation costs, recorded or not; a backward pass of a tape whose structure was seen before
(ours is compiled then), walked record by record as well; and a function compiled with ``eager.compile``, next to the function
itself. Both sides run the same code, and gradients are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from benchmarks.harness.timing import interleaved

import wengert.eager as eager
from wengert.eager import graph


@dataclass(frozen=True)
class Line:
    """One comparison: microseconds of each side."""

    what: str
    ours: float
    torch: float
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.torch


def microseconds(calls: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """The least time of each call, in windows that alternate; both sides run in one thread."""
    for call in calls:
        for _ in range(3):  # a backward pass is compiled at the third sight
            call()
    return [1e6 * t.least for t in interleaved(calls, seconds)]


# -- small operations


def small_operations(seconds: float) -> list[Line]:
    """Operations on three floats."""

    def calls(T: Any) -> dict[str, Callable[[], Any]]:
        a, b, r = (T.tensor([1.0, 2.0, 3.0], requires_grad=tracked) for tracked in (False, False, True))
        m = T.ones(3, 3)
        return {
            "add": lambda: a + b,
            "add, recorded": lambda: r + b,
            "mul, recorded": lambda: r * b,
            "mul by a number, recorded": lambda: r * 2.0,
            "sin": lambda: a.sin(),
            "sin, recorded": lambda: r.sin(),
            "matrix times vector": lambda: m @ a,
            "sum, recorded": lambda: r.sum(),
            "select, recorded": lambda: r[0],
            "add in place": lambda: a.add_(b),
        }

    ours, theirs = calls(eager), calls(torch)
    lines: list[Line] = []
    for name, call in ours.items():
        x, y = microseconds([call, theirs[name]], seconds)
        lines.append(Line(name, x, y))
    return lines


# -- backward passes


def network(T: Any, depth: int, width: int, batch: int) -> tuple[Callable[[], Any], list[Any]]:
    """A perceptron and its mean square."""
    rng = np.random.default_rng(0)
    weights = [T.tensor((rng.standard_normal((width, width)) / width**0.5).astype(np.float32), requires_grad=True) for _ in range(depth)]
    biases = [T.tensor(np.zeros(width, np.float32), requires_grad=True) for _ in range(depth)]
    x = T.tensor(rng.standard_normal((batch, width)).astype(np.float32))

    def loss() -> Any:
        h = x
        for w, b in zip(weights, biases, strict=True):
            h = (h @ w + b).tanh()
        return (h * h).mean()

    return loss, weights + biases


def chain(T: Any, length: int, hooks: int = 0) -> tuple[Callable[[], Any], list[Any]]:
    """A long chain of operations on three floats, with hooks at equal distances."""
    x = T.tensor([0.5, 0.2, 0.1], requires_grad=True)

    def loss() -> Any:
        h = x
        for i in range(length):
            h = h.sin() * x + 0.5
            if i % (length // (hooks + 1) + 1) == length // (hooks + 1):
                h.register_hook(lambda g: None)
        return h.sum()

    return loss, [x]


def checkpointed(T: Any, blocks: int, length: int) -> tuple[Callable[[], Any], list[Any]]:
    """The same chain in checkpoints."""
    x = T.tensor([0.5, 0.2, 0.1], requires_grad=True)

    def block(h: Any) -> Any:
        for _ in range(length):
            h = h.sin() * x + 0.5
        return h

    def loss() -> Any:
        h = x
        for _ in range(blocks):
            h = eager.checkpoint(block, h) if T is eager else torch.utils.checkpoint.checkpoint(block, h, use_reentrant=False)
        return h.sum()

    return loss, [x]


def recurrent(T: Any, steps: int, width: int) -> tuple[Callable[[], Any], list[Any]]:
    """A recurrent network over a sequence."""
    rng = np.random.default_rng(1)
    w, u = (T.tensor((rng.standard_normal((width, width)) / width**0.5).astype(np.float32), requires_grad=True) for _ in range(2))
    xs = T.tensor(rng.standard_normal((steps, 4, width)).astype(np.float32))

    def loss() -> Any:
        h = T.zeros(4, width)
        for t in range(steps):
            h = (xs[t] @ w + h @ u).tanh()
        return h.sum()

    return loss, [w, u]


TAPES: dict[str, Callable[[Any], tuple[Callable[[], Any], list[Any]]]] = {
    "perceptron 4x16, batch 8": lambda T: network(T, 4, 16, 8),
    "perceptron 3x256, batch 64": lambda T: network(T, 3, 256, 64),
    "chain of 150 operations": lambda T: chain(T, 50),
    "the chain with two hooks": lambda T: chain(T, 50, 2),
    "the chain in five checkpoints": lambda T: checkpointed(T, 5, 10),
    "recurrent, 12 steps of 32": lambda T: recurrent(T, 12, 32),
}


def backward_time(loss: Callable[[], Any], leaves: Sequence[Any]) -> float:
    """CPU seconds of one backward pass, forward not counted."""
    for leaf in leaves:
        leaf.grad = None
    y = loss()
    start = time.process_time()
    y.backward()
    return time.process_time() - start


def backward_passes(seconds: float) -> list[Line]:
    """Backward passes of tapes that were seen before."""
    lines: list[Line] = []
    for name, make in TAPES.items():
        sides = [make(eager), make(torch)]
        start = time.process_time()
        first = [backward_time(*sides[0]) for _ in range(graph.COMPILE_AFTER + 1)]
        preparing = time.process_time() - start
        backward_time(*sides[1])
        for ours, theirs in zip(sides[0][1], sides[1][1], strict=True):
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-3, atol=1e-5)
        window_times: list[list[float]] = [[], [], []]
        largest = graph.LARGEST
        begin = time.perf_counter()
        while time.perf_counter() - begin < 5 * seconds:
            window_times[0].append(backward_time(*sides[0]))
            window_times[1].append(backward_time(*sides[1]))
            graph.LARGEST = 0
            window_times[2].append(backward_time(*sides[0]))
            graph.LARGEST = largest
        compiled, theirs, walked = (min(times) * 1e6 for times in window_times)
        note = f"until compiled {preparing:.2f} s, the compiling pass {first[-1]:.2f} s"
        lines += [Line(f"{name}, compiled", compiled, theirs, note), Line(f"{name}, walked", walked, theirs)]
    return lines


# -- compiled functions


def compiled_functions(seconds: float) -> list[Line]:
    """A training step, as it is and compiled; PyTorch runs it as it is."""

    def step(T: Any) -> Callable[[], Any]:
        loss, leaves = network(T, 4, 16, 8)

        def run() -> Any:
            for leaf in leaves:
                leaf.grad = None
            y = loss()
            y.backward()
            with T.no_grad():
                for leaf in leaves:
                    leaf.sub_(0.001 * leaf.grad)
            return y.detach()

        return run

    compiled = eager.compile(step(eager))
    compiled()
    ours, plain, theirs = microseconds([compiled, step(eager), step(torch)], seconds)
    return [
        Line("training step, compiled", ours, theirs, "; ".join(compiled.reasons)),
        Line("training step", plain, theirs),
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    if options.markdown:
        print("| what | ours, us | PyTorch, us | ratio | |\n|---|---|---|---|---|")
    for measured in (small_operations, backward_passes, compiled_functions):
        for line in measured(options.seconds):
            if options.markdown:
                print(f"| {line.what} | {line.ours:.2f} | {line.torch:.2f} | {line.ratio:.2f} | {line.note} |", flush=True)
            else:
                print(f"{line.what:36} {line.ours:10.2f} us   PyTorch {line.torch:10.2f} us   ratio {line.ratio:5.2f}   {line.note}", flush=True)


if __name__ == "__main__":
    main()

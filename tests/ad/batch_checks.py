"""How batching is checked: against the loop over the batch elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.batching.passes import batch
from wengert.transforms.ad.derive import jvp, vjp

Arrays = list[np.ndarray[Any, np.dtype[Any]]]
Batch = list[Arrays]
"""For each argument, its value in each batch element."""


def made(module: ModuleOp, change: Callable[[ModuleOp], None]) -> ModuleOp:
    clone = module.clone()
    change(clone)
    verify(clone)
    return clone


def batched(module: ModuleOp, size: int, flags: Sequence[bool]) -> ModuleOp:
    return made(module, lambda m: batch(m, size, in_axes=[0 if flag else None for flag in flags]))


def subsets(count: int) -> list[tuple[bool, ...]]:
    """All choices of batched arguments but the empty one."""
    return [flags for flags in itertools.product((True, False), repeat=count) if any(flags)]


def stacked(elements: Batch, flags: Sequence[bool]) -> Arrays:
    return [np.stack(values) if flag else values[0] for values, flag in zip(elements, flags, strict=True)]


def loop(module: ModuleOp, elements: Batch, flags: Sequence[bool]) -> Batch:
    """The results of each batch element, one run after the other; arguments that are not batched are those of the first."""
    size = len(elements[0])
    return [run(module, [values[k] if flag else values[0] for values, flag in zip(elements, flags, strict=True)]) for k in range(size)]


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def check_batch(module: ModuleOp, elements: Batch, flags: Sequence[bool], tolerance: float = 1e-12) -> None:
    """The batched module gives for each batch element what the module gives."""
    actual = run(batched(module, len(elements[0]), flags), stacked(elements, flags))
    for k, expected in enumerate(loop(module, elements, flags)):
        for a, b in zip(actual, expected, strict=True):
            assert_close(a[k], b, tolerance)


def random_batch(like: Arrays, size: int, rng: np.random.Generator) -> Batch:
    def draw(a: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
        return np.asarray(rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else 0), a.dtype)

    return [[draw(np.asarray(a)) for _ in range(size)] for a in like]


def check_derivatives(module: ModuleOp, elements: Batch, flags: Sequence[bool], rng: np.random.Generator, tolerance: float = 1e-10) -> None:
    """Batching and both modes commute. The cotangent of an argument that is the same for all batch elements is the sum of theirs."""
    size = len(elements[0])
    real = [i for i, values in enumerate(elements) if values[0].dtype.kind in "fc"]
    outputs = run(module, [values[0] for values in elements])
    x_dots = random_batch([elements[i][0] for i in real], size, rng)
    y_bars = random_batch([y for y in outputs if y.dtype.kind in "fc"], size, rng)
    forward, reverse = made(module, jvp), made(module, vjp)
    dot_flags = [flags[i] for i in real]
    check_batch(forward, [*elements, *x_dots], [*flags, *dot_flags], tolerance)
    check_batch(reverse, [*elements, *y_bars], [*flags, *[True] * len(y_bars)], tolerance)
    whole = batched(module, size, flags)
    actual = run(made(whole, jvp), stacked([*elements, *x_dots], [*flags, *dot_flags]))
    for k, expected in enumerate(loop(forward, [*elements, *x_dots], [*flags, *dot_flags])):
        for a, b in zip(actual, expected, strict=True):
            assert_close(a[k], b, tolerance)
    actual = run(made(whole, vjp), stacked([*elements, *y_bars], [*flags, *[True] * len(y_bars)]))[len(outputs) :]
    each = [results[len(outputs) :] for results in loop(reverse, [*elements, *y_bars], [*flags, *[True] * len(y_bars)])]
    for position, i in enumerate(real):
        expected = np.stack([results[position] for results in each])
        assert_close(actual[position], expected if flags[i] else expected.sum(0), 10 * tolerance)

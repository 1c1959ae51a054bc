"""How derivatives are checked: against differences, against each other, and once more for their own derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.ir.tensor_types import is_differentiable
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.ad.derive import jvp, vjp

Arrays = list[np.ndarray[Any, np.dtype[Any]]]


def entry(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def active_arguments(module: ModuleOp) -> list[int]:
    return [i for i, type in enumerate(entry(module).function_type.inputs) if is_differentiable(type)]


def active_results(module: ModuleOp) -> list[int]:
    return [i for i, type in enumerate(entry(module).function_type.outputs) if is_differentiable(type)]


def random_like(arrays: Sequence[np.ndarray[Any, np.dtype[Any]]], rng: np.random.Generator) -> Arrays:
    return [np.asarray(rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if np.iscomplexobj(a) else 0), a.dtype) for a in arrays]


def pairing(xs: Sequence[np.ndarray[Any, np.dtype[Any]]], ys: Sequence[np.ndarray[Any, np.dtype[Any]]]) -> float:
    """Re(sum of x y), without conjugation: what transposition preserves."""
    return float(sum((np.asarray(x, complex) * np.asarray(y, complex)).real.sum() for x, y in zip(xs, ys, strict=True)))


def derived(module: ModuleOp, mode: Any) -> ModuleOp:
    clone = module.clone()
    mode(clone)
    verify(clone)
    return clone


def differences(module: ModuleOp, inputs: Arrays, active: Sequence[int], x_dots: Arrays, step: float = 1e-6) -> Arrays:
    """Central differences of the active results along the tangents."""

    def moved(sign: int) -> Arrays:
        shifted = list(inputs)
        for i, x_dot in zip(active, x_dots, strict=True):
            shifted[i] = np.asarray(inputs[i] + sign * step * x_dot, inputs[i].dtype)
        outputs = run(module, shifted)
        return [outputs[j] for j in active_results(module)]

    return [(ahead - behind) / (2 * step) for ahead, behind in zip(moved(1), moved(-1), strict=True)]


def assert_near(actual: Arrays, expected: Arrays, tolerance: float) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        if a.size:
            assert np.abs(a - b).max() <= tolerance * max(1.0, float(np.abs(b).max())), (a, b)


def check_first_order(module: ModuleOp, inputs: Arrays, rng: np.random.Generator) -> None:
    """The JVP agrees with differences, and the VJP is its transpose."""
    active = active_arguments(module)
    outputs = run(module, inputs)
    x_dots = random_like([inputs[i] for i in active], rng)
    y_bars = random_like([outputs[j] for j in active_results(module)], rng)
    forward = run(derived(module, jvp), [*inputs, *x_dots])
    reverse = run(derived(module, vjp), [*inputs, *y_bars])
    n = len(outputs)
    for primal in (forward[:n], reverse[:n]):
        for a, b in zip(primal, outputs, strict=True):
            np.testing.assert_array_equal(a, b)
    assert_near(forward[n:], differences(module, inputs, active, x_dots), 1e-7)
    expected = pairing(y_bars, forward[n:])
    assert abs(pairing(reverse[n:], x_dots) - expected) <= 1e-10 * max(1.0, abs(expected))


def check_second_order(module: ModuleOp, inputs: Arrays, rng: np.random.Generator) -> None:
    """Derivatives of both derivatives are right in both modes."""
    outputs = run(module, inputs)
    x_dots = random_like([inputs[i] for i in active_arguments(module)], rng)
    y_bars = random_like([outputs[j] for j in active_results(module)], rng)
    check_first_order(derived(module, vjp), [*inputs, *y_bars], rng)
    check_first_order(derived(module, jvp), [*inputs, *x_dots], rng)

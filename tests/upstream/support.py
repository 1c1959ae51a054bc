"""Running upstream programs in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]


def run(text: str, *inputs: Any) -> tuple[Array, ...]:
    """The results of ``@main`` on the interpreter."""
    return wg.parse(text, "test.mlir").compile("interpreter")(*inputs)


def check(text: str, inputs: list[Any], *expected: Any, tolerance: float = 1e-12) -> None:
    """The results of ``@main`` are these, and all floats among the arguments have derivatives that agree with differences."""
    results = run(text, *inputs)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        value = np.asarray(value)
        assert result.shape == value.shape
        if value.dtype.kind in "fc":
            np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(result, value)


def check_derivative(text: str, inputs: list[Any], tolerance: float = 1e-6) -> None:
    """The tangent of a direction agrees with a central difference, and the cotangent with the tangent."""
    program = wg.parse(text, "test.mlir").specialized_for(inputs)
    rng = np.random.default_rng(1)
    wrt = [i for i, p in enumerate(program.signature.arguments) if p.differentiable]
    of = [j for j, p in enumerate(program.signature.results) if p.differentiable]
    x = [np.asarray(v, p.dtype) for v, p in zip(inputs, program.signature.arguments, strict=True)]
    x_dot = {i: rng.standard_normal(x[i].shape) for i in wrt}
    y_bar = [rng.standard_normal(program.signature.results[j].shape) for j in of]
    interpreter = program.compile("interpreter")
    h = 1e-6

    def moved(step: float) -> list[Array]:
        return [interpreter(*[v + step * x_dot[i] if i in x_dot else v for i, v in enumerate(x)])[j] for j in of]

    tangents = program.jvp(wrt=wrt, of=of).compile("interpreter")(*x, *x_dot.values())[len(program.signature.results) :]
    for tangent, ahead, behind in zip(tangents, moved(h), moved(-h), strict=True):
        np.testing.assert_allclose(tangent, (ahead - behind) / (2 * h), rtol=tolerance, atol=tolerance)
    cotangents = program.vjp(wrt=wrt, of=of).compile("interpreter")(*x, *y_bar)[len(program.signature.results) :]
    forward = sum(np.sum(a * b) for a, b in zip(y_bar, tangents, strict=True))
    backward = sum(np.sum(a * b) for a, b in zip(cotangents, x_dot.values(), strict=True))
    np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-9)

"""Programs split at a point: one evaluation, then the linear map and its transpose as often as needed."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

TEXT = """func.func public @main(%x: tensor<3xf64>, %n: tensor<3xi64>, %y: tensor<3xf64>) -> (tensor<3xf64>, tensor<f64>, tensor<3xf64>) {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %y : tensor<3xf64>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  %3 = stablehlo.sine %2 : tensor<f64>
  return %1, %3, %0 : tensor<3xf64>, tensor<f64>, tensor<3xf64>
}
"""
RNG = np.random.default_rng(0)
X, Y, X_DOT, Y_DOT = RNG.normal(size=(4, 3))
N = np.arange(3)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("wrt", [(0,), (2,), (0, 2)])
@pytest.mark.parametrize("of", [(0, 1, 2), (1,)])
def test_parts_agree_with_derivatives(wrt: tuple[int, ...], of: tuple[int, ...], shared: bool) -> None:
    program = wg.parse(TEXT)
    linear = program.linearize(wrt, of, shared=shared)
    results, residuals = linear.run([X, N, Y])
    tangents = [{0: X_DOT, 2: Y_DOT}[i] for i in wrt]
    cotangents = [np.asarray(np.cos(r)) for r in (results[j] for j in of)]
    for found, wanted in zip(results, program(X, N, Y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
    for found, wanted in zip(linear.push(residuals, tangents), program.jvp(wrt, of)(X, N, Y, *tangents)[3:], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    for found, wanted in zip(linear.pull(residuals, cotangents), program.vjp(wrt, of)(X, N, Y, *cotangents)[3:], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    for j, y_bar in zip(of, cotangents, strict=True):
        for found, wanted in zip(linear.pull(residuals, [y_bar], [j]), program.vjp(wrt, j)(X, N, Y, y_bar)[3:], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert program.linearize(wrt, of, shared=shared) is linear


def test_residuals() -> None:
    """Shared ones are the arguments and results themselves; others are copies, and outlive changes of the arguments."""
    program, x = wg.parse(TEXT), X.copy()
    linear = program.linearize((0, 2), shared=True)
    results, residuals = linear.run([x, N, Y])
    found = dict(zip(linear.sources, residuals, strict=True))
    assert found["argument", 0] is x
    assert found["result", 2] is results[2]
    assert sum(place == "kept" for place, _ in linear.sources) == 1  # the cosine
    results, residuals = program.linearize((0, 2)).run([x, N, Y])
    before = program.linearize((0, 2)).pull(residuals, [results[0], np.float64(1), X])
    x[:] = 0
    results[2][:] = 0
    after = program.linearize((0, 2)).pull(residuals, [results[0], np.float64(1), X])
    np.testing.assert_array_equal(before[0], after[0])


def test_wrong_positions() -> None:
    with pytest.raises(wg.InputError, match="wrt: argument 1"):
        wg.parse(TEXT).linearize(1)

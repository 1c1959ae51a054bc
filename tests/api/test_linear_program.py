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
    for actual, wanted in zip(results, program(X, N, Y), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-15)
    for actual, wanted in zip(linear.push(residuals, tangents), program.jvp(wrt, of)(X, N, Y, *tangents)[3:], strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-13)
    for actual, wanted in zip(linear.pull(residuals, cotangents), program.vjp(wrt, of)(X, N, Y, *cotangents)[3:], strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-13)
    for j, y_bar in zip(of, cotangents, strict=True):
        for actual, wanted in zip(linear.pull(residuals, [y_bar], [j]), program.vjp(wrt, j)(X, N, Y, y_bar)[3:], strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-13)
    assert program.linearize(wrt, of, shared=shared) is linear


def test_residuals() -> None:
    """Shared ones are the arguments and results themselves; others are copies, and outlive changes of the arguments."""
    program, x = wg.parse(TEXT), X.copy()
    linear = program.linearize((0, 2), shared=True)
    results, residuals = linear.run([x, N, Y])
    by_source = dict(zip(linear.sources, residuals, strict=True))
    assert by_source["argument", 0] is x
    assert by_source["result", 2] is results[2]
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


def test_names_and_refusals() -> None:
    linear = wg.parse(TEXT).linearize((0, 2), shared=True)
    kept = next(k for k, (place, _) in enumerate(linear.sources) if place == "kept")
    assert [p.name for p in linear.primal.signature.results][3:] == [f"residual {kept}"]
    residuals = [f"residual {k}" for k in range(len(linear.sources))]
    assert [p.name for p in linear.linear.signature.arguments] == [*residuals, "tangent of argument 0", "tangent of argument 2"]
    assert [p.name for p in linear.transposed((1,)).signature.arguments] == [*residuals, "cotangent of result 1"]
    assert [p.name for p in linear.transposed().signature.results] == ["cotangent of argument 0", "cotangent of argument 2"]
    for of in ((1, 0), (3,), ()):
        with pytest.raises(wg.InputError, match="linearized for its results 0,1,2"):
            linear.transposed(of)
    nothing = wg.LinearProgram(wg.parse(TEXT), (0,), ())
    with pytest.raises(wg.InputError, match="no float result"):
        nothing.transposed()
    results, no_residuals = nothing.run([X, N, Y])
    assert nothing.push(no_residuals, [X_DOT]) == []
    np.testing.assert_array_equal(nothing.pull(no_residuals, [])[0], np.zeros(3))
    assert len(results) == 3


def test_a_program_that_is_not_split() -> None:
    """The tape of a loop is no array, so residuals are the arguments, and the parts are whole derivatives."""
    program = wg.parse("""func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.constant dense<5.0e+01> : tensor<f64>
  %1:2 = stablehlo.while(%a = %x, %b = %x) : tensor<f64>, tensor<f64>
    cond {
      %2 = stablehlo.compare LT, %a, %0 : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.multiply %a, %b : tensor<f64>
      stablehlo.return %2, %b : tensor<f64>, tensor<f64>
    }
  return %1#0 : tensor<f64>
}
""")
    linear = program.linearize()
    assert not linear.is_split
    assert linear.primal is program
    (y,), residuals = linear.run([np.float64(2)])
    assert y == 64.0
    assert linear.push(residuals, [1.0]) == linear.pull(residuals, [1.0]) == (6 * 2.0**5,)

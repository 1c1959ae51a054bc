"""Scatters, selections, sorts and maps by any region: several operands, captured values, branches; values and derivatives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from op_checks import assert_close, derivatives, function, values

import wengert

S = "tensor<f64>"
SINE = f"%m = stablehlo.multiply %a, %b : {S}\n%d = stablehlo.sine %m : {S}\nstablehlo.return %d : {S}"
CAPTURES = f"%m = stablehlo.multiply %a, %b : {S}\n%d = stablehlo.multiply %m, %c : {S}\nstablehlo.return %d : {S}"
SCALED = f"%m = stablehlo.multiply %b, %c : {S}\n%d = stablehlo.add %m, %a : {S}\nstablehlo.return %d : {S}"
SQUARED = f"%d = stablehlo.multiply %b, %b : {S}\nstablehlo.return %d : {S}"
CAPTURED = f"stablehlo.return %c : {S}"
BRANCHES = f"""%p = stablehlo.compare LT, %a, %b : ({S}, {S}) -> tensor<i1>
%d = "stablehlo.if"(%p) ({{
  %s = stablehlo.sine %a : {S}
  %t = stablehlo.add %s, %b : {S}
  stablehlo.return %t : {S}
}}, {{
  %t = stablehlo.multiply %a, %b : {S}
  stablehlo.return %t : {S}
}}) : (tensor<i1>) -> {S}
stablehlo.return %d : {S}"""
LOOPS = f"""%one = stablehlo.constant dense<1.0> : {S}
%top = stablehlo.constant dense<9.0> : {S}
%d = stablehlo.while(%w0 = %a) : {S} cond {{
  %p = stablehlo.compare LT, %w0, %top : ({S}, {S}) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}} do {{
  %w1 = stablehlo.multiply %w0, %w0 : {S}
  %w2 = stablehlo.add %w1, %one : {S}
  stablehlo.return %w2 : {S}
}}
%e = stablehlo.multiply %d, %b : {S}
stablehlo.return %e : {S}"""
REGIONS = {"sine": SINE, "captures": CAPTURES, "scaled": SCALED, "squared": SQUARED, "captured": CAPTURED, "branches": BRANCHES, "loops": LOOPS}


def scatter(region: str, unique: bool) -> str:
    numbers = "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    op = f"""%r = "stablehlo.scatter"(%x, %k, %u) <{{scatter_dimension_numbers = {numbers}, unique_indices = {str(unique).lower()}}}> ({{
^bb0(%a: {S}, %b: {S}):
{region}
}}) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>"""
    return function("%x: 5x3xf64, %k: 4x1xi32, %u: 4x3xf64, %c: f64", op, "5x3xf64")


def numbers_for(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 1.2, shape) for shape in shapes]


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "in turn"])
@pytest.mark.parametrize("region", REGIONS)
def test_scatter(region: str, unique: bool) -> None:
    x, u, c = numbers_for((5, 3), (4, 3), ())
    rows = [0, 3, 7, 2] if unique else [0, 3, 0, -1]
    text, inputs = scatter(REGIONS[region], unique), [x, np.array(rows, np.int32)[:, None], u, c]
    results = values(text, inputs)[1]
    if region == "captures":
        expected = x.copy()
        for row, update in zip(rows, u, strict=True):
            if 0 <= row < 5:
                expected[row] = expected[row] * update * c
        assert_close(results, [expected], 1e-14)
    derivatives(text, inputs)


BATCHED = (
    "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], "
    "scatter_dims_to_operand_dims = [1], index_vector_dim = {}"
)


@pytest.mark.parametrize("vector_dim", [0, 2])
def test_scatter_with_batching_dimensions(vector_dim: int) -> None:
    shape = "1x4x2" if vector_dim == 0 else "4x2x1"
    numbers = BATCHED.format(vector_dim)
    if vector_dim == 0:
        numbers = numbers.replace("scatter_indices_batching_dims = [1]", "scatter_indices_batching_dims = [2]")
    op = f"""%r = "stablehlo.scatter"(%x, %k, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
^bb0(%a: {S}, %b: {S}):
{SINE}
}}) : (tensor<2x5x3xf64>, tensor<{shape}xui8>, tensor<4x2x3xf64>) -> tensor<2x5x3xf64>"""
    text = function(f"%x: 2x5x3xf64, %k: {shape}xui8, %u: 4x2x3xf64", op, "2x5x3xf64")
    x, u = numbers_for((2, 5, 3), (4, 2, 3))
    rows = np.array([[0, 1], [4, 1], [0, 200], [2, 2]], np.uint8)
    inputs = [x, rows.reshape([int(n) for n in shape.split("x")]), u]
    expected = x.copy()
    for i, j in np.ndindex(4, 2):
        if rows[i, j] < 5:
            expected[j, rows[i, j]] = np.sin(expected[j, rows[i, j]] * u[i, j])
    assert_close(values(text, inputs)[1], [expected], 1e-14)
    derivatives(text, inputs)


def test_scatter_of_two_operands() -> None:
    numbers = "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    op = f"""%r:2 = "stablehlo.scatter"(%x, %y, %k, %u, %v) <{{scatter_dimension_numbers = {numbers}}}> ({{
^bb0(%a: {S}, %e: {S}, %b: {S}, %f: {S}):
  %m = stablehlo.multiply %a, %f : {S}
  %o = stablehlo.add %e, %b : {S}
  %q = stablehlo.multiply %o, %a : {S}
  stablehlo.return %m, %q : {S}, {S}
}}) : (tensor<5xf64>, tensor<5xf64>, tensor<4x1xi32>, tensor<4xf64>, tensor<4xf64>) -> (tensor<5xf64>, tensor<5xf64>)"""
    text = function("%x: 5xf64, %y: 5xf64, %k: 4x1xi32, %u: 4xf64, %v: 4xf64", op, "5xf64, 5xf64", "%r#0, %r#1")
    x, y, u, v = numbers_for((5,), (5,), (4,), (4,))
    inputs = [x, y, np.array([[1], [4], [1], [9]], np.int32), u, v]
    first, second = x.copy(), y.copy()
    for row, b, f in ((1, u[0], v[0]), (4, u[1], v[1]), (1, u[2], v[2])):
        first[row], second[row] = first[row] * f, (second[row] + b) * first[row]
    assert_close(values(text, inputs)[1], [first, second], 1e-14)
    derivatives(text, inputs)


SELECTS = {
    "size": f"%e = stablehlo.abs %a : {S}\n%f = stablehlo.abs %b : {S}\n%p = stablehlo.compare GE, %e, %f : ({S}, {S}) -> tensor<i1>",
    "captures": f"%g = stablehlo.multiply %b, %c : {S}\n%p = stablehlo.compare LE, %a, %g : ({S}, {S}) -> tensor<i1>",
    "first": "%p = stablehlo.constant dense<true> : tensor<i1>",
}


@pytest.mark.parametrize("region", ["captures", "scaled", "branches"])
@pytest.mark.parametrize("select", SELECTS)
def test_select_and_scatter(select: str, region: str) -> None:
    op = f"""%r = "stablehlo.select_and_scatter"(%x, %u, %i) <{{window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>,
    padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}}> ({{
^bb0(%a: {S}, %b: {S}):
{SELECTS[select]}
stablehlo.return %p : tensor<i1>
}}, {{
^bb0(%a: {S}, %b: {S}):
{REGIONS[region]}
}}) : (tensor<4x5xf64>, tensor<2x3xf64>, {S}) -> tensor<4x5xf64>"""
    text = function("%x: 4x5xf64, %u: 2x3xf64, %i: f64, %c: f64", op, "4x5xf64")
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((4, 5)), rng.standard_normal((2, 3)), np.float64(0.5), np.float64(0.7)]
    values(text, inputs)
    derivatives(text, inputs)


def test_sort_by_what_its_comparator_captures() -> None:
    op = f"""%r:2 = "stablehlo.sort"(%x, %y) <{{dimension = 1 : i64, is_stable = true}}> ({{
^bb0(%a: {S}, %b: {S}, %k: {S}, %l: {S}):
  %e = stablehlo.multiply %a, %c : {S}
  %f = stablehlo.multiply %b, %c : {S}
  %p = stablehlo.compare LT, %e, %f : ({S}, {S}) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}}) : (tensor<4x5xf64>, tensor<4x5xf64>) -> (tensor<4x5xf64>, tensor<4x5xf64>)"""
    text = function("%x: 4x5xf64, %y: 4x5xf64, %c: f64", op, "4x5xf64, 4x5xf64", "%r#0, %r#1")
    inputs = [*numbers_for((4, 5), (4, 5)), np.float64(-1)]
    order = np.argsort(-inputs[0], 1)
    assert_close(values(text, inputs)[1], [np.take_along_axis(x, order, 1) for x in inputs[:2]], 0)
    derivatives(text, inputs)
    program = wengert.parse(text)
    assert_close(program.jvp(wrt=[2])(*inputs, np.float64(1))[2:], [np.zeros((4, 5))] * 2, 0)


@pytest.mark.parametrize("region", REGIONS)
def test_map(region: str) -> None:
    op = f"""%r = "stablehlo.map"(%x, %y) <{{dimensions = array<i64: 0, 1>}}> ({{
^bb0(%a: {S}, %b: {S}):
{REGIONS[region]}
}}) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>"""
    text = function("%x: 2x3xf64, %y: 2x3xf64, %c: f64", op, "2x3xf64")
    inputs = numbers_for((2, 3), (2, 3), ())
    results = values(text, inputs)[1]
    if region == "sine":
        assert_close(results, [np.sin(inputs[0] * inputs[1])], 1e-14)
        assert not wengert.parse(text).compile().stats.interpreted
    derivatives(text, inputs)


def test_map_of_nothing_and_to_other_types() -> None:
    for extent in (0, 3):
        op = f"""%r = "stablehlo.map"(%x) <{{dimensions = array<i64: 0>}}> ({{
^bb0(%a: {S}):
  %b = stablehlo.convert %a : ({S}) -> tensor<i32>
  stablehlo.return %b : tensor<i32>
}}) : (tensor<{extent}xf64>) -> tensor<{extent}xi32>"""
        text, x = function(f"%x: {extent}xf64", op, f"{extent}xi32"), np.arange(extent) + 0.5
        assert_close(values(text, [x])[1], [np.arange(extent, dtype=np.int32)], 0)


WIDER = "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{}\nstablehlo.return %d : tensor<f32>"
SUM = WIDER.format("%d = stablehlo.add %a, %b : tensor<f32>")
ROOT = WIDER.format("%e = stablehlo.multiply %a, %b : tensor<f32>\n%f = stablehlo.sqrt %e : tensor<f32>\n%d = stablehlo.multiply %f, %f : tensor<f32>")


@pytest.mark.parametrize("region", [SUM, ROOT], ids=["sum", "root"])
def test_accumulating_in_a_wider_type(region: str) -> None:
    """Halves whose sum is no half, in a reduction, in windows and in a scatter."""
    x = np.array([256, 1, 1, 1], np.float32).astype(ml_dtypes.bfloat16)
    one, k = np.ones((), ml_dtypes.bfloat16), np.zeros((4, 1), np.int32)
    scatter_numbers = "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    cases = [
        (f'"stablehlo.reduce"(%x, %i) <{{dimensions = array<i64: 0>}}> ({{{region}}}) : (tensor<4xbf16>, tensor<bf16>) -> tensor<f32>', "f32"),
        (
            f'"stablehlo.reduce_window"(%x, %i) <{{window_dimensions = array<i64: 4>}}> ({{{region}}}) : (tensor<4xbf16>, tensor<bf16>) -> tensor<1xf32>',
            "1xf32",
        ),
        (
            f'"stablehlo.scatter"(%y, %k, %x) <{{scatter_dimension_numbers = {scatter_numbers}}}> ({{{region}}}) '
            ": (tensor<1xbf16>, tensor<4x1xi32>, tensor<4xbf16>) -> tensor<1xf32>",
            "1xf32",
        ),
    ]
    for op, result in cases:
        text = function("%x: 4xbf16, %y: 1xbf16, %k: 4x1xi32, %i: bf16", f"%r = {op}", result)
        given = [x, one.reshape(1), k, one]
        (actual,) = values(text, given, 1e-6)[1]
        np.testing.assert_allclose(actual.reshape(()), 260 if region is SUM else 256, rtol=1e-6)
        program = wengert.parse(text)
        y_bar = np.ones(actual.shape, np.float32)
        for strategy in ("transpose", "direct"):
            x_bar = program.vjp(wrt=[0], strategy=strategy)(*given, y_bar)[-1]
            assert x_bar.dtype == ml_dtypes.bfloat16
            np.testing.assert_allclose(x_bar.astype(np.float32), [1] * 4 if region is SUM else 256 / x.astype(np.float32), rtol=1e-2)

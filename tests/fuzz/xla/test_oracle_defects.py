"""XLA as an oracle: asked so that its known defects do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

from fuzz.xla.oracle import NotThereError, execute

LOOP = """
func.func public @main(%x: tensor<5xf64>) -> (tensor<i64>, tensor<5xf64>) {{
  %start = stablehlo.constant dense<{start}> : tensor<i64>
  %end:2 = stablehlo.while(%i = %start, %y = %x) : tensor<i64>, tensor<5xf64>
  cond {{
    %limit = stablehlo.constant dense<{limit}> : tensor<i64>
    %goes_on = stablehlo.compare {direction}, %i, %limit, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %goes_on : tensor<i1>
  }} do {{
    %stride = stablehlo.constant dense<{stride}> : tensor<i64>
    %next = stablehlo.add %i, %stride : tensor<i64>
    %changed = stablehlo.sine %y : tensor<5xf64>
    stablehlo.return %next, %changed : tensor<i64>, tensor<5xf64>
  }}
  return %end#0, %end#1 : tensor<i64>, tensor<5xf64>
}}
"""


@pytest.mark.parametrize(
    ("start", "direction", "limit", "stride", "end"),
    [(0, "LT", 1, 2, 2), (-1, "LT", 0, 3, 2), (3, "LT", 2, 2, 3), (2, "LE", 1, 2, 2), (0, "LT", 4, 2, 4)],
)
def test_a_stride_need_not_divide_the_distance(start: int, direction: str, limit: int, stride: int, end: int) -> None:
    result, _ = execute(LOOP.format(start=start, direction=direction, limit=limit, stride=stride), [np.full(5, 0.5)])
    assert result == end


AT_A_POSITION = """
func.func public @main(%x: tensor<3201xf64>, %update: tensor<1xf64>) -> tensor<3201xf64> {{
  %position = stablehlo.constant dense<45> : tensor<{type}>
  %0 = stablehlo.dynamic_update_slice %x, %update, %position : (tensor<3201xf64>, tensor<1xf64>, tensor<{type}>) -> tensor<3201xf64>
  return %0 : tensor<3201xf64>
}}
"""


@pytest.mark.parametrize("type", ["i8", "ui8"])
def test_positions_of_a_type_that_does_not_reach_the_end_are_not_asked_about(type: str) -> None:
    with pytest.raises(NotThereError):
        execute(AT_A_POSITION.format(type=type), [np.zeros(3201), np.ones(1)])


def test_positions_of_a_type_that_reaches_the_end() -> None:
    (result,) = execute(AT_A_POSITION.format(type="i16"), [np.zeros(3201), np.ones(1)])
    np.testing.assert_array_equal(np.flatnonzero(result), [45])


def test_unsigned_positions_of_slices_are_not_asked_about() -> None:
    """XLA takes a known one beyond half of its type for a negative number, and starts at 0 where the slice begins at the last place."""
    with pytest.raises(NotThereError):
        execute(AT_A_POSITION.format(type="ui32"), [np.zeros(3201), np.ones(1)])


GATHER = """
func.func public @main(%x: tensor<5xf32>) -> tensor<1xf32> {
  %i = stablehlo.constant dense<44768> : tensor<1xui16>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<1xui16>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
"""


def test_unsigned_positions_of_gathers_are_not_asked_about() -> None:
    with pytest.raises(NotThereError):
        execute(GATHER, [np.arange(5, dtype=np.float32)])


POWER = """
func.func public @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.power %x, %y : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}
"""


def test_complex_powers() -> None:
    x, y = np.array([1 + 2j, -0.5j], np.complex64), np.array([0.5 - 1j, 3 + 1j], np.complex64)
    np.testing.assert_allclose(execute(POWER, [x, y])[0], x**y, rtol=1e-5)


@pytest.mark.parametrize(("x", "y"), [(0, 2), (1e-20, 3)])
def test_complex_powers_that_vanish_are_not_asked_about(x: float, y: float) -> None:
    with pytest.raises(NotThereError):
        execute(POWER, [np.array([1j, x], np.complex64), np.array([1, y], np.complex64)])


UNARY = """
func.func public @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {{
  %0 = "{name}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}}
"""
FUNCTIONS: tuple[tuple[str, Any, complex], ...] = (
    ("stablehlo.sine", np.sin, 1e-7 + 1e-7j),
    ("chlo.sinh", np.sinh, 1e-7 + 1e-7j),
    ("stablehlo.log_plus_one", np.log1p, -1 + 1e-30j),
    ("chlo.atan", np.arctan, 1e-30 + 1j),
    ("chlo.atanh", np.arctanh, 1 + 1e-30j),
)
"""Functions that XLA computes wrongly at some places, and such a place."""


@pytest.mark.parametrize(("name", "function"), [(name, function) for name, function, _ in FUNCTIONS])
def test_complex_functions_where_they_are_right(name: str, function: Any) -> None:
    x = np.array([1 + 2j, -0.5j], np.complex64)
    np.testing.assert_allclose(execute(UNARY.format(name=name), [x])[0], function(x.astype(np.complex128)), rtol=1e-5)


@pytest.mark.parametrize(("name", "place"), [(name, place) for name, _, place in FUNCTIONS])
def test_complex_functions_where_they_are_wrong_are_not_asked_about(name: str, place: complex) -> None:
    with pytest.raises(NotThereError):
        execute(UNARY.format(name=name), [np.array([1 + 2j, place], np.complex64)])


BOOLEANS = """
func.func public @main(%x: tensor<2xi1>) -> tensor<2xi1> {{
  %true = stablehlo.constant dense<true> : tensor<2xi1>
  %0 = stablehlo.not %true : tensor<2xi1>
  %1 = stablehlo.add {added}, %0 : tensor<2xi1>
  return %1 : tensor<2xi1>
}}
"""


def test_sums_of_booleans() -> None:
    x = np.array([False, True])
    np.testing.assert_array_equal(execute(BOOLEANS.format(added="%x"), [x])[0], x)
    with pytest.raises(NotThereError):
        execute(BOOLEANS.format(added="%true"), [x])


CONVOLUTION = """
func.func public @main({arguments}) -> tensor<1x2x1xi32> {{
  {operands}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [f, b, 0]x[o, i, 0]->[b, f, 0], window = {{stride = [1]}} {{batch_group_count = 2 : i64, feature_group_count = 1 : i64}} : (tensor<1x2x2xi32>, tensor<2x1x2xi32>) -> tensor<1x2x1xi32>
  return %0 : tensor<1x2x1xi32>
}}
"""


def test_convolutions_of_integers_in_batch_groups() -> None:
    given = CONVOLUTION.format(arguments="%x: tensor<1x2x2xi32>, %w: tensor<2x1x2xi32>", operands="")
    x, w = np.array([[[1, 2], [3, 2**31 - 1]]], np.int32), np.array([[[-1, 0]], [[-2, 9]]], np.int32)
    np.testing.assert_array_equal(execute(given, [x, w])[0].ravel(), [-1, (-6 + 9 * (2**31 - 1) + 2**31) % 2**32 - 2**31])
    operands = f"%x = stablehlo.constant dense<{x.tolist()}> : tensor<1x2x2xi32>\n  %w = stablehlo.constant dense<{w.tolist()}> : tensor<2x1x2xi32>"
    with pytest.raises(NotThereError):
        execute(CONVOLUTION.format(arguments="", operands=operands), [])

"""A multiplying scatter is a polynomial in its updates: its derivatives of every order are those of the polynomial, at zeros too."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import wengert

TEXT = """
func.func public @main(%u: tensor<4xf64>) -> tensor<2xf64> {
  %x = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %i = stablehlo.constant dense<[[1], [0], [1], [1]]> : tensor<4x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.multiply %a, %b : tensor<f64>
    stablehlo.return %c : tensor<f64>
  }) : (tensor<2xf64>, tensor<4x1xi32>, tensor<4xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}
"""
SAME = (0, 2, 3)
"""The updates of the second element: it is 3 times their product."""


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
@pytest.mark.parametrize("u", [[0.5, 7.0, 2.0, -1.0], [0.0, 7.0, 2.0, -1.0], [0.0, 7.0, 0.0, -1.0], [0.0, 7.0, 0.0, 0.0]])
def test_all_orders_at_zeros(u: list[float], strategy: str) -> None:
    program = wengert.parse(TEXT)
    at, seed = np.array(u), np.array([0.0, 1.0])
    first = program.vjp(strategy=strategy)  # type: ignore[arg-type]
    gradient = np.zeros(4)
    for i, j, k in permutations(SAME):
        gradient[i] = 3 * u[j] * u[k]
    np.testing.assert_array_equal(first(at, seed)[-1], gradient)
    second, third = np.zeros((4, 4)), np.zeros((4, 4, 4))
    for i, j, k in permutations(SAME):
        second[i, j], third[i, j, k] = 3 * u[k], 3
    twice = first.vjp(wrt=(0,), of=(1,), strategy=strategy)  # type: ignore[arg-type]
    thrice = twice.vjp(wrt=(0,), of=(2,), strategy=strategy)  # type: ignore[arg-type]
    for i, row in enumerate(np.eye(4)):
        np.testing.assert_array_equal(twice(at, seed, row)[-1], second[i])
        for j, column in enumerate(np.eye(4)):
            np.testing.assert_array_equal(thrice(at, seed, row, column)[-1], third[i, j])

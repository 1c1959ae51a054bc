"""Regions that see nothing outside: what is refined in them shares no constants with what is around."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify

SCAN = """
func.func public @main(%x: tensor<?xf64>, %xs: tensor<?x?xf64>, %y: tensor<4x3xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) {
  %k = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %one, %k1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %wide = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf64>, tensor<2xi32>) -> tensor<?x?xf64>
  %0:2 = chlo.scan(%xs) inits (%x) dimension=0 attributes {is_reverse = false} {
  ^bb0(%a: tensor<?xf64>, %b: tensor<?xf64>):
    %places = stablehlo.constant dense<1> : tensor<1xi32>
    %extent = stablehlo.constant dense<1> : tensor<1xi32>
    %i = stablehlo.dynamic_reshape %places, %extent : (tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
    %u = stablehlo.constant dense<0.5> : tensor<f64>
    %1 = "stablehlo.scatter"(%b, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = false}> ({
    ^bb0(%s: tensor<f64>, %t: tensor<f64>):
      %v = stablehlo.add %s, %t : tensor<f64>
      stablehlo.return %v : tensor<f64>
    }) : (tensor<?xf64>, tensor<?xi32>, tensor<f64>) -> tensor<?xf64>
    %2 = stablehlo.multiply %a, %1 : tensor<?xf64>
    stablehlo.return %2, %1 : tensor<?xf64>, tensor<?xf64>
  } : (tensor<?x?xf64>, tensor<?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>)
  return %0#0, %0#1, %wide : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
}"""


@pytest.mark.parametrize("mode", ["primal", "jvp", "vjp"])
def test_a_scan_with_constants_that_are_outside_too(mode: str) -> None:
    x, xs, y = np.array([1.0, 2.0, 3.0]), np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    program = wg.parse(SCAN).specialized_for([x, xs, y])
    verify(program.module)
    verify(parse_module(str(program)))
    states = [x + np.array([0, 0.5 * (k + 1), 0]) for k in range(4)]
    if mode == "primal":
        for actual, expected in zip(program(x, xs, y), (xs * np.array(states), states[-1], x[None]), strict=True):
            np.testing.assert_allclose(actual, expected)
        return
    given = [x, xs, y] if mode == "jvp" else [xs, x, x[None]]
    derived = program.jvp() if mode == "jvp" else program.vjp()
    for actual, expected in zip(derived(x, xs, y, *given), derived.compile("interpreter")(x, xs, y, *given), strict=True):
        np.testing.assert_allclose(actual, expected)

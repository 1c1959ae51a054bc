"""Batches of functions that declare their derivatives keep what is declared: how zeros are passed, what is refused, and what is not there."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

PRODUCT = """
func.func private @f(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> attributes {ad.custom_jvp = @rule ATTRIBUTES} {
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  return %0 : tensor<f64>
}
func.func private @rule(%x: tensor<f64>, %y: tensor<f64>, %a: tensor<f64>, %b: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.multiply %x, %y : tensor<f64>
  %1 = stablehlo.multiply %a, %y : tensor<f64>
  %infinite = stablehlo.divide %x, %zero : tensor<f64>
  %2 = stablehlo.multiply %b, %infinite : tensor<f64>
  %3 = stablehlo.add %1, %2 : tensor<f64>
  return %0, %3 : tensor<f64>, tensor<f64>
}
func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %0 = call @f(%x, %y) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""
X, Y, ONES = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.ones(2)


def batch(attributes: str, text: str = PRODUCT) -> wg.Program:
    return wg.parse(text.replace("ATTRIBUTES", attributes), "product").vmap(size=2)


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_zeros_that_are_absent_stay_absent(strategy: str) -> None:
    """The rule is infinite in an argument that does not move: with ``ad.symbolic_zeros`` that does not matter, without it it is NaN."""
    for attributes, wanted in ((", ad.symbolic_zeros", Y), ("", np.full(2, np.nan))):
        program = batch(attributes)
        np.testing.assert_array_equal(program.jvp(wrt=0)(X, Y, ONES)[1], wanted)
    np.testing.assert_array_equal(batch(", ad.symbolic_zeros").vjp(wrt=0, strategy=strategy)(X, Y, ONES)[1], Y)  # type: ignore[arg-type]


def test_what_is_refused_stays_refused() -> None:
    program = batch(', ad.not_differentiable = ["", "it does not move"]')
    np.testing.assert_array_equal(program(X, Y)[0], X * Y)
    with pytest.raises(DiagnosticError, match="it does not move"):
        str(program.jvp(wrt=1))


@pytest.mark.parametrize("kind", ["ad.custom_jvp = @missing", "ad.custom_vjp = [@missing, @gone]"])
def test_a_declaration_that_is_not_there_is_an_error_of_its_derivative(kind: str) -> None:
    """As rules that are deeper in rules than were imported: batches have values, batches of batches too."""
    text = PRODUCT.replace("ad.custom_jvp = @rule", kind)
    program = batch("", text)
    np.testing.assert_array_equal(program(X, Y)[0], X * Y)
    np.testing.assert_array_equal(program.vmap(size=1)(X[None], Y[None])[0], (X * Y)[None])
    for derivative in (program.jvp, program.vjp):
        with pytest.raises(DiagnosticError, match="there is no function @missing"):
            str(derivative())

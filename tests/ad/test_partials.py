"""``ad.partials``: a value whose partial derivatives are operands, in both modes, both strategies, batches, second derivatives and text."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify

TEXT = """
func.func public @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %v = stablehlo.multiply %x, %y : tensor<f64>
  %by_x = stablehlo.sine %x : tensor<f64>
  %by_y = stablehlo.multiply %x, %x : tensor<f64>
  %r = ad.partials %v, %x, %y, %by_x, %by_y : tensor<f64>
  return %r : tensor<f64>
}
"""


def test_text_round_trip() -> None:
    module = parse_module(TEXT)
    verify(module)
    assert "ad.partials %v, %x, %y, %by_x, %by_y : tensor<f64>" in print_module(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)


@pytest.mark.parametrize("operands", ["%v, %x", "%v, %x, %y, %by_x"])
def test_every_variable_has_a_derivative(operands: str) -> None:
    with pytest.raises(DiagnosticError, match="as many partial derivatives"):
        verify(parse_module(TEXT.replace("%v, %x, %y, %by_x, %by_y", operands)))


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_the_derivative_is_what_is_declared(target: str, strategy: str) -> None:
    p = wg.parse(TEXT)
    assert p.compile(target)(2.0, 3.0)[0] == 6.0
    value, *gradient = p.vjp(wrt=(0, 1), strategy=strategy).compile(target)(2.0, 3.0, 1.0)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose([value, *gradient], [6.0, np.sin(2.0), 4.0], rtol=1e-15)


def test_forward_mode_second_derivatives_and_batches() -> None:
    p = wg.parse(TEXT)
    np.testing.assert_allclose(p.jvp(wrt=(0, 1)).compile()(2.0, 3.0, 1.0, 10.0)[1], np.sin(2.0) + 40.0, rtol=1e-15)
    second = p.vjp(wrt=0).jvp(wrt=0).compile()(2.0, 3.0, 1.0, 1.0)
    np.testing.assert_allclose(second[-1], np.cos(2.0), rtol=1e-15)
    xs = np.array([1.0, 2.0])
    batched = p.vjp(wrt=0).vmap(size=2).compile()(xs, xs, np.ones(2))
    np.testing.assert_allclose(batched[1], np.sin(xs), rtol=1e-15)


def test_nothing_is_left_of_it_in_stablehlo() -> None:
    text = wg.parse(TEXT).text()
    assert "stablehlo.multiply" in text
    assert "ad." not in text
    assert "sine" not in text

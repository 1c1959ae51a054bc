"""Ops without a derivative rule are refused with their name and place. A rule that is added makes its case here fail: remove it."""

from __future__ import annotations

import pytest

import wengert as wg

REFUSED = {
    "stablehlo.fft": "%0 = stablehlo.fft %z, type = FFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>\n  return %0 : tensor<4xcomplex<f64>>",
    "stablehlo.sort": """%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>""",
    "stablehlo.custom_call": "%0 = stablehlo.custom_call @somewhere(%x) : (tensor<4xf64>) -> tensor<4xf64>\n  return %0 : tensor<4xf64>",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_refused_by_name_and_place(name: str, mode: str) -> None:
    body = REFUSED[name]
    result = body.rsplit(": ", 1)[1]
    text = f"func.func public @main(%x: tensor<4xf64>, %z: tensor<4xcomplex<f64>>) -> {result} {{\n  {body}\n}}"
    program = wg.parse(text, "p.mlir")
    with pytest.raises(wg.DiagnosticError, match=rf"p\.mlir:2:\d+: error: {name} has no derivative rule"):
        getattr(program, mode)()


def test_inactive_ops_need_no_rule() -> None:
    text = f"func.func public @main(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {{\n  {REFUSED['stablehlo.sort'].rsplit('return', 1)[0]}"
    text += "  %2 = stablehlo.multiply %0, %y : tensor<4xf64>\n  return %2 : tensor<4xf64>\n}"
    x, y = [3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 3.0, 4.0]
    program = wg.parse(text)
    assert list(program.vjp(wrt=1)(x, y, [1.0] * 4)[1]) == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(wg.DiagnosticError):
        program.vjp(wrt=0)

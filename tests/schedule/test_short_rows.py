"""Sums of the columns of matrices with very short rows: column by column, whatever else the nest reads."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("combine", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("extents", [(31, 3), (32, 4), (1000, 3), (77, 2), (40, 5), (5, 64, 3)])
def test_columns(extents: tuple[int, ...], combine: str, strict: bool) -> None:
    d = len(extents) - 2
    kept = "x".join(str(n) for at, n in enumerate(extents) if at != d)
    whole = f"tensor<{'x'.join(map(str, extents))}xf64>"
    start = {"add": "0.0", "multiply": "1.0", "maximum": "0xFFF0000000000000"}[combine]
    module = parse_module(
        f"""func.func @main(%x: {whole}, %w: tensor<{extents[-1]}xf64>, %r: tensor<{extents[d]}xf64>) -> (tensor<{kept}xf64>, tensor<{kept}xf64>) {{
        %c = stablehlo.constant dense<{start}> : tensor<f64>
        %wb = stablehlo.broadcast_in_dim %w, dims = [{d + 1}] : (tensor<{extents[-1]}xf64>) -> {whole}
        %rb = stablehlo.broadcast_in_dim %r, dims = [{d}] : (tensor<{extents[d]}xf64>) -> {whole}
        %y = stablehlo.multiply %x, %wb : {whole}
        %z = stablehlo.multiply %y, %rb : {whole}
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.{combine} across dimensions = [{d}] : ({whole}, tensor<f64>) -> tensor<{kept}xf64>
        %1 = stablehlo.reduce(%z init: %c) applies stablehlo.{combine} across dimensions = [{d}] : ({whole}, tensor<f64>) -> tensor<{kept}xf64>
        return %0, %1 : tensor<{kept}xf64>, tensor<{kept}xf64> }}"""
    )
    draw = np.random.default_rng(extents[0]).uniform
    inputs = [draw(0.9, 1.1, extents), draw(0.9, 1.1, extents[-1]), draw(0.9, 1.1, extents[d])]
    for actual, expected in zip(compile(module, strict=strict)(*inputs), run(module, inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-13)

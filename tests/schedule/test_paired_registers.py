"""Nests of many iterations compute two or four registers at a time: ends within a pair, reductions over all loops or some, and in strict mode."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

TEXT = """func.func @main(%x: tensor<{n}x{t}>, %y: tensor<{n}x{t}>) -> (tensor<{n}x{t}>, tensor<{rows}{t}>, tensor<{t}>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<{t}>
  %least = stablehlo.constant dense<{least}> : tensor<{t}>
  %0 = stablehlo.tanh %x : tensor<{n}x{t}>
  %1 = stablehlo.multiply %0, %y : tensor<{n}x{t}>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [{last}] : (tensor<{n}x{t}>, tensor<{t}>) -> tensor<{rows}{t}>
  %3 = stablehlo.reduce(%1 init: %least) applies stablehlo.maximum across dimensions = [{all}] : (tensor<{n}x{t}>, tensor<{t}>) -> tensor<{t}>
  return %1, %2, %3 : tensor<{n}x{t}>, tensor<{rows}{t}>, tensor<{t}>
}}"""
LEAST = {"f64": "0xFFF0000000000000", "f32": "0xFF800000"}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("extents", [(1024,), (1000,), (1001,), (1037,), (8, 160), (3, 1031), (20, 1024), (16400,)])
def test_ends_within_a_pair(extents: tuple[int, ...], dtype: type[np.floating], strict: bool) -> None:
    t = "f64" if dtype is np.float64 else "f32"
    rows = "".join(f"{n}x" for n in extents[:-1])
    all = ", ".join(str(d) for d in range(len(extents)))
    module = parse_module(TEXT.format(n="x".join(map(str, extents)), t=t, rows=rows, last=len(extents) - 1, all=all, least=LEAST[t]))
    x, y = (np.random.default_rng(seed).normal(size=extents).astype(dtype) for seed in (1, 2))
    compiled = compile(module, strict=strict)
    for actual, wanted in zip(compiled(x, y), run(module, [x, y]), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-13 if t == "f64" else 1e-6, atol=1e-12 if t == "f64" else 1e-4)

"""Elementwise functions on devices have the bits that the CPU backend computes."""

from __future__ import annotations

import numpy as np
import pytest
from device_backends import BACKENDS

import wengert as wg

UNARY = ("exponential", "log", "sine", "cosine", "tanh", "sqrt", "rsqrt", "cbrt", "logistic", "exponential_minus_one", "log_plus_one", "floor", "sign", "abs")
BINARY = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2")


def program(element: str) -> str:
    type = f"tensor<256x{element}>"
    lines = [f"  %{op} = stablehlo.{op} %x : {type}" for op in UNARY] + [f"  %{op} = stablehlo.{op} %x, %y : {type}" for op in BINARY]
    names = [f"%{op}" for op in (*UNARY, *BINARY)]
    types = ", ".join([type] * len(names))
    body = "\n".join(lines)
    return f"func.func @main(%x: {type}, %y: {type}) -> ({types}) {{\n{body}\n  return {', '.join(names)} : {types}\n}}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_bits(element: str, dtype: type[np.floating], backend: str) -> None:
    generator = np.random.default_rng(0)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny, 0.5], dtype)
    x, y = (np.concatenate([np.repeat(special, 10), (generator.normal(size=156) * 4).astype(dtype)]) for _ in range(2))
    y[:100] = np.tile(special, 10)
    made = wg.parse(program(element))
    bits = np.dtype(f"u{x.itemsize}")
    for op, result, wanted in zip((*UNARY, *BINARY), made.compile(backend)(x, y), made(x, y), strict=True):
        same = (result.view(bits) == wanted.view(bits)) | (np.isnan(result) & np.isnan(wanted))
        assert same.all(), (op, x[~same][:3], y[~same][:3], result[~same][:3], wanted[~same][:3])

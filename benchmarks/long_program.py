"""A long program: a residual network of many small layers, as text of about as many ops as asked for, to see what tools do at that size.

python -m benchmarks.long_program 10000 > long.mlir
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

_ROWS, _WIDTH = 8, 16
_X, _W, _S, _ROW = f"tensor<{_ROWS}x{_WIDTH}xf64>", f"tensor<{_WIDTH}x{_WIDTH}xf64>", f"tensor<{_WIDTH}xf64>", f"tensor<{_ROWS}xf64>"
_LAYER = """\
    %{n}_w1 = stablehlo.slice %weights [{at}:{end}, 0:{d}, 0:{d}] : ({WS}) -> tensor<1x{d}x{d}xf64>
    %{n}_w = stablehlo.reshape %{n}_w1 : (tensor<1x{d}x{d}xf64>) -> {W}
    %{n}_b1 = stablehlo.slice %biases [{at}:{end}, 0:{d}] : ({BS}) -> tensor<1x{d}xf64>
    %{n}_b = stablehlo.reshape %{n}_b1 : (tensor<1x{d}xf64>) -> {S}
    %{n}_sum = stablehlo.reduce(%{x} init: %zero) applies stablehlo.add across dimensions = [1] : ({X}, tensor<f64>) -> {ROW}
    %{n}_mean = stablehlo.multiply %{n}_sum, %share : {ROW}
    %{n}_means = stablehlo.broadcast_in_dim %{n}_mean, dims = [0] : ({ROW}) -> {X}
    %{n}_centred = stablehlo.subtract %{x}, %{n}_means : {X}
    %{n}_square = stablehlo.multiply %{n}_centred, %{n}_centred : {X}
    %{n}_squares = stablehlo.reduce(%{n}_square init: %zero) applies stablehlo.add across dimensions = [1] : ({X}, tensor<f64>) -> {ROW}
    %{n}_variance = stablehlo.multiply %{n}_squares, %share : {ROW}
    %{n}_safe = stablehlo.add %{n}_variance, %share : {ROW}
    %{n}_scale = stablehlo.rsqrt %{n}_safe : {ROW}
    %{n}_scales = stablehlo.broadcast_in_dim %{n}_scale, dims = [0] : ({ROW}) -> {X}
    %{n}_normal = stablehlo.multiply %{n}_centred, %{n}_scales : {X}
    %{n}_product = stablehlo.dot_general %{n}_normal, %{n}_w, contracting_dims = [1] x [0] : ({X}, {W}) -> {X}
    %{n}_bias = stablehlo.broadcast_in_dim %{n}_b, dims = [1] : ({S}) -> {X}
    %{n}_biased = stablehlo.add %{n}_product, %{n}_bias : {X}
    %{n}_active = stablehlo.{function} %{n}_biased : {X}
    %{n}_x = stablehlo.add %{x}, %{n}_active : {X}"""
OPS_OF_A_LAYER = _LAYER.count("\n") + 1
_FUNCTIONS = ("tanh", "sine", "logistic", "cosine")


def long_program(ops: int) -> str:
    """The text of a program of at least ``ops`` ops, on 8 rows of 16 f64: layers with a normalisation, a product and a function each, added to their input."""
    layers = max(1, -(-ops // OPS_OF_A_LAYER))
    return "\n".join(_lines(layers)) + "\n"


def _lines(layers: int) -> Iterator[str]:
    weights, biases = f"tensor<{layers}x{_WIDTH}x{_WIDTH}xf64>", f"tensor<{layers}x{_WIDTH}xf64>"
    yield f"func.func public @main(%x: {_X}, %weights: {weights}, %biases: {biases}) -> {_X} {{"
    yield "    %zero = stablehlo.constant dense<0.0> : tensor<f64>"
    yield f"    %share = stablehlo.constant dense<{1 / _WIDTH}> : {_ROW}"
    x = "x"
    for n in range(layers):
        names = {"n": f"l{n}", "x": x, "at": n, "end": n + 1, "d": _WIDTH, "function": _FUNCTIONS[n % len(_FUNCTIONS)]}
        yield _LAYER.format(**names, W=_W, X=_X, S=_S, ROW=_ROW, WS=weights, BS=biases)
        x = f"l{n}_x"
    yield f"    return %{x} : {_X}"
    yield "}"


if __name__ == "__main__":
    print(long_program(int(sys.argv[1]) if len(sys.argv) > 1 else 10000), end="")

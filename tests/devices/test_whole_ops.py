"""Ops that a CPU runs by code of its own, on devices: nothing runs on the host, and results are those of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_backends import BACKENDS
from native_checks import assert_close, function, tensor, values

import wengert as wg

Array = np.ndarray[Any, Any]


def check(text: str, inputs: list[Array], backend: str, tolerance: float = 0.0) -> tuple[Array, ...]:
    """Results are those of the interpreter, twice, in memory full of wrong values."""
    program = wg.parse(text)
    compiled = program.compile(backend, poison=True)
    results = compiled(*inputs)
    for mine, theirs in zip(results, program.compile("interpreter")(*inputs), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        assert_close(mine, theirs, tolerance)
    assert compiled.stats.host == {}
    assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"
    return results


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("element", ["f32", "f16", "i1", "i64"])
@pytest.mark.parametrize(("shape", "dimension"), [((3, 6), 1), ((2, 40, 3), 1), ((0, 4), 0)])
def test_sort(element: str, shape: tuple[int, ...], dimension: int, backend: str) -> None:
    order = ", TOTALORDER" if element.startswith("f") else ""
    scalar = f"tensor<{element}>"
    op = f""""stablehlo.sort"($in) <{{dimension = {dimension} : i64, is_stable = true}}> ({{
    ^bb0(%a: {scalar}, %b: {scalar}, %i: tensor<i32>, %j: tensor<i32>):
      %0 = stablehlo.compare GT, %a, %b{order} : ({scalar}, {scalar}) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }}) : $type"""
    types = [tensor(shape, element), tensor(shape, "i32")]
    keys = values(np.random.default_rng(1), shape, element)
    check(function(types, types, op), [keys, np.arange(keys.size, dtype=np.int32).reshape(shape)], backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("shape", "k"), [((2, 9), 3), ((700,), 5)])
def test_top_k(shape: tuple[int, ...], k: int, backend: str) -> None:
    result = (*shape[:-1], k)
    text = function([tensor(shape, "f32")], [tensor(result, "f32"), tensor(result, "i32")], f'"chlo.top_k"($in) <{{k = {k} : i64}}> : $type')
    check(text, [values(np.random.default_rng(4), shape, "f32")], backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize(("shape", "rank", "element"), [((2, 16), 1, "f32"), ((3, 4, 6), 2, "f64"), ((22,), 1, "f64"), ((67,), 1, "f32")])
def test_fft(kind: str, shape: tuple[int, ...], rank: int, element: str, backend: str) -> None:
    halved = (*shape[:-1], shape[-1] // 2 + 1)
    operand = tensor(halved if kind == "IRFFT" else shape, element if kind == "RFFT" else f"complex<{element}>")
    result = tensor(halved if kind == "RFFT" else shape, element if kind == "IRFFT" else f"complex<{element}>")
    lengths = ", ".join(map(str, shape[len(shape) - rank :]))
    op = f'"stablehlo.fft"($in) <{{fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {lengths}>}}> : $type'
    x = values(np.random.default_rng(1), halved if kind == "IRFFT" else shape, element if kind == "RFFT" else f"complex<{element}>", special=False)
    check(function([operand], [result], op), [x], backend, 1e-6 if element == "f32" else 1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("algorithm", ["THREE_FRY", "PHILOX"])
@pytest.mark.parametrize(("element", "shape"), [("ui64", (5, 3)), ("f32", (41,))])
def test_random_bits(element: str, shape: tuple[int, ...], algorithm: str, backend: str) -> None:
    state = np.array([0x0123456789ABCDEF, 2**64 - 3], np.uint64)
    op = f'"stablehlo.rng_bit_generator"($in) <{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}> : $type'
    check(function([tensor((2,), "ui64")], [tensor((2,), "ui64"), tensor(shape, element)], op), [state], backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pooling_that_keeps_positions(backend: str) -> None:
    """A window of pairs, by a region that no op has a name for."""
    text = """func.func @main(%x: tensor<2x9xf32>, %y: tensor<2x9xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %none = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = "stablehlo.reduce_window"(%x, %y, %least, %none) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
      ^bb0(%v: tensor<f32>, %i: tensor<i32>, %w: tensor<f32>, %j: tensor<i32>):
        %1 = stablehlo.compare GE, %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.select %1, %v, %w : tensor<i1>, tensor<f32>
        %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
        stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
      }) : (tensor<2x9xf32>, tensor<2x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
      return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi32>
    }"""
    check(text, [values(np.random.default_rng(1), (2, 9), "f32", special=False), np.arange(18, dtype=np.int32).reshape(2, 9)], backend)

"""Floats of eight bits and integers of four in compiled code: every byte, every rounding, bit for bit as in the interpreter."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

FORMATS = {
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


def both(text: str, *inputs: Any) -> tuple[np.ndarray, np.ndarray]:
    """What compiled code and the interpreter make of a program with one result; nothing may be left to the interpreter."""
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    with np.errstate(all="ignore"):
        return compiled(*inputs)[0], run(module, list(inputs))[0]


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    """The same numbers, signs of zeros included; NaN where NaN is."""
    assert actual.dtype == expected.dtype
    a, b = (x.astype(np.float64) for x in (actual, expected))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a) & (a == 0), np.signbit(b) & (b == 0))


def conversion(source: str, target: str, count: int) -> str:
    return f"""func.func @main(%x: tensor<{count}x{source}>) -> tensor<{count}x{target}> {{
      %0 = stablehlo.convert %x : (tensor<{count}x{source}>) -> tensor<{count}x{target}>
      return %0 : tensor<{count}x{target}>
    }}"""


@pytest.mark.parametrize("target", ["f32", "f64", "bf16", "i32"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_byte(name: str, target: str) -> None:
    x = np.arange(256, dtype=np.uint8).view(FORMATS[name])
    assert_same(*both(conversion(name, target, 256), x))


@pytest.mark.parametrize("source", ["f32", "f64", "bf16", "i32"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_rounding(name: str, source: str) -> None:
    """Every number of the format, the middle of neighbours, a little to both sides of it, and what is too large."""
    every = np.arange(256, dtype=np.uint8).view(FORMATS[name]).astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    middle = (finite[1:] + finite[:-1]) / 2
    special = [np.nan, np.inf, -np.inf, -0.0, 1e30, -1e30, 1e-30, finite[-1] * 1.01, finite[-1] * 1.07, finite[-1] * 1.2]
    x = np.concatenate([finite, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), middle * (1 + 1e-6), middle * (1 - 1e-6), special])
    if source == "i32":
        x = np.arange(-70000, 70000, 37, dtype=np.float64)
    dtype = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "i32": np.int32}[source]
    assert_same(*both(conversion(source, name, len(x)), x.astype(dtype)))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("op", ["add", "multiply", "divide", "maximum"])
def test_arithmetic(name: str, op: str) -> None:
    x, y = np.meshgrid(*[np.arange(256, dtype=np.uint8).view(FORMATS[name])] * 2)
    kind = f"tensor<256x256x{name}>"
    text = f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{\n%0 = stablehlo.{op} %x, %y : {kind}\nreturn %0 : {kind}\n}}"
    assert_same(*both(text, np.ascontiguousarray(x), np.ascontiguousarray(y)))


def test_moving() -> None:
    text = """func.func @main(%x: tensor<5x4xf8E4M3FN>, %y: tensor<3x5xf8E4M3FN>) -> tensor<7x5xf8E4M3FN> {
      %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<5x4xf8E4M3FN>) -> tensor<4x5xf8E4M3FN>
      %r = stablehlo.reverse %t, dims = [0] : tensor<4x5xf8E4M3FN>
      %c = stablehlo.concatenate %y, %r, dim = 0 : (tensor<3x5xf8E4M3FN>, tensor<4x5xf8E4M3FN>) -> tensor<7x5xf8E4M3FN>
      return %c : tensor<7x5xf8E4M3FN>
    }"""
    rng = np.random.default_rng(0)
    assert_same(*both(text, *[rng.normal(size=shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((5, 4), (3, 5))]))


@pytest.mark.parametrize("result", ["f32", "bf16", "f8E5M2"])
def test_products(result: str) -> None:
    text = f"""func.func @main(%x: tensor<9x30xf8E4M3FN>, %y: tensor<30x5xf8E5M2>) -> tensor<9x5x{result}> {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<9x30xf8E4M3FN>, tensor<30x5xf8E5M2>) -> tensor<9x5x{result}>
      return %0 : tensor<9x5x{result}>
    }}"""
    rng = np.random.default_rng(0)
    actual, expected = both(text, rng.normal(size=(9, 30)).astype(ml_dtypes.float8_e4m3fn), rng.normal(size=(30, 5)).astype(ml_dtypes.float8_e5m2))
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol={"f32": 1e-5, "bf16": 1e-2, "f8E5M2": 0.3}[result], atol=1e-5)


@pytest.mark.parametrize(("name", "dtype"), [("i4", ml_dtypes.int4), ("ui4", ml_dtypes.uint4)])
@pytest.mark.parametrize("other", ["f32", "f64", "i8", "i32", "i1", "ui8"])
def test_integers_of_four_bits(name: str, dtype: Any, other: str) -> None:
    np_other = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i1": np.bool_, "ui8": np.uint8}[other]
    wide = np.array([0, 1, -1, 7, 8, -8, -9, 15, 16, 100, -100]).astype(np_other)
    if other in ("f32", "f64"):
        wide = np.concatenate([wide, np.array([2.5, -2.5, 7.9, -8.9, np.nan, np.inf, -np.inf, 15.5], np_other)])
    actual, expected = both(conversion(other, name, len(wide)), wide)
    np.testing.assert_array_equal(actual.astype(np.int32), expected.astype(np.int32))
    np.testing.assert_array_equal(actual.view(np.uint8) & 15, expected.view(np.uint8) & 15)
    every = np.arange(16).astype(np.uint8).view(dtype)
    actual, expected = both(conversion(name, other, 16), every)
    np.testing.assert_array_equal(actual, expected)

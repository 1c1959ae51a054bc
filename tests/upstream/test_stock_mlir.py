"""Stock MLIR reads what ``to-linalg`` writes, compiles it, and computes what our interpreter does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.ir.construction import copy_module
from wengert.lab.stock_mlir.running import run
from wengert.lab.stock_mlir.tools import MISSING, StockError, StockMLIR, installed
from wengert.transforms.pipelines import TO_UPSTREAM, parse_pipeline

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def mlir() -> StockMLIR:
    known = installed()
    if known is None:
        pytest.skip(MISSING)
    return known


def agree(mlir: StockMLIR, program: wg.Program, *inputs: Any, tolerance: float = 1e-13) -> None:
    """Stock MLIR gives what the interpreter gives."""
    written = parse_pipeline(TO_UPSTREAM).run(copy_module(program.core_module))
    results = run(mlir, written, [np.asarray(x) for x in inputs])
    expected = program.compile("interpreter")(*inputs)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result.astype(complex), value.astype(complex), rtol=tolerance, atol=tolerance)


def function(body: str, arguments: str, result: str) -> wg.Program:
    return wg.parse(f"func.func public @main({arguments}) -> {result} {{\n{body}\n}}")


@pytest.mark.parametrize(
    ("type", "x"),
    [
        ("tensor<2x3xf64>", RNG.standard_normal((2, 3))),
        ("tensor<f32>", np.float32(0.3)),
        ("tensor<3xf16>", np.array([0.5, -2, 3], "f2")),
        ("tensor<3xbf16>", np.array([0.5, -2, 3], ml_dtypes.bfloat16)),
        ("tensor<0xf64>", np.zeros(0)),
        ("tensor<2x2xcomplex<f64>>", RNG.standard_normal((2, 2)) + 1j * RNG.standard_normal((2, 2))),
        ("tensor<complex<f32>>", np.complex64(0.5 - 2j)),
        ("tensor<4xi8>", np.array([-128, -1, 0, 127], "i1")),
        ("tensor<3xi64>", np.array([-5, 0, 2**40])),
        ("tensor<5xi1>", np.array([True, False, False, True, True])),
    ],
    ids=str,
)
def test_values_of_all_types_go_in_and_come_out(mlir: StockMLIR, type: str, x: Any) -> None:
    agree(mlir, function(f"return %x, %x : {type}, {type}", f"%x: {type}", f"({type}, {type})"), x)


def test_rows_that_are_apart_are_copied(mlir: StockMLIR) -> None:
    body = """%z = stablehlo.constant dense<2.0> : tensor<f64>
      %p = stablehlo.pad %x, %z, low = [1, -1], high = [-1, 2], interior = [1, 0] : (tensor<3x4xf64>, tensor<f64>) -> tensor<5x5xf64>
      %c = stablehlo.concatenate %p, %p, dim = 1 : (tensor<5x5xf64>, tensor<5x5xf64>) -> tensor<5x10xf64>
      return %c : tensor<5x10xf64>"""
    agree(mlir, function(body, "%x: tensor<3x4xf64>", "tensor<5x10xf64>"), RNG.standard_normal((3, 4)))


def test_derivatives_through_loops_and_branches(mlir: StockMLIR) -> None:
    program = wg.parse("""func.func @main(%x: tensor<4xf64>, %n: index) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f64
      %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
        %e = tensor.extract %a[%i] : tensor<4xf64>
        %f = math.sin %e : f64
        %k = arith.remui %i, %n : index
        %b = tensor.insert %f into %a[%k] : tensor<4xf64>
        scf.yield %b : tensor<4xf64>
      }
      %e = tensor.extract %y[%n] : tensor<4xf64>
      %p = arith.cmpf ogt, %e, %zero : f64
      %r = scf.if %p -> (f64) {
        %l = math.log %e : f64
        scf.yield %l : f64
      } else {
        scf.yield %zero : f64
      }
      return %r : f64 }""")
    for x in (np.array([0.3, 0.7, 0.9, 0.2]), -np.array([0.3, 0.7, 0.9, 0.2])):
        agree(mlir, program, x, 2)
        agree(mlir, program.vjp(wrt=[0]), x, 2, 1.5)
        agree(mlir, program.jvp(wrt=[0]), x, 2, x)


def test_errors_are_one_line_that_says_what_is_wrong(mlir: StockMLIR) -> None:
    with pytest.raises(StockError, match=r"error: .*arith\.addd"):
        mlir.after("func.func @main(%x: f64) -> f64 { %y = arith.addd %x, %x : f64 return %y : f64 }")
    with pytest.raises(StockError, match=r"error: .*func\.func"):
        mlir.llvm("func.func @main(%x: f64) -> f64 { return %x : f64 }")
    with pytest.raises(StockError, match=r"no-such-pass"):
        mlir.after("module {}", "no-such-pass")

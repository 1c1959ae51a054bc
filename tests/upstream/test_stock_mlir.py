"""Stock MLIR reads what ``to-linalg`` writes, compiles it, and computes what our interpreter does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from upstream_texts import LOOPS_AND_BRANCHES

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
    program = wg.parse(LOOPS_AND_BRANCHES)
    for x in (np.array([0.3, 0.7, 0.9, 0.2]), -np.array([0.3, 0.7, 0.9, 0.2])):
        agree(mlir, program, x, 2)
        agree(mlir, program.vjp(wrt=[0]), x, 2, 1.5)
        agree(mlir, program.jvp(wrt=[0]), x, 2, x)


LOOPS = """func.func @main(%x: tensor<2xf64>, %n: index) -> tensor<2xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<2xf64>) {
    %q = scf.for %j = %c0 to %i step %c1 iter_args(%c = %a) -> (tensor<2xf64>) {
      %s = math.sin %c : tensor<2xf64>
      %t = arith.mulf %s, %c : tensor<2xf64>
      scf.yield %t : tensor<2xf64>
    }
    %e = math.cos %q : tensor<2xf64>
    scf.yield %e : tensor<2xf64>
  }
  return %r : tensor<2xf64> }"""


@pytest.mark.parametrize("count", [0, 1, 5])
def test_tapes_of_loops_in_loops_that_nobody_counts(mlir: StockMLIR, count: int) -> None:
    program, x, y_bar = wg.parse(LOOPS), np.array([0.7, 1.1]), np.array([1.0, -2.0])
    agree(mlir, program.vjp(wrt=[0]), x, count, y_bar)
    agree(mlir, program.apply("vjp-direct{wrt=0}"), x, count, y_bar)
    agree(mlir, program.vjp(wrt=[0]).vjp(wrt=[0], of=[1]), x, count, y_bar, x)


def test_a_long_tape(mlir: StockMLIR) -> None:
    program = wg.parse(LOOPS.replace("%c0 to %i step", "%c0 to %c1 step"))
    agree(mlir, program.vjp(wrt=[0]), np.array([0.7, 1.1]), 1500, np.ones(2), tolerance=1e-9)


SORT = """%y:2 = "stablehlo.sort"(%x, %i) <{dimension = D : i64, is_stable = true}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
  %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}) : (tensor<TxT>, tensor<TxU>) -> (tensor<TxT>, tensor<TxU>)
return %y#0, %y#1 : tensor<TxT>, tensor<TxU>"""


@pytest.mark.parametrize(("extents", "dimension"), [((1,), 0), ((2,), 0), ((7,), 0), ((33,), 0), ((3, 8), 1), ((9, 2), 0), ((2, 5, 3), 1), ((0, 4), 1)])
def test_sorts_are_stable(mlir: StockMLIR, extents: tuple[int, ...], dimension: int) -> None:
    shape = "x".join(map(str, extents))
    numbers, places = f"tensor<{shape}xf32>", f"tensor<{shape}xi32>"
    body = SORT.replace("tensor<TxT>", numbers).replace("tensor<TxU>", places).replace("D :", f"{dimension} :")
    x = RNG.integers(-3, 4, extents).astype("f4")
    i = np.arange(x.size, dtype="i4").reshape(extents)
    agree(mlir, function(body, f"%x: {numbers}, %i: {places}", f"({numbers}, {places})"), x, i)


@pytest.mark.parametrize("options", ["", " {largest = false}"])
def test_first_elements_in_the_total_order(mlir: StockMLIR, options: str) -> None:
    x = np.array([[0.0, -0.0, np.nan, -np.inf, 2.0, 2.0, -3.0], [1, 5, 5, -1, np.inf, -np.nan, 0]], "f4")
    body = f"""%v, %i = chlo.top_k(%x, k = 5){options} : tensor<2x7xf32> -> (tensor<2x5xf32>, tensor<2x5xi32>)
      return %v, %i : tensor<2x5xf32>, tensor<2x5xi32>"""
    agree(mlir, function(body, "%x: tensor<2x7xf32>", "(tensor<2x5xf32>, tensor<2x5xi32>)"), x)
    n = np.array([3, -1, 3, 7], np.int8)
    body = body.replace("2x7xf32", "4xi8").replace("2x5xf32", "2xi8").replace("2x5xi32", "2xi32").replace("k = 5", "k = 2")
    agree(mlir, function(body, "%x: tensor<4xi8>", "(tensor<2xi8>, tensor<2xi32>)"), n)


def test_reductions_by_any_region(mlir: StockMLIR) -> None:
    region = """({
      ^bb0(%a: tensor<f64>, %i: tensor<i32>, %b: tensor<f64>, %j: tensor<i32>):
        %g = stablehlo.compare GT, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %two = stablehlo.constant dense<2> : tensor<i32>
        %s = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f64>
        %m = stablehlo.multiply %j, %two : tensor<i32>
        %k = stablehlo.select %g, %i, %m : tensor<i1>, tensor<i32>
        stablehlo.return %s, %k : tensor<f64>, tensor<i32>
      })"""
    body = f"""%low = stablehlo.constant dense<-9.0> : tensor<f64>
      %none = stablehlo.constant dense<-1> : tensor<i32>
      %r:2 = "stablehlo.reduce"(%x, %n, %low, %none) <{{dimensions = array<i64: 1>}}> {region}
        : (tensor<3x4xf64>, tensor<3x4xi32>, tensor<f64>, tensor<i32>) -> (tensor<3xf64>, tensor<3xi32>)
      %w:2 = "stablehlo.reduce_window"(%x, %n, %low, %none) <{{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>,
        padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}}> {region}
        : (tensor<3x4xf64>, tensor<3x4xi32>, tensor<f64>, tensor<i32>) -> (tensor<3x2xf64>, tensor<3x2xi32>)
      return %r#0, %r#1, %w#0, %w#1 : tensor<3xf64>, tensor<3xi32>, tensor<3x2xf64>, tensor<3x2xi32>"""
    program = function(body, "%x: tensor<3x4xf64>, %n: tensor<3x4xi32>", "(tensor<3xf64>, tensor<3xi32>, tensor<3x2xf64>, tensor<3x2xi32>)")
    agree(mlir, program, RNG.standard_normal((3, 4)), np.arange(12, dtype="i4").reshape(3, 4))


def test_scatters_by_any_region(mlir: StockMLIR) -> None:
    body = """%y:2 = "stablehlo.scatter"(%x, %n, %at, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
      ^bb0(%a: tensor<f64>, %i: tensor<i32>, %b: tensor<f64>, %j: tensor<i32>):
        %s = stablehlo.subtract %b, %a : tensor<f64>
        %m = stablehlo.maximum %i, %j : tensor<i32>
        stablehlo.return %s, %m : tensor<f64>, tensor<i32>
      }) : (tensor<5xf64>, tensor<5xi32>, tensor<4x1xi32>, tensor<4xf64>, tensor<4xi32>) -> (tensor<5xf64>, tensor<5xi32>)
      return %y#0, %y#1 : tensor<5xf64>, tensor<5xi32>"""
    arguments = "%x: tensor<5xf64>, %n: tensor<5xi32>, %at: tensor<4x1xi32>, %u: tensor<4xf64>, %v: tensor<4xi32>"
    given = [RNG.standard_normal(5), np.arange(5, dtype="i4"), np.array([[3], [1], [9], [3]], "i4"), RNG.standard_normal(4), np.array([7, 0, 7, 2], "i4")]
    agree(mlir, function(body, arguments, "(tensor<5xf64>, tensor<5xi32>)"), *given)


def test_elements_of_other_types(mlir: StockMLIR) -> None:
    body = """%d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x2xf32>
      %c = stablehlo.convert %d : (tensor<2x2xf32>) -> tensor<2x2xcomplex<f64>>
      %n = stablehlo.convert %c : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>
      return %d, %n : tensor<2x2xf32>, tensor<2x2xcomplex<f32>>"""
    x = np.array([[0.5, -2, 3], [1, 0.25, 8]], ml_dtypes.bfloat16)
    agree(mlir, function(body, "%x: tensor<2x3xbf16>", "(tensor<2x2xf32>, tensor<2x2xcomplex<f32>>)"), x)


def test_errors_are_one_line_that_says_what_is_wrong(mlir: StockMLIR) -> None:
    with pytest.raises(StockError, match=r"error: .*arith\.addd"):
        mlir.after("func.func @main(%x: f64) -> f64 { %y = arith.addd %x, %x : f64 return %y : f64 }")
    with pytest.raises(StockError, match=r"error: .*func\.func"):
        mlir.llvm("func.func @main(%x: f64) -> f64 { return %x : f64 }")
    with pytest.raises(StockError, match=r"no-such-pass"):
        mlir.after("module {}", "no-such-pass")

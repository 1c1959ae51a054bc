"""Ops with computed indices and control flow, in kernels: against the interpreter, at both levels."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import lower


def check(text: str, *inputs: np.ndarray, interpreted: bool | None = False) -> list[np.ndarray]:
    module = parse_module(text)
    compiled = compile(module)
    assert interpreted is None or bool(compiled.stats.interpreted) == interpreted, compiled.stats
    compiled.kernel_module.verify()
    expected = run(module, inputs)
    kept = [x.copy() for x in inputs]
    for actual in (compiled(*inputs), run(compiled.kernel_module, inputs)):
        for a, b in zip(actual, expected, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert all(np.array_equal(a, b) for a, b in zip(inputs, kept, strict=True))
    return expected


def normal(*extents: int) -> np.ndarray:
    return np.random.default_rng(sum(extents)).standard_normal(extents).astype(np.float32)


@pytest.mark.parametrize("index", ["i32", "ui32", "i64", "i8", "ui64"])
@pytest.mark.parametrize("start", [-3, 0, 2, 4, 100])
def test_dynamic_slice_and_update(index: str, start: int) -> None:
    dtype = np.dtype({"i32": "i4", "ui32": "u4", "i64": "i8", "i8": "i1", "ui64": "u8"}[index])
    if start < 0 and dtype.kind == "u":
        pytest.skip("unsigned")
    text = f"""func.func public @main(%x: tensor<6x10xf32>, %u: tensor<2x10xf32>, %i: tensor<{index}>) -> (tensor<3x7xf32>, tensor<6x10xf32>, tensor<6x10xf32>) {{
      %z = stablehlo.constant dense<1> : tensor<{index}>
      %s = stablehlo.dynamic_slice %x, %i, %z, sizes = [3, 7] : (tensor<6x10xf32>, tensor<{index}>, tensor<{index}>) -> tensor<3x7xf32>
      %e = stablehlo.exponential %s : tensor<3x7xf32>
      %w = stablehlo.negate %u : tensor<2x10xf32>
      %d = stablehlo.dynamic_update_slice %x, %w, %i, %z : (tensor<6x10xf32>, tensor<2x10xf32>, tensor<{index}>, tensor<{index}>) -> tensor<6x10xf32>
      %t = stablehlo.tanh %x : tensor<6x10xf32>
      %f = stablehlo.dynamic_update_slice %t, %u, %z, %i : (tensor<6x10xf32>, tensor<2x10xf32>, tensor<{index}>, tensor<{index}>) -> tensor<6x10xf32>
      return %e, %d, %f : tensor<3x7xf32>, tensor<6x10xf32>, tensor<6x10xf32>
    }}"""
    check(text, normal(6, 10), normal(2, 10), np.array(start, dtype))


def test_gather_rows_and_elements() -> None:
    text = """func.func public @main(%x: tensor<9x16xf32>, %i: tensor<5x1xi32>) -> (tensor<5x16xf32>, tensor<16x5xf32>, tensor<5xf32>) {
      %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<9x16xf32>, tensor<5x1xi32>) -> tensor<5x16xf32>
      %c = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<9x16xf32>, tensor<5x1xi32>) -> tensor<16x5xf32>
      %v = stablehlo.reshape %x : (tensor<9x16xf32>) -> tensor<144xf32>
      %e = "stablehlo.gather"(%v, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<144xf32>, tensor<5x1xi32>) -> tensor<5xf32>
      %n = stablehlo.negate %r : tensor<5x16xf32>
      return %n, %c, %e : tensor<5x16xf32>, tensor<16x5xf32>, tensor<5xf32>
    }"""
    check(text, normal(9, 16), np.array([[3], [-5], [100], [0], [8]], np.int32))


def test_gather_with_batching_dims() -> None:
    text = """func.func public @main(%x: tensor<4x7x3xf32>, %i: tensor<4x6x1xi64>) -> tensor<4x6x3xf32> {
      %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<4x7x3xf32>, tensor<4x6x1xi64>) -> tensor<4x6x3xf32>
      return %r : tensor<4x6x3xf32>
    }"""
    check(text, normal(4, 7, 3), np.random.default_rng(0).integers(-2, 9, (4, 6, 1)))


@pytest.mark.parametrize("kind", ["add", "multiply", "maximum", "minimum", "set"])
@pytest.mark.parametrize("rows", [True, False])
def test_scatter_with_duplicates_and_windows_outside(kind: str, rows: bool) -> None:
    body = "stablehlo.return %b : tensor<f32>" if kind == "set" else f"%c = stablehlo.{kind} %a, %b : tensor<f32>\n stablehlo.return %c : tensor<f32>"
    width, window = ("x12", "update_window_dims = [1], ") if rows else ("", "")
    text = f"""func.func public @main(%x: tensor<9{width}xf32>, %i: tensor<20x1xi32>, %u: tensor<20{width}xf32>) -> (tensor<9{width}xf32>, tensor<9{width}xf32>) {{
      %t = stablehlo.tanh %x : tensor<9{width}xf32>
      %r = "stablehlo.scatter"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{window}inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}}> ({{
      ^0(%a: tensor<f32>, %b: tensor<f32>):
        {body}
      }}) : (tensor<9{width}xf32>, tensor<20x1xi32>, tensor<20{width}xf32>) -> tensor<9{width}xf32>
      return %r, %t : tensor<9{width}xf32>, tensor<9{width}xf32>
    }}"""
    index = np.random.default_rng(1).integers(-3, 12, (20, 1)).astype(np.int32)
    check(text, normal(9, 12) if rows else normal(9), index, normal(20, 12) if rows else normal(20))


def test_counted_loop_swaps_keeps_and_updates() -> None:
    text = """func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %f = stablehlo.constant dense<0.0> : tensor<8x4xf32>
      %y = stablehlo.tanh %x : tensor<4xf32>
      %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %out = %f) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>
      cond {
        %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %s = stablehlo.sine %a : tensor<4xf32>
        %t = stablehlo.add %s, %b : tensor<4xf32>
        %w = stablehlo.reshape %t : (tensor<4xf32>) -> tensor<1x4xf32>
        %o = stablehlo.dynamic_update_slice %out, %w, %i, %zero : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %b, %t, %o : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>
      }
      return %r#1, %r#2, %r#3, %r#0 : tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<i32>
    }"""
    for count in (0, 1, 2, 5, 8, -1):
        check(text, normal(4), np.array(count, np.int32))


def test_while_with_a_condition_on_data() -> None:
    text = """func.func public @main(%x: tensor<5xf64>) -> (tensor<5xf64>, tensor<i32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %f = stablehlo.constant dense<0.0> : tensor<f64>
      %limit = stablehlo.constant dense<1.0e3> : tensor<f64>
      %r:2 = stablehlo.while(%a = %x, %i = %zero) : tensor<5xf64>, tensor<i32>
      cond {
        %q = stablehlo.multiply %a, %a : tensor<5xf64>
        %s = stablehlo.reduce(%q init: %f) applies stablehlo.add across dimensions = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<f64>
        %c = stablehlo.compare LT, %s, %limit, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %b = stablehlo.add %a, %x : tensor<5xf64>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %b, %j : tensor<5xf64>, tensor<i32>
      }
      return %r#0, %r#1 : tensor<5xf64>, tensor<i32>
    }"""
    check(text, np.array([1.0, -2.0, 0.5, 3.0, 0.1]))


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 7])
def test_case_runs_one_branch(index: int) -> None:
    text = """func.func public @main(%i: tensor<i32>, %x: tensor<33xf32>) -> (tensor<33xf32>, tensor<33xf32>) {
      %r:2 = "stablehlo.case"(%i) ({
        %a = stablehlo.sine %x : tensor<33xf32>
        stablehlo.return %a, %x : tensor<33xf32>, tensor<33xf32>
      }, {
        stablehlo.return %x, %x : tensor<33xf32>, tensor<33xf32>
      }, {
        %b = stablehlo.reverse %x, dims = [0] : tensor<33xf32>
        %c = stablehlo.tanh %b : tensor<33xf32>
        stablehlo.return %c, %c : tensor<33xf32>, tensor<33xf32>
      }) : (tensor<i32>) -> (tensor<33xf32>, tensor<33xf32>)
      return %r#0, %r#1 : tensor<33xf32>, tensor<33xf32>
    }"""
    check(text, np.array(index, np.int32), normal(33))


def test_whole_op_inside_a_loop() -> None:
    text = """func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<4> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<6xf32>
      cond {
        %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %g = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
        ^0(%p: tensor<f32>, %q: tensor<f32>):
          %lt = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %lt : tensor<i1>
        }) : (tensor<6xf32>) -> tensor<6xf32>
        %b = stablehlo.tanh %g : tensor<6xf32>
        %d = stablehlo.abs %b : tensor<6xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %d : tensor<i32>, tensor<6xf32>
      }
      return %r#1 : tensor<6xf32>
    }"""
    check(text, np.abs(normal(6)), interpreted=None)


def test_positions_of_padding_are_not_read() -> None:
    """Outside of the guards of a padded gather there are no indices."""
    text = """func.func public @main(%x: tensor<9x3xf32>, %i: tensor<4x1xi32>, %y: tensor<6x3xf32>) -> tensor<6x3xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<9x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
      %n = stablehlo.negate %r : tensor<4x3xf32>
      %p = stablehlo.pad %n, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<6x3xf32>
      %s = stablehlo.multiply %p, %y : tensor<6x3xf32>
      return %s : tensor<6x3xf32>
    }"""
    check(text, normal(9, 3), np.array([[3], [-5], [100], [8]], np.int32), normal(6, 3))
    verify(lower(parse_module(text)))

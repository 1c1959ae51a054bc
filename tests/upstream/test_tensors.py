"""``tensor`` beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.upstream.support import check, check_derivative, run

from wengert.ir.diagnostics import DiagnosticError

X = np.arange(24.0).reshape(4, 6) / 10
Y = np.arange(4.0) - 1.5


def test_elements() -> None:
    text = """func.func @main(%x: tensor<4x6xf64>, %i: index, %v: f64) -> (f64, tensor<4x6xf64>, f64) {
      %c2 = arith.constant 2 : index
      %a = tensor.extract %x[%i, %c2] : tensor<4x6xf64>
      %b = tensor.insert %v into %x[%c2, %i] : tensor<4x6xf64>
      %c = tensor.extract %b[%c2, %i] : tensor<4x6xf64>
      return %a, %b, %c : f64, tensor<4x6xf64>, f64 }"""
    changed = X.copy()
    changed[2, 3] = 9
    check(text, [X, 3, 9.0], X[3, 2], changed, 9.0)
    check_derivative(text, [X, 3, 9.0])


@pytest.mark.parametrize(
    ("slice", "type", "expected"),
    [
        ("[1, 2] [2, 3] [1, 1]", "tensor<2x3xf64>", X[1:3, 2:5]),
        ("[1, 2] [1, 3] [1, 1]", "tensor<3xf64>", X[1, 2:5]),
        ("[0, 1] [2, 3] [2, 2]", "tensor<2x3xf64>", X[0:4:2, 1:6:2]),
        ("[%i, 2] [2, 3] [1, 1]", "tensor<2x3xf64>", X[1:3, 2:5]),
        ("[%i, 0] [2, 3] [2, 2]", "tensor<2x3xf64>", X[1:4:2, 0:5:2]),
        ("[%i, %i] [1, 1] [1, 1]", "tensor<f64>", X[1, 1]),
        ("[0, %i] [4, 1] [1, 1]", "tensor<4x1xf64>", X[:, 1:2]),
        ("[0, %i] [1, 1] [1, 1]", "tensor<1xf64>", X[0, 1:2]),
        ("[%i, 0] [0, 6] [1, 1]", "tensor<0x6xf64>", X[:0]),
    ],
)
def test_slices(slice: str, type: str, expected: np.ndarray) -> None:
    text = f"func.func @main(%x: tensor<4x6xf64>, %i: index) -> {type} {{ %y = tensor.extract_slice %x{slice} : tensor<4x6xf64> to {type} return %y : {type} }}"
    check(text, [X, 1], expected)
    put = f"""func.func @main(%x: tensor<4x6xf64>, %i: index, %v: {type}) -> tensor<4x6xf64> {{
      %y = tensor.insert_slice %v into %x{slice} : {type} into tensor<4x6xf64> return %y : tensor<4x6xf64> }}"""
    update = -1.0 - np.arange(expected.size).reshape(expected.shape)
    back = f"""func.func @main(%x: tensor<4x6xf64>, %i: index, %v: {type}) -> {type} {{
      %z = tensor.insert_slice %v into %x{slice} : {type} into tensor<4x6xf64>
      %y = tensor.extract_slice %z{slice} : tensor<4x6xf64> to {type} return %y : {type} }}"""
    check(back, [X, 1, update], update)
    assert (run(put, X, 1, update)[0] != X).sum() == update.size
    if update.size:
        check_derivative(put, [X, 1, update])


def test_shapes() -> None:
    text = """func.func @main(%x: tensor<4x6xf64>) -> (tensor<24xf64>, tensor<2x2x6xf64>, tensor<3x8xf64>, tensor<8x6xf64>) {
      %a = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf64> into tensor<24xf64>
      %b = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf64> into tensor<2x2x6xf64>
      %s = arith.constant dense<[3, 8]> : tensor<2xindex>
      %c = tensor.reshape %x(%s) : (tensor<4x6xf64>, tensor<2xindex>) -> tensor<3x8xf64>
      %d = tensor.concat dim(0) %x, %x : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<8x6xf64>
      return %a, %b, %c, %d : tensor<24xf64>, tensor<2x2x6xf64>, tensor<3x8xf64>, tensor<8x6xf64> }"""
    check(text, [X], X.reshape(24), X.reshape(2, 2, 6), X.reshape(3, 8), np.concatenate([X, X]))


def test_making() -> None:
    text = """func.func @main(%x: f64, %n: index) -> (tensor<2x2xf64>, tensor<3xf64>, tensor<2x3xf64>, index, index) {
      %c1 = arith.constant 1 : index
      %y = math.sin %x : f64
      %a = tensor.from_elements %x, %y, %y, %x : tensor<2x2xf64>
      %b = tensor.splat %x : tensor<3xf64>
      %c = tensor.generate {
      ^bb0(%i: index, %j: index):
        %k = arith.muli %i, %n : index
        %l = arith.addi %k, %j : index
        %m = arith.index_cast %l : index to i64
        %o = arith.sitofp %m : i64 to f64
        %p = arith.mulf %o, %x : f64
        tensor.yield %p : f64
      } : tensor<2x3xf64>
      %d = tensor.dim %c, %c1 : tensor<2x3xf64>
      %r = tensor.rank %c : tensor<2x3xf64>
      return %a, %b, %c, %d, %r : tensor<2x2xf64>, tensor<3xf64>, tensor<2x3xf64>, index, index }"""
    s = np.sin(0.5)
    check(text, [0.5, 3], np.array([[0.5, s], [s, 0.5]]), np.full(3, 0.5), np.arange(6.0).reshape(2, 3) / 2, np.int64(3), np.int64(2))


def test_generated_by_branches_and_loops() -> None:
    text = """func.func @main(%x: tensor<5xf64>) -> tensor<5xf64> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %z = arith.constant 0.0 : f64
      %y = tensor.generate {
      ^bb0(%i: index):
        %p = arith.cmpi ult, %i, %c2 : index
        %r = scf.if %p -> (f64) {
          scf.yield %z : f64
        } else {
          %s = scf.for %k = %c0 to %i step %c1 iter_args(%a = %z) -> (f64) {
            %e = tensor.extract %x[%k] : tensor<5xf64>
            %b = arith.addf %a, %e : f64
            scf.yield %b : f64
          }
          scf.yield %s : f64
        }
        tensor.yield %r : f64
      } : tensor<5xf64>
      return %y : tensor<5xf64> }"""
    x = np.array([1.0, 2, 3, 4, 5])
    check(text, [x], np.array([0.0, 0, 3, 6, 10]))
    check_derivative(text, [x])


def test_padding() -> None:
    text = """func.func @main(%x: tensor<2x3xf64>, %v: f64) -> (tensor<4x4xf64>, tensor<4x4xf64>) {
      %a = tensor.pad %x low[1, 0] high[1, 1] { ^bb0(%i: index, %j: index): tensor.yield %v : f64 } : tensor<2x3xf64> to tensor<4x4xf64>
      %b = tensor.pad %x low[0, 1] high[2, 0] {
      ^bb0(%i: index, %j: index):
        %k = arith.addi %i, %j : index
        %l = arith.index_cast %k : index to i64
        %m = arith.sitofp %l : i64 to f64
        tensor.yield %m : f64
      } : tensor<2x3xf64> to tensor<4x4xf64>
      return %a, %b : tensor<4x4xf64>, tensor<4x4xf64> }"""
    x = np.arange(6.0).reshape(2, 3)
    around = np.add.outer(np.arange(4.0), np.arange(4.0))
    around[:2, 1:] = x
    check(text, [x, 7.0], np.pad(x, ((1, 1), (0, 1)), constant_values=7), around)
    check_derivative(text, [x, 7.0])


def test_gather_and_scatter() -> None:
    text = """func.func @main(%x: tensor<4x6xf64>, %i: tensor<3x1xindex>, %u: tensor<3x1x6xf64>) -> (tensor<3x1x6xf64>, tensor<3x6xf64>, tensor<4x6xf64>) {
      %a = tensor.gather %x[%i] gather_dims([0]) unique : (tensor<4x6xf64>, tensor<3x1xindex>) -> tensor<3x1x6xf64>
      %b = tensor.gather %x[%i] gather_dims([0]) : (tensor<4x6xf64>, tensor<3x1xindex>) -> tensor<3x6xf64>
      %c = tensor.scatter %u into %x[%i] scatter_dims([0]) unique : (tensor<3x1x6xf64>, tensor<4x6xf64>, tensor<3x1xindex>) -> tensor<4x6xf64>
      return %a, %b, %c : tensor<3x1x6xf64>, tensor<3x6xf64>, tensor<4x6xf64> }"""
    at = np.array([[2], [0], [3]])
    update = np.full((3, 1, 6), 5.0)
    scattered = X.copy()
    scattered[[2, 0, 3]] = 5
    check(text, [X, at, update], X[[2, 0, 3]][:, None], X[[2, 0, 3]], scattered)


def test_dynamic_extents() -> None:
    text = """func.func @main(%x: tensor<?x?xf64>) -> (tensor<?xf64>, tensor<?x2xf64>, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %n = tensor.dim %x, %c0 : tensor<?x?xf64>
      %m = tensor.dim %x, %c1 : tensor<?x?xf64>
      %a = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf64> into tensor<?xf64>
      %h = arith.divui %m, %c2 : index
      %k = arith.muli %n, %h : index
      %b = tensor.expand_shape %a [[0, 1]] output_shape [%k, 2] : tensor<?xf64> into tensor<?x2xf64>
      return %a, %b, %k : tensor<?xf64>, tensor<?x2xf64>, index }"""
    check(text, [X], X.reshape(-1), X.reshape(-1, 2), np.int64(12))
    check(text, [X[:3]], X[:3].reshape(-1), X[:3].reshape(-1, 2), np.int64(9))


def test_a_size_that_depends_on_elements_is_refused() -> None:
    text = "func.func @main(%x: tensor<4xf64>, %n: index) -> tensor<?xf64> {\n  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<4xf64> to tensor<?xf64>\n  return %y : tensor<?xf64> }"
    with pytest.raises(DiagnosticError, match=r"test\.mlir:2:3: error: tensor\.extract_slice: the size of a slice is not a constant"):
        run(text, np.ones(4), 3)

"""``memref``, ``affine`` and ``bufferization`` on buffers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.upstream.support import check, check_derivative, run

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

X = np.arange(24.0).reshape(4, 6) / 10
V = np.array([0.3, -0.7, 0.9, 0.2])
CONSTANTS = """%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f64"""


def main(arguments: str, body: str, results: str = "()") -> str:
    return f"func.func @main({arguments}) -> {results} {{\n      {CONSTANTS}\n      {body}\n    }}"


def test_arguments_that_are_written_are_results() -> None:
    text = main("%x: memref<4xf64>, %y: memref<4xf64>, %o: memref<4xf64>", """scf.for %i = %c0 to %c4 step %c1 {
        %a = memref.load %x[%i] : memref<4xf64>
        %b = memref.load %y[%i] : memref<4xf64>
        %m = arith.mulf %a, %b : f64
        memref.store %m, %o[%i] : memref<4xf64>
        memref.store %zero, %x[%i] : memref<4xf64>
      }
      return %a0 : f64""".replace("return %a0", "%a0 = memref.load %o[%c1] : memref<4xf64>\n      return %a0"), "f64")  # fmt: skip
    check(text, [V, 2 * V, np.full(4, 9.0)], 2 * V[1] ** 2, 0 * V, 2 * V * V)
    check_derivative(text, [V, 2 * V, np.zeros(4)])
    names = [p.name for p in wg.parse(text).signature.results]
    assert names == [None, "contents of argument 0 (x)", "contents of argument 2 (o)"]


def test_loops_branches_and_local_buffers() -> None:
    text = main("%x: memref<4xf64>, %s: memref<f64>", """%t = memref.alloca() : memref<4xf64>
      memref.copy %x, %t : memref<4xf64> to memref<4xf64>
      memref.store %zero, %s[] : memref<f64>
      affine.for %i = 0 to 4 {
        %l = memref.alloc() : memref<1xf64>
        %a = affine.load %t[-%i + 3] : memref<4xf64>
        affine.store %a, %l[0] : memref<1xf64>
        %p = arith.cmpf ogt, %a, %zero : f64
        scf.if %p {
          %b = affine.load %l[symbol(%c0)] : memref<1xf64>
          %c = memref.load %s[] : memref<f64>
          %d = arith.addf %b, %c : f64
          memref.store %d, %s[] : memref<f64>
        } else {
          %e = math.exp %a : f64
          affine.store %e, %t[%i] : memref<4xf64>
        }
        memref.dealloc %l : memref<1xf64>
      }
      memref.copy %t, %x : memref<4xf64> to memref<4xf64>
      return""")  # fmt: skip
    t, s = V.copy(), 0.0
    for i in range(4):
        a = t[3 - i]
        if a > 0:
            s += a
        else:
            t[i] = np.exp(a)
    check(text, [V, np.array(5.0)], t, np.array(s))
    check_derivative(text, [V, np.array(5.0)])


def test_while_loops_on_buffers() -> None:
    text = main("%x: memref<1xf64>", """%limit = arith.constant 50.0 : f64
      %n = scf.while (%k = %c0) : (index) -> index {
        %a = memref.load %x[%c0] : memref<1xf64>
        %b = arith.mulf %a, %a : f64
        memref.store %b, %x[%c0] : memref<1xf64>
        %p = arith.cmpf olt, %b, %limit : f64
        scf.condition(%p) %k : index
      } do {
      ^bb0(%k: index):
        %l = arith.addi %k, %c1 : index
        scf.yield %l : index
      }
      return %n : index""", "index")  # fmt: skip
    check(text, [np.array([2.0])], np.int64(2), np.array([256.0]))
    check_derivative(text, [np.array([2.0])])


def test_views() -> None:
    text = main("%x: memref<4x6xf64>, %k: index", """%s = memref.subview %x[1, %k] [2, 3] [2, 1] : memref<4x6xf64> to memref<2x3xf64, strided<[12, 1], offset: ?>>
      %r = memref.subview %s[1, 0] [1, 3] [1, 1] : memref<2x3xf64, strided<[12, 1], offset: ?>> to memref<3xf64, strided<[1], offset: ?>>
      %a = memref.load %r[%c1] : memref<3xf64, strided<[1], offset: ?>>
      memref.store %a, %s[%c0, %c2] : memref<2x3xf64, strided<[12, 1], offset: ?>>
      %f = memref.collapse_shape %x [[0, 1]] : memref<4x6xf64> into memref<24xf64>
      %e = memref.expand_shape %f [[0, 1, 2]] output_shape [2, 3, 4] : memref<24xf64> into memref<2x3x4xf64>
      memref.store %zero, %e[%c1, %c2, %c3] : memref<2x3x4xf64>
      %t = memref.transpose %x (i, j) -> (j, i) : memref<4x6xf64> to memref<6x4xf64, strided<[1, 6]>>
      %b = memref.load %t[%c4, %c3] : memref<6x4xf64, strided<[1, 6]>>
      memref.store %b, %t[%c0, %c1] : memref<6x4xf64, strided<[1, 6]>>
      %i = memref.reinterpret_cast %x to offset: [2], sizes: [3], strides: [5] : memref<4x6xf64> to memref<3xf64, strided<[5], offset: 2>>
      %d = memref.load %i[%c2] : memref<3xf64, strided<[5], offset: 2>>
      %y = memref.cast %f : memref<24xf64> to memref<?xf64>
      %n = memref.dim %y, %c0 : memref<?xf64>
      return %d, %n : f64, index""", "(f64, index)")  # fmt: skip
    x = X.copy()
    x[1, 2 + 2] = x[3, 2 + 1]
    x.reshape(2, 3, 4)[1, 2, 3] = 0
    x.T[0, 1] = x.T[4, 3]
    check(text, [X, 2], x.reshape(-1)[12], np.int64(24), x)
    check_derivative(text, [X, 2])


def test_whole_views_are_read_and_put_back() -> None:
    text = main("%x: memref<4x6xf64>, %o: memref<6x4xf64>", """%s = memref.subview %x[0, 1] [4, 2] [1, 2] : memref<4x6xf64> to memref<4x2xf64, strided<[6, 2], offset: 1>>
      linalg.fill ins(%zero : f64) outs(%s : memref<4x2xf64, strided<[6, 2], offset: 1>>)
      %t = memref.transpose %o (i, j) -> (j, i) : memref<6x4xf64> to memref<4x6xf64, strided<[1, 4]>>
      memref.copy %x, %t : memref<4x6xf64> to memref<4x6xf64, strided<[1, 4]>>
      %f = memref.collapse_shape %o [[0, 1]] : memref<6x4xf64> into memref<24xf64>
      linalg.map { math.exp } ins(%f : memref<24xf64>) outs(%f : memref<24xf64>)
      return""")  # fmt: skip
    x = X.copy()
    x[:, 1:5:2] = 0
    check(text, [X, np.zeros((6, 4))], x, np.exp(x.T))
    check_derivative(text, [X, np.zeros((6, 4))])


def test_linalg_on_buffers() -> None:
    text = main("%a: memref<3x4xf64>, %b: memref<4x2xf64>, %c: memref<3x2xf64>", """linalg.matmul ins(%a, %b : memref<3x4xf64>, memref<4x2xf64>) outs(%c : memref<3x2xf64>)
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<3x2xf64>) {
      ^bb0(%o: f64):
        %i = linalg.index 0 : index
        %e = memref.load %b[%i, %c1] : memref<4x2xf64>
        %m = arith.mulf %o, %e : f64
        linalg.yield %m : f64
      }
      return""")  # fmt: skip
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 4)), rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
    check(text, [a, b, c], (c + a @ b) * b[:3, 1][:, None])
    check_derivative(text, [a, b, c])


def test_parallel_loops_on_buffers() -> None:
    text = main("%x: memref<4xf64>, %o: memref<4xf64>", """%s = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%zero) -> f64 {
        %a = memref.load %x[%i] : memref<4xf64>
        %b = math.sin %a : f64
        memref.store %b, %o[%i] : memref<4xf64>
        scf.reduce(%b : f64) {
        ^bb0(%p: f64, %q: f64):
          %t = arith.addf %p, %q : f64
          scf.reduce.return %t : f64
        }
      }
      affine.parallel (%i, %j) = (0, 0) to (2, 2) {
        %a = affine.load %o[%i * 2 + %j] : memref<4xf64>
        %b = arith.mulf %a, %s : f64
        affine.store %b, %o[%j + %i * 2] : memref<4xf64>
      }
      %m:2 = affine.parallel (%i) = (0) to (symbol(%c4)) step (2) reduce ("maximumf", "addi") -> (f64, index) {
        %a = affine.load %o[%i] : memref<4xf64>
        affine.yield %a, %i : f64, index
      }
      scf.forall (%i) in (4) {
        %a = memref.load %o[%i] : memref<4xf64>
        %b = arith.addf %a, %a : f64
        memref.store %b, %o[%i] : memref<4xf64>
      }
      return %m#0, %m#1 : f64, index""", "(f64, index)")  # fmt: skip
    o = np.sin(V) * np.sin(V).sum()
    check(text, [V, np.zeros(4)], max(o[0], o[2]), np.int64(2), 2 * o)
    check_derivative(text, [V, np.zeros(4)])


def test_calls_globals_and_conversions() -> None:
    text = """memref.global "private" constant @table : memref<4xf64> = dense<[1.0, 2.0, 3.0, 4.0]>
    func.func private @scale(%x: memref<?xf64>, %s: f64) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf64>
      affine.for %i = 0 to %n {
        %a = affine.load %x[%i] : memref<?xf64>
        %b = arith.mulf %a, %s : f64
        affine.store %b, %x[%i] : memref<?xf64>
      }
      return
    }
    func.func @main(%x: memref<4xf64>, %s: f64) -> tensor<4xf64> {
      %g = memref.get_global @table : memref<4xf64>
      %d = memref.cast %x : memref<4xf64> to memref<?xf64>
      call @scale(%d, %s) : (memref<?xf64>, f64) -> ()
      func.call @scale(%d, %s) : (memref<?xf64>, f64) -> ()
      %t = bufferization.to_tensor %x restrict : memref<4xf64> to tensor<4xf64>
      %u = bufferization.to_tensor %g restrict : memref<4xf64> to tensor<4xf64>
      %v = arith.addf %t, %u : tensor<4xf64>
      return %v : tensor<4xf64>
    }"""
    check(text, [V, 3.0], 9 * V + np.arange(1.0, 5), 9 * V)
    check_derivative(text, [V, 3.0])


def test_atomic_updates() -> None:
    text = main("%x: memref<4xf64>, %o: memref<2xf64>", """scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
        %a = memref.load %x[%i] : memref<4xf64>
        %k = arith.remui %i, %c2 : index
        memref.atomic_rmw addf %a, %o[%k] : (f64, memref<2xf64>) -> f64
        %old = memref.generic_atomic_rmw %o[%k] : memref<2xf64> {
        ^bb0(%b: f64):
          %c = arith.addf %b, %a : f64
          memref.atomic_yield %c : f64
        }
        scf.reduce
      }
      return""")  # fmt: skip
    check(text, [V, np.zeros(2)], 2 * V.reshape(2, 2).sum(0))


def test_open_extents() -> None:
    text = main("%x: memref<?x?xf64>, %o: memref<?xf64>", """%n = memref.dim %x, %c0 : memref<?x?xf64>
      %t = memref.alloc(%n) : memref<?xf64>
      affine.for %i = 0 to %n {
        %r = memref.subview %x[%i, 0] [1, 2] [1, 1] : memref<?x?xf64> to memref<2xf64, strided<[1], offset: ?>>
        %a = memref.load %r[%c1] : memref<2xf64, strided<[1], offset: ?>>
        affine.store %a, %t[%i] : memref<?xf64>
      }
      memref.copy %t, %o : memref<?xf64> to memref<?xf64>
      return""")  # fmt: skip
    for n in (2, 4):
        check(text, [X[:n], np.zeros(n)], X[:n, 1])
    assert [p.name for p in wg.parse(text).signature.results] == ["contents of argument 1 (o)"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%m = arith.select %p, %x, %y : memref<4xf64>\n      memref.store %zero, %m[%c0] : memref<4xf64>",
            "arith.select: this op on buffers has no meaning here",
        ),
        ("%m = scf.if %p -> (memref<4xf64>) { scf.yield %x : memref<4xf64> } else { scf.yield %y : memref<4xf64> }", "scf.if: it carries or returns a buffer"),
        (
            "%m = scf.for %i = %c0 to %c4 step %c1 iter_args(%z = %x) -> (memref<4xf64>) { scf.yield %z : memref<4xf64> }",
            "scf.for: it carries or returns a buffer",
        ),
        (
            "%s = memref.subview %x[0] [3] [1] : memref<4xf64> to memref<3xf64, strided<[1]>>\n"
            "      %t = memref.subview %x[1] [3] [1] : memref<4xf64> to memref<3xf64, strided<[1], offset: 1>>\n"
            "      linalg.map { math.exp } ins(%s : memref<3xf64, strided<[1]>>) outs(%t : memref<3xf64, strided<[1], offset: 1>>)",
            "linalg.map: it reads and writes views of one buffer that may overlap",
        ),
        ("%b, %o, %s:1, %q:1 = memref.extract_strided_metadata %x : memref<4xf64> -> memref<f64>, index, index, index", "has no meaning here"),
    ],
)
def test_what_is_not_known_is_refused(body: str, message: str) -> None:
    text = main("%x: memref<4xf64>, %y: memref<4xf64>, %p: i1", f"{body}\n      return")
    with pytest.raises(DiagnosticError) as raised:
        run(text, V, V, True)
    assert message in str(raised.value)
    assert str(raised.value).startswith("test.mlir:")

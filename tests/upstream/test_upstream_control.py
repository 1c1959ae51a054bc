"""``scf`` and ``affine`` on values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.upstream.support import check, check_derivative, run

from wengert.ir.diagnostics import DiagnosticError

X = np.array([0.3, -0.7, 0.9, 0.2])
CONSTANTS = """%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f64
      %one = arith.constant 1.0 : f64"""


def main(arguments: str, results: str, body: str) -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n      {CONSTANTS}\n      {body}\n    }}"


@pytest.mark.parametrize(("lower", "upper", "step"), [(0, 4, 1), (1, 4, 2), (3, 3, 1), (3, 1, 1), (0, 4, 3)])
def test_counted_loops(lower: int, upper: int, step: int) -> None:
    body = """%r = scf.for %i = %l to %u step %s iter_args(%a = %one) -> (f64) {
        %e = tensor.extract %x[%i] : tensor<4xf64>
        %b = math.sin %e : f64
        %c = arith.mulf %a, %b : f64
        scf.yield %c : f64
      }
      return %r : f64"""
    constants = f"%l = arith.constant {lower} : index %u = arith.constant {upper} : index %s = arith.constant {step} : index "
    expected = np.prod([np.sin(X[i]) for i in range(lower, upper, step)])
    check(main("%x: tensor<4xf64>", "f64", constants + body), [X], expected)
    text = main("%x: tensor<4xf64>, %l: index, %u: index, %s: index", "f64", body)
    check(text, [X, lower, upper, step], expected)
    check_derivative(text, [X, lower, upper, step])


def test_loops_of_other_integers() -> None:
    text = main("%x: f64, %n: i32", "f64, i32", """%k0 = arith.constant 0 : i32
      %k1 = arith.constant 1 : i32
      %r:2 = scf.for %i = %k0 to %n step %k1 iter_args(%a = %x, %s = %k0) -> (f64, i32) : i32 {
        %b = arith.mulf %a, %x : f64
        %t = arith.addi %s, %i : i32
        scf.yield %b, %t : f64, i32
      }
      return %r#0, %r#1 : f64, i32""")  # fmt: skip
    check(text, [1.5, 4], 1.5**5, np.int32(6))
    check_derivative(text, [1.5, 4])


def test_while_with_a_condition_that_computes() -> None:
    text = main("%x: f64", "f64, i64", """%k0 = arith.constant 0 : i64
      %k1 = arith.constant 1 : i64
      %limit = arith.constant 10.0 : f64
      %r:2 = scf.while (%a = %x, %n = %k0) : (f64, i64) -> (f64, i64) {
        %b = arith.mulf %a, %a : f64
        %m = arith.addi %n, %k1 : i64
        %p = arith.cmpf olt, %b, %limit : f64
        scf.condition(%p) %b, %m : f64, i64
      } do {
      ^bb0(%b: f64, %m: i64):
        %c = arith.addf %b, %one : f64
        scf.yield %c, %m : f64, i64
      }
      return %r#0, %r#1 : f64, i64""")  # fmt: skip
    a, n = 1.1, 0
    while True:
        b, n = a * a, n + 1
        if b >= 10:
            break
        a = b + 1
    check(text, [1.1], b, np.int64(n))
    check_derivative(text, [1.1])


def test_while_that_forwards_its_arguments() -> None:
    text = main("%x: f64", "f64", """%limit = arith.constant 50.0 : f64
      %r = scf.while (%a = %x) : (f64) -> f64 {
        %p = arith.cmpf olt, %a, %limit : f64
        scf.condition(%p) %a : f64
      } do {
      ^bb0(%a: f64):
        %b = arith.mulf %a, %x : f64
        scf.yield %b : f64
      }
      return %r : f64""")  # fmt: skip
    check(text, [2.0], 64.0)
    check_derivative(text, [2.0])


def test_parallel_loops_and_reductions() -> None:
    text = main("%x: tensor<4xf64>, %n: index", "f64, f64", """%r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c2) step (%c1, %c1) init (%zero, %one) -> (f64, f64) {
        %a = tensor.extract %x[%i] : tensor<4xf64>
        scf.reduce(%a, %a : f64, f64) {
        ^bb0(%p: f64, %q: f64):
          %s = arith.addf %p, %q : f64
          scf.reduce.return %s : f64
        }, {
        ^bb0(%p: f64, %q: f64):
          %s = arith.mulf %p, %q : f64
          scf.reduce.return %s : f64
        }
      }
      return %r#0, %r#1 : f64, f64""")  # fmt: skip
    check(text, [X, 3], 2 * X[:3].sum(), np.prod(X[:3]) ** 2)
    check_derivative(text, [X, 3])


def test_forall() -> None:
    text = main("%x: tensor<4xf64>, %n: index", "tensor<4xf64>, tensor<4xf64>", """%o = tensor.empty() : tensor<4xf64>
      %r:2 = scf.forall (%i) = (0) to (%n) step (2) shared_outs(%p = %o, %q = %x) -> (tensor<4xf64>, tensor<4xf64>) {
        %a = tensor.extract_slice %x[%i] [2] [1] : tensor<4xf64> to tensor<2xf64>
        %b = math.exp %a : tensor<2xf64>
        %old = tensor.extract_slice %q[%i] [2] [1] : tensor<4xf64> to tensor<2xf64>
        %c = arith.mulf %b, %old : tensor<2xf64>
        scf.forall.in_parallel {
          tensor.parallel_insert_slice %b into %p[%i] [2] [1] : tensor<2xf64> into tensor<4xf64>
          tensor.parallel_insert_slice %c into %q[%i] [2] [1] : tensor<2xf64> into tensor<4xf64>
        }
      } {mapping = [#gpu.thread<x>]}
      return %r#0, %r#1 : tensor<4xf64>, tensor<4xf64>""".replace(" {mapping = [#gpu.thread<x>]}", ""))  # fmt: skip
    check(text, [X, 4], np.exp(X), np.exp(X) * X)
    check_derivative(text, [X, 4])


def test_branches() -> None:
    text = main("%x: f64, %k: index", "f64, f64", """%p = arith.cmpf ogt, %x, %zero : f64
      %a = scf.if %p -> (f64) {
        %b = math.log %x : f64
        scf.yield %b : f64
      } else {
        scf.yield %x : f64
      }
      %c = scf.index_switch %k -> f64
      case 2 { scf.yield %a : f64 }
      case -5 { %d = arith.mulf %a, %x : f64 scf.yield %d : f64 }
      default { scf.yield %one : f64 }
      %e = scf.execute_region -> f64 {
        %f = math.exp %c : f64
        scf.yield %f : f64
      }
      scf.if %p {
        %unused = math.exp %x : f64
      }
      return %a, %e : f64, f64""")  # fmt: skip
    for x, k in ((2.0, 2), (-1.5, -5), (2.0, 7)):
        a = np.log(x) if x > 0 else x
        check(text, [x, k], a, np.exp({2: a, -5: a * x}.get(k, 1.0)))
        check_derivative(text, [x, k])


def test_sizes_that_depend_on_a_counter_are_unrolled() -> None:
    text = main("%x: tensor<?xf64>", "f64", """%c3 = arith.constant 3 : index
      %n = tensor.dim %x, %c0 : tensor<?xf64>
      %init = tensor.from_elements %zero : tensor<1xf64>
      %r = scf.for %i = %c0 to %n step %c3 iter_args(%a = %zero) -> (f64) {
        %k = affine.min affine_map<(d)[s] -> (3, s - d)>(%i)[%n]
        %s = tensor.extract_slice %x[%i] [%k] [1] : tensor<?xf64> to tensor<?xf64>
        %o = tensor.empty() : tensor<f64>
        %z = linalg.fill ins(%a : f64) outs(%o : tensor<f64>) -> tensor<f64>
        %d = linalg.dot ins(%s, %s : tensor<?xf64>, tensor<?xf64>) outs(%z : tensor<f64>) -> tensor<f64>
        %e = tensor.extract %d[] : tensor<f64>
        scf.yield %e : f64
      }
      return %r : f64""")  # fmt: skip
    for n in (4, 7):
        x = np.arange(n) / 3
        check(text, [x], (x * x).sum())
        check_derivative(text, [x])


def test_affine_loops() -> None:
    text = main("%x: tensor<4xf64>, %n: index", "f64, index, index, index", """%r = affine.for %i = max affine_map<(d) -> (0, d - 3)>(%n) to min affine_map<(d) -> (d, 4)>(%n) step 2 iter_args(%a = %one) -> (f64) {
        %b = affine.for %j = 0 to %i iter_args(%c = %a) -> (f64) {
          %k = affine.apply affine_map<(d, e) -> (d - e - 1)>(%i, %j)
          %e = tensor.extract %x[%k] : tensor<4xf64>
          %f = affine.if affine_set<(d)[s] : (s - d - 2 >= 0, d mod 2 == 0)>(%j)[%n] -> f64 {
            affine.yield %e : f64
          } else {
            affine.yield %one : f64
          }
          %g = arith.mulf %c, %f : f64
          affine.yield %g : f64
        }
        affine.yield %b : f64
      }
      %p = affine.max affine_map<(d) -> (d floordiv 2, d ceildiv 3, 1)>(%n)
      %q:2 = affine.delinearize_index %n into (2, 3) : index, index
      %s = affine.linearize_index [%q#0, %q#1] by (2, 3) : index
      return %r, %p, %q#1, %s : f64, index, index, index""")  # fmt: skip
    r = 1.0
    for i in range(2, 4, 2):
        for j in range(i):
            r *= X[i - j - 1] if 5 - j - 2 >= 0 and j % 2 == 0 else 1.0
    check(text, [X, 5], r, np.int64(2), np.int64(2), np.int64(5))


def test_calls_are_inlined() -> None:
    text = """func.func private @square(%x: f64) -> f64 { %y = arith.mulf %x, %x : f64 return %y : f64 }
    func.func private @twice(%x: f64) -> f64 { %y = call @square(%x) : (f64) -> f64 %z = func.call @square(%y) : (f64) -> f64 return %z : f64 }
    func.func @main(%x: f64) -> f64 { %y = call @twice(%x) : (f64) -> f64 return %y : f64 }"""
    check(text, [1.5], 1.5**4)


def test_jumps_and_recursion_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="lift-cf-to-scf"):
        run("func.func @main(%x: f64) -> f64 {\n  cf.br ^bb1(%x : f64)\n^bb1(%y: f64):\n  return %y : f64\n}", 1.0)
    with pytest.raises(DiagnosticError, match="must not call themselves"):
        run("func.func @main(%x: f64) -> f64 {\n  %y = call @main(%x) : (f64) -> f64\n  return %y : f64\n}", 1.0)

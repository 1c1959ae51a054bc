"""Programs with loops and branches, alone and nested in each other, with inputs at which they are smooth."""

from __future__ import annotations

import numpy as np

COUNTED = """
func.func public @main(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %0:3 = stablehlo.while(%s = %x, %i = %c, %ww = %w) : tensor<3xf64>, tensor<i64>, tensor<3xf64>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i64>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f64>
    %fb = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %a = stablehlo.sine %s : tensor<3xf64>
    %b = stablehlo.multiply %a, %ww : tensor<3xf64>
    %d = stablehlo.add %b, %fb : tensor<3xf64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %d, %j, %ww : tensor<3xf64>, tensor<i64>, tensor<3xf64>
  }
  return %0#0 : tensor<3xf64>
}
"""

SCAN = """
func.func public @main(%h: tensor<2xf64>, %xs: tensor<5x2xf64>, %a: tensor<2x2xf64>) -> (tensor<2xf64>, tensor<5x2xf64>) {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %z = stablehlo.constant dense<0.0> : tensor<5x2xf64>
  %0:3 = stablehlo.while(%s = %h, %i = %c, %ys = %z) : tensor<2xf64>, tensor<i64>, tensor<5x2xf64>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i64>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %xr = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 2] : (tensor<5x2xf64>, tensor<i64>, tensor<i64>) -> tensor<1x2xf64>
    %x = stablehlo.reshape %xr : (tensor<1x2xf64>) -> tensor<2xf64>
    %as = stablehlo.dot_general %a, %s, contracting_dims = [1] x [0] : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %sum = stablehlo.add %as, %x : tensor<2xf64>
    %t = stablehlo.tanh %sum : tensor<2xf64>
    %tr = stablehlo.reshape %t : (tensor<2xf64>) -> tensor<1x2xf64>
    %ys2 = stablehlo.dynamic_update_slice %ys, %tr, %i, %zero : (tensor<5x2xf64>, tensor<1x2xf64>, tensor<i64>, tensor<i64>) -> tensor<5x2xf64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %t, %j, %ys2 : tensor<2xf64>, tensor<i64>, tensor<5x2xf64>
  }
  return %0#0, %0#2 : tensor<2xf64>, tensor<5x2xf64>
}
"""

UNCOUNTED = """
func.func public @main(%x: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {
  %0:2 = stablehlo.while(%s = %x, %kk = %k) : tensor<f64>, tensor<f64>
  cond {
    %n = stablehlo.constant dense<20.0> : tensor<f64>
    %p = stablehlo.compare LT, %s, %n, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %e = stablehlo.multiply %s, %kk : tensor<f64>
    %q = stablehlo.sine %s : tensor<f64>
    %r = stablehlo.add %e, %q : tensor<f64>
    stablehlo.return %r, %kk : tensor<f64>, tensor<f64>
  }
  return %0#0 : tensor<f64>
}
"""

UNCOUNTED_IN_COUNTED = """
func.func public @main(%x: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%acc = %x, %i = %c) : tensor<f64>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.while(%s = %acc) : tensor<f64>
    cond {
      %n = stablehlo.constant dense<6.0> : tensor<f64>
      %p = stablehlo.compare LT, %s, %n, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %e = stablehlo.multiply %s, %k : tensor<f64>
      %q = stablehlo.sine %s : tensor<f64>
      %r = stablehlo.add %e, %q : tensor<f64>
      stablehlo.return %r : tensor<f64>
    }
    %t = stablehlo.tanh %1 : tensor<f64>
    %u = stablehlo.multiply %t, %acc : tensor<f64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %u, %j : tensor<f64>, tensor<i32>
  }
  return %0#0 : tensor<f64>
}
"""

UNCOUNTED_IN_UNCOUNTED = UNCOUNTED_IN_COUNTED.replace(
    """    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>""",
    """    %n = stablehlo.constant dense<0.4> : tensor<f64>
    %p = stablehlo.compare GT, %acc, %n, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>""",
).replace(
    "%u = stablehlo.multiply %t, %acc",
    "%half = stablehlo.constant dense<0.7> : tensor<f64>\n    %u0 = stablehlo.multiply %t, %acc : tensor<f64>\n    %u = stablehlo.multiply %u0, %half",
)

BRANCH_IN_LOOP = """
func.func public @main(%x: tensor<2xf64>, %w: tensor<2xf64>) -> tensor<2xf64> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%s = %x, %i = %c) : tensor<2xf64>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %k = stablehlo.remainder %i, %three : tensor<i32>
    %1 = "stablehlo.case"(%k) ({
      %a = stablehlo.sine %s : tensor<2xf64>
      stablehlo.return %a : tensor<2xf64>
    }, {
      %a = stablehlo.multiply %s, %w : tensor<2xf64>
      %b = stablehlo.exponential %a : tensor<2xf64>
      stablehlo.return %b : tensor<2xf64>
    }, {
      stablehlo.return %w : tensor<2xf64>
    }) : (tensor<i32>) -> tensor<2xf64>
    %t = stablehlo.add %1, %s : tensor<2xf64>
    %u = stablehlo.tanh %t : tensor<2xf64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %u, %j : tensor<2xf64>, tensor<i32>
  }
  return %0#0 : tensor<2xf64>
}
"""

IF = """
func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  %p = stablehlo.compare GT, %s, %z, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %a = stablehlo.multiply %x, %y : tensor<3xf64>
    stablehlo.return %a : tensor<3xf64>
  }, {
    %a = stablehlo.log_plus_one %y : tensor<3xf64>
    stablehlo.return %a : tensor<3xf64>
  }) : (tensor<i1>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""

LOOP_IN_BRANCH = """
func.func public @main(%x: tensor<f64>, %k: tensor<f64>) -> tensor<f64> {
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %p = stablehlo.compare LT, %x, %two, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.while(%s = %x) : tensor<f64>
    cond {
      %n = stablehlo.constant dense<9.0> : tensor<f64>
      %q = stablehlo.compare LT, %s, %n, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %e = stablehlo.multiply %s, %k : tensor<f64>
      stablehlo.return %e : tensor<f64>
    }
    stablehlo.return %1 : tensor<f64>
  }, {
    stablehlo.return %x : tensor<f64>
  }) : (tensor<i1>) -> tensor<f64>
  return %0 : tensor<f64>
}
"""

CASES = {
    "counted": (COUNTED, [np.array([0.3, -0.2, 0.9]), np.array([1.1, 0.7, -0.4])]),
    "scan": (SCAN, [np.array([0.1, 0.2]), np.linspace(-1, 1, 10).reshape(5, 2), np.array([[0.5, -0.3], [0.2, 0.8]])]),
    "uncounted": (UNCOUNTED, [np.array(1.2), np.array(1.6)]),
    "uncounted, no iteration": (UNCOUNTED, [np.array(30.0), np.array(1.6)]),
    "uncounted in counted": (UNCOUNTED_IN_COUNTED, [np.array(1.2), np.array(1.6)]),
    "uncounted in uncounted": (UNCOUNTED_IN_UNCOUNTED, [np.array(1.2), np.array(1.6)]),
    "branch in loop": (BRANCH_IN_LOOP, [np.array([0.3, -0.2]), np.array([0.5, 0.4])]),
    "if, true": (IF, [np.array([0.3, -0.2, 0.9]), np.array([1.1, 0.7, 0.4])]),
    "if, false": (IF, [np.array([0.3, -0.2, -0.9]), np.array([1.1, 0.7, 0.4])]),
    "loop in branch, taken": (LOOP_IN_BRANCH, [np.array(1.2), np.array(1.6)]),
    "loop in branch, not taken": (LOOP_IN_BRANCH, [np.array(3.2), np.array(1.6)]),
}

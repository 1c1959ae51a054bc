"""Cases of the rewrites of control flow."""

from __future__ import annotations

from rewrite_cases import Case

IF = """  %0 = stablehlo.constant dense<true> : tensor<i1>
  %1 = "stablehlo.if"(%0) ({
    %2 = stablehlo.negate %x : tensor<3xf64>
    %3 = stablehlo.negate %2 : tensor<3xf64>
    %4 = stablehlo.abs %3 : tensor<3xf64>
    stablehlo.return %4 : tensor<3xf64>
  }, {
    stablehlo.return %x : tensor<3xf64>
  }) : (tensor<i1>) -> tensor<3xf64>
  return %1 : tensor<3xf64>"""
CASE = """  %0 = stablehlo.constant dense<7> : tensor<i32>
  %1 = "stablehlo.case"(%0) ({
    stablehlo.return %x : tensor<3xf64>
  }, {
    %2 = stablehlo.negate %x : tensor<3xf64>
    stablehlo.return %2 : tensor<3xf64>
  }) : (tensor<i32>) -> tensor<3xf64>
  return %1 : tensor<3xf64>"""
CLOSED_CASE = """  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = "core.case"(%0, %x) ({
  ^bb0(%y: tensor<3xf64>):
    %2 = stablehlo.negate %y : tensor<3xf64>
    stablehlo.return %2 : tensor<3xf64>
  }, {
  ^bb0(%y: tensor<3xf64>):
    stablehlo.return %y : tensor<3xf64>
  }) : (tensor<i32>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>"""
FOR = """  %0 = stablehlo.constant dense<TRIPS> : tensor<i64>
  %1 = "core.for"(%0, %x) <{constants = 0 : i64}> ({
  ^bb0(%i: tensor<i64>, %y: tensor<3xf64>):
    %2 = stablehlo.negate %y : tensor<3xf64>
    stablehlo.return %2 : tensor<3xf64>
  }) : (tensor<i64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>"""
UNCHANGED = """  %0 = stablehlo.constant dense<4> : tensor<i64>
  %1:2 = "core.for"(%0, %x, %x) <{constants = 0 : i64}> ({
  ^bb0(%i: tensor<i64>, %y: tensor<3xf64>, %s: tensor<3xf64>):
    %2 = stablehlo.multiply %y, %s : tensor<3xf64>
    stablehlo.return %y, %2 : tensor<3xf64>, tensor<3xf64>
  }) : (tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
  %3 = stablehlo.negate %1#0 : tensor<3xf64>
  return %1#1, %3 : tensor<3xf64>, tensor<3xf64>"""
UNCHANGED_WHILE = """  %1:2 = core.while carried(%y = %x: tensor<f64>, %s = %x: tensor<f64>) cond {
    %p = stablehlo.compare LT, %s, %y, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %2 = stablehlo.multiply %y, %s : tensor<f64>
    stablehlo.return %y, %2 : tensor<f64>, tensor<f64>
  }
  return %1#0, %1#1 : tensor<f64>, tensor<f64>"""

CASES = [
    Case("known-condition", "%x: tensor<3xf64>", IF, "abs"),
    Case("known-case", "%x: tensor<3xf64>", CASE, "negate"),
    Case("known-closed-case", "%x: tensor<3xf64>", CLOSED_CASE, "negate"),
    Case("loop-of-at-most-one-iteration", "%x: tensor<3xf64>", FOR.replace("TRIPS", "0"), ""),
    Case("loop-of-at-most-one-iteration", "%x: tensor<3xf64>", FOR.replace("TRIPS", "1"), "negate"),
    Case("carried-unchanged", "%x: tensor<3xf64>", UNCHANGED, "constant for negate"),
    Case("carried-unchanged", "%x: tensor<f64>", UNCHANGED_WHILE, "while"),
]

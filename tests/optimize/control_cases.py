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

CASES = [
    Case("known-condition", "%x: tensor<3xf64>", IF, "abs"),
    Case("known-case", "%x: tensor<3xf64>", CASE, "negate"),
    Case("known-closed-case", "%x: tensor<3xf64>", CLOSED_CASE, "negate"),
    Case("loop-of-few-trips", "%x: tensor<3xf64>", FOR.replace("TRIPS", "0"), ""),
    Case("loop-of-few-trips", "%x: tensor<3xf64>", FOR.replace("TRIPS", "1"), "negate"),
]

"""Programs of open extents: loops, branches and calls."""

from __future__ import annotations

from dynamic_programs.notation import EXTENT, V, program

CONTROL = [
    program(
        "while",
        f"(%x: {V}) -> {V}",
        EXTENT,
        "%z = stablehlo.constant dense<0> : tensor<i32>",
        "%o = stablehlo.constant dense<1> : tensor<i32>",
        f"%r:3 = stablehlo.while(%i = %z, %m = %n, %a = %x) : tensor<i32>, tensor<i32>, {V}",
        "cond {",
        "  %c = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %c : tensor<i1>",
        "} do {",
        "  %j = stablehlo.add %i, %o : tensor<i32>",
        "  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>",
        "  %h = stablehlo.constant dense<0.5> : tensor<f64>",
        f"  %d = stablehlo.dynamic_broadcast_in_dim %h, %s, dims = [] : (tensor<f64>, tensor<1xi32>) -> {V}",
        f"  %e = stablehlo.sine %a : {V}",
        f"  %f = stablehlo.multiply %e, %d : {V}",
        f"  stablehlo.return %j, %m, %f : tensor<i32>, tensor<i32>, {V}",
        "}",
        f"return %r#2 : {V}",
    ),
    program(
        "case",
        f"(%x: {V}, %i: tensor<i32>) -> {V}",
        '%r = "stablehlo.case"(%i) ({',
        f"  %0 = stablehlo.sine %x : {V}",
        f"  stablehlo.return %0 : {V}",
        "}, {",
        f"  %1 = stablehlo.multiply %x, %x : {V}",
        f"  stablehlo.return %1 : {V}",
        f"}}) : (tensor<i32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "if on an extent",
        f"(%x: {V}) -> {V}",
        EXTENT,
        "%k = stablehlo.constant dense<3> : tensor<i32>",
        "%p = stablehlo.compare LT, %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        '%r = "stablehlo.if"(%p) ({',
        f"  %0 = stablehlo.sine %x : {V}",
        f"  stablehlo.return %0 : {V}",
        "}, {",
        f"  %1 = stablehlo.multiply %x, %x : {V}",
        f"  stablehlo.return %1 : {V}",
        f"}}) : (tensor<i1>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "calls",
        f"(%x: {V}, %y: tensor<3x{{b}}xf64>) -> (tensor<{{b}}xf64>, tensor<3x{{b}}xf64>)",
        f"%0 = call @f(%x) : ({V}) -> {V}",
        f"%1 = call @f(%0) : ({V}) -> {V}",
        '%2 = stablehlo.composite "my.twice" %y {decomposition = @g} : (tensor<3x{b}xf64>) -> tensor<3x{b}xf64>',
        f"return %1, %2 : {V}, tensor<3x{{b}}xf64>",
        functions=f"""func.func private @f(%x: {V}) -> {V} {{
  %0 = stablehlo.sine %x : {V}
  return %0 : {V}
}}
func.func private @g(%x: tensor<3x{{b}}xf64>) -> tensor<3x{{b}}xf64> {{
  %0 = stablehlo.add %x, %x : tensor<3x{{b}}xf64>
  return %0 : tensor<3x{{b}}xf64>
}}""",
    ),
    program(
        "declared derivative",
        f"(%x: {V}) -> {V}",
        f"%0 = call @f(%x) : ({V}) -> {V}",
        f"%1 = call @f(%0) : ({V}) -> {V}",
        f"return %1 : {V}",
        functions=f"""func.func private @f(%x: {V}) -> {V} attributes {{ad.custom_vjp = [@fwd, @bwd]}} {{
  %0 = stablehlo.sine %x : {V}
  return %0 : {V}
}}
func.func private @fwd(%x: {V}) -> ({V}, {V}) {{
  %0 = stablehlo.sine %x : {V}
  return %0, %x : {V}, {V}
}}
func.func private @bwd(%x: {V}, %c: {V}) -> {V} {{
  %0 = stablehlo.multiply %c, %x : {V}
  return %0 : {V}
}}""",
    ),
    program(
        "scan",
        "(%x: tensor<3x{b}xf64>, %y: tensor<{b}xf64>) -> (tensor<3x{b}xf64>, tensor<{b}xf64>)",
        "%r:2 = chlo.scan (%x) inits (%y) dimension=0 {",
        f"^bb0(%a: {V}, %c: {V}):",
        f"%0 = stablehlo.multiply %a, %c : {V}",
        f"%1 = stablehlo.sine %0 : {V}",
        f"stablehlo.return %0, %1 : {V}, {V}",
        "} : (tensor<3x{b}xf64>, tensor<{b}xf64>) -> (tensor<3x{b}xf64>, tensor<{b}xf64>)",
        "return %r#0, %r#1 : tensor<3x{b}xf64>, tensor<{b}xf64>",
    ),
    program(
        "barrier",
        f"(%x: {V}) -> {V}",
        f"%0 = stablehlo.optimization_barrier %x : {V}",
        f"%1 = stablehlo.custom_call @Sharding(%0) : ({V}) -> {V}",
        f"return %1 : {V}",
    ),
]

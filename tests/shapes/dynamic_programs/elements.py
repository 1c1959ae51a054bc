"""Programs of open extents: elementwise ops, and ops that move elements."""

from __future__ import annotations

from dynamic_programs.notation import ADD, V, program, unary

ELEMENTWISE = [
    *map(unary, ("sine", "negate", "exponential", "chlo.erf")),
    program("add", f"(%x: {V}, %y: {V}) -> {V}", f"%r = stablehlo.add %x, %y : {V}", f"return %r : {V}"),
    program(
        "select",
        f"(%x: {V}, %y: {V}) -> {V}",
        f"%p = stablehlo.compare GT, %x, %y : ({V}, {V}) -> tensor<{{b}}xi1>",
        f"%r = stablehlo.select %p, %x, %y : tensor<{{b}}xi1>, {V}",
        f"return %r : {V}",
    ),
    program(
        "clamp",
        f"(%x: {V}) -> {V}",
        "%l = stablehlo.constant dense<-0.5> : tensor<f64>",
        "%h = stablehlo.constant dense<0.5> : tensor<f64>",
        f"%r = stablehlo.clamp %l, %x, %h : (tensor<f64>, {V}, tensor<f64>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "complex",
        f"(%x: {V}, %y: {V}) -> {V}",
        "%z = stablehlo.complex %x, %y : tensor<{b}xcomplex<f64>>",
        "%w = stablehlo.multiply %z, %z : tensor<{b}xcomplex<f64>>",
        f"%r = stablehlo.imag %w : (tensor<{{b}}xcomplex<f64>>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "convert",
        f"(%x: {V}) -> {V}",
        f"%0 = stablehlo.convert %x : ({V}) -> tensor<{{b}}xf32>",
        "%1 = stablehlo.reduce_precision %0, format = e8m20 : tensor<{b}xf32>",
        f"%r = stablehlo.convert %1 : (tensor<{{b}}xf32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "bitcast",
        "(%x: tensor<{b}xi64>) -> tensor<{b}x2xi32>",
        "%r = stablehlo.bitcast_convert %x : (tensor<{b}xi64>) -> tensor<{b}x2xi32>",
        "return %r : tensor<{b}x2xi32>",
        differentiable=False,
    ),
]

MOVEMENT = [
    program(
        "concatenate",
        f"(%x: {V}, %y: tensor<3xf64>) -> tensor<{{c}}xf64>",
        f"%r = stablehlo.concatenate %x, %y, %x, dim = 0 : ({V}, tensor<3xf64>, {V}) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": 2 * b + 3},
    ),
    program(
        "pad",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        "%z = stablehlo.constant dense<1.0> : tensor<f64>",
        f"%r = stablehlo.pad %x, %z, low = [1], high = [-1], interior = [1] : ({V}, tensor<f64>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": 2 * b - 1},
    ),
    program(
        "slice",
        "(%x: tensor<{b}x5xf64>) -> tensor<1x2xf64>",
        "%r = stablehlo.slice %x [0:1, 1:5:2] : (tensor<{b}x5xf64>) -> tensor<1x2xf64>",
        "return %r : tensor<1x2xf64>",
    ),
    program(
        "transpose",
        "(%x: tensor<{b}x3xf64>) -> tensor<3x{b}xf64>",
        "%0 = stablehlo.reverse %x, dims = [0] : tensor<{b}x3xf64>",
        "%r = stablehlo.transpose %0, dims = [1, 0] : (tensor<{b}x3xf64>) -> tensor<3x{b}xf64>",
        "return %r : tensor<3x{b}xf64>",
    ),
    program(
        "dynamic_slice",
        "(%x: tensor<{b}x5xf64>, %i: tensor<i32>) -> tensor<2x2xf64>",
        "%r = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<{b}x5xf64>, tensor<i32>, tensor<i32>) -> tensor<2x2xf64>",
        "return %r : tensor<2x2xf64>",
    ),
    program(
        "dynamic_update_slice",
        f"(%x: {V}, %u: tensor<2xf64>, %i: tensor<i32>) -> {V}",
        f"%r = stablehlo.dynamic_update_slice %x, %u, %i : ({V}, tensor<2xf64>, tensor<i32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "gather",
        "(%x: tensor<{b}x3xf64>, %i: tensor<{c}x1xi32>) -> tensor<{c}x3xf64>",
        '%r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<{b}x3xf64>, tensor<{c}x1xi32>) -> tensor<{c}x3xf64>",
        "return %r : tensor<{c}x3xf64>",
        extents=lambda b: {"c": b + 1},
    ),
    program(
        "scatter",
        "(%x: tensor<{b}x3xf64>, %i: tensor<{c}x1xi32>, %u: tensor<{c}x3xf64>) -> tensor<{b}x3xf64>",
        '%r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
        f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {ADD} : (tensor<{{b}}x3xf64>, tensor<{{c}}x1xi32>, tensor<{{c}}x3xf64>) -> tensor<{{b}}x3xf64>",
        "return %r : tensor<{b}x3xf64>",
        extents=lambda b: {"c": b + 1},
    ),
]

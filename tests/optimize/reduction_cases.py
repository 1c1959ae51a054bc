"""Cases of the rewrites of reductions and contractions."""

from __future__ import annotations

from rewrite_cases import case, constant
from shape_cases import broadcast, reshape, transpose

UNORDERED = "unordered"
BATCHED_DOT = (
    "stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>"
)


def reduces(x: str, kind: str, dims: str, source: str, target: str) -> str:
    return f'"core.reduce"({x}) <{{dimensions = array<i64: {dims}>, kind = #core<kind {kind}>}}> : (tensor<{source}>) -> tensor<{target}>'


REDUCTIONS = [
    case("reduce-one-element", "%x: tensor<5x1xf64>", reduces("%x", "max", "1", "5x1xf64", "5xf64"), "%0 : tensor<5xf64>", left="reshape"),
    case("reduce-one-element", "%x: tensor<5x1xf64>", reduces("%x", "add", "1", "5x1xf64", "5xf64"), "%0 : tensor<5xf64>", left="reshape constant add"),
    case("reduce-one-element", "%x: tensor<5x1x2xf64>", reduces("%x", "min", "0, 1", "5x1x2xf64", "2xf64"), "%0 : tensor<2xf64>", left="reshape reduce"),
    case(
        "reduce-of-reduce",
        "%x: tensor<2x3x4xf64>",
        reduces("%x", "max", "1", "2x3x4xf64", "2x4xf64"),
        reduces("%0", "max", "0", "2x4xf64", "4xf64"),
        "%1 : tensor<4xf64>",
        left="reduce",
    ),
    case(
        "sum-of-sum",
        "%x: tensor<2x3x4xf64>",
        reduces("%x", "add", "1", "2x3x4xf64", "2x4xf64"),
        reduces("%0", "add", "0", "2x4xf64", "4xf64"),
        "%1 : tensor<4xf64>",
        left="reduce",
        assume=UNORDERED,
    ),
    case(
        "reduce-of-transpose",
        "%x: tensor<2x3x4xi32>",
        transpose("%x", "2, 1, 0", "2x3x4xi32", "4x3x2xi32"),
        reduces("%0", "add", "1", "4x3x2xi32", "4x2xi32"),
        "%1 : tensor<4x2xi32>",
        left="reduce transpose",
    ),
    case(
        "sum-of-transpose",
        "%x: tensor<2x3x4xf64>",
        transpose("%x", "2, 0, 1", "2x3x4xf64", "4x2x3xf64"),
        reduces("%0", "add", "0", "4x2x3xf64", "2x3xf64"),
        "%1 : tensor<2x3xf64>",
        left="reduce",
        assume=UNORDERED,
    ),
    case(
        "reduce-of-reshape",
        "%x: tensor<2x3xf64>",
        reshape("%x", "2x3xf64", "6xf64"),
        reduces("%0", "max", "0", "6xf64", "f64"),
        "%1 : tensor<f64>",
        left="reduce",
    ),
    case(
        "sum-of-reshape",
        "%x: tensor<2x3xf64>",
        reshape("%x", "2x3xf64", "6xf64"),
        reduces("%0", "add", "0", "6xf64", "f64"),
        "%1 : tensor<f64>",
        left="reduce",
        assume=UNORDERED,
    ),
    case(
        "reduce-of-reshape",
        "%x: tensor<1x6xf64>",
        reshape("%x", "1x6xf64", "2x3xf64"),
        reduces("%0", "max", "0, 1", "2x3xf64", "f64"),
        "%1 : tensor<f64>",
        left="reshape reduce",
    ),
    case(
        "extreme-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "1", "3xf64", "2x3xf64"),
        reduces("%0", "max", "0", "2x3xf64", "3xf64"),
        "%1 : tensor<3xf64>",
    ),
    case(
        "sum-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "1", "3xf64", "4x3xf64"),
        reduces("%0", "add", "0, 1", "4x3xf64", "f64"),
        "%1 : tensor<f64>",
        left="reduce constant multiply constant add",
        assume=UNORDERED,
    ),
    case(
        "integer-sum-of-broadcast",
        "%x: tensor<3xi8>",
        broadcast("%x", "1", "3xi8", "300x3xi8"),
        reduces("%0", "add", "0", "300x3xi8", "3xi8"),
        "%1 : tensor<3xi8>",
        left="constant multiply",
    ),
    case("extreme-of-constant", "", constant("2.0", "tensor<3xf64>"), reduces("%0", "min", "0", "3xf64", "f64"), "%1 : tensor<f64>", left="constant"),
    case("sum-of-zeros", "", constant("-0.0", "tensor<3xf64>"), reduces("%0", "add", "0", "3xf64", "f64"), "%1 : tensor<f64>", left="constant"),
    case(
        "cumulative-of-one-element",
        "%x: tensor<1xi32>",
        '"core.cumulative"(%x) <{dimension = 0 : i64, kind = #core<kind add>, reverse = false}> : (tensor<1xi32>) -> tensor<1xi32>',
        "%0 : tensor<1xi32>",
    ),
    case(
        "window-of-one-element",
        "%x: tensor<5xf64>",
        '"core.window_reduce"(%x) <{base_dilations = array<i64: 1>, kind = #core<kind max>, padding = array<i64: 0, 0>, window_dilations = array<i64: 1>, '
        "window_dimensions = array<i64: 1>, window_strides = array<i64: 1>}> : (tensor<5xf64>) -> tensor<5xf64>",
        "%0 : tensor<5xf64>",
    ),
]

CONVOLUTION = (
    "stablehlo.convolution(%x, KERNEL) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {REVERSE} {feature_group_count = 1 : i64, "
    "batch_group_count = 1 : i64} : (tensor<2x5x6x3xf64>, tensor<3x2x3x4xf64>) -> tensor<2x3x5x4xf64>"
)
CONTRACTIONS = [
    case(
        "dot-of-transpose",
        "%x: tensor<3x4xf64>, %y: tensor<4x5xf64>",
        transpose("%x", "1, 0", "3x4xf64", "4x3xf64"),
        "stablehlo.dot_general %0, %y, contracting_dims = [0] x [0] : (tensor<4x3xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>",
        "%1 : tensor<3x5xf64>",
        left="dot_general",
    ),
    case(
        "dot-of-transpose",
        "%x: tensor<2x3x4xf64>, %y: tensor<5x4x2xf64>",
        transpose("%y", "2, 0, 1", "5x4x2xf64", "2x5x4xf64"),
        "stablehlo.dot_general %x, %0, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>",
        "%1 : tensor<2x3x5xf64>",
        left="dot_general",
    ),
    case(
        "convolution-of-reverse",
        "%x: tensor<2x5x6x3xf64>, %y: tensor<3x2x3x4xf64>",
        "stablehlo.reverse %y, dims = [0, 1] : tensor<3x2x3x4xf64>",
        CONVOLUTION.replace("KERNEL", "%0").replace("REVERSE", "reverse = [false, true]"),
        "%1 : tensor<2x3x5x4xf64>",
        left="convolution",
    ),
    case(
        "convolution-of-reverse",
        "%x: tensor<2x5x6x3xf64>, %y: tensor<3x2x3x4xf64>",
        "stablehlo.reverse %y, dims = [1] : tensor<3x2x3x4xf64>",
        CONVOLUTION.replace("KERNEL", "%0").replace("REVERSE", ""),
        "%1 : tensor<2x3x5x4xf64>",
        left="convolution",
    ),
    case(
        "transpose-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        "stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>",
        transpose("%0", "0, 2, 1", "2x3x5xf64", "2x5x3xf64"),
        "%1 : tensor<2x5x3xf64>",
        left="dot_general",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        "stablehlo.negate %0 : tensor<2x3x5xf64>",
        reduces("%1", "add", "1", "2x3x5xf64", "2x5xf64"),
        "%2 : tensor<2x5xf64>",
        assume=f"{UNORDERED} finite",
        left="reduce dot_general negate",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        reduces("%0", "add", "1", "2x3x5xf64", "2x5xf64"),
        "%1 : tensor<2x5xf64>",
        assume=f"{UNORDERED} finite",
        left="reduce dot_general",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        reduces("%0", "add", "2", "2x3x5xf64", "2x3xf64"),
        "%1 : tensor<2x3xf64>",
        assume=f"{UNORDERED} finite",
        left="reduce dot_general",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        reduces("%0", "add", "0", "2x3x5xf64", "3x5xf64"),
        "%1 : tensor<3x5xf64>",
        assume=f"{UNORDERED} finite",
        left="dot_general",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        reduces("%0", "add", "0, 2", "2x3x5xf64", "3xf64"),
        "%1 : tensor<3xf64>",
        assume=f"{UNORDERED} finite",
        left="reduce dot_general",
    ),
    case(
        "sum-of-dot",
        "%x: tensor<2x3x4xf64>, %y: tensor<2x5x4xf64>",
        BATCHED_DOT,
        reduces("%0", "add", "0, 1, 2", "2x3x5xf64", "f64"),
        "%1 : tensor<f64>",
        assume=f"{UNORDERED} finite",
        left="reduce reduce dot_general",
    ),
]

CASES = [*REDUCTIONS, *CONTRACTIONS]

"""Cases of the rewrites of shapes, movement and indexing."""

from __future__ import annotations

from rewrite_cases import case, constant

ROWS = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
DIAGONAL = "offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1"
SOLVE = (
    '"stablehlo.triangular_solve"({a}, {b}) <{{left_side = true, lower = {lower}, unit_diagonal = false, transpose_a = #stablehlo<transpose {how}>}}> '
    ": (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>"
)
NUMBERS = "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0"


def transpose(x: str, dims: str, source: str, target: str) -> str:
    return f"stablehlo.transpose {x}, dims = [{dims}] : (tensor<{source}>) -> tensor<{target}>"


def broadcast(x: str, dims: str, source: str, target: str) -> str:
    return f"stablehlo.broadcast_in_dim {x}, dims = [{dims}] : (tensor<{source}>) -> tensor<{target}>"


def reshape(x: str, source: str, target: str) -> str:
    return f"stablehlo.reshape {x} : (tensor<{source}>) -> tensor<{target}>"


def slices(x: str, ranges: str, source: str, target: str) -> str:
    return f"stablehlo.slice {x} [{ranges}] : (tensor<{source}>) -> tensor<{target}>"


SHAPES = [
    case("move-equal-elements", "", constant("2.0", "tensor<f64>"), broadcast("%0", "", "f64", "3x4xf64"), "%1 : tensor<3x4xf64>", left="constant"),
    case(
        "move-equal-elements",
        "",
        constant("2.0", "tensor<2048x2xf64>"),
        transpose("%0", "1, 0", "2048x2xf64", "2x2048xf64"),
        "%1 : tensor<2x2048xf64>",
        left="constant",
    ),
    case("transpose-moves-nothing", "%x: tensor<3x1x4xf64>", transpose("%x", "1, 0, 2", "3x1x4xf64", "1x3x4xf64"), "%0 : tensor<1x3x4xf64>", left="reshape"),
    case("transpose-moves-nothing", "%x: tensor<3x4xf64>", transpose("%x", "0, 1", "3x4xf64", "3x4xf64"), "%0 : tensor<3x4xf64>"),
    case(
        "transpose-of-transpose",
        "%x: tensor<2x3x4xf64>",
        transpose("%x", "2, 0, 1", "2x3x4xf64", "4x2x3xf64"),
        transpose("%0", "0, 2, 1", "4x2x3xf64", "4x3x2xf64"),
        "%1 : tensor<4x3x2xf64>",
        left="transpose",
    ),
    case(
        "transpose-of-transpose",
        "%x: tensor<2x3x4xf64>",
        transpose("%x", "2, 0, 1", "2x3x4xf64", "4x2x3xf64"),
        transpose("%0", "1, 2, 0", "4x2x3xf64", "2x3x4xf64"),
        "%1 : tensor<2x3x4xf64>",
    ),
    case(
        "transpose-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "1", "3xf64", "2x3xf64"),
        transpose("%0", "1, 0", "2x3xf64", "3x2xf64"),
        "%1 : tensor<3x2xf64>",
        left="broadcast_in_dim",
    ),
    case(
        "reshape-of-reshape",
        "%x: tensor<6xf64>",
        reshape("%x", "6xf64", "2x3xf64"),
        reshape("%0", "2x3xf64", "3x2xf64"),
        "%1 : tensor<3x2xf64>",
        left="reshape",
    ),
    case("reshape-of-reshape", "%x: tensor<6xf64>", reshape("%x", "6xf64", "6xf64"), "%0 : tensor<6xf64>"),
    case(
        "reshape-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "1", "3xf64", "2x3xf64"),
        reshape("%0", "2x3xf64", "2x1x3xf64"),
        "%1 : tensor<2x1x3xf64>",
        left="broadcast_in_dim",
    ),
    case(
        "reshape-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "2", "3xf64", "2x1x3xf64"),
        reshape("%0", "2x1x3xf64", "2x3xf64"),
        "%1 : tensor<2x3xf64>",
        left="broadcast_in_dim",
    ),
    case("broadcast-repeats-nothing", "%x: tensor<3xf64>", broadcast("%x", "1", "3xf64", "1x3x1xf64"), "%0 : tensor<1x3x1xf64>", left="reshape"),
    case(
        "broadcast-of-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "1", "3xf64", "2x3xf64"),
        broadcast("%0", "0, 2", "2x3xf64", "2x4x3xf64"),
        "%1 : tensor<2x4x3xf64>",
        left="broadcast_in_dim",
    ),
    case(
        "broadcast-of-reshape",
        "%x: tensor<3xf64>",
        reshape("%x", "3xf64", "3x1xf64"),
        broadcast("%0", "0, 1", "3x1xf64", "3x4xf64"),
        "%1 : tensor<3x4xf64>",
        left="broadcast_in_dim",
    ),
    case(
        "compute-before-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "0", "3xf64", "3x5xf64"),
        constant("3.0", "tensor<3x5xf64>"),
        "stablehlo.divide %0, %1 : tensor<3x5xf64>",
        "%2 : tensor<3x5xf64>",
        left="constant divide broadcast_in_dim",
    ),
    case(
        "compute-before-broadcast",
        "%x: tensor<3xf64>",
        broadcast("%x", "0", "3xf64", "3x5xf64"),
        "chlo.sinh %0 : tensor<3x5xf64> -> tensor<3x5xf64>",
        "%1 : tensor<3x5xf64>",
        left="sinh broadcast_in_dim",
    ),
    case("iota-of-one-element", "", "stablehlo.iota dim = 0 : tensor<1x5xi32>", "%0 : tensor<1x5xi32>", left="constant"),
]

MOVEMENT = [
    case("slice-of-everything", "%x: tensor<3x4xf64>", slices("%x", "0:3, 0:4", "3x4xf64", "3x4xf64"), "%0 : tensor<3x4xf64>"),
    case(
        "slice-of-slice",
        "%x: tensor<20xf64>",
        slices("%x", "2:18:3", "20xf64", "6xf64"),
        slices("%0", "1:6:2", "6xf64", "3xf64"),
        "%1 : tensor<3xf64>",
        left="slice",
    ),
    case(
        "slice-of-broadcast",
        "%x: tensor<5xf64>",
        broadcast("%x", "1", "5xf64", "4x5xf64"),
        slices("%0", "1:3, 2:5", "4x5xf64", "2x3xf64"),
        "%1 : tensor<2x3xf64>",
        left="slice broadcast_in_dim",
    ),
    case(
        "slice-of-concatenate",
        "%x: tensor<3xf64>, %y: tensor<4xf64>",
        "stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf64>, tensor<4xf64>) -> tensor<7xf64>",
        slices("%0", "4:6", "7xf64", "2xf64"),
        "%1 : tensor<2xf64>",
        left="slice",
    ),
    case(
        "slice-of-pad",
        "%x: tensor<5xf64>, %v: tensor<f64>",
        "stablehlo.pad %x, %v, low = [2], high = [3], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<10xf64>",
        slices("%0", "3:6:2", "10xf64", "2xf64"),
        "%1 : tensor<2xf64>",
        left="slice",
    ),
    case(
        "slice-of-pad",
        "%x: tensor<5xf64>, %v: tensor<f64>",
        "stablehlo.pad %x, %v, low = [2], high = [3], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<10xf64>",
        slices("%0", "7:10", "10xf64", "3xf64"),
        "%1 : tensor<3xf64>",
        left="broadcast_in_dim",
    ),
    case(
        "pad-by-nothing",
        "%x: tensor<5xf64>, %v: tensor<f64>",
        "stablehlo.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<5xf64>",
        "%0 : tensor<5xf64>",
    ),
    case(
        "pad-by-nothing",
        "%x: tensor<5xf64>, %v: tensor<f64>",
        "stablehlo.pad %x, %v, low = [-1], high = [-2], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<2xf64>",
        "%0 : tensor<2xf64>",
        left="slice",
    ),
    case(
        "pad-of-pad",
        "%x: tensor<5xf64>, %v: tensor<f64>",
        "stablehlo.pad %x, %v, low = [1], high = [0], interior = [0] : (tensor<5xf64>, tensor<f64>) -> tensor<6xf64>",
        "stablehlo.pad %0, %v, low = [2], high = [3], interior = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<11xf64>",
        "%1 : tensor<11xf64>",
        left="pad",
    ),
    case(
        "pad-equal-elements",
        "",
        constant("0.0", "tensor<2000xf64>"),
        constant("0.0", "tensor<f64>"),
        "stablehlo.pad %0, %1, low = [1], high = [0], interior = [0] : (tensor<2000xf64>, tensor<f64>) -> tensor<2001xf64>",
        "%2 : tensor<2001xf64>",
        left="constant",
    ),
    case("concatenate-one", "%x: tensor<5xf64>", "stablehlo.concatenate %x, dim = 0 : (tensor<5xf64>) -> tensor<5xf64>", "%0 : tensor<5xf64>"),
    case(
        "concatenate-one",
        "%x: tensor<5xf64>, %y: tensor<0xf64>, %z: tensor<2xf64>",
        "stablehlo.concatenate %x, %y, dim = 0 : (tensor<5xf64>, tensor<0xf64>) -> tensor<5xf64>",
        "stablehlo.concatenate %z, %x, dim = 0 : (tensor<2xf64>, tensor<5xf64>) -> tensor<7xf64>",
        "stablehlo.concatenate %0, %1, dim = 0 : (tensor<5xf64>, tensor<7xf64>) -> tensor<12xf64>",
        "%2 : tensor<12xf64>",
        left="concatenate",
    ),
    case(
        "concatenate-equal-elements",
        "",
        constant("1.0", "tensor<2000xf64>"),
        "stablehlo.concatenate %0, %0, dim = 0 : (tensor<2000xf64>, tensor<2000xf64>) -> tensor<4000xf64>",
        "%1 : tensor<4000xf64>",
        left="constant",
    ),
    case(
        "concatenate-adjacent-slices",
        "%x: tensor<9xf64>",
        slices("%x", "1:4", "9xf64", "3xf64"),
        slices("%x", "4:6", "9xf64", "2xf64"),
        "stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf64>, tensor<2xf64>) -> tensor<5xf64>",
        "%2 : tensor<5xf64>",
        left="slice",
    ),
    case(
        "reverse-of-reverse",
        "%x: tensor<3x4xf64>",
        "stablehlo.reverse %x, dims = [0, 1] : tensor<3x4xf64>",
        "stablehlo.reverse %0, dims = [1] : tensor<3x4xf64>",
        "%1 : tensor<3x4xf64>",
        left="reverse",
    ),
    case("reverse-of-reverse", "%x: tensor<1x4xf64>", "stablehlo.reverse %x, dims = [0] : tensor<1x4xf64>", "%0 : tensor<1x4xf64>"),
]

INDEXING = [
    case(
        "dynamic-slice-at-constant",
        "%x: tensor<9xf64>",
        constant("7", "tensor<i32>"),
        "stablehlo.dynamic_slice %x, %0, sizes = [4] : (tensor<9xf64>, tensor<i32>) -> tensor<4xf64>",
        "%1 : tensor<4xf64>",
        left="slice",
    ),
    case(
        "update-everything",
        "%x: tensor<9xf64>, %y: tensor<9xf64>, %i: tensor<i32>",
        "stablehlo.dynamic_update_slice %x, %y, %i : (tensor<9xf64>, tensor<9xf64>, tensor<i32>) -> tensor<9xf64>",
        "%0 : tensor<9xf64>",
    ),
    case(
        "gather-of-nothing",
        "%x: tensor<0x2xf64>, %i: tensor<3x1xi32>",
        """"stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>, slice_sizes = array<i64: 0, 2>}> : (tensor<0x2xf64>, tensor<3x1xi32>) -> tensor<3x2xf64>""",
        "%0 : tensor<3x2xf64>",
        left="constant",
    ),
    case(
        "gather-of-concatenate",
        "%x: tensor<4x2xf64>, %y: tensor<4x3xf64>, %i: tensor<5x1xi32>",
        "stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x2xf64>, tensor<4x3xf64>) -> tensor<4x5xf64>",
        f'"stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<{ROWS}>, slice_sizes = array<i64: 1, 5>}}> '
        ": (tensor<4x5xf64>, tensor<5x1xi32>) -> tensor<5x5xf64>",
        slices("%1", "0:5, 2:4", "5x5xf64", "5x2xf64"),
        "%2 : tensor<5x2xf64>",
        left="gather slice",
    ),
    case(
        "diagonal-of-factors",
        "%x: tensor<2x3x3xf64>",
        '%lu:3 = "core.lu"(%x) : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2xi32>)',
        "stablehlo.iota dim = 0 : tensor<3xi64>",
        reshape("%1", "3xi64", "3x1xi64"),
        "stablehlo.concatenate %2, %2, dim = 1 : (tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x2xi64>",
        f'"stablehlo.gather"(%lu#0, %3) <{{dimension_numbers = #stablehlo.gather<{DIAGONAL}>, slice_sizes = array<i64: 2, 1, 1>}}> '
        ": (tensor<2x3x3xf64>, tensor<3x2xi64>) -> tensor<2x3xf64>",
        "%4 : tensor<2x3xf64>",
        left="lu lu_diagonal",
    ),
    *(
        case(
            "system-by-cholesky",
            "%x: tensor<3x3xf64>, %b: tensor<3x2xf64>",
            f'%l:2 = "core.cholesky"(%x) <{{lower = {lower}}}> : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>)',
            constant("0", "tensor<i32>"),
            constant("0x7FF8000000000000", "tensor<3x3xf64>"),
            "stablehlo.compare EQ, %l#1, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "stablehlo.select %3, %l#0, %2 : tensor<i1>, tensor<3x3xf64>",
            *[SOLVE.format(a="%4", b=b, lower=lower, how=how) for b, how in zip(("%b", "%5"), hows, strict=True)],
            "%6 : tensor<3x2xf64>",
            left=left,
        )
        for lower, hows, left in (
            ("true", ("NO_TRANSPOSE", "TRANSPOSE"), "cholesky constant constant compare select cholesky_solve"),
            ("false", ("ADJOINT", "NO_TRANSPOSE"), "cholesky constant constant compare select cholesky_solve"),
        )
    ),
    *(
        case(
            "iota-beside-constant",
            "%x: tensor<4xi64>",
            "stablehlo.iota dim = 0 : tensor<4xi64>",
            constant(limit, "tensor<4xi64>"),
            f"stablehlo.compare {direction}, %0, %1, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>",
            "stablehlo.select %2, %0, %x : tensor<4xi1>, tensor<4xi64>",
            "%3 : tensor<4xi64>",
            left=left,
        )
        for direction, limit, left in (("LT", "0", ""), ("LT", "4", "iota"), ("GE", "0", "iota"), ("LE", "3", "iota"), ("GT", "3", ""))
    ),
    case(
        "gather-at-constant",
        "%x: tensor<5x3xf64>",
        constant("[-2]", "tensor<1xi32>"),
        f'"stablehlo.gather"(%x, %0) <{{dimension_numbers = #stablehlo.gather<{NUMBERS}>, slice_sizes = array<i64: 1, 3>}}> '
        ": (tensor<5x3xf64>, tensor<1xi32>) -> tensor<3xf64>",
        "%1 : tensor<3xf64>",
        left="slice reshape",
    ),
]

CASES = [*SHAPES, *MOVEMENT, *INDEXING]

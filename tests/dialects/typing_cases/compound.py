"""Well-typed and ill-typed cases of ops that are defined by others."""

from __future__ import annotations

from typing_cases.notation import BINARY, BITS, SHIFTS, Cases, case, region

BROADCASTING = (*BINARY, "next_after", "polygamma", "zeta")
INTEGRAL = (*BITS, *SHIFTS)


def scan(types: str, arguments: str, returns: str, dimension: int = 1) -> str:
    sizes = "operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
    return case("chlo.scan", types, f"dimension = {dimension} : i64, {sizes}", region(arguments, returns=returns))


NORM = "epsilon = 1.000000e-03 : f32, feature_index = {} : i64"
WELL_TYPED = [
    *[case(f"chlo.broadcast_{n}", "2x3xf32, 3xf32 -> 2x3xf32") for n in BROADCASTING],
    *[case(f"chlo.broadcast_{n}", "2x1xi32, 3xi32 -> 2x3xi32") for n in INTEGRAL],
    case("chlo.broadcast_add", "2x3xf32, 2xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 0>"),
    case("chlo.broadcast_add", "?x3xf32, f32 -> ?x3xf32"),
    case("chlo.broadcast_complex", "2x3xf32, 3xf32 -> 2x3xc64"),
    case("chlo.broadcast_compare", "2x3xf32, 3xf32 -> 2x3xi1", "comparison_direction = #chlo<comparison_direction LT>"),
    case("chlo.broadcast_select", "2x1xi1, 3xf32, f32 -> 2x3xf32"),
    case("chlo.mulhi", "2xui8, 2xui8 -> 2xui8"),
    case("chlo._asin_acos_kernel", "2xc64 -> 2xc64"),
    case("chlo.constant_like", "2xf32 -> 2xi32", "value = 1 : i32"),
    case("broadcast", "3xf32 -> 2x4x3xf32", "broadcast_sizes = array<i64: 2, 4>"),
    case("batch_norm_training", "2x3x4xf32, 3xf32, 3xf32 -> 2x3x4xf32, 3xf32, 3xf32", NORM.format(1)),
    case("batch_norm_inference", "2x3xf64, 3xf64, 3xf64, 3xf64, 3xf64 -> 2x3xf64", NORM.format(1)),
    case("batch_norm_grad", "2x3xbf16, 3xbf16, 3xbf16, 3xbf16, 2x3xbf16 -> 2x3xbf16, 3xbf16, 3xbf16", NORM.format(1)),
    scan("2x3xf32, 2xf32 -> 2x3xf32, 2xf32", "2xf32, 2xf32", "%a0, %a1: 2xf32, 2xf32"),
    scan("2x3xf32, i32 -> 2xi32, i32", "3xf32, i32", "%a1, %a1: i32, i32", 0),
]


ILL_TYPED: Cases = [
    *[(case(f"chlo.broadcast_{n}", "2x4xf32, 3xf32 -> 2x4xf32"), "must have shapes that broadcast together, found [2, 4] and [3]") for n in BROADCASTING],
    *[(case(f"chlo.broadcast_{n}", "2x3xf32, 3xf64 -> 2x3xf32"), "lhs and rhs must have the same element type") for n in BROADCASTING],
    *[(case(f"chlo.broadcast_{n}", "2x3xi32, 3xi32 -> 3xi32"), "does not match the inferred tensor<2x3xi32>") for n in INTEGRAL],
    *[(case(f"chlo.broadcast_{n}", "2x3xf32, 3xf32 -> 2x3xf32"), f"chlo.broadcast_{n} takes ") for n in INTEGRAL],
    *[(case(f"chlo.broadcast_{n}", "2xi32, i32 -> 2xi32"), f"chlo.broadcast_{n} takes floats") for n in ("next_after", "polygamma", "zeta")],
    (
        case("chlo.broadcast_add", "2x3xf32, 3xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 0>"),
        "shapes that broadcast together, found [2, 3] and [3, 1]",
    ),
    (
        case("chlo.broadcast_add", "2x3xf32, 3xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 2>"),
        "must be in the range [0, 2) given by the rank of the larger",
    ),
    (case("chlo.broadcast_add", "3x3xf32, 3x3xf32 -> 3x3xf32", "broadcast_dimensions = array<i64: 1, 1>"), "must not repeat a dimension"),
    (case("chlo.broadcast_complex", "2xf16, 2xf16 -> 2xf16"), "the parts of a complex number must hold f32 or f64"),
    (
        case("chlo.broadcast_compare", "2xf32, f32 -> 2xf32", "comparison_direction = #chlo<comparison_direction LT>"),
        "does not match the inferred tensor<2xi1>",
    ),
    (case("chlo.broadcast_select", "2xf32, 2xf32, f32 -> 2xf32"), "pred must hold booleans (i1)"),
    (case("chlo.broadcast_select", "2xi1, 3xf32, f32 -> 3xf32"), "shapes that broadcast together, found [2] and [3] and []"),
    (case("chlo.mulhi", "2xf32, 2xf32 -> 2xf32"), "chlo.mulhi takes integers"),
    (case("chlo._asin_acos_kernel", "2xf32 -> 2xf32"), "takes complex numbers"),
    (case("chlo.constant_like", "2xf32 -> 2xf32", "value = 1.0 : f64"), "does not match the inferred tensor<2xf64>"),
    (case("chlo.constant_like", "2xf32 -> 2xf32", 'value = "one"'), 'value must be a number, found "one"'),
    (case("broadcast", "3xf32 -> 3x2xf32", "broadcast_sizes = array<i64: 2>"), "does not match the inferred tensor<2x3xf32>"),
    (case("broadcast", "3xf32 -> 3xf32", "broadcast_sizes = array<i64: -1>"), "broadcast_sizes must not be negative, found [-1]"),
    (case("batch_norm_training", "2x3xf32, 3xf32, 3xf32 -> 2x3xf32, 3xf32, 3xf32", NORM.format(2)), "feature_index must be in the range [0, 2)"),
    (case("batch_norm_training", "2x3xf32, 2xf32, 2xf32 -> 2x3xf32, 2xf32, 2xf32", NORM.format(1)), "scale must have one element for each of the features"),
    (case("batch_norm_training", "2x3xf32, 3xf64, 3xf64 -> 2x3xf32, 3xf64, 3xf64", NORM.format(1)), "operand and scale must have the same element type"),
    (case("batch_norm_inference", "2x3xi32, 3xi32, 3xi32, 3xi32, 3xi32 -> 2x3xi32", NORM.format(1)), "operand must hold floats"),
    (case("batch_norm_inference", "2x3xf32, 3xf32, 3xf32, 3xf32, 3xf32 -> 3x2xf32", NORM.format(1)), "does not match the inferred tensor<2x3xf32>"),
    (
        case("batch_norm_grad", "2x3xf32, 3xf32, 3xf32, 3xf32, 3x2xf32 -> 2x3xf32, 3xf32, 3xf32", NORM.format(1)),
        "operand and grad_output must have the same type",
    ),
    (scan("2x3xf32, 2xf32 -> 2x3xf32, 2xf32", "2xf32, 2xf32", "%a0, %a1: 2xf32, 2xf32", 2), "dimension must be in the range [0, 2)"),
    (scan("2x3xf32, 2xf32 -> 2x3xf32, 2xf32", "3xf32, 2xf32", "%a0, %a1: 3xf32, 2xf32"), "argument of the body region #0 must have the type tensor<2xf32>"),
    (
        scan("2x3xf32, 2xf32 -> 3x2xf32, 2xf32", "2xf32, 2xf32", "%a0, %a1: 2xf32, 2xf32"),
        "result #0 type tensor<3x2xf32> does not match the type tensor<2x3xf32>",
    ),
    (
        scan("2x3xf32, 3xf32 -> 2x3xf32, 3xf32", "2xf32, 3xf32", "%a0, %a0: 2xf32, 2xf32"),
        "carried value returned by the body region #0 must have the type tensor<3xf32>",
    ),
]

"""Well-typed and ill-typed cases of elementwise ops."""

from __future__ import annotations

from typing_cases.notation import BINARY, BITS, CHLO, FLOATS, INEXACT, SHIFTS, Cases, case

ONLY_FLOATS = ("ceil", "floor", "round_nearest_afz", "round_nearest_even")

NOT_INTEGERS = [n for n in FLOATS if n not in ("negate", "sign")]

LT = "comparison_direction = #stablehlo<comparison_direction LT>"

WELL_TYPED = [
    *[case(n, "2x?xf32 -> 2x?xf32") for n in FLOATS],
    *[case(n, "3xc64 -> 3xc64") for n in INEXACT],
    *[case(n, "f8E4M3FN, f8E4M3FN -> f8E4M3FN") for n in BINARY],
    *[case(n, "2xc128, 2xc128 -> 2xc128") for n in BINARY],
    *[case(n, "2xui8, 2xui8 -> 2xui8") for n in (*BINARY, *BITS, *SHIFTS) if n != "atan2"],
    *[case(n, "2xi1, 2xi1 -> 2xi1") for n in (*BITS, "add", "maximum", "minimum", "multiply")],
    *[case(n, "4xi32 -> 4xi32") for n in ("not", "popcnt", "count_leading_zeros", "negate", "sign", "abs")],
    case("not", "i1 -> i1"),
    case("add", "2x?xf32, ?x3xf32 -> 2x3xf32"),
    case("add", "4xi4, 4xi4 -> 4xi4"),
    case("abs", "2xc64 -> 2xf32"),
    case("real", "2xc128 -> 2xf64"),
    case("imag", "2xc128 -> 2xf64"),
    case("real", "2xf64 -> 2xf64"),
    case("is_finite", "2xbf16 -> 2xi1"),
    case("complex", "2xf32, 2xf32 -> 2xc64"),
    case(
        "compare", "2xf32, 2xf32 -> 2xi1", "comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>"
    ),
    case("compare", "2xui8, 2xui8 -> 2xi1", "comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type UNSIGNED>"),
    case("compare", "2xi1, 2xi1 -> 2xi1", "comparison_direction = #stablehlo<comparison_direction NE>"),
    case("select", "i1, 2xf32, 2xf32 -> 2xf32"),
    case("select", "2xi1, 2xf32, 2xf32 -> 2xf32"),
    case("clamp", "f32, 2xf32, 2xf32 -> 2xf32"),
    case("clamp", "2xi32, 2xi32, i32 -> 2xi32"),
    case("convert", "2x?xf32 -> 2x3xc64"),
    case("convert", "2xi1 -> 2xf8E5M2"),
    case("bitcast_convert", "2xf32 -> 2xi32"),
    case("bitcast_convert", "2xf64 -> 2x2xi32"),
    case("bitcast_convert", "3x4xui8 -> 3xf32"),
    case("bitcast_convert", "2xc128 -> 2x2xc64"),
    case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 5 : i32, mantissa_bits = 10 : i32"),
    *[case(f"chlo.{n}", "2xf32 -> 2xf32") for n in CHLO],
    *[case(f"chlo.{n}", "2xc64 -> 2xc64") for n in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cosh", "sinh", "square", "tan")],
    *[case(f"chlo.{n}", "2xf32 -> 2xi1") for n in ("is_inf", "is_pos_inf", "is_neg_inf")],
    *[case(f"chlo.{n}", "2xf32, 2xf32 -> 2xf32") for n in ("next_after", "polygamma", "zeta")],
]


ILL_TYPED: Cases = [
    *[(case(n, "2xf32 -> 3xf32"), "result type tensor<3xf32> does not match the inferred tensor<2xf32>") for n in FLOATS],
    *[(case(n, "2xf32 -> 2xf64"), "does not match the inferred tensor<2xf32>") for n in FLOATS],
    *[(case(n, "2xi32 -> 2xi32"), "found tensor<2xi32>") for n in NOT_INTEGERS],
    *[(case(n, "2xc64 -> 2xc64"), f"stablehlo.{n} takes floats, found tensor<2xcomplex<f32>>") for n in ONLY_FLOATS],
    *[(case(n, "2xf32, 3xf32 -> 2xf32"), "operands must have the same type, found tensor<2xf32> and tensor<3xf32>") for n in BINARY],
    *[(case(n, "2xf32, 2xf64 -> 2xf32"), "operands must have the same type, found tensor<2xf32> and tensor<2xf64>") for n in BINARY],
    *[(case(n, "2xf32, 2xf32 -> 2x1xf32"), "does not match the inferred tensor<2xf32>") for n in BINARY],
    *[(case(n, "2xi1, 2xi1 -> 2xi1"), "takes integers, floats or complex numbers, found tensor<2xi1>") for n in ("subtract", "divide", "power", "remainder")],
    *[(case(n, "2xf32, 2xf32 -> 2xf32"), "takes booleans or integers, found tensor<2xf32>") for n in BITS],
    *[(case(n, "2xi1, 2xi1 -> 2xi1"), "takes integers, found tensor<2xi1>") for n in SHIFTS],
    *[(case(n, "2xf32 -> 2xf32"), "found tensor<2xf32>") for n in ("not", "popcnt", "count_leading_zeros")],
    (case("sign", "2xui8 -> 2xui8"), "takes signed integers, floats or complex numbers, found tensor<2xui8>"),
    (case("add", "2x?xf32, ?x3xf32 -> 2x4xf32"), "result type tensor<2x4xf32> does not match"),
    (case("add", "tensor<2xindex>, tensor<2xindex> -> tensor<2xindex>"), "tensors hold booleans"),
    (case("add", "tensor<*xf32>, tensor<*xf32> -> tensor<*xf32>"), "operand must be a ranked tensor, found tensor<*xf32>"),
    (case("sine", "tensor<2xsi32> -> tensor<2xsi32>"), "operand has the type tensor<2xsi32>"),
    (case("abs", "2xc64 -> 2xc64"), "result type tensor<2xcomplex<f32>> does not match the inferred tensor<2xf32>"),
    (case("abs", "2xui8 -> 2xui8"), "operand must hold signed integers, floats or complex numbers, found tensor<2xui8>"),
    (case("real", "2xc128 -> 2xf32"), "does not match the inferred tensor<2xf64>"),
    (case("imag", "2xi32 -> 2xi32"), "operand must hold floats or complex numbers, found tensor<2xi32>"),
    (case("is_finite", "2xf32 -> 2xf32"), "does not match the inferred tensor<2xi1>"),
    (case("is_finite", "2xi32 -> 2xi1"), "operand must hold floats, found tensor<2xi32>"),
    (case("complex", "2xf32, 2xf32 -> 2xc128"), "does not match the inferred tensor<2xcomplex<f32>>"),
    (case("complex", "2xf16, 2xf16 -> 2xc64"), "must hold f32 or f64, found tensor<2xf16>"),
    (case("complex", "2xf32, 2xf64 -> 2xc64"), "lhs and rhs must have the same type"),
    (case("compare", "2xf32, 2xf32 -> 2xf32", LT), "does not match the inferred tensor<2xi1>"),
    (case("compare", "2xf32, 3xf32 -> 2xi1", LT), "lhs and rhs must have the same type, found tensor<2xf32> and tensor<3xf32>"),
    (case("compare", "2xf32, 2xf32 -> 2xi1"), "missing attribute 'comparison_direction'"),
    (
        case("compare", "2xi1, 2xi1 -> 2xi1", f"{LT}, compare_type = #stablehlo<comparison_type SIGNED>"),
        "compare_type SIGNED is for signed integers, found tensor<2xi1>",
    ),
    (
        case("compare", "2xf32, 2xf32 -> 2xi1", f"{LT}, compare_type = #stablehlo<comparison_type UNSIGNED>"),
        "compare_type UNSIGNED is for booleans or unsigned integers",
    ),
    (case("select", "3xi1, 2xf32, 2xf32 -> 2xf32"), "pred must be of rank 0 or have the shape [2] of on_true, found tensor<3xi1>"),
    (case("select", "2xi8, 2xf32, 2xf32 -> 2xf32"), "pred must hold booleans (i1), found tensor<2xi8>"),
    (case("select", "i1, 2xf32, 2xf64 -> 2xf32"), "on_true and on_false must have the same type"),
    (case("select", "i1, 2xf32, 2xf32 -> 3xf32"), "does not match the inferred tensor<2xf32>"),
    (case("clamp", "3xf32, 2xf32, f32 -> 2xf32"), "min must be of rank 0 or have the shape [2] of the operand, found tensor<3xf32>"),
    (case("clamp", "f32, 2xf32, f64 -> 2xf32"), "max and operand must have the same element type, found f64 and f32"),
    (case("clamp", "f32, 2xf32, f32 -> 2xf64"), "does not match the inferred tensor<2xf32>"),
    (case("convert", "2xf32 -> 3xi32"), "result type tensor<3xi32> does not match the inferred tensor<2xi32>"),
    (case("convert", "tuple<tensor<2xf32>> -> 2xf32"), "operand must be a ranked tensor"),
    (case("bitcast_convert", "2xf64 -> 2xi32"), "does not match the inferred tensor<2x2xi32>"),
    (case("bitcast_convert", "3x2xui8 -> 3xf32"), "needs an operand whose last dimension has the extent 4, found tensor<3x2xui8>"),
    (case("bitcast_convert", "2xf64 -> 2xc64"), "complex numbers can only be bitcast to complex numbers"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 0 : i32, mantissa_bits = 10 : i32"), "exponent_bits must be at least 1, found 0"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 5 : i32, mantissa_bits = -1 : i32"), "mantissa_bits must not be negative, found -1"),
    (case("reduce_precision", "2xi32 -> 2xi32", "exponent_bits = 5 : i32, mantissa_bits = 3 : i32"), "operand must hold floats"),
    (case("reduce_precision", "2xf32 -> 2xf32", "exponent_bits = 5, mantissa_bits = 3 : i32"), "attribute 'exponent_bits'"),
    *[(case(f"chlo.{n}", "2xf32 -> 3xf32"), "does not match the inferred tensor<2xf32>") for n in CHLO],
    *[(case(f"chlo.{n}", "2xi32 -> 2xi32"), f"chlo.{n} takes floats") for n in CHLO],
    *[(case(f"chlo.{n}", "2xf32 -> 2xf32"), "does not match the inferred tensor<2xi1>") for n in ("is_inf", "is_pos_inf", "is_neg_inf")],
    *[(case(f"chlo.{n}", "2xf32, 2xf64 -> 2xf32"), "operands must have the same type") for n in ("next_after", "polygamma", "zeta")],
    *[(case(f"chlo.{n}", "2xc64, 2xc64 -> 2xc64"), "takes floats, found tensor<2xcomplex<f32>>") for n in ("next_after", "polygamma", "zeta")],
]

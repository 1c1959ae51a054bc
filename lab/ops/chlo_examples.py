"""One small program about each op of CHLO."""

from __future__ import annotations

from wengert.lab.ops.example import Example, example, region

_UNARY = (*("acos", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf", "erf_inv", "erfc", "lgamma", "sinh", "square", "tan"),)
_ARITHMETIC = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "next_after", "power", "remainder", "subtract")
_BITS = ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")
_RAGGED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)

EXAMPLES: tuple[Example, ...] = (
    *[example(f"chlo.{name}", "3xf64 -> 3xf64") for name in _UNARY],
    example("chlo.acosh", "3xf64 -> 3xf64", low=1.2, high=2.0),
    example("chlo._asin_acos_kernel", "3xc128 -> 3xc128"),
    example("chlo.conj", "3xc128 -> 3xc128"),
    *[example(f"chlo.{name}", "3xf64 -> 3xi1") for name in ("is_inf", "is_neg_inf", "is_pos_inf")],
    example("chlo.next_after", "3xf64, 3xf64 -> 3xf64"),
    example("chlo.polygamma", "3xf64, 3xf64 -> 3xf64", constants=("dense<[0.5, 1.5, 2.5]>",)),
    example("chlo.zeta", "3xf64, 3xf64 -> 3xf64", low=1.5, high=3.0),
    example("chlo.mulhi", "3xi32, 3xi32 -> 3xi32"),
    example("chlo.constant", "-> 2xf64", "value = dense<[1.0, 2.0]> : tensor<2xf64>"),
    example("chlo.constant_like", "3xf64 -> 3xf64", "value = 2.0 : f64"),
    example("chlo.top_k", "5xf64 -> 2xf64, 2xi32", "k = 2 : i64"),
    example("chlo.ragged_dot", "4x3xf64, 2x3x2xf64, 2xi64 -> 4x2xf64", _RAGGED, constants=("dense<[1, 3]>",)),
    example(
        "chlo.scan",
        "3x2xf64, 2xf64 -> 3x2xf64, 2xf64",
        "dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>",
        region("2xf64, 2xf64", "%s = stablehlo.multiply %a0, %a1 : tensor<2xf64>", returns="%s, %s : 2xf64, 2xf64"),
    ),
    *[example(f"chlo.broadcast_{name}", "2x3xf64, 3xf64 -> 2x3xf64") for name in _ARITHMETIC],
    *[example(f"chlo.broadcast_{name}", "2x3xi32, 3xi32 -> 2x3xi32") for name in _BITS],
    *[example(f"chlo.broadcast_{name}", "2x3xf64, 3xf64 -> 2x3xf64", low=1.5, high=3.0) for name in ("polygamma", "zeta")],
    example("chlo.broadcast_compare", "2x3xf64, 3xf64 -> 2x3xi1", "comparison_direction = #chlo<comparison_direction LT>"),
    example("chlo.broadcast_complex", "2x3xf64, 3xf64 -> 2x3xc128"),
    example("chlo.broadcast_select", "3xi1, 2x3xf64, 3xf64 -> 2x3xf64"),
)

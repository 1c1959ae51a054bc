"""Well-typed and ill-typed cases of quantized numbers."""

from __future__ import annotations

from typing_cases.contraction import AS_MATMUL, CONV
from typing_cases.notation import Cases, case, predicate, reducer, region

Q = "!quant.uniform<i8:f32, 5.000000e-01:3>"
KERNEL = "!quant.uniform<i8:f32, 2.500000e-01>"
COLUMNS = "!quant.uniform<i8:f32:1, {5.000000e-01:1,2.500000e-01,1.000000e+00}>"
TRUE = '%p = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>'


def quant(shape: str, element: str = Q) -> str:
    """A tensor of quantized numbers: ``quant("2x3x")``."""
    return f"tensor<{shape}{element}>"


WELL_TYPED = [
    case("uniform_quantize", f"2x3xf32 -> {quant('2x3x')}"),
    case("uniform_quantize", f"?x3xf32 -> {quant('?x3x', COLUMNS)}"),
    case("uniform_quantize", f"{quant('2x3x')} -> {quant('2x3x', COLUMNS)}"),
    case("uniform_dequantize", f"{quant('2x3x')} -> 2x3xf32"),
    case("uniform_dequantize", f"{quant('2x3x', COLUMNS)} -> 2x3xf32"),
    case("uniform_dequantize", "tensor<2x!quant.uniform<u4<0:9>:bf16, 0.1:7>> -> 2xbf16"),
    case("add", f"{quant('2x3x')}, {quant('2x3x', KERNEL)} -> {quant('2x3x')}"),
    case("add", ", ".join([quant("2x3x", COLUMNS)] * 2) + f" -> {quant('2x3x', COLUMNS)}"),
    case("tanh", f"{quant('2x3x')} -> {quant('2x3x', KERNEL)}"),
    case("is_finite", f"{quant('2x3x')} -> 2x3xi1"),
    case("compare", f"{quant('2x3x')}, {quant('2x3x')} -> 2x3xi1", "comparison_direction = #stablehlo<comparison_direction LT>"),
    case("transpose", f"{quant('2x3x', COLUMNS)} -> {quant('3x2x', COLUMNS.replace(':1, {', ':0, {'))}", "permutation = array<i64: 1, 0>"),
    case("broadcast_in_dim", f"{quant('2x3x', COLUMNS)} -> {quant('4x2x3x', COLUMNS.replace(':1, {', ':2, {'))}", "broadcast_dimensions = array<i64: 1, 2>"),
    case("reshape", f"{quant('2x3x')} -> {quant('6x')}"),
    case("constant", f"-> {quant('2x')}", "value = dense<[1, -2]> : tensor<2xi8>"),
    case("reduce", f"{quant('2x3x')}, {quant('')} -> {quant('3x')}", "dimensions = array<i64: 0>", reducer(quant(""))),
    case("sort", f"{quant('3x')} -> {quant('3x')}", "", predicate(f"{quant('')}, {quant('')}")),
    case("dot_general", f"{quant('2x4x')}, {quant('4x3x', KERNEL)} -> {quant('2x3x')}", AS_MATMUL),
    case("dot_general", f"2x4xf32, {quant('4x3x', COLUMNS.replace(':1,2', ',2'))} -> 2x3xf32", AS_MATMUL),
    case("convolution", f"{quant('2x8x9x3x')}, {quant('3x2x3x5x', KERNEL)} -> {quant('2x6x8x5x')}", CONV),
    case("dot", f"{quant('2x4x')}, {quant('4x3x', COLUMNS.replace(':1,2', ',2'))} -> {quant('2x3x')}"),
    case("while", f"{quant('2x')} -> {quant('2x')}", "", region(quant("?x"), TRUE, returns="%p: i1"), region(quant("2x"))),
    case("reshape", f"{quant('2x1x3x', COLUMNS.replace(':1, {', ':2, {'))} -> {quant('2x3x', COLUMNS)}"),
]

WIDE = COLUMNS.replace("1.000000e+00}", "1.000000e+00,1.000000e+00}")
ILL_TYPED: Cases = [
    (case("uniform_quantize", f"2xi32 -> {quant('2x')}"), "must hold floats or quantized numbers"),
    (case("uniform_quantize", f"2xf64 -> {quant('2x')}"), "must stand for numbers of f64"),
    (case("uniform_quantize", "2xf32 -> 2xf32"), "result must hold quantized numbers"),
    (case("uniform_quantize", f"2xf32 -> {quant('3x')}"), "must have the shape [2]"),
    (case("uniform_dequantize", "2xf32 -> 2xf32"), "operand must hold quantized numbers"),
    (case("uniform_dequantize", f"{quant('2x')} -> 2xf64"), "does not match the inferred tensor<2xf32>"),
    (case("uniform_dequantize", f"{quant('2x3x', WIDE)} -> 2x3xf32"), "there must be 3 scales"),
    (case("uniform_dequantize", f"{quant('3x', COLUMNS)} -> 3xf32"), "the tensor's rank is 1"),
    (case("uniform_dequantize", "tensor<2x!quant.uniform<i8:f32, 0.5:200>> -> 2xf32"), "must lie between -128 and 127"),
    (case("add", f"{quant('2x')}, 2xf32 -> {quant('2x')}"), "operands must have the same type"),
    (case("add", f"{quant('2x')}, tensor<2x!quant.uniform<i16:f32, 0.5>> -> {quant('2x')}"), "operands must have the same type"),
    (case("tanh", f"{quant('2x3x', COLUMNS)} -> {quant('2x3x', COLUMNS)}"), "must have one scale for all elements"),
    (case("convert", f"{quant('2x')} -> 2xf32"), "operand must not be quantized"),
    (case("reverse", f"{quant('2x')} -> {quant('2x', KERNEL)}", "dimensions = array<i64: 0>"), "keeps scales and zero points"),
    (case("reshape", f"{quant('2x')} -> {quant('2x', KERNEL)}"), "keeps scales and zero points"),
    (case("transpose", f"{quant('2x3x', COLUMNS)} -> {quant('3x3x', COLUMNS)}", "permutation = array<i64: 1, 0>"), "is dimension 0 of the result"),
    (case("dot_general", f"{quant('2x4x')}, {quant('4x3x')} -> {quant('2x3x')}", AS_MATMUL), "the zero points of rhs must be 0"),
    (case("dot_general", f"{quant('2x4x')}, 4x3xf32 -> {quant('2x3x')}", AS_MATMUL), "must all be quantized, or rhs alone"),
    (case("dot_general", f"2x4xf32, {quant('4x3x', KERNEL)} -> {quant('2x3x')}", AS_MATMUL), "must all be quantized, or rhs alone"),
    (case("convolution", f"2x8x9x3xf64, {quant('3x2x3x5x', KERNEL)} -> 2x6x8x5xf64", CONV), "must hold numbers of f32"),
    (case("constant", f"-> {quant('2x')}", "value = dense<1> : tensor<2xui8>"), "does not match the type tensor<2xui8> of the value"),
    (case("chlo.broadcast_multiply", f"{quant('2x')}, {quant('2x', KERNEL)} -> {quant('2x')}"), "takes quantized numbers of one type"),
    (case("reshape", f"{quant('4x3x', COLUMNS)} -> {quant('2x3x2x', COLUMNS)}"), "before the dimension of the scales as there were, found 4 and 2"),
]

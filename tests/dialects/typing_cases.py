"""Well-typed cases of every op, in a short notation that expands to MLIR's generic form.

``case("pad", "2xf64, f64 -> 3xf64", "edge_padding_low = array<i64: 1>, ...")`` is an op applied to the arguments of a
function. In types ``2x?xf64`` stands for ``tensor<2x?xf64>``, ``c64`` and ``c128`` for the complex element types; what starts
with ``!``, ``tensor`` or ``tuple`` stands for itself.
"""

from __future__ import annotations

import re

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify


def expand(types: str) -> list[str]:
    """The types of a comma-separated list in short notation."""
    expanded: list[str] = []
    depth, parts = 0, [""]
    for c in types:
        depth += (c in "<{(") - (c in ">})")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    for part in parts:
        part = part.strip()
        if part and not re.match(r"!|tensor|tuple|index", part):
            part = re.sub(r"(^|x)c(64|128)$", lambda m: f"{m[1]}complex<f{int(m[2]) // 2}>", part)
            part = f"tensor<{part}>"
        if part:
            expanded.append(part)
    return expanded


def region(arguments: str, *ops: str, returns: str = "%a0") -> str:
    """A region with arguments %a0, %a1, ... and these ops; ``returns`` lists values, whose types follow a colon."""
    entry = ", ".join(f"%a{i}: {t}" for i, t in enumerate(expand(arguments)))
    values, _, types = returns.partition(":")
    types = ", ".join(expand(types) if types else expand(arguments)[: len(values.split(",")) if values else 0])
    return (
        "{\n^bb0" + (f"({entry})" if entry else "") + ":\n" + "".join(f"  {o}\n" for o in ops) + f'  "stablehlo.return"({values.strip()}) : ({types}) -> ()\n}}'
    )


def reducer(element: str, op: str = "stablehlo.add") -> str:
    """A region that combines two scalars."""
    (type,) = expand(element)
    return region(f"{element}, {element}", f'%r = "{op}"(%a0, %a1) : ({type}, {type}) -> {type}', returns=f"%r: {element}")


def predicate(elements: str, direction: str = "GT") -> str:
    """A region that compares its first two scalars."""
    type = expand(elements)[0]
    compare = f'%p = "stablehlo.compare"(%a0, %a1) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : ({type}, {type}) -> tensor<i1>'
    return region(elements, compare, returns="%p: i1")


def case(name: str, types: str, attributes: str = "", *regions: str) -> str:
    """A module that holds one op; a name without a dialect is StableHLO's."""
    name = name if "." in name else f"stablehlo.{name}"
    before, _, after = types.partition("->")
    operands, results = expand(before), expand(after)
    left = f"%r:{len(results)} = " if len(results) > 1 else "%r = " if results else ""
    uses = ", ".join(f"%{i}" for i in range(len(operands)))
    properties = f" <{{{attributes}}}>" if attributes else ""
    nested = f" ({', '.join(regions)})" if regions else ""
    op = f'{left}"{name}"({uses}){properties}{nested} : ({", ".join(operands)}) -> ({", ".join(results)})'
    signature = ", ".join(f"%{i}: {t}" for i, t in enumerate(operands))
    return f"func.func @main({signature}) {{\n{op}\nreturn\n}}\n"


def verdict(text: str) -> str:
    """The empty string if the module verifies, else what is wrong with it."""
    try:
        verify(parse_module(text, "case.mlir", make_context()), text)
    except DiagnosticError as error:
        return "; ".join(d.message for d in error.diagnostics)
    return ""


def name_of(text: str) -> str:
    """The op that a case is about."""
    named = re.search(r'"((?:stablehlo|chlo|core)\.[-a-z_0-9]+)"\(', text)
    assert named is not None
    return named[1]


FLOATS = [
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
]
INEXACT = [
    "cbrt",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
]
BINARY = ["add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"]
BITS = ["and", "or", "xor"]
SHIFTS = ["shift_left", "shift_right_arithmetic", "shift_right_logical"]
CHLO = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv", "erfc", "lgamma", "sinh", "square", "tan"]

ELEMENTWISE = [
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

BROADCASTING = [
    *[case(f"chlo.broadcast_{n}", "2x3xf32, 3xf32 -> 2x3xf32") for n in (*BINARY, "next_after", "polygamma", "zeta")],
    *[case(f"chlo.broadcast_{n}", "2x1xi32, 3xi32 -> 2x3xi32") for n in (*BITS, *SHIFTS)],
    case("chlo.broadcast_add", "2x3xf32, 2xf32 -> 2x3xf32", "broadcast_dimensions = array<i64: 0>"),
    case("chlo.broadcast_add", "?x3xf32, f32 -> ?x3xf32"),
    case("chlo.broadcast_complex", "2x3xf32, 3xf32 -> 2x3xc64"),
    case("chlo.broadcast_compare", "2x3xf32, 3xf32 -> 2x3xi1", "comparison_direction = #chlo<comparison_direction LT>"),
    case("chlo.broadcast_select", "2x1xi1, 3xf32, f32 -> 2x3xf32"),
    case("chlo.mulhi", "2xui8, 2xui8 -> 2xui8"),
    case("chlo._asin_acos_kernel", "2xc64 -> 2xc64"),
    case("chlo.constant_like", "2xf32 -> 2xi32", "value = 1 : i32"),
    case("broadcast", "3xf32 -> 2x4x3xf32", "broadcast_sizes = array<i64: 2, 4>"),
]

_NORM = "epsilon = 1.000000e-03 : f32, feature_index = 1 : i64"
NORMALIZATION = [
    case("batch_norm_training", "2x3x4xf32, 3xf32, 3xf32 -> 2x3x4xf32, 3xf32, 3xf32", _NORM),
    case("batch_norm_inference", "2x3xf64, 3xf64, 3xf64, 3xf64, 3xf64 -> 2x3xf64", _NORM),
    case("batch_norm_grad", "2x3xbf16, 3xbf16, 3xbf16, 3xbf16, 2x3xbf16 -> 2x3xbf16, 3xbf16, 3xbf16", _NORM),
]

SHAPE = [
    case("constant", "-> 2xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"),
    case("constant", "-> 2xi1", "value = dense<true> : tensor<2xi1>"),
    case("chlo.constant", "-> 2xf32", "value = dense<[1.0, 2.0]> : tensor<2xf32>"),
    case("iota", "-> 2x3xf32", "iota_dimension = 1 : i64"),
    case("broadcast_in_dim", "1x3xf32 -> 4x2x3xf32", "broadcast_dimensions = array<i64: 1, 2>"),
    case("broadcast_in_dim", "?x3xf32 -> 3x2xf32", "broadcast_dimensions = array<i64: 1, 0>"),
    case("broadcast_in_dim", "f32 -> 3xf32", "broadcast_dimensions = array<i64>"),
    case("reshape", "2x6xf32 -> 3x4xf32"),
    case("reshape", "?x6xf32 -> 3x4xf32"),
    case("reshape", "f32 -> 1x1xf32"),
    case("transpose", "2x3x4xf32 -> 4x2x3xf32", "permutation = array<i64: 2, 0, 1>"),
    case("slice", "8x5xf32 -> 3x2xf32", "start_indices = array<i64: 1, 0>, limit_indices = array<i64: 7, 5>, strides = array<i64: 2, 4>"),
    case("slice", "?xf32 -> 2xf32", "start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>"),
    case("pad", "2x3xf32, f32 -> 6x2xf32", "edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 2, 0>, interior_padding = array<i64: 1, 0>"),
    case("pad", "0xf32, f32 -> 3xf32", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 4>"),
    case("concatenate", "2x3xf32, 2x1xf32, 2x0xf32 -> 2x4xf32", "dimension = 1 : i64"),
    case("concatenate", "?x3xf32, 2x1xf32 -> 2x4xf32", "dimension = 1 : i64"),
    case("reverse", "2x3xf32 -> 2x3xf32", "dimensions = array<i64: 1>"),
    case("reverse", "2xf32 -> 2xf32", "dimensions = array<i64>"),
]

_DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>"
)
_MATMUL = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"
_RAGGED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)
_RAGGED_SUM = "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>"
_RAGGED_BATCHED = (
    "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
    "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>, "
    "precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>]"
)
_CONV = "feature_group_count = 1 : i64, batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
CONTRACTION = [
    case("dot", "2x3xf32, 3x4xf32 -> 2x4xf32"),
    case("dot", "3xi8, 3xi8 -> i32"),
    case("einsum", "5x2x3xf32, 5x3x4xf32 -> 5x2x4xf32", 'einsum_config = "...ij,...jk->...ik"'),
    case("einsum", "3x3x2xf32, 2xf32 -> 3xf32", 'einsum_config = "iij,j->i"'),
    case("unary_einsum", "2x3xf32 -> 3x2xf32", 'einsum_config = "ij->ji"'),
    case("chlo.ragged_dot", "4x6xf32, 6x5xf32, 3xi32 -> 3x4x5xf32", _RAGGED_SUM),
    case("chlo.ragged_dot", "2x6x4xf32, 3x2x4x5xf32, 2x3xi32 -> 2x6x5xf32", _RAGGED_BATCHED),
    case("dot_general", "2x3x4xf32, 4x5x2xf32 -> 2x3x5xf32", _DOT),
    case("dot_general", "3x4xi8, 4x5xi8 -> 3x5xi32", _MATMUL),
    case("dot_general", "3x?xf32, 4x5xf32 -> 3x5xf32", f"{_MATMUL}, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]"),
    case("convolution", "2x8x9x3xf32, 3x2x3x5xf32 -> 2x6x8x5xf32", _CONV),
    case(
        "convolution",
        "2x8x9x3xf32, 3x2x3x5xf32 -> 2x7x5x5xf32",
        f"{_CONV}, window_strides = array<i64: 2, 3>, padding = dense<[[1, 0], [2, -1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 2, 2>, "
        "rhs_dilation = array<i64: 1, 3>, window_reversal = array<i1: true, false>",
    ),
    case("convolution", "2x8x9x4xf32, 3x2x2x6xf32 -> 2x6x8x6xf32", _CONV.replace("feature_group_count = 1", "feature_group_count = 2")),
    case("convolution", "4x8x9x3xf32, 3x2x3x6xf32 -> 2x6x8x6xf32", _CONV.replace("batch_group_count = 1", "batch_group_count = 2")),
    case("convolution", "?x8x9x3xf32, 3x2x3x5xf32 -> ?x6x8x5xf32", _CONV),
    case(
        "chlo.ragged_dot",
        "6x4xf32, 2x4x5xf32, 2xi64 -> 6x5xf32",
        _RAGGED,
    ),
]

_TRIANGULAR = "left_side = {}, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose {}>"
LINALG = [
    case("cholesky", "2x3x3xf32 -> 2x3x3xf32", "lower = true"),
    case("cholesky", "3x3xc128 -> 3x3xc128"),
    case("triangular_solve", "3x3xf32, 3x4xf32 -> 3x4xf32", _TRIANGULAR.format("true", "NO_TRANSPOSE")),
    case("triangular_solve", "2x3x3xc64, 2x4x3xc64 -> 2x4x3xc64", _TRIANGULAR.format("false", "ADJOINT")),
    case("fft", "3x8xc64 -> 3x8xc64", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>"),
    case("fft", "3x8xc64 -> 3x8xc64", "fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 3, 8>"),
    case("fft", "3x8xf32 -> 3x5xc64", "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 3, 8>"),
    case("fft", "5xc128 -> 9xf64", "fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>"),
    case("rng_bit_generator", "2xui64 -> 2xui64, 3x4xui32", "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>"),
    case("rng", "f32, f32, 2xi64 -> 3x4xf32", "rng_distribution = #stablehlo<rng_distribution NORMAL>"),
    case("rng", "i32, i32, 1xi64 -> 3xi32", "rng_distribution = #stablehlo<rng_distribution UNIFORM>"),
    case("chlo.top_k", "3x5xf32 -> 3x2xf32, 3x2xi32", "k = 2 : i64"),
]

_WINDOW = "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>"
REDUCTION = [
    case("reduce", "2x3xf32, f32 -> 3xf32", "dimensions = array<i64: 0>", reducer("f32")),
    case("reduce", "2x?xbf16, bf16 -> ?xf32", "dimensions = array<i64: 0>", reducer("f32")),
    case("reduce", "2x3xf32, 2x3xi32, f32, i32 -> f32, i32", "dimensions = array<i64: 0, 1>", region("f32, i32, f32, i32", returns="%a0, %a1: f32, i32")),
    case("reduce", "2xf32, f32 -> 2xf32", "dimensions = array<i64>", reducer("f32")),
    case("reduce_window", "4x9xf32, f32 -> 3x4xf32", _WINDOW, reducer("f32")),
    case(
        "reduce_window",
        "4x9xf32, f32 -> 9x7xf32",
        f"{_WINDOW}, base_dilations = array<i64: 3, 1>, window_dilations = array<i64: 2, 1>, padding = dense<[[1, 0], [3, 3]]> : tensor<2x2xi64>",
        reducer("f32"),
    ),
    case("select_and_scatter", "4x9xf32, 3x4xf32, f32 -> 4x9xf32", _WINDOW, predicate("f32, f32"), reducer("f32")),
    case("sort", "2x3xf32 -> 2x3xf32", "dimension = 1 : i64, is_stable = true", predicate("f32, f32")),
    case("sort", "3xf32, 3xi32 -> 3xf32, 3xi32", "dimension = -1 : i64", predicate("f32, f32, i32, i32")),
    case("map", "2x3xf32, 2x3xf32 -> 2x3xf32", "dimensions = array<i64: 0, 1>", reducer("f32")),
    case(
        "map", "3xf32 -> 3xi32", "dimensions = array<i64: 0>", region("f32", '%c = "stablehlo.convert"(%a0) : (tensor<f32>) -> tensor<i32>', returns="%c: i32")
    ),
]

_GATHER = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
_BATCHED_GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
    "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>"
)
_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)
_BATCHED_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
    "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>"
)
INDEXING = [
    case("dynamic_slice", "4x5xf32, i32, i32 -> 2x3xf32", "slice_sizes = array<i64: 2, 3>"),
    case("dynamic_update_slice", "4x5xf32, 2x3xf32, ui8, ui8 -> 4x5xf32"),
    case("dynamic_update_slice", "4x?xf32, 2x3xf32, i64, i64 -> 4x?xf32"),
    case("gather", "5x6xf32, 3x1xi32 -> 3x6xf32", f"{_GATHER}, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false"),
    case("gather", "?x6xf32, 3x1xi32 -> 3x6xf32", f"{_GATHER}, slice_sizes = array<i64: 1, 6>"),
    case("gather", "2x5x6xf32, 2x3x1xi32 -> 2x3x4xf32", f"{_BATCHED_GATHER}, slice_sizes = array<i64: 1, 1, 4>"),
    case(
        "gather",
        "5x6xf32, 3xi32 -> 3x2x6xf32",
        "dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 6>",
    ),
    case("scatter", "5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", f"{_SCATTER}, unique_indices = false", reducer("f32")),
    case("scatter", "5x6xf32, 5x6xi32, 3x1xi32, 3x4xf32, 3x4xi32 -> 5x6xf32, 5x6xi32", _SCATTER, region("f32, i32, f32, i32", returns="%a0, %a1: f32, i32")),
    case("scatter", "2x5x6xf32, 2x3x1xi32, 2x3x4xf32 -> 2x5x6xf32", _BATCHED_SCATTER, reducer("f32")),
    case("torch_index_select", "5x6xf32, 3xi32 -> 5x3xf32", "dim = 1 : i64, batch_dims = 0 : i64"),
    case("core.scatter", "5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", f"kind = #core<kind add>, {_SCATTER}, indices_are_sorted = false, unique_indices = false"),
]

_STEP = '%n = "stablehlo.add"(%a1, %a1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>'
_ZERO = '%z = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>'
CONTROL = [
    case(
        "while",
        "i32, 2xf32 -> i32, 2xf32",
        "",
        predicate("i32, 2xf32").replace("(%a0, %a1)", "(%a0, %a0)"),
        region("i32, 2xf32", _STEP, returns="%a0, %n: i32, 2xf32"),
    ),
    case("case", "i32 -> f32", "", region("", _ZERO, returns="%z: f32"), region("", _ZERO, returns="%z: f32")),
    case("case", "i32 ->", "", region("", returns="")),
    case("if", "i1 -> f32", "", region("", _ZERO, returns="%z: f32"), region("", _ZERO, returns="%z: f32")),
    case("custom_call", "2xf32, i32 -> 3xf64", 'call_target_name = "f"'),
    case("custom_call", "2xf32 -> !stablehlo.token", 'call_target_name = "f", has_side_effect = true, api_version = 2 : i32'),
    case("optimization_barrier", "2xf32, i32 -> 2xf32, i32"),
    case("after_all", "!stablehlo.token, !stablehlo.token -> !stablehlo.token"),
    case("create_token", "-> !stablehlo.token"),
    case("tuple", "2xf32, i32 -> tuple<tensor<2xf32>, tensor<i32>>"),
    case("get_tuple_element", "tuple<tensor<2xf32>, tensor<i32>> -> i32", "index = 1 : i32"),
    case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g, version = 1 : i32')
    + "func.func private @g(%0: tensor<2xf32>) -> tensor<2xf32> {\nreturn %0 : tensor<2xf32>\n}\n",
]

DYNAMIC = [
    case("get_dimension_size", "2x?xf32 -> i32", "dimension = 1 : i64"),
    case("set_dimension_size", "2x?xf32, i32 -> 2x?xf32", "dimension = 1 : i64"),
    case("dynamic_broadcast_in_dim", "1x?xf32, 3xi64 -> ?x?x?xf32", "broadcast_dimensions = array<i64: 0, 2>"),
    case("dynamic_iota", "2xi32 -> ?x3xf32", "iota_dimension = 0 : i64"),
    case("dynamic_reshape", "?xf32, 2xi32 -> ?x3xf32"),
    case("dynamic_pad", "?xf32, f32, 1xi32, 1xi32, 1xi32 -> ?xf32"),
    case("dynamic_gather", "5x6xf32, 3x1xi32, 2xi32 -> 3x?xf32", _GATHER),
    case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xi32 -> 2x?x?x5xf32", _CONV),
    case("dynamic_conv", "2x8x9x3xf32, 3x2x3x5xf32, 2x2xi64 -> 2x6x10x5xf32", f"{_CONV}, window_strides = array<i64: 1, 1>"),
    case("real_dynamic_slice", "?xf32, 1xi32, 1xi32, 1xi32 -> ?xf32"),
]

_Q = "!quant.uniform<i8:f32, 5.000000e-01:3>"
_KERNEL = "!quant.uniform<i8:f32, 2.500000e-01>"
_COLUMNS = "!quant.uniform<i8:f32:1, {5.000000e-01:1,2.500000e-01,1.000000e+00}>"


def quant(shape: str, element: str = _Q) -> str:
    """A tensor of quantized numbers: ``quant("2x3x")``."""
    return f"tensor<{shape}{element}>"


QUANTIZED = [
    case("uniform_quantize", f"2x3xf32 -> {quant('2x3x')}"),
    case("uniform_quantize", f"?x3xf32 -> {quant('?x3x', _COLUMNS)}"),
    case("uniform_quantize", f"{quant('2x3x')} -> {quant('2x3x', _COLUMNS)}"),
    case("uniform_dequantize", f"{quant('2x3x')} -> 2x3xf32"),
    case("uniform_dequantize", f"{quant('2x3x', _COLUMNS)} -> 2x3xf32"),
    case("uniform_dequantize", "tensor<2x!quant.uniform<u4<0:9>:bf16, 0.1:7>> -> 2xbf16"),
    case("add", f"{quant('2x3x')}, {quant('2x3x', _KERNEL)} -> {quant('2x3x')}"),
    case("add", ", ".join([quant("2x3x", _COLUMNS)] * 2) + f" -> {quant('2x3x', _COLUMNS)}"),
    case("tanh", f"{quant('2x3x')} -> {quant('2x3x', _KERNEL)}"),
    case("is_finite", f"{quant('2x3x')} -> 2x3xi1"),
    case("compare", f"{quant('2x3x')}, {quant('2x3x')} -> 2x3xi1", "comparison_direction = #stablehlo<comparison_direction LT>"),
    case("transpose", f"{quant('2x3x', _COLUMNS)} -> {quant('3x2x', _COLUMNS.replace(':1, {', ':0, {'))}", "permutation = array<i64: 1, 0>"),
    case("broadcast_in_dim", f"{quant('2x3x', _COLUMNS)} -> {quant('4x2x3x', _COLUMNS.replace(':1, {', ':2, {'))}", "broadcast_dimensions = array<i64: 1, 2>"),
    case("reshape", f"{quant('2x3x')} -> {quant('6x')}"),
    case("constant", f"-> {quant('2x')}", "value = dense<[1, -2]> : tensor<2xi8>"),
    case("reduce", f"{quant('2x3x')}, {quant('')} -> {quant('3x')}", "dimensions = array<i64: 0>", reducer(quant(""))),
    case("sort", f"{quant('3x')} -> {quant('3x')}", "", predicate(f"{quant('')}, {quant('')}")),
    case("dot_general", f"{quant('2x4x')}, {quant('4x3x', _KERNEL)} -> {quant('2x3x')}", _MATMUL),
    case("dot_general", f"2x4xf32, {quant('4x3x', _COLUMNS.replace(':1,2', ',2'))} -> 2x3xf32", _MATMUL),
    case("convolution", f"{quant('2x8x9x3x')}, {quant('3x2x3x5x', _KERNEL)} -> {quant('2x6x8x5x')}", _CONV),
]

_GROUPS = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"
_EVERYONE = "replica_groups = dense<> : tensor<0x0xi64>"
_UNEVEN = "replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>"
_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
COLLECTIVE = [
    case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {_GROUPS}"),
    case("all_reduce", "2x3xf32, 4xf32 -> 2x3xf32, 4xf32", _GROUPS, reducer("f32")),
    case("reduce_scatter", "4x3xf32 -> 2x3xf32", f"scatter_dimension = 0 : i64, {_GROUPS}", reducer("f32")),
    case("all_to_all", "4x3xf32 -> 2x6xf32", f"split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, {_GROUPS}"),
    case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"),
    case("partition_id", "-> ui32"),
    case("replica_id", "-> ui32"),
    case(
        "collective_broadcast",
        "2xf32 -> 2xf32",
        "replica_groups = dense<[[3, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>",
    ),
    case("cross-replica-sum", "2xf32 -> 2xf32", _GROUPS),
    case("all_reduce", "2xf32 -> 2xf32", _EVERYONE, reducer("f32")),
    case("all_reduce", "2xf32 -> 2xf32", f"{_UNEVEN}, {_CHANNEL}, use_global_device_ids", reducer("f32")),
    case("all_gather", "2xf32, 3xf64 -> 4xf32, 6xf64", f"all_gather_dim = 0 : i64, {_GROUPS}, {_CHANNEL}, use_global_device_ids"),
    case("all_to_all", "4xf32, 2xf64 -> 4xf32, 2xf64", f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, {_GROUPS}"),
    case("collective_permute", "2xf32 -> 2xf32", f"source_target_pairs = dense<> : tensor<0x2xi64>, {_CHANNEL}"),
    'sdy.mesh @mesh = <["x"=2]>\n'
    + case(
        "all_reduce",
        "2xf32 -> 2xf32",
        'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>',
        reducer("f32"),
    ),
]

_SLICE = region(
    "4xf32",
    '%r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2xf32>',
    returns="%r: 2xf32",
)
TRANSFER = [
    case("send", "2xf32, i32, !stablehlo.token -> !stablehlo.token", _CHANNEL),
    case("send", "2xf32, !stablehlo.token -> !stablehlo.token", f"{_CHANNEL.replace('type = 1', 'type = 2')}, is_host_transfer = true"),
    case(
        "send", "2xf32, !stablehlo.token -> !stablehlo.token", f"{_CHANNEL}, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"
    ),
    case("recv", "!stablehlo.token -> 2xf32, i32, !stablehlo.token", f"{_CHANNEL}, is_host_transfer = false"),
    case("recv", "!stablehlo.token -> !stablehlo.token", f"{_CHANNEL.replace('type = 1', 'type = 3')}, is_host_transfer = true"),
    case("infeed", "!stablehlo.token -> 2x3xf32, !stablehlo.token", 'infeed_config = "", layout = [[0, 1]]'),
    case("infeed", "!stablehlo.token -> !stablehlo.token"),
    case("outfeed", "2x3xf32, i32, !stablehlo.token -> !stablehlo.token", 'outfeed_config = ""'),
    case("async_start", "4xf32 -> !stablehlo.future<tensor<2xf32>>", "", _SLICE),
    case("async_done", "!stablehlo.future<tensor<2xf32>> -> 2xf32"),
]

_TAPE = "!core.tape<tensor<2xf32>>"
_ALWAYS = region("i32, f32", '%p = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>', returns="%p: i1")
CORE = [
    case("core.reduce", "2x3xf32 -> 3xf32", "kind = #core<kind add>, dimensions = array<i64: 0>"),
    case("core.reduce", "2x3xi1 -> 2xi1", "kind = #core<kind or>, dimensions = array<i64: 1>"),
    case("core.argreduce", "2x3xf32 -> 2xf32, 2xi32", "extreme = #core<extreme max>, dimension = 1 : i64"),
    case(
        "core.window_reduce",
        "4x9xf32 -> 4x4xf32",
        "kind = #core<kind max>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>, "
        "window_dilations = array<i64: 1, 1>, padding = array<i64: 1, 0, 0, 0>",
    ),
    case("core.cumulative", "2x3xf32 -> 2x3xf32", "kind = #core<kind mul>, dimension = 1 : i64, reverse = false"),
    case("core.for", "i64, 2xf32, f32 -> f32", "constants = 1 : i64", region("i64, 2xf32, f32", returns="%a2: f32")),
    case("core.while", "i32, f32 -> f32", "constants = 1 : i64", _ALWAYS, region("i32, f32", returns="%a1: f32")),
    case("core.case", "i32, f32 -> f32", "", region("f32"), region("f32")),
    case("core.tape_create", f"-> {_TAPE}"),
    case("core.tape_push", f"{_TAPE}, 2xf32 -> {_TAPE}"),
    case("core.tape_extend", f"{_TAPE}, {_TAPE} -> {_TAPE}"),
    case("core.tape_size", f"{_TAPE} -> i64"),
    case("core.cholesky", "2x3x3xf32 -> 2x3x3xf32, 2xi32", "lower = true"),
    case("core.cholesky_solve", "2x3x3xc64, 2x3x3xc64, 2x3x4xc64 -> 2x3x4xc64", "lower = true, a_lower = false"),
    case("core.lu", "4x3xf64 -> 4x3xf64, 3xi32, i32"),
    case("core.pivots_to_permutation", "2x3xi32 -> 2x4xi32"),
    case("core.lu_solve", "2x3x3xc64, 2x3x3xc64, 2x3xi32, 2x3x4xc64 -> 2x3x4xc64", "transpose = true"),
    case("core.lu_diagonal", "2x3x3xc64, 2x3x3xc64, 2x3xi32 -> 2x3xc64"),
    case("core.qr", "4x3xf64 -> 4x3xf64, 3x3xf64", "full = false"),
    case("core.qr", "4x3xf64 -> 4x4xf64, 4x3xf64", "full = true"),
    case("core.eigh", "3x3xc128 -> 3x3xc128, 3xf64, i32", "lower = true"),
    case("core.svd", "4x3xc64 -> 4x3xc64, 3xf32, 3x3xc64, i32", "full = false"),
    case("core.svd", "4x3xf32 -> 4x4xf32, 3xf32, 3x3xf32, i32", "full = true"),
    case("core.eig", "3x3xf32 -> 3xc64, 3x3xc64, 3x3xc64, i32"),
    case("core.tridiagonal_solve", "2x3xf64, 2x3xf64, 2x3xf64, 2x3x4xf64 -> 2x3x4xf64, 2xi32"),
    *[case(f"core.{n}", f"{_TAPE}, i64 -> 2xf32") for n in ("tape_read", "tape_get")],
    case("core.tape_from", f"{_TAPE}, i64 -> {_TAPE}"),
    *[case(f"core.{n}", f"{_TAPE}, i64, 2xf32 -> {_TAPE}") for n in ("tape_set", "tape_add")],
    *[case(f"core.{n}", f"{_TAPE}, i64, {_TAPE} -> {_TAPE}") for n in ("tape_set_from", "tape_add_from")],
]

_SCAN = "dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
SCAN = [
    case("chlo.scan", "2x3xf32, 2xf32 -> 2x3xf32, 2xf32", _SCAN, region("2xf32, 2xf32", returns="%a0, %a1: 2xf32, 2xf32")),
    case("chlo.scan", "2x3xf32, i32 -> 2xi32, i32", _SCAN.replace("dimension = 1", "dimension = 0"), region("3xf32, i32", returns="%a1, %a1: i32, i32")),
]

WELL_TYPED = [
    *ELEMENTWISE,
    *BROADCASTING,
    *NORMALIZATION,
    *SCAN,
    *SHAPE,
    *CONTRACTION,
    *LINALG,
    *REDUCTION,
    *INDEXING,
    *CONTROL,
    *DYNAMIC,
    *QUANTIZED,
    *COLLECTIVE,
    *TRANSFER,
    *CORE,
]

"""Valid spellings of attributes and types, in the notation of :mod:`typing_cases.notation`: what the cases of the ops do not say.

Each is accepted by StableHLO's own verifier too, and each is a starting point for changes that make it wrong.
"""

from __future__ import annotations

from typing_cases.communication import GROUPS
from typing_cases.contraction import AS_MATMUL, CONV
from typing_cases.indexing import GATHER, SCATTER
from typing_cases.notation import case, predicate, reducer, region
from typing_cases.reduction import WINDOW

ACCURATE = ["cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"]
ACCURACIES = [
    "ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>",
    "atol = 1.0e-05, rtol = 5.0e-01, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>",
    "mode = #stablehlo.result_accuracy_mode<HIGHEST>",
    "mode = #stablehlo.result_accuracy_mode<DEFAULT>",
]
ALGORITHMS = [("tf32", "tf32", "f32", 1, 1, 3, "false"), ("bf16", "bf16", "bf16", 1, 1, 1, "false"), ("f8E5M2", "f8E4M3FN", "f32", 1, 1, 1, "true")]


def algorithm(lhs: str, rhs: str, total: str, m: int, n: int, count: int, imprecise: str) -> str:
    """A dot algorithm."""
    return (
        f"algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, accumulation_type = {total}, "
        f"lhs_component_count = {m}, rhs_component_count = {n}, num_primitive_operations = {count}, allow_imprecise_accumulation = {imprecise}>"
    )


ANNOTATED = [
    *[case(n, "2xf32 -> 2xf32", f"result_accuracy = #stablehlo.result_accuracy<{ACCURACIES[i % 4]}>") for i, n in enumerate(ACCURATE)],
    *[case("dot_general", "3x4xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, {algorithm(*a)}") for a in ALGORITHMS],
    case("dot_general", "3x4xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, {algorithm(*ALGORITHMS[0])}, precision_config = [#stablehlo<precision DEFAULT>]"),
    case("dot_general", "3x4xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, precision_config = []"),
    case("dot_general", "3x4xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, precision_config = [#stablehlo<precision HIGH>]"),
    case("convolution", "2x8x9x3xf32, 3x2x3x5xf32 -> 2x6x8x5xf32", f"{CONV}, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]"),
    case("convolution", "2x3xf32, 3x5xf32 -> 2x5xf32", CONV.replace("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "[b, f]x[i, o]->[b, f]")),
    case("convolution", "3x8x2xf32, 5x3x4xf32 -> 5x2x5xf32", CONV.replace("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "[f, 0, b]x[o, i, 0]->[0, b, f]")),
]

LAYOUT = "dense<[1, 0]> : tensor<2xindex>"
ALIAS = "#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, operand_tuple_indices = {}>"
HELPER = "func.func private @g(%0: tensor<2xf32>) -> tensor<2xf32> {\nreturn %0 : tensor<2xf32>\n}\n"
CALLS = [
    case(
        "custom_call",
        "2x3xf32, 2xf32 -> 3x2xf64",
        f'call_target_name = "f", operand_layouts = [{LAYOUT}, dense<0> : tensor<1xindex>], result_layouts = [{LAYOUT}]',
    ),
    case("custom_call", "f32 -> f64", 'call_target_name = "f", operand_layouts = [dense<> : tensor<0xindex>], result_layouts = [dense<> : tensor<0xindex>]'),
    case(
        "custom_call",
        "2x3xf32 -> tuple<tensor<3x2xf64>, tensor<2xf32>>",
        f'call_target_name = "f", operand_layouts = [{LAYOUT}], result_layouts = [{LAYOUT}, dense<0> : tensor<1xindex>]',
    ),
    case(
        "custom_call",
        "!stablehlo.token, 2xf32 -> !stablehlo.token",
        'call_target_name = "f", operand_layouts = [dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<> : tensor<0xindex>]',
    ),
    case("custom_call", "2xf32 -> 2xf32", f'call_target_name = "f", output_operand_aliases = [{ALIAS.format("[]", 0, "[]")}]'),
    case(
        "custom_call",
        "tuple<tensor<1xf32>, tensor<2xf32>>, i32 -> tuple<tensor<2xf32>, tensor<i32>>",
        f'call_target_name = "f", output_operand_aliases = [{ALIAS.format("[0]", 0, "[1]")}, {ALIAS.format("[1]", 1, "[]")}]',
    ),
    case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", api_version = 4 : i32, backend_config = {a = 1 : i64, b = "c"}'),
    case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", api_version = 2 : i32, backend_config = "text"'),
    case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", called_computations = [@g], has_side_effect = false') + HELPER,
    case("composite", "2xf32 -> 2xf32", 'name = "my.op.of_mine", composite_attributes = {n = 1 : i64}, decomposition = @g, version = 2 : i32') + HELPER,
    case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g') + HELPER,
]

_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>"
DEVICES = [
    case("all_gather", "2x3xf32, 2x4xi32 -> 4x3xf32, 4x4xi32", f"all_gather_dim = 0 : i64, {GROUPS}, {_CHANNEL}"),
    case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {GROUPS}, {_CHANNEL}, use_global_device_ids"),
    case("all_gather", "2x3xf32 -> 2x3xf32", "all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>"),
    case("all_reduce", "2x3xf32 -> 2x3xf32", f"{GROUPS}, {_CHANNEL}, use_global_device_ids", reducer("f32")),
    case("all_reduce", "2x3xf32 -> 2x3xf32", "replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>", reducer("f32")),
    case("all_reduce", "2x3xf32 -> 2x3xf32", "replica_groups = dense<> : tensor<0x0xi64>", reducer("f32")),
    case("reduce_scatter", "4x3xf32 -> 2x3xf32", f"scatter_dimension = 0 : i64, {GROUPS}, {_CHANNEL}, use_global_device_ids", reducer("f32")),
    case("all_to_all", "4x3xf32 -> 2x6xf32", f"split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, {GROUPS}, {_CHANNEL}"),
    case("collective_permute", "2xf32 -> 2xf32", f"source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, {_CHANNEL}"),
    case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<> : tensor<0x2xi64>"),
]

SPELLINGS = [
    case("constant", "-> 2xf32", "value = dense<[0x7F800000, 1.0e+10]> : tensor<2xf32>"),
    case("constant", "-> 2xf64", "value = dense<-1.5> : tensor<2xf64>"),
    case("constant", "-> 2xi32", "value = dense<[-1, 0xFF]> : tensor<2xi32>"),
    case("constant", "-> 2xi1", "value = dense<[true, false]> : tensor<2xi1>"),
    case("constant", "-> c64", "value = dense<(1.0, -2.0)> : tensor<complex<f32>>"),
    case("constant", "-> 2x2xui8", "value = dense<[[1, 2], [3, 255]]> : tensor<2x2xui8>"),
    case("constant", "-> 0xf32", "value = dense<> : tensor<0xf32>"),
    case("constant", "-> 2xf32", 'value = dense<"0x0000803F00000040"> : tensor<2xf32>'),
    case("iota", "-> 2x3xc64", "iota_dimension = 0 : i64"),
    case("reduce_window", "4x9xf32, f32 -> 3x4xf32", f"{WINDOW}, padding = dense<0> : tensor<2x2xi64>", reducer("f32")),
    case("gather", "5x6xf32, 3x1xi32 -> 3x6xf32", f"{GATHER}, slice_sizes = array<i64: 1, 6>, indices_are_sorted = true"),
    case("scatter", "5x6xf32, 3x1xi32, 3x6xf32 -> 5x6xf32", f"{SCATTER}, unique_indices = true, indices_are_sorted = true", reducer("f32")),
    case("sort", "3xf32 -> 3xf32", "", predicate("f32, f32")),
    case("while", "i32 -> i32", "", predicate("i32").replace("(%a0, %a1)", "(%a0, %a0)"), region("i32", returns="%a0: i32")),
    case("dynamic_broadcast_in_dim", "1x?xf32, 2xi64 -> ?x?xf32", "broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>"),
    case(
        "dynamic_broadcast_in_dim",
        "1x?xf32, 2xi64 -> ?x?xf32",
        "broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>",
    ),
    case("dynamic_gather", "5x6xf32, 3x1xi32, 2xi32 -> 3x?xf32", f"{GATHER}, indices_are_sorted = true"),
]

FORMS = [*ANNOTATED, *CALLS, *DEVICES, *SPELLINGS]

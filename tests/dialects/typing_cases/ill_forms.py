"""What is wrong with attributes and with quantized and bounded types, each with a part of the message about it."""

from __future__ import annotations

from typing_cases.communication import INLINE
from typing_cases.contraction import AS_MATMUL
from typing_cases.forms import ALIAS, HELPER, LAYOUT, algorithm
from typing_cases.notation import Cases, case, reducer

TF32 = ("tf32", "tf32", "f32", 1, 1, 1, "false")
ACCURACY = "result_accuracy = #stablehlo.result_accuracy<{}mode = #stablehlo.result_accuracy_mode<{}>>"


def _tanh(tolerances: str, mode: str) -> str:
    return case("tanh", "2xf32 -> 2xf32", ACCURACY.format(tolerances, mode))


def _dot(attributes: str) -> str:
    return case("dot_general", "3x4xf32, 4x5xf32 -> 3x5xf32", f"{AS_MATMUL}, {attributes}")


def _call(types: str, attributes: str) -> str:
    return case("custom_call", types, f'call_target_name = "f", {attributes}')


def _layouts(operand: str, result: str = LAYOUT) -> str:
    return f"operand_layouts = [{operand}], result_layouts = [{result}]"


ANNOTATED: Cases = [
    (case("tanh", "2xf32 -> 2xf32", "result_accuracy = 1 : i64"), "attribute 'result_accuracy'"),
    (_dot(f"{algorithm(*TF32)}, precision_config = [#stablehlo<precision HIGH>]"), "must be DEFAULT where there is an algorithm"),
    (_dot("algorithm = 1 : i64"), "attribute 'algorithm'"),
]

CALLS: Cases = [
    (_call("2x3xf32 -> 3x2xf32", f"operand_layouts = [{LAYOUT}]"), "both operand_layouts and result_layouts"),
    (_call("2x3xf32, i32 -> 3x2xf32", _layouts(LAYOUT)), "a layout for each of the 2 operands, found 1"),
    (_call("2x3xf32 -> 3x2xf32", _layouts("dense<1> : tensor<2xindex>")), "must be an order of the 2 dimensions"),
    (_call("2x3xf32 -> 3x2xf32", _layouts("dense<0> : tensor<4294967297xindex>")), "must be an order of the 2 dimensions"),
    (_call("2x3xf32 -> 3x2xf32", _layouts("dense<[1, 0]> : tensor<2xi64>")), "tensor<?xindex>"),
    (_call("!stablehlo.token -> 3x2xf32", _layouts(LAYOUT)), "must be an order of the 0 dimensions"),
    (_call("tuple<tensor<2xf32>> -> 3x2xf32", _layouts("dense<0> : tensor<1xindex>")), "that of a tuple, which has none"),
    (_call("2xf32 -> 2xf32", f"output_operand_aliases = [{ALIAS.format('[]', 1, '[]')}]"), "operand_index must be in the range [0, 1)"),
    (_call("2xf32 -> 3xf32", f"output_operand_aliases = [{ALIAS.format('[]', 0, '[]')}]"), "an output of another type"),
    (_call("2xf32 -> 2xf32", f"output_operand_aliases = [{ALIAS.format('[0]', 0, '[]')}]"), "which is no tuple"),
    (_call("2xf32 -> 2xf32, 2xf32", f"output_operand_aliases = [{ALIAS.format('[]', 0, '[]')}]"), "which of the 2 results"),
    (_call("2xf32 ->", f"output_operand_aliases = [{ALIAS.format('[]', 0, '[]')}]"), "which of the 0 results"),
    (_call("2xf32 -> 2xf32", "output_operand_aliases = [1 : i64]"), "must hold #stablehlo.output_operand_alias"),
    (_call("2xf32 -> 2xf32", 'api_version = 4 : i32, backend_config = "text"'), "must be a dictionary where api_version is 4"),
    (_call("2xf32 -> 2xf32", "backend_config = {a = 1 : i64}"), "must be a string where api_version is 1"),
    (_call("2xf32 -> 2xf32", "api_version = 5 : i32"), "api_version must be between 0 and 4"),
    (_call("2xf32 -> 2xf32", 'called_computations = ["g"]'), "names of functions"),
    (case("custom_call", "2xsi32 -> 2xf32", 'call_target_name = "f"'), "tensors hold booleans"),
    *[(case("composite", "2xf32 -> 2xf32", f'name = "{n}", decomposition = @g') + HELPER, "an op in a namespace") for n in ("", "op", "1a.b", "a.", "a.b c")],
]

_GROUPS = "replica_groups = dense<{}> : tensor<2x2xi64>"
_GLOBAL = "channel_handle = #stablehlo.channel_handle<handle = {}, type = 0>, use_global_device_ids"
DEVICES: Cases = [
    (case("all_gather", "2xf32 -> 4xf32", f"all_gather_dim = 0 : i64, {_GROUPS.format('[[0, 1], [2, -1]]')}"), "without -1"),
    (case("all_reduce", "2xf32 -> 2xf32", f"{_GROUPS.format('[[0, 1], [2, 3]]')}, use_global_device_ids", reducer("f32")), "with a positive handle"),
    (case("all_reduce", "2xf32 -> 2xf32", f"{_GROUPS.format('[[0, 1], [2, 3]]')}, {_GLOBAL.format(0)}", reducer("f32")), "with a positive handle"),
    (
        case("all_gather", "2xf32 -> 4xf32", f"all_gather_dim = 0 : i64, {_GROUPS.format('[[0, 1], [2, 3]]')}, {_GLOBAL.format(-1)}"),
        "a handle that is not negative",
    ),
    (case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<> : tensor<0x3xi64>"), "must have two columns"),
]

_BOUNDED = "tensor<?x3xf32, #stablehlo.bounds<{}>>"
BOUNDED: Cases = [
    (case("abs", f"{_BOUNDED.format('4, ?')} -> 5x3xf32"), "does not match the inferred tensor<?x3xf32, #stablehlo.bounds<4, ?>>"),
    (case("add", f"{_BOUNDED.format('4, ?')}, 5x3xf32 -> 5x3xf32"), "operands must have the same type"),
]

ILL_FORMS: Cases = [*ANNOTATED, *CALLS, *DEVICES, *BOUNDED]

UNREADABLE: Cases = [
    (_tanh("ulps = -1, ", "TOLERANCE"), "must not be negative"),
    (_tanh("atol = -1.0, ", "TOLERANCE"), "must not be negative"),
    (_tanh("rtol = 0.5, ", "HIGHEST"), "mode HIGHEST takes no tolerances"),
    (_tanh("ulps = 3, ", "DEFAULT"), "mode DEFAULT takes no tolerances"),
    (_dot(algorithm("tf32", "tf32", "f64", 1, 1, 1, "false")), "there is no dot algorithm of tf32 by tf32, summed in f64"),
    (_dot(algorithm("bf16", "bf16", "f32", 1, 1, 2, "false")), "2 primitive operations"),
    (_dot(algorithm("f32", "f32", "f32", 1, 1, 1, "true")), "accumulating imprecisely"),
    (case("abs", "tensor<2x!quant.uniform<i64:f32, 0.5>> -> 2xf32"), "2, 4, 8, 16 or 32 bits"),
    (case("abs", "tensor<2x!quant.uniform<i8:f32, 1>> -> 2xf32"), "write 1.0"),
    (case("abs", "tensor<2x!quant.uniform<i8:f32, -1.0>> -> 2xf32"), "not a positive finite number"),
    (case("abs", "tensor<2x!quant.uniform<i8<-200:3>:f32, 1.0>> -> 2xf32"), "must lie between -128 and 127"),
    (case("abs", "tensor<2x!quant.uniform<i8:i32, 1.0>> -> 2xf32"), "stand for floating-point numbers"),
    (case("abs", "tensor<2x!quant.uniform<i8:f32:{0:1}, {1.0, 1.0}>> -> 2xf32"), "not part of StableHLO"),
    (case("all_gather", "2x3xf32 -> 4x3xf32", "all_gather_dim = 0 : i64, " + INLINE.replace('axis_ref<name = "x"', 'axis_ref<name = "y"')), "has no axis y"),
    (case("custom_call", "-> !stablehlo.future<f16>", 'call_target_name = "f"'), "a future holds ranked tensors"),
    (case("abs", f"{_BOUNDED.format('4')} -> ?x3xf32"), "there must be 2 bounds"),
    (case("abs", f"{_BOUNDED.format('4, 3')} -> ?x3xf32"), "dimension 1 has the extent 3 and can have no bound"),
]
"""What is found when the text is read."""

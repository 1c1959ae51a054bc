"""Well-typed and ill-typed cases of control flow, calls, tokens and tuples."""

from __future__ import annotations

from typing_cases.notation import Cases, case, predicate, region

STEP = '%n = "stablehlo.add"(%a1, %a1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>'

ZERO = '%z = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>'

FILLED = '%z = "stablehlo.constant"() <{{value = dense<0.0> : tensor<{0}xf32>}}> : () -> tensor<{0}xf32>'

TOKEN = "!stablehlo.token"

WELL_TYPED = [
    case(
        "while",
        "i32, 2xf32 -> i32, 2xf32",
        "",
        predicate("i32, 2xf32").replace("(%a0, %a1)", "(%a0, %a0)"),
        region("i32, 2xf32", STEP, returns="%a0, %n: i32, 2xf32"),
    ),
    case("case", "i32 -> f32", "", region("", ZERO, returns="%z: f32"), region("", ZERO, returns="%z: f32")),
    case("case", "i32 ->", "", region("", returns="")),
    case("if", "i1 -> f32", "", region("", ZERO, returns="%z: f32"), region("", ZERO, returns="%z: f32")),
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


ILL_TYPED: Cases = [
    (case("while", "i32 -> i32", "", predicate("i32, i32"), region("i32")), "argument of the cond region must have 1 type"),
    (
        case("while", "i32 -> i32", "", region("i32"), region("i32")),
        "value returned by the cond region #0 must have the type tensor<i1> (a predicate), found tensor<i32>",
    ),
    (
        case("while", "i32 -> i64", "", region("i32", "%p = stablehlo.constant dense<true> : tensor<i1>", returns="%p: i1"), region("i32")),
        "does not match the type tensor<i32> of the loop's operand",
    ),
    (
        case("while", "i32 -> i32", "", region("i32", "%p = stablehlo.constant dense<true> : tensor<i1>", returns="%p: i1"), region("i32", returns="")),
        "value returned by the body region must have 1 type (tensor<i32>) of the loop's operand, found 0",
    ),
    (case("case", "i64 ->", "", region("", returns="")), "index must be tensor<i32>, found tensor<i64>"),
    (case("case", "i32 ->"), "there must be at least one branch"),
    (case("case", "i32 -> f32", "", region("", returns="")), "value returned by the branch #0 region must have 1 type"),
    (case("case", "i32 -> f32", "", region("f32")), "argument of the branch #0 region must have 0 types"),
    (case("if", "i32 ->", "", region("", returns=""), region("", returns="")), "pred must be tensor<i1>, found tensor<i32>"),
    (case("if", "i1 ->", "", region("", returns="")), "expected 2 regions (true_branch, false_branch), found 1"),
    (case("if", "i1 -> f32", "", region("", returns=""), region("", returns="")), "value returned by the true_branch region must have 1 type"),
    (case("custom_call", "2xf32 -> 2xf32"), "missing attribute 'call_target_name'"),
    (
        case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", operand_layouts = [], result_layouts = [dense<0> : tensor<1xindex>]'),
        "operand_layouts must hold a layout for each of the 1 operands, found 0",
    ),
    (case("custom_call", "2xf32 -> 2xf32", 'call_target_name = "f", called_computations = [@g]'), "there is no symbol @g in this module"),
    (case("optimization_barrier", "2xf32 -> 3xf32"), "does not match the type tensor<2xf32> of the operand"),
    (case("optimization_barrier", "2xf32 -> 2xf32, 2xf32"), "the op must have 1 result of the operand, found 2"),
    (case("optimization_barrier", "2xf32 -> ?xf32"), "must have exactly the type tensor<2xf32> of its operand"),
    (case("after_all", f"2xf32 -> {TOKEN}"), "takes and gives values of the type !stablehlo.token, found tensor<2xf32>"),
    (case("create_token", "-> 2xf32"), "found tensor<2xf32>"),
    (case("tuple", "2xf32 -> 2xf32"), "result must be a tuple, found tensor<2xf32>"),
    (case("tuple", "2xf32 -> tuple<tensor<3xf32>>"), "does not match the inferred tuple<tensor<2xf32>>"),
    (case("get_tuple_element", "tuple<tensor<2xf32>> -> 2xf32", "index = 1 : i32"), "index must be in the range [0, 1) given by the tuple's length, found 1"),
    (case("get_tuple_element", "2xf32 -> 2xf32", "index = 0 : i32"), "operand must be a tuple"),
    (case("get_tuple_element", "tuple<tensor<2xf32>> -> 3xf32", "index = 0 : i32"), "does not match the type tensor<2xf32> of element 0 of the tuple"),
    (case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g'), "there is no symbol @g in this module"),
    (
        case("composite", "2xf32 -> 2xf32", 'name = "my.op", decomposition = @g') + "func.func private @g(%0: tensor<3xf32>) -> tensor<2xf32>\n",
        "argument #0 of @g has the type tensor<3xf32>, found tensor<2xf32>",
    ),
    (case("optimization_barrier", "tuple<tensor<2xf32>> -> tuple<tensor<2xf32>>"), "operands must be tensors or tokens"),
    (
        case("if", "i1 -> ?xf32", "", region("", FILLED.format(2), returns="%z: 2xf32"), region("", FILLED.format(3), returns="%z: 3xf32")),
        "of the first branch",
    ),
    (
        case("case", "i32 -> ?xf32", "", region("", FILLED.format(2), returns="%z: 2xf32"), region("", FILLED.format(3), returns="%z: 3xf32")),
        "of the first branch",
    ),
]

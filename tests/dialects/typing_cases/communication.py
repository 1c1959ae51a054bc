"""Well-typed and ill-typed cases of communication among devices and with the host."""

from __future__ import annotations

from typing_cases.control import TOKEN
from typing_cases.notation import Cases, case, reducer, region

GROUPS = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"

EVERYONE = "replica_groups = dense<> : tensor<0x0xi64>"

UNEVEN = "replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>"

INLINE = (
    'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>, '
    'axes = [#stablehlo.axis_ref<name = "x">]>'
)

TO_DEVICE = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"

SLICED = region(
    "4xf32",
    '%r = "stablehlo.slice"(%a0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2xf32>',
    returns="%r: 2xf32",
)

FUTURE = "!stablehlo.future<tensor<4xf32>>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"

NEGATED = region("4xf32", '%r = "stablehlo.negate"(%a0) : (tensor<4xf32>) -> tensor<4xf32>', returns="%r: 4xf32")

STARTED = region(
    "4xf32",
    '%r = "stablehlo.collective_permute"(%a0) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>',
    returns="%r: 4xf32",
)

ALL_TO_ALL = "split_dimension = {} : i64, concat_dimension = 1 : i64, split_count = {} : i64, " + GROUPS

WELL_TYPED = [
    case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {GROUPS}"),
    case("all_reduce", "2x3xf32, 4xf32 -> 2x3xf32, 4xf32", GROUPS, reducer("f32")),
    case("reduce_scatter", "4x3xf32 -> 2x3xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
    case("all_to_all", "4x3xf32 -> 2x6xf32", f"split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, {GROUPS}"),
    case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"),
    case("partition_id", "-> ui32"),
    case("replica_id", "-> ui32"),
    case(
        "collective_broadcast",
        "2xf32 -> 2xf32",
        "replica_groups = dense<[[3, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>",
    ),
    case("cross-replica-sum", "2xf32 -> 2xf32", GROUPS),
    case("all_reduce", "2xf32 -> 2xf32", EVERYONE, reducer("f32")),
    case("all_reduce", "2xf32 -> 2xf32", f"{UNEVEN}, {TO_DEVICE}, use_global_device_ids", reducer("f32")),
    case("all_gather", "2xf32, 3xf64 -> 4xf32, 6xf64", f"all_gather_dim = 0 : i64, {GROUPS}, {TO_DEVICE}, use_global_device_ids"),
    case("all_to_all", "4xf32, 2xf64 -> 4xf32, 2xf64", f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, {GROUPS}"),
    case("collective_permute", "2xf32 -> 2xf32", f"source_target_pairs = dense<> : tensor<0x2xi64>, {TO_DEVICE}"),
    'sdy.mesh @mesh = <["x"=2]>\n'
    + case(
        "all_reduce",
        "2xf32 -> 2xf32",
        'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>',
        reducer("f32"),
    ),
    case("core.all_reduce", "2xf32 -> 2xf32", f"kind = #core<kind add>, {UNEVEN}"),
    case("core.reduce_scatter", "4x3xf32 -> 2x3xf32", f"kind = #core<kind max>, scatter_dimension = 0 : i64, {GROUPS}"),
    case("send", "2xf32, i32, !stablehlo.token -> !stablehlo.token", TO_DEVICE),
    case("send", "2xf32, !stablehlo.token -> !stablehlo.token", f"{TO_DEVICE.replace('type = 1', 'type = 2')}, is_host_transfer = true"),
    case(
        "send", "2xf32, !stablehlo.token -> !stablehlo.token", f"{TO_DEVICE}, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"
    ),
    case("recv", "!stablehlo.token -> 2xf32, i32, !stablehlo.token", f"{TO_DEVICE}, is_host_transfer = false"),
    case("recv", "!stablehlo.token -> !stablehlo.token", f"{TO_DEVICE.replace('type = 1', 'type = 3')}, is_host_transfer = true"),
    case("infeed", "!stablehlo.token -> 2x3xf32, !stablehlo.token", 'infeed_config = "", layout = [[0, 1]]'),
    case("infeed", "!stablehlo.token -> !stablehlo.token"),
    case("outfeed", "2x3xf32, i32, !stablehlo.token -> !stablehlo.token", 'outfeed_config = ""'),
    case("async_start", "4xf32 -> !stablehlo.future<tensor<2xf32>>", "", SLICED),
    case("async_done", "!stablehlo.future<tensor<2xf32>> -> 2xf32"),
    case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {INLINE}"),
]


ILL_TYPED: Cases = [
    (case("all_gather", "2x3xf32 -> 5x3xf32", f"all_gather_dim = 0 : i64, {GROUPS}"), "must be a multiple of the extent 2"),
    (
        case("all_gather", "2x3xf32 -> 4x3xf32", f"all_gather_dim = 0 : i64, {GROUPS.replace('2, 3', '2, 2')}"),
        "replica_groups must contain each of the devices 0 to 3 once",
    ),
    (case("all_reduce", "2xf32 -> 3xf32", GROUPS, reducer("f32")), "does not match the type tensor<2xf32> inferred"),
    (
        case("reduce_scatter", "4xf32 -> 3xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "the extent 4 in dimension 0 of tensor<4xf32> must be a multiple of the extent 3",
    ),
    (case("all_to_all", "4x3xf32 -> 2x6xf32", ALL_TO_ALL.format(0, 3)), "split_count = 3 must divide the extent 4 of dimension 0"),
    (case("all_to_all", "4x3xf32 -> 4x3xf32", ALL_TO_ALL.format(0, 2)), "does not match the inferred tensor<2x6xf32>"),
    (
        case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>"),
        "the targets of source_target_pairs must not repeat a device",
    ),
    (
        case("collective_permute", "2xf32 -> 3xf32", "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"),
        "does not match the inferred tensor<2xf32>",
    ),
    (case("core.all_reduce", "2xf32 -> 3xf32", f"kind = #core<kind add>, {GROUPS}"), "does not match the inferred tensor<2xf32>"),
    (case("core.all_reduce", "2xf32 -> 2xf32", f"kind = #core<kind and>, {GROUPS}"), "kind and is for booleans or integers"),
    (
        case("core.reduce_scatter", "4xf32 -> 3xf32", f"kind = #core<kind add>, scatter_dimension = 0 : i64, {GROUPS}"),
        "the extent 4 in dimension 0 of tensor<4xf32> must be a multiple of the extent 3",
    ),
    (case("partition_id", "-> i32"), "does not match the inferred tensor<ui32>"),
    (case("replica_id", "-> 1xui32"), "does not match the inferred tensor<ui32>"),
    (
        case("all_reduce", "2xf32 -> 2xf32", "replica_groups = dense<[0, 1]> : tensor<2xi64>", reducer("f32")),
        "replica_groups must be a matrix of device numbers of i64",
    ),
    (
        case("all_reduce", "2xf32 -> 2xf32", "replica_groups = dense<0> : tensor<1x4294967297xi64>", reducer("f32")),
        "replica_groups must list 1048576 device numbers at most",
    ),
    (
        case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<0> : tensor<4294967297x2xi64>"),
        "source_target_pairs must list 1048576 device numbers at most",
    ),
    (case("all_reduce", "2xf32 -> 2xf32", 'replica_groups = "all"', reducer("f32")), "replica_groups must be a matrix of device numbers of i64"),
    (
        case("all_reduce", "2xf32 -> 2xf32", f"{GROUPS}, use_global_device_ids", reducer("f32")),
        "use_global_device_ids needs a channel_handle with a positive handle, found 0",
    ),
    (
        case("all_reduce", "2xf32 -> 2xf32", f"replica_groups = dense<> : tensor<0x0xi64>, {CHANNEL.format(1)}, use_global_device_ids", reducer("f32")),
        "replica_groups must not be empty where use_global_device_ids is set",
    ),
    (case("all_reduce", "2xf32 -> 2xf32", f"{GROUPS}, channel_handle = 1 : i64", reducer("f32")), "channel_handle"),
    (
        case("all_reduce", "2xf32 -> 2xf32", "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = []>", reducer("f32")),
        "there is no symbol @mesh in this module",
    ),
    (case("all_reduce", "2xf32, 2xf32 -> 2xf32", GROUPS, reducer("f32")), "there must be a result for each operand"),
    (
        case("all_gather", "2xf32 -> 4xf32", "all_gather_dim = 0 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>"),
        "must have the same size, without -1",
    ),
    (case("all_gather", "0xf32 -> 0xf32", f"all_gather_dim = 0 : i64, {GROUPS}"), "must not be empty"),
    (
        case("reduce_scatter", "0xf32 -> 1xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "dimension 0 of the operand, which is scattered, must not be empty",
    ),
    (
        case("reduce_scatter", "4xf32 -> 0xf32", f"scatter_dimension = 0 : i64, {GROUPS}", reducer("f32")),
        "dimension 0 of the result, which is scattered, must not be empty",
    ),
    (case("all_to_all", "4x3xf32 -> 1x12xf32", ALL_TO_ALL.format(0, 4)), "the groups of replica_groups must have split_count = 4 devices, found 2"),
    (case("collective_permute", "2xf32 -> 2xf32", "source_target_pairs = dense<> : tensor<0x3xi64>"), "source_target_pairs must have two columns"),
    (case("collective_broadcast", "2xf32 -> 3xf32", GROUPS), "does not match the inferred tensor<2xf32>"),
    (case("collective_broadcast", "2xf32 -> 2xf32", "replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>"), "replica_groups must not repeat a device"),
    (case("collective_broadcast", "2xf32 -> 2xf32", "replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>"), "replica_groups must not hold negative devices"),
    (case("cross-replica-sum", "2xf32 -> 3xf32", GROUPS), "does not match the inferred tensor<2xf32>"),
    (case("send", f"2xf32, {TOKEN} -> {TOKEN}", CHANNEL.format(2)), "must be 1 (device to device) where is_host_transfer is not set, found 2"),
    (
        case("send", f"2xf32, {TOKEN} -> {TOKEN}", f"{CHANNEL.format(1)}, is_host_transfer = true"),
        "must be 2 (device to host) where is_host_transfer is set, found 1",
    ),
    (case("send", f"2xf32, {TOKEN} -> {TOKEN}", "is_host_transfer = true"), "missing attribute 'channel_handle'"),
    (case("send", f"{TOKEN}, 2xf32 -> {TOKEN}", CHANNEL.format(1)), "input #0 must be a ranked tensor"),
    (case("send", f" -> {TOKEN}", CHANNEL.format(1)), "found no operands"),
    (
        case("recv", f"{TOKEN} -> 2xf32, {TOKEN}", f"{CHANNEL.format(2)}, is_host_transfer = true"),
        "must be 3 (host to device) where is_host_transfer is set, found 2",
    ),
    (case("recv", f"{TOKEN} -> 2xf32", CHANNEL.format(1)), "the last result must be of the type !stablehlo.token"),
    (case("recv", f"{TOKEN} -> tuple<tensor<2xf32>>, {TOKEN}", CHANNEL.format(1)), "result #0 must be a ranked tensor"),
    (case("recv", f"{TOKEN} -> ?xf32, {TOKEN}", CHANNEL.format(1)), "result #0 must have a static shape"),
    (case("infeed", f"{TOKEN} -> "), "found no results"),
    (case("infeed", f"2xf32 -> {TOKEN}"), "operand must be of the type !stablehlo.token"),
    (case("infeed", f"{TOKEN} -> 2xf32, {TOKEN}", "layout = []"), "layout must have an entry for each of the 1 tensors, found 0"),
    (case("infeed", f"{TOKEN} -> 2xf32, {TOKEN}", "layout = [0]"), "an entry of layout must be a list of dimension numbers"),
    (case("outfeed", f"2xf32, {TOKEN} -> 2xf32"), "result must be of the type !stablehlo.token"),
    (case("outfeed", f"tuple<tensor<2xf32>>, {TOKEN} -> {TOKEN}"), "input #0 must be a ranked tensor"),
    (case("async_start", "4xf32 -> 4xf32", "", STARTED), "result type tensor<4xf32> does not match the type !stablehlo.future<tensor<4xf32>>"),
    (case("async_start", f"4xf32, 4xf32 -> {FUTURE}", "", STARTED), "argument of the computation region must have 2 types"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", region("4xf32")), "must hold one op, a collective or a slice, and a return, found none"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", NEGATED), "and a return, found stablehlo.negate"),
    (case("async_start", f"4xf32 -> {FUTURE}", "", STARTED.replace("(%r) : (tensor<4xf32>)", "() : ()")), "must return one value, found 0"),
    (case("async_done", "4xf32 -> 4xf32"), "operand must be a future, found tensor<4xf32>"),
    (case("async_done", f"{FUTURE} -> 3xf32"), "does not match the type tensor<4xf32> of the future"),
]

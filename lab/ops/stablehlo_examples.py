"""One small program about each op of StableHLO: an op's row in the table of ops is what can be done with its program.

The programs of one line are in ``_SHORT``, those that need more are in ``_LONG``.
"""

from __future__ import annotations

from wengert.lab.ops.example import Example, combine, compare, example, program

_GROUPS = "replica_groups = dense<[[0]]> : tensor<1x1xi64>"
_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"
_TOKEN = "!stablehlo.token"
_DOT = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"
_CONV = "feature_group_count = 1 : i64, batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
_GATHER = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)
_FFT = "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>"
_TRIANGULAR = "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"
_LT = "comparison_direction = #stablehlo<comparison_direction LT>"
_NORM = "epsilon = 1.0e-3 : f32, feature_index = 1 : i64"
_QUANTIZED = "tensor<3x!quant.uniform<i8:f32, 1.0e-01>>"

_UNARY = (
    *("abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic", "negate"),
    *("round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
)
_BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")

_SHORT: list[Example] = [
    *[example(f"stablehlo.{name}", "3xf64 -> 3xf64") for name in _UNARY],
    *[example(f"stablehlo.{name}", "3xf64, 3xf64 -> 3xf64") for name in _BINARY],
    *[example(f"stablehlo.{name}", "3xi32, 3xi32 -> 3xi32") for name in ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")],
    *[example(f"stablehlo.{name}", "3xi32 -> 3xi32") for name in ("not", "popcnt", "count_leading_zeros")],
    *[example(f"stablehlo.{name}", "3xc128 -> 3xf64") for name in ("real", "imag")],
    example("stablehlo.complex", "3xf64, 3xf64 -> 3xc128"),
    example("stablehlo.compare", "3xf64, 3xf64 -> 3xi1", _LT),
    example("stablehlo.select", "3xi1, 3xf64, 3xf64 -> 3xf64"),
    example("stablehlo.clamp", "f64, 3xf64, f64 -> 3xf64"),
    example("stablehlo.convert", "3xf64 -> 3xf32"),
    example("stablehlo.bitcast_convert", "3xf64 -> 3xi64"),
    example("stablehlo.is_finite", "3xf64 -> 3xi1"),
    example("stablehlo.reduce_precision", "3xf64 -> 3xf64", "exponent_bits = 11 : i32, mantissa_bits = 40 : i32"),
    example("stablehlo.constant", "-> 2xf64", "value = dense<[1.0, 2.0]> : tensor<2xf64>"),
    example("stablehlo.iota", "-> 2x3xf64", "iota_dimension = 1 : i64"),
    example("stablehlo.broadcast", "2xf64 -> 3x2xf64", "broadcast_sizes = array<i64: 3>"),
    example("stablehlo.broadcast_in_dim", "2xf64 -> 3x2xf64", "broadcast_dimensions = array<i64: 1>"),
    example("stablehlo.reshape", "2x3xf64 -> 6xf64"),
    example("stablehlo.transpose", "2x3xf64 -> 3x2xf64", "permutation = array<i64: 1, 0>"),
    example("stablehlo.slice", "5xf64 -> 2xf64", "start_indices = array<i64: 1>, limit_indices = array<i64: 5>, strides = array<i64: 2>"),
    example("stablehlo.pad", "3xf64, f64 -> 7xf64", "edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>"),
    example("stablehlo.concatenate", "2xf64, 3xf64 -> 5xf64", "dimension = 0 : i64"),
    example("stablehlo.reverse", "3xf64 -> 3xf64", "dimensions = array<i64: 0>"),
    example("stablehlo.dot", "2x3xf64, 3x2xf64 -> 2x2xf64"),
    example("stablehlo.dot_general", "2x3xf64, 3x2xf64 -> 2x2xf64", _DOT),
    example("stablehlo.einsum", "2x3xf64, 3x2xf64 -> 2x2xf64", 'einsum_config = "ij,jk->ik"'),
    example("stablehlo.unary_einsum", "2x3xf64 -> 2xf64", 'einsum_config = "ij->i"'),
    example("stablehlo.convolution", "1x5x2xf64, 3x2x2xf64 -> 1x3x2xf64", _CONV),
    example("stablehlo.cholesky", "1x1xf64 -> 1x1xf64", "lower = true"),
    example("stablehlo.triangular_solve", "2x2xf64, 2x1xf64 -> 2x1xf64", _TRIANGULAR),
    example("stablehlo.fft", "4xc128 -> 4xc128", _FFT),
    example("stablehlo.batch_norm_training", "4x2xf32, 2xf32, 2xf32 -> 4x2xf32, 2xf32, 2xf32", _NORM),
    example("stablehlo.batch_norm_inference", "4x2xf32, 2xf32, 2xf32, 2xf32, 2xf32 -> 4x2xf32", _NORM),
    example("stablehlo.batch_norm_grad", "4x2xf32, 2xf32, 2xf32, 2xf32, 4x2xf32 -> 4x2xf32, 2xf32, 2xf32", _NORM),
    example("stablehlo.rng", "f64, f64 , 1xi64 -> 3xf64", "rng_distribution = #stablehlo<rng_distribution NORMAL>", constants=("dense<3>",), random=True),
    example("stablehlo.rng_bit_generator", "2xui64 -> 2xui64, 3xui32", "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>"),
    example("stablehlo.map", "3xf64, 3xf64 -> 3xf64", "dimensions = array<i64: 0>", combine("f64", "stablehlo.multiply")),
    example("stablehlo.reduce", "2x3xf64, f64 -> 3xf64", "dimensions = array<i64: 0>", combine("f64"), constants=("dense<0.0>",)),
    example("stablehlo.reduce_window", "4xf64, f64 -> 3xf64", "window_dimensions = array<i64: 2>", combine("f64"), constants=("dense<0.0>",)),
    example("stablehlo.select_and_scatter", "4xf64, 3xf64, f64 -> 4xf64", "window_dimensions = array<i64: 2>", compare("f64, f64", "GE"), combine("f64")),
    example("stablehlo.sort", "4xf64, 4xf64 -> 4xf64, 4xf64", "dimension = 0 : i64", compare("f64, f64, f64, f64")),
    example("stablehlo.dynamic_slice", "4xf64, i32 -> 2xf64", "slice_sizes = array<i64: 2>"),
    example("stablehlo.dynamic_update_slice", "4xf64, 2xf64, i32 -> 4xf64"),
    example("stablehlo.gather", "4x2xf64, 3x1xi32 -> 3x2xf64", f"{_GATHER}, slice_sizes = array<i64: 1, 2>"),
    example("stablehlo.scatter", "4x2xf64, 3x1xi32, 3x2xf64 -> 4x2xf64", _SCATTER, combine("f64")),
    example("stablehlo.torch_index_select", "4x2xf64, 3xi32 -> 3x2xf64", "dim = 0 : i64, batch_dims = 0 : i64"),
    example("stablehlo.get_dimension_size", "4x2xf64 -> i32", "dimension = 0 : i64"),
    example("stablehlo.set_dimension_size", "4x2xf64, i32 -> 4x2xf64", "dimension = 0 : i64", constants=("dense<4>",)),
    example("stablehlo.dynamic_broadcast_in_dim", "2xf64, 2xi64 -> 3x2xf64", "broadcast_dimensions = array<i64: 1>", constants=("dense<[3, 2]>",)),
    example("stablehlo.dynamic_iota", "1xi64 -> 3xf64", "iota_dimension = 0 : i64", constants=("dense<3>",)),
    example("stablehlo.dynamic_reshape", "2x3xf64, 1xi64 -> 6xf64", constants=("dense<6>",)),
    example("stablehlo.dynamic_pad", "3xf64, f64, 1xi64, 1xi64, 1xi64 -> 7xf64", constants=("dense<1>",) * 3),
    example("stablehlo.dynamic_gather", "4x2xf64, 3x1xi32, 2xi64 -> 3x2xf64", _GATHER, constants=("dense<[1, 2]>",)),
    example("stablehlo.dynamic_conv", "1x5x2xf64, 3x2x2xf64, 1x2xi64 -> 1x3x2xf64", _CONV, constants=("dense<0>",)),
    example("stablehlo.real_dynamic_slice", "5xf64, 1xi64, 1xi64, 1xi64 -> 2xf64", constants=("dense<1>", "dense<5>", "dense<2>")),
    example("stablehlo.optimization_barrier", "3xf64, i32 -> 3xf64, i32"),
    example("stablehlo.custom_call", "3xf64 -> 3xf64", 'call_target_name = "Sharding"'),
    example("stablehlo.all_gather", "3xf64 -> 3xf64", f"all_gather_dim = 0 : i64, {_GROUPS}"),
    example("stablehlo.all_reduce", "3xf64 -> 3xf64", _GROUPS, combine("f64")),
    example("stablehlo.all_to_all", "3xf64 -> 3xf64", f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, {_GROUPS}"),
    example("stablehlo.collective_broadcast", "3xf64 -> 3xf64", _GROUPS),
    example("stablehlo.collective_permute", "3xf64 -> 3xf64", "source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>"),
    example("stablehlo.cross-replica-sum", "3xf64 -> 3xf64", _GROUPS),
    example("stablehlo.reduce_scatter", "3xf64 -> 3xf64", f"scatter_dimension = 0 : i64, {_GROUPS}", combine("f64")),
    example("stablehlo.partition_id", "-> ui32"),
    example("stablehlo.replica_id", "-> ui32"),
    example("stablehlo.send", f"3xf64, {_TOKEN} -> {_TOKEN}", f"{_CHANNEL.format(2)}, is_host_transfer = true"),
    example("stablehlo.recv", f"{_TOKEN} -> 3xf64, {_TOKEN}", f"{_CHANNEL.format(3)}, is_host_transfer = true"),
    example("stablehlo.infeed", f"{_TOKEN} -> 3xf64, {_TOKEN}"),
    example("stablehlo.outfeed", f"3xf64, {_TOKEN} -> {_TOKEN}"),
    example("stablehlo.tuple", "3xf64, i32 -> tuple<tensor<3xf64>, tensor<i32>>"),
    example("stablehlo.get_tuple_element", "tuple<tensor<3xf64>, tensor<i32>> -> 3xf64", "index = 0 : i32"),
    example("stablehlo.after_all", f"{_TOKEN}, {_TOKEN} -> {_TOKEN}"),
    example("stablehlo.create_token", f"-> {_TOKEN}"),
]

_STARTED = '{ ^bb0(%x: tensor<3xf64>): %p = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : \
(tensor<3xf64>) -> tensor<3xf64> stablehlo.return %p : tensor<3xf64> }'
_START = f'%s = "stablehlo.async_start"(%0) ({_STARTED}) : (tensor<3xf64>) -> !stablehlo.future<tensor<3xf64>>'
_DONE = '%r = "stablehlo.async_done"(%s) : (!stablehlo.future<tensor<3xf64>>) -> tensor<3xf64>'

_LONG: list[Example] = [
    program("stablehlo.async_start", "3xf64 -> 3xf64", _START, _DONE, "return %r : tensor<3xf64>"),
    program("stablehlo.async_done", "3xf64 -> 3xf64", _START, _DONE, "return %r : tensor<3xf64>"),
    program(
        "stablehlo.case",
        "i32, 3xf64 -> 3xf64",
        '%r = "stablehlo.case"(%0) ({ %s = stablehlo.sine %1 : tensor<3xf64> stablehlo.return %s : tensor<3xf64> }, { stablehlo.return %1 : tensor<3xf64> })'
        " : (tensor<i32>) -> tensor<3xf64>",
        "return %r : tensor<3xf64>",
    ),
    program(
        "stablehlo.composite",
        "3xf64 -> 3xf64",
        '%r = stablehlo.composite "my.sine" %0 {decomposition = @sine} : (tensor<3xf64>) -> tensor<3xf64>',
        "return %r : tensor<3xf64>",
        before="func.func private @sine(%x: tensor<3xf64>) -> tensor<3xf64> {\n  %y = stablehlo.sine %x : tensor<3xf64>\n  return %y : tensor<3xf64>\n}",
    ),
    program(
        "stablehlo.if",
        "i1, 3xf64 -> 3xf64",
        '%r = "stablehlo.if"(%0) ({ %s = stablehlo.sine %1 : tensor<3xf64> stablehlo.return %s : tensor<3xf64> }, { stablehlo.return %1 : tensor<3xf64> })'
        " : (tensor<i1>) -> tensor<3xf64>",
        "return %r : tensor<3xf64>",
    ),
    program("stablehlo.return", "3xf64 -> 3xf64", '"stablehlo.return"(%0) : (tensor<3xf64>) -> ()'),
    *[
        program(
            f"stablehlo.{name}",
            "3xf32 -> 3xf32",
            f"%q = stablehlo.uniform_quantize %0 : (tensor<3xf32>) -> {_QUANTIZED}",
            f"%r = stablehlo.uniform_dequantize %q : ({_QUANTIZED}) -> tensor<3xf32>",
            "return %r : tensor<3xf32>",
        )
        for name in ("uniform_quantize", "uniform_dequantize")
    ],
    program(
        "stablehlo.while",
        "3xf64 -> 3xf64",
        "%c = stablehlo.constant dense<0> : tensor<i32>",
        "%r:2 = stablehlo.while(%i = %c, %x = %0) : tensor<i32>, tensor<3xf64>",
        "cond { %n = stablehlo.constant dense<3> : tensor<i32> %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "stablehlo.return %p : tensor<i1> } do {",
        "%k = stablehlo.constant dense<1> : tensor<i32> %j = stablehlo.add %i, %k : tensor<i32> %y = stablehlo.sine %x : tensor<3xf64>",
        "stablehlo.return %j, %y : tensor<i32>, tensor<3xf64> }",
        "return %r#1 : tensor<3xf64>",
    ),
]

EXAMPLES = (*_SHORT, *_LONG)

"""The properties of ops in the order in which bytecode has them, by dialect: those of the definitions in StableHLO and in upstream MLIR.

A line is the properties, then the ops that have these. Names stand in alphabetical order, with ``?`` for those that an op may lack (or has a default for) and
``+`` for those that came later; then the numbers of groups of operands and of results.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ArrayAttr, FloatAttr
from xdsl.ir import Attribute

from wengert.dialects.stablehlo.annotations import ResultAccuracyAttr, ResultAccuracyMode, ResultAccuracyModeAttr
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.tensor_types import f64

_TABLES = {
    "builtin": """
sym_name? sym_visibility? = module
""",
    "func": """
arg_attrs? res_attrs? = call_indirect
arg_attrs? callee no_inline? res_attrs? = call
value = constant
arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility? = func
""",
    "stablehlo": """
 = abs add after_all and async_done async_start atan2 bitcast_convert case ceil clamp count_leading_zeros complex convert create_token divide
 = dynamic_pad dynamic_reshape dynamic_update_slice floor if imag is_finite maximum minimum multiply negate not optimization_barrier or
 = partition_id popcnt power real_dynamic_slice real remainder replica_id reshape return round_nearest_even round_nearest_afz select shift_left
 = shift_right_arithmetic shift_right_logical sign subtract tuple uniform_dequantize uniform_quantize while xor
all_gather_dim channel_handle? replica_groups use_global_device_ids? = all_gather
channel_handle? replica_groups use_global_device_ids? = all_reduce
channel_handle? concat_dimension replica_groups split_count split_dimension = all_to_all
epsilon feature_index = batch_norm_grad batch_norm_inference batch_norm_training
broadcast_dimensions = broadcast_in_dim
broadcast_sizes = broadcast
result_accuracy? = cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh
lower? = cholesky
channel_handle? replica_groups = collective_broadcast
channel_handle? source_target_pairs = collective_permute
compare_type? comparison_direction = compare
composite_attributes? decomposition name version? = composite
dimension = concatenate get_dimension_size set_dimension_size
value = constant
batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? precision_config? rhs_dilation? window_reversal? window_strides? = convolution
replica_groups = cross-replica-sum
api_version? backend_config? call_target_name called_computations? has_side_effect? operand_layouts? output_operand_aliases? result_layouts? = custom_call
algorithm? dot_dimension_numbers precision_config? = dot_general
precision_config? = dot
broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions? = dynamic_broadcast_in_dim
batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? rhs_dilation? window_reversal? window_strides? = dynamic_conv
dimension_numbers indices_are_sorted? = dynamic_gather
iota_dimension = dynamic_iota iota
slice_sizes = dynamic_slice
einsum_config = einsum unary_einsum
fft_length fft_type = fft
dimension_numbers indices_are_sorted? slice_sizes = gather
index = get_tuple_element
infeed_config? layout? = infeed
dimensions = map reduce reverse
outfeed_config? = outfeed
edge_padding_high edge_padding_low interior_padding = pad
channel_handle is_host_transfer? source_target_pairs? = recv send
exponent_bits mantissa_bits = reduce_precision
channel_handle? replica_groups scatter_dimension use_global_device_ids? = reduce_scatter
base_dilations? padding? window_dilations? window_dimensions window_strides? = reduce_window
rng_algorithm = rng_bit_generator
rng_distribution = rng
indices_are_sorted? scatter_dimension_numbers unique_indices? = scatter
padding? window_dimensions? window_strides? = select_and_scatter
limit_indices start_indices strides = slice
dimension? is_stable? = sort
batch_dims dim = torch_index_select
permutation = transpose
left_side lower transpose_a unit_diagonal = triangular_solve
""",
    "chlo": """
broadcast_dimensions? = broadcast_add broadcast_and broadcast_atan2 broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum
broadcast_dimensions? = broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma broadcast_power broadcast_remainder
broadcast_dimensions? = broadcast_shift_left broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract broadcast_xor
broadcast_dimensions? = broadcast_zeta
broadcast_dimensions? compare_type? comparison_direction = broadcast_compare
value = constant constant_like
precision_config? ragged_dot_dimension_numbers = ragged_dot
dimension is_associative? is_reverse? scan_dim_size? operandSegmentSizes:2 resultSegmentSizes:2 = scan
k = top_k
""",
    "sdy": """
gathering_axes out_sharding = all_gather
out_sharding reduction_axes = all_reduce
out_sharding slicing_axes = all_slice
out_sharding params = all_to_all
out_sharding = collective_permute
value = constant
sharding? = data_flow_edge
in_shardings manual_axes out_shardings = manual_computation
mesh sym_name = mesh
in_shardings? name out_shardings? = named_computation
allowed_direction = propagation_barrier
out_sharding reduce_scatter_axes = reduce_scatter
axes out_sharding = replicated_to_unreduced sharded_to_unreduced
sharding = reshard sharding_constraint
group_id = sharding_group
""",
    "arith": """
fastmath? roundingmode+ = addf convertf divf mulf scaling_truncf subf truncf
overflowFlags? = addi muli shli subi trunci
fastmath? predicate = cmpf
predicate = cmpi
value = constant
isExact? = divsi divui shrsi shrui
fastmath? = extf flush_denormals maximumf maxnumf minimumf minnumf negf remf scaling_extf
nonNeg+ = extui index_castui uitofp
""",
    "math": """
fastmath? = absf acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh erf erfc exp exp2 expm1 floor fpowi isfinite
fastmath? = isinf isnan isnormal log log10 log1p log2 powf round roundeven rsqrt sin sincos sinh sqrt tan tanh trunc
fastmath? roundingmode+ = fma
""",
    "scf": """
no_inline? = execute_region
unsignedCmp? = for
mapping? staticLowerBound staticStep staticUpperBound operandSegmentSizes:4 = forall
cases = index_switch
operandSegmentSizes:4 = parallel
""",
    "cf": """
msg = assert
branch_weights? operandSegmentSizes:3 = cond_br
case_operand_segments case_values? operandSegmentSizes:3 = switch
""",
    "memref": """
alignment = assume_alignment
kind = atomic_rmw
alignment? nontemporal? = load store
alignment? operandSegmentSizes:2 = alloc alloca
reassociation = collapse_shape
reassociation static_output_shape = expand_shape
name = get_global
alignment? constant? initial_value? sym_name sym_visibility? type = global
isDataCache isWrite localityHint = prefetch
alignment? = realloc
static_offsets static_sizes static_strides operandSegmentSizes:4 = reinterpret_cast subview
permutation = transpose
""",
    "linalg": """
operandSegmentSizes:2 = abs add batch_matvec batch_mmt4d batch_vecmat ceil conv_1d conv_2d conv_3d div div_unsigned dot erf exp fill
operandSegmentSizes:2 = fill_rng_2d floor log matvec max min mmt4d mul negf powf quantized_batch_matmul quantized_matmul reciprocal round
operandSegmentSizes:2 = rsqrt select sqrt square sub tanh vecmat
cast? indexing_maps? operandSegmentSizes:2 = batch_matmul batch_reduce_matmul matmul
dimensions = broadcast reduce
cast? indexing_maps operandSegmentSizes:2 = contract
dilations? strides? operandSegmentSizes:2 = conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d_nchw_fchw conv_2d_nchw_fchw_q conv_2d_ngchw_fgchw
dilations? strides? operandSegmentSizes:2 = conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc conv_2d_nhwc_fhwc_q
dilations? strides? operandSegmentSizes:2 = conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc conv_2d_nhwgc_gfhwc_q
dilations? strides? operandSegmentSizes:2 = conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q depthwise_conv_1d_ncw_cw
dilations? strides? operandSegmentSizes:2 = depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm depthwise_conv_2d_nchw_chw
dilations? strides? operandSegmentSizes:2 = depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q depthwise_conv_2d_nhwc_hwcm
dilations? strides? operandSegmentSizes:2 = depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw depthwise_conv_3d_ndhwc_dhwc
dilations? strides? operandSegmentSizes:2 = depthwise_conv_3d_ndhwc_dhwcm pooling_nchw_max pooling_nchw_sum pooling_ncw_max pooling_ncw_sum
dilations? strides? operandSegmentSizes:2 = pooling_ndhwc_max pooling_ndhwc_min pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned
dilations? strides? operandSegmentSizes:2 = pooling_nhwc_min pooling_nhwc_min_unsigned pooling_nhwc_sum pooling_nwc_max
dilations? strides? operandSegmentSizes:2 = pooling_nwc_max_unsigned pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum
cast? operandSegmentSizes:2 = copy
indexing_maps? kind operandSegmentSizes:2 = elementwise
doc? indexing_maps iterator_types library_call? operandSegmentSizes:2 = generic
dim = index
inner_dims_pos outer_dims_perm? static_inner_tiles operandSegmentSizes:4 = pack
dimension = softmax
inner_dims_pos outer_dims_perm? static_inner_tiles = unpack
fmr = winograd_filter_transform winograd_input_transform winograd_output_transform
permutation = transpose
""",
    "tensor": """
reassociation = collapse_shape
dim = concat
reassociation static_output_shape = expand_shape
static_offsets static_sizes static_strides operandSegmentSizes:4 = extract_slice
gather_dims unique? = gather
static_offsets static_sizes static_strides operandSegmentSizes:5 = insert_slice parallel_insert_slice
nofold? static_high static_low operandSegmentSizes:3 = pad
scatter_dims unique? = scatter
""",
    "affine": """
map = apply load max min store vector_load vector_store
static_basis = delinearize_index
dst_map src_map tag_map = dma_start
tag_map = dma_wait
lowerBoundMap step upperBoundMap operandSegmentSizes:3 = for
condition = if
static_basis operandSegmentSizes:2 = linearize_index
lowerBoundsGroups lowerBoundsMap reductions steps upperBoundsGroups upperBoundsMap = parallel
isDataCache isWrite localityHint map = prefetch
""",
    "complex": """
fastmath? = abs add angle atan2 conj cos div exp expm1 im log log1p mul neg pow powi re rsqrt sign sin sqrt sub tan tanh
value = constant
""",
    "index": """
value = bool.constant constant
pred = cmp
""",
    "bufferization": """
memory_space? operandSegmentSizes:3 = alloc_tensor
operandSegmentSizes:3 = dealloc
restrict? writable? = materialize_in_destination to_tensor
read_only? = to_buffer
""",
}
"""By dialect."""


@cache
def _table(dialect: str) -> dict[str, tuple[str, ...]] | None:
    text = _TABLES.get(dialect)
    if text is None:
        return None
    table: dict[str, tuple[str, ...]] = {}
    for line in text.strip("\n").splitlines():
        properties, _, ops = line.partition(" = ")
        table.update(dict.fromkeys(ops.split(), tuple(properties.split())))
    return table


def properties_of(op_name: str) -> tuple[str, ...] | None:
    """The properties of an op as bytecode has them; None for an op of a dialect that is not listed here."""
    dialect, _, name = op_name.partition(".")
    if dialect == "vhlo":
        from wengert.dialects.vhlo.tables import split_name, vhlo_properties

        return vhlo_properties(*split_name(name))
    table = _table(dialect)
    return None if table is None else table.get(name, ())


def op_properties(dialect: str) -> dict[str, tuple[str, ...]]:
    """The properties of all ops of a dialect by their names; of a dialect of which all ops are listed."""
    return _table(dialect) or {}


def elided_defaults(op_name: str) -> dict[str, Attribute]:
    """The values of an op's properties that text leaves out, since they are the defaults; bytecode has them."""
    return _elided().get(op_name, {})


@cache
def _elided() -> dict[str, dict[str, Attribute]]:
    no = bool_attr(False)
    exact = ResultAccuracyAttr.new([FloatAttr(0.0, f64), FloatAttr(0.0, f64), int_attr(0), ResultAccuracyModeAttr(ResultAccuracyMode.DEFAULT)])
    table = _table("stablehlo")
    assert table is not None
    defaults: dict[str, dict[str, Attribute]] = {f"stablehlo.{op}": {"result_accuracy": exact} for op, names in table.items() if names == ("result_accuracy?",)}
    defaults["stablehlo.custom_call"] = {"api_version": int_attr(1, 32), "called_computations": ArrayAttr([]), "has_side_effect": no}
    defaults["stablehlo.cholesky"] = {"lower": no}
    defaults["stablehlo.composite"] = {"version": int_attr(0, 32)}
    return defaults

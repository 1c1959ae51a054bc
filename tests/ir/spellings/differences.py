"""Where JAX's parser and ours differ on spellings, with the reasons."""

from __future__ import annotations

NOT_TAKEN = {
    '"a" : i32': "strings have no types here",
    "array<i24: 1>": "of integers whose bytes are no power of two",
    "array<f80: 1.0>": "of floats wider than 64 bits",
    'distinct[0]<"a">': "distinct attributes",
    "#stablehlo.conv<raw input_batch_dimension = 0>": "not the dimensions of tensors",
    "": "an empty text is a mistake",
    "func.func @f() { return }\0": "NUL characters",
    "func.func @f()\0 { return }": "NUL characters",
}
"""What JAX's parser takes and we refuse."""

ELEMENTS_WITHOUT_CONSTANTS = ("complex<i32>", "i7", "i128", "f80", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "tf32")
"""Of these element types there are no dense constants."""

TAKEN_BESIDES = {
    "func.func @f(%a: tensor<f32> {foo}) { return }": "attributes of arguments need no dialect's prefix",
    "func @f() { return }": "functions need no dialect's prefix, as in MLIR before 2022",
    "func.func @f(tensor<2xf32>)": "functions may be declared without saying private",
    '%0 = "stablehlo.abs"(%x) <{}> : (tensor<4x4xf32>) -> tensor<4x4xf32>': "an op without properties may say so",
    "tensor<4xf32, #stablehlo.bounds<4>>": "bounds are kept as their text",
    "%0 = stablehlo.custom_call @foo(%x) {operand_layouts = [dense<[1, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}"
    " : (tensor<4x4xf32>) -> tensor<4x4xf32>": "layouts are not looked into",
    "#chlo.precision<HIGH>": "attributes that are kept as their text are not looked into",
    "#stablehlo.channel_handle<>": "attributes that are kept as their text are not looked into",
    "#stablehlo.output_operand_alias<operand_index = 0, output_tuple_indices = [0], operand_tuple_indices = [1]>": "kept as its text",
    "#stablehlo.dot_algorithm<lhs_precision_type = tf32>": "kept as its text",
    "#stablehlo.replica_group_mesh_axes<mesh_name = @m, axes = []>": "kept as its text",
}
"""What we take and JAX's parser refuses."""

ANOTHER_TEXT = ("dense_resource<r>", "sparse<", "dense<1> : tensor<0xi32>", "res_attrs = [{}]")
"""What is printed in other words: resources and sparse constants as dense ones, fillings of nothing, dictionaries that are empty."""

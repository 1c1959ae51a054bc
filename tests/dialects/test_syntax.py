"""The text of every op: what is read is printed again, in the pretty and the generic form, by us and by stock xDSL; JAX reads it."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from upstream_verifier import load_context
from xdsl.parser import Parser
from xdsl.printer import Printer

from wengert.dialects.registry import make_context
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module

CONTEXT = make_context()
ARGUMENTS = {
    "qz": "tensor<4x4x!quant.uniform<i8:f32, 5.000000e-01:3>>",
    "x": "tensor<4x4xf32>",
    "y": "tensor<4x4xf32>",
    "v": "tensor<4xf32>",
    "s": "tensor<f32>",
    "z": "tensor<4xcomplex<f32>>",
    "i": "tensor<4x4xi32>",
    "u": "tensor<4xui32>",
    "p": "tensor<4x4xi1>",
    "q": "tensor<i1>",
    "n": "tensor<i32>",
    "m": "tensor<i64>",
    "k": "!stablehlo.token",
    "t": "tuple<tensor<f32>, tensor<i32>>",
    "d": "tensor<2xi64>",
    "w": "tensor<1x4x4x2xf32>",
    "f": "tensor<3x3x2x2xf32>",
    "g": "tensor<3x1xi32>",
    "r": "tensor<3x4xf32>",
    "st": "tensor<2xui64>",
}

UNARY = "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract"
INTEGER = "and or xor shift_left shift_right_arithmetic shift_right_logical"
BROADCASTING = "add atan2 divide maximum minimum multiply next_after polygamma power remainder subtract zeta"
CHLO = "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc lgamma sinh square tan"

STABLEHLO = [
    *(f"stablehlo.{name} %x : tensor<4x4xf32>" for name in UNARY.split()),
    *(f"stablehlo.{name} %x, %y : tensor<4x4xf32>" for name in BINARY.split()),
    *(f"stablehlo.{name} %i, %i : tensor<4x4xi32>" for name in INTEGER.split()),
    *(f"stablehlo.{name} %i : tensor<4x4xi32>" for name in ("not", "popcnt", "count_leading_zeros")),
    *(f"stablehlo.{name} %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>" for name in ("abs", "real", "imag")),
    *(f"chlo.{name} %x : tensor<4x4xf32> -> tensor<4x4xf32>" for name in CHLO.split()),
    *(f"chlo.{name} %x : tensor<4x4xf32> -> tensor<4x4xi1>" for name in ("is_inf", "is_neg_inf", "is_pos_inf")),
    *(f"chlo.{name} %x, %y : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>" for name in ("next_after", "polygamma", "zeta")),
    *(f"chlo.broadcast_{name} %x, %v : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>" for name in BROADCASTING.split()),
    *(f"chlo.broadcast_{name} %i, %i : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>" for name in INTEGER.split()),
    "chlo.broadcast_add %x, %v {broadcast_dimensions = array<i64: 0>} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>",
    "chlo.broadcast_complex %x, %v : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xcomplex<f32>>",
    "chlo.broadcast_compare %x, %v {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xi1>",
    "chlo.broadcast_select %q, %x, %v : (tensor<i1>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>",
    "chlo.mulhi %i, %i : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>",
    "chlo._asin_acos_kernel %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>",
    "chlo.scan(%x) inits (%v) dimension=1  attributes {is_reverse = true} {\n    ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>):\n"
    "      %1 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n      stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>\n"
    "    } : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)",
    "chlo.constant dense<1.000000e+00> : tensor<4xf32>",
    "chlo.top_k(%v, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
    "chlo.top_k(%v, k = 2) {largest = false} : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)",
    'stablehlo.add %x, %y {note = "kept"} : tensor<4x4xf32>',
    "stablehlo.broadcast %v, sizes = [2, 3] : (tensor<4xf32>) -> tensor<2x3x4xf32>",
    "stablehlo.dot %x, %v : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>",
    "stablehlo.dot %x, %y, precision = [DEFAULT, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    'stablehlo.einsum %x, %v, config = "ij,j->i" : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>',
    'stablehlo.unary_einsum %x, config = "ij->ji" : (tensor<4x4xf32>) -> tensor<4x4xf32>',
    "stablehlo.is_finite %x : (tensor<4x4xf32>) -> tensor<4x4xi1>",
    "stablehlo.convert %x : (tensor<4x4xf32>) -> tensor<4x4xf64>",
    "stablehlo.convert %x : tensor<4x4xf32>",
    "stablehlo.bitcast_convert %x : (tensor<4x4xf32>) -> tensor<4x4xi32>",
    "stablehlo.complex %v, %v : tensor<4xcomplex<f32>>",
    "stablehlo.compare LT, %x, %y, FLOAT : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>",
    "stablehlo.compare EQ, %i, %i : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>",
    "stablehlo.select %p, %x, %y : tensor<4x4xi1>, tensor<4x4xf32>",
    "stablehlo.select %q, %x, %y : tensor<i1>, tensor<4x4xf32>",
    "stablehlo.clamp %x, %y, %x : tensor<4x4xf32>",
    "stablehlo.clamp %s, %y, %s : (tensor<f32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>",
    "stablehlo.reduce_precision %x, format = e8m7 : tensor<4x4xf32>",
    "stablehlo.constant dense<1.000000e+00> : tensor<4xf32>",
    "stablehlo.constant {note = 1 : i64} dense<[1, -2]> : tensor<2xi32>",
    "stablehlo.iota dim = 1 : tensor<4x4xi32>",
    "stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>",
    "stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x4xf32>",
    "stablehlo.reshape %x : (tensor<4x4xf32>) -> tensor<16xf32>",
    "stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
    "stablehlo.slice %x [0:2, 0:4:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>",
    "stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>",
    "stablehlo.pad %v, %s, low = [1], high = [-1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>",
    "stablehlo.concatenate %v, %v, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>",
    "stablehlo.reverse %x, dims = [0, 1] : tensor<4x4xf32>",
    "stablehlo.dynamic_slice %x, %m, %m, sizes = [1, 2] : (tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2xf32>",
    "stablehlo.dynamic_update_slice %x, %x, %m, %m : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<4x4xf32>",
    '"stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x4xf32>, tensor<4x4xi32>) -> tensor<4x4x4xf32>',
    "stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    "stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>",
    "stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x4x4xf32>",
    "stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, "
    "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>"
    " : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    "stablehlo.convolution(%w, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], "
    "rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x4x4x2xf32>",
    "stablehlo.convolution(%w, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    " : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x2x2x2xf32>",
    "stablehlo.cholesky %x, lower = true : tensor<4x4xf32>",
    "stablehlo.cholesky %x : tensor<4x4xf32>",
    "stablehlo.uniform_quantize %x : (tensor<4x4xf32>) -> tensor<4x4x!quant.uniform<i8:f32, 5.000000e-01:3>>",
    "stablehlo.uniform_dequantize %qz : (tensor<4x4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4x4xf32>",
    "stablehlo.fft %z, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
    "stablehlo.rng %s, %s, %d, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>",
    "stablehlo.rng_bit_generator %st, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)",
    "stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x4xf32>) -> tensor<i32>",
    "stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x4xf32>, tensor<i32>) -> tensor<?x4xf32>",
    "stablehlo.dynamic_broadcast_in_dim %v, %d, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>",
    "stablehlo.dynamic_iota %d, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>",
    "stablehlo.dynamic_reshape %x, %d : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>",
    "stablehlo.dynamic_pad %x, %s, %d, %d, %d : (tensor<4x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>",
    "stablehlo.real_dynamic_slice %x, %d, %d, %d : (tensor<4x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>",
    "stablehlo.optimization_barrier %x, %s : tensor<4x4xf32>, tensor<f32>",
    "stablehlo.optimization_barrier ()",
    'stablehlo.custom_call @target(%x, %s) {backend_config = "", has_side_effect = true} : (tensor<4x4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)',
    'stablehlo.custom_call @"a target"() : () -> tensor<4xf32>',
    "stablehlo.after_all %k, %k : !stablehlo.token",
    "stablehlo.create_token : !stablehlo.token",
    "stablehlo.tuple %s, %n : tuple<tensor<f32>, tensor<i32>>",
    "stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>",
    "stablehlo.partition_id : tensor<ui32>",
    "stablehlo.replica_id : tensor<ui32>",
    '"stablehlo.cross-replica-sum"(%v) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>',
    '"stablehlo.collective_broadcast"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : '
    "(tensor<4xf32>) -> tensor<4xf32>",
    '"stablehlo.send"(%v, %k) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token',
    '"stablehlo.recv"(%k) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)',
    '"stablehlo.infeed"(%k) <{infeed_config = "", layout = [[0 : i64]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)',
    '"stablehlo.outfeed"(%v, %k) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token',
    'stablehlo.composite "a.b" %v {decomposition = @callee} : (tensor<4xf32>) -> tensor<4xf32>',
    "stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>",
    "stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>\n"
    "     reducer(%a: tensor<f32>, %b: tensor<f32>) {\n      %1 = stablehlo.subtract %a, %b : tensor<f32>\n      stablehlo.return %1 : tensor<f32>\n    }",
    "stablehlo.reduce(%x init: %s), (%i init: %n) across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
    "     reducer(%a: tensor<f32>, %b: tensor<f32>) (%e: tensor<i32>, %h: tensor<i32>) {\n      stablehlo.return %a, %h : tensor<f32>, tensor<i32>\n    }",
    "stablehlo.while(%a = %s, %b = %n) : tensor<f32>, tensor<i32> attributes {note = 1 : i64}\n"
    "     cond {\n      stablehlo.return %q : tensor<i1>\n    } do {\n      stablehlo.return %a, %b : tensor<f32>, tensor<i32>\n    }",
    '"stablehlo.case"(%n) ({\n      stablehlo.return %x : tensor<4x4xf32>\n    }, {\n      stablehlo.return %y : tensor<4x4xf32>\n    }) : (tensor<i32>) -> tensor<4x4xf32>',
    '"stablehlo.triangular_solve"(%x, %y) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}>'
    " : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    '"stablehlo.gather"(%x, %g) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, '
    "indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>",
]

OURS = [
    "core.reduce add %x across [0, 1] : (tensor<4x4xf32>) -> tensor<f32>",
    "core.argreduce max %x along 1 : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xi32>)",
    "core.window_reduce max %v, window = [2], strides = [1], base_dilations = [1], window_dilations = [1], padding = [0, 0] : (tensor<4xf32>) -> tensor<3xf32>",
    "core.cumulative mul %x along 0 reverse : tensor<4x4xf32>",
    "core.cumulative and %p along 1 : tensor<4x4xi1>",
    "core.scatter add %x, %g, %r, dims = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
    "sorted = false, unique = true : (tensor<4x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<4x4xf32>",
    "core.for %a to %m constants(%b = %x: tensor<4x4xf32>) carried(%e = %s: tensor<f32>) {\n      stablehlo.return %e : tensor<f32>\n    }",
    "core.for %a to %m {\n      stablehlo.return\n    }",
    "core.while constants(%b = %q: tensor<i1>) carried(%e = %s: tensor<f32>)\n     cond {\n      stablehlo.return %b : tensor<i1>\n    } do {\n      stablehlo.return %e : tensor<f32>\n    }",
    "core.case %n: tensor<i32> inputs(%e = %s: tensor<f32>) -> (tensor<f32>)\n     branch {\n      stablehlo.return %e : tensor<f32>\n    }\n     branch {\n      stablehlo.return %e : tensor<f32>\n    }",
    "core.tape_create : !core.tape<tensor<f32>>",
    "ad.jvp @callee(%v) tangents(%v) wrt = [0], of = [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)",
]

FOREIGN = [
    "arith.addi %a, %a : i32",
    "arith.constant 0x7FF0000000000000 : f64",
    '"test.op"(%a) {four = @a::@b, one = #test.attribute<1, [a], "<">, three = !test.type<x, (y)>, two = #test<opaque 1>} : (i32) -> !test.type<"z">',
]


def module(line: str, arguments: dict[str, str]) -> str:
    """A module that holds the op: as many results are named as it has, a constant the way MLIR does."""
    head = line.splitlines()[0]
    results = len(re.findall("tensor<|!stablehlo.token", head.rpartition(" -> (")[2])) if " -> (" in head and not line.startswith("core.case") else 1
    if line.startswith(("chlo.scan", "stablehlo.while", "stablehlo.optimization_barrier %x")):
        results = 2
    if line.startswith(("stablehlo.optimization_barrier ()", "core.for %a to %m {")):
        results = 0
    name = "%0" if not line.startswith("stablehlo.constant") else "%c" if "xi32>" in line else "%cst"
    prefix = ("", f"{name} = ")[results] if results < 2 else f"{name}:{results} = "
    shown = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    return f"""module {{
  func.func public @main({shown}) {{
    {prefix}{line}
    return
  }}
  func.func private @callee(%v: tensor<4xf32>) -> tensor<4xf32> {{
    return %v : tensor<4xf32>
  }}
}}
"""


@pytest.mark.parametrize("line", [*STABLEHLO, *OURS])
def test_reads_and_prints_the_same(line: str) -> None:
    text = module(line, ARGUMENTS)
    read = parse_module(text)
    assert print_module(read) == text
    assert parse_module(print_module(read, generic=True)).is_structurally_equivalent(read)


@pytest.mark.parametrize("line", FOREIGN)
def test_ops_of_other_dialects_survive(line: str) -> None:
    text = module(line, {"a": "i32"})
    read = parse_module(text)
    assert print_module(read) == text
    assert parse_module(print_module(read, generic=True)).is_structurally_equivalent(read)


@pytest.mark.parametrize("line", [*STABLEHLO, *OURS])
def test_stock_xdsl_reads_and_prints_the_pretty_form(line: str) -> None:
    text = module(line, ARGUMENTS)
    ours = parse_module(text, context=CONTEXT)
    stock = Parser(CONTEXT, text).parse_module()
    assert stock.is_structurally_equivalent(ours)
    stream = StringIO()
    Printer(stream).print_op(stock)
    assert line.split("(")[0].split(" ")[0] in stream.getvalue()
    assert Parser(CONTEXT, stream.getvalue()).parse_module().is_structurally_equivalent(ours)


def test_jax_reads_what_is_printed() -> None:
    pytest.importorskip("jax")
    from jaxlib.mlir import ir

    with load_context():
        for line in STABLEHLO:
            text = module(line, ARGUMENTS)
            want = ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)
            read = parse_module(text)
            for generic in (False, True):
                got = ir.Module.parse(print_module(read, generic=generic)).operation.get_asm(print_generic_op_form=True)
                assert got == want, line


def test_every_declared_syntax_is_tested() -> None:
    lines = "\n".join([*STABLEHLO, *OURS])
    for dialect in ("stablehlo", "chlo", "core"):
        CONTEXT.get_dialect(dialect)
    untested = [
        op.name
        for op in CONTEXT.loaded_ops
        if getattr(op, "SYNTAX", None) is not None
        and op.name.split(".")[0] in ("stablehlo", "chlo")
        and f"{op.name} " not in lines.replace("(", " ").replace("\n", " ")
    ]
    assert untested == []

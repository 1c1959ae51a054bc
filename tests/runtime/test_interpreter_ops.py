"""Ops that move, combine or contract elements, against XLA: one compiled module for all cases of a family.

Integers and moved elements must agree exactly, floating-point results to a tolerance: XLA sums in another order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import run

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
    "i1": np.bool_,
}
DTYPES |= {f"{u}i{w}": np.dtype(f"{u or 'i'}{w // 8}").type for u in ("", "u") for w in (8, 16, 32, 64)}

SHAPE = {
    "iota": "() -> (tensor<3x4xf32>, tensor<3x4xi8>, tensor<2xcomplex<f64>>) : %a = stablehlo.iota dim = 1 : tensor<3x4xf32> ; %b = stablehlo.iota dim = 0 : tensor<3x4xi8> ; "
    "%c = stablehlo.iota dim = 0 : tensor<2xcomplex<f64>> ; return %a, %b, %c : tensor<3x4xf32>, tensor<3x4xi8>, tensor<2xcomplex<f64>>",
    "broadcast": "(%x: tensor<3x1xf32>) -> tensor<2x4x3xf32> : %r = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<3x1xf32>) -> tensor<2x4x3xf32>",
    "broadcast large": "(%x: tensor<3x1xf32>) -> tensor<80x4x3x20xf32> : %r = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<3x1xf32>) -> tensor<80x4x3x20xf32>",
    "broadcast scalar": "(%x: tensor<bf16>) -> tensor<2x2xbf16> : %r = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<bf16>) -> tensor<2x2xbf16>",
    "reshape": "(%x: tensor<2x6xi32>) -> tensor<3x4x1xi32> : %r = stablehlo.reshape %x : (tensor<2x6xi32>) -> tensor<3x4x1xi32>",
    "reshape scalar": "(%x: tensor<f64>) -> tensor<1x1xf64> : %r = stablehlo.reshape %x : (tensor<f64>) -> tensor<1x1xf64>",
    "transpose": "(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> : %r = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>",
    "slice": "(%x: tensor<7x5xf32>) -> tensor<3x2xf32> : %r = stablehlo.slice %x [1:7:2, 3:5] : (tensor<7x5xf32>) -> tensor<3x2xf32>",
    "slice empty": "(%x: tensor<7xf32>) -> tensor<0xf32> : %r = stablehlo.slice %x [4:4] : (tensor<7xf32>) -> tensor<0xf32>",
    "reverse": "(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> : %r = stablehlo.reverse %x, dims = [0, 2] : tensor<2x3x4xf32>",
    "concatenate": "(%x: tensor<2x3xf32>, %y: tensor<2x0xf32>, %z: tensor<2x1xf32>) -> tensor<2x4xf32> : "
    "%r = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>",
    "pad": "(%x: tensor<2x3xf32>, %v: tensor<f32>) -> tensor<6x8xf32> : %r = stablehlo.pad %x, %v, low = [1, 2], high = [2, 1], interior = [1, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<6x8xf32>",
    "pad negative": "(%x: tensor<5x6xf32>, %v: tensor<f32>) -> tensor<3x9xf32> : "
    "%r = stablehlo.pad %x, %v, low = [-1, -2], high = [-1, 0], interior = [0, 1] : (tensor<5x6xf32>, tensor<f32>) -> tensor<3x9xf32>",
    "pad crops interior": "(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<5xf32> : %r = stablehlo.pad %x, %v, low = [-4], high = [-1], interior = [2] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>",
    "pad of nothing": "(%x: tensor<0xf32>, %v: tensor<f32>) -> tensor<3xf32> : %r = stablehlo.pad %x, %v, low = [1], high = [2], interior = [1] : (tensor<0xf32>, tensor<f32>) -> tensor<3xf32>",
    "bitcast narrower": "(%x: tensor<2xf64>) -> tensor<2x4xi16> : %r = stablehlo.bitcast_convert %x : (tensor<2xf64>) -> tensor<2x4xi16>",
    "bitcast wider": "(%x: tensor<2x4xi8>) -> tensor<2xf32> : %r = stablehlo.bitcast_convert %x : (tensor<2x4xi8>) -> tensor<2xf32>",
    "bitcast scalar": "(%x: tensor<f32>) -> tensor<ui32> : %r = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<ui32>",
    "select scalar": "(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> : %r = stablehlo.select %p, %x, %y : tensor<i1>, tensor<3xf32>",
    "clamp": "(%l: tensor<f32>, %x: tensor<9xf32>, %h: tensor<f32>) -> tensor<9xf32> : %r = stablehlo.clamp %l, %x, %h : (tensor<f32>, tensor<9xf32>, tensor<f32>) -> tensor<9xf32>",
    "dynamic_slice": "(%x: tensor<5x6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<3x2xf32> : "
    "%r = stablehlo.dynamic_slice %x, %i, %j, sizes = [3, 2] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>",
    "dynamic_update_slice": "(%x: tensor<5x6xf32>, %u: tensor<3x2xf32>, %i: tensor<i64>, %j: tensor<i64>) -> tensor<5x6xf32> : "
    "%r = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<5x6xf32>, tensor<3x2xf32>, tensor<i64>, tensor<i64>) -> tensor<5x6xf32>",
    "torch_index_select": '(%x: tensor<2x5x3xf32>, %i: tensor<2x4xi32>) -> tensor<2x4x3xf32> : %r = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 1 : i64, dim = 1 : i64}> '
    ": (tensor<2x5x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>",
}


def _gather(operand: str, indices: str, result: str, numbers: str, sizes: str) -> str:
    return (
        f'(%x: tensor<{operand}>, %i: tensor<{indices}>) -> tensor<{result}> : %r = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{numbers}>, '
        f"indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : (tensor<{operand}>, tensor<{indices}>) -> tensor<{result}>"
    )


def _scatter(operand: str, indices: str, updates: str, numbers: str, op: str) -> str:
    element = operand.split("x")[-1]
    body = f"%c = {op} : tensor<{element}> ; stablehlo.return %c : tensor<{element}>" if op else f"stablehlo.return %b : tensor<{element}>"
    return (
        f'(%x: tensor<{operand}>, %i: tensor<{indices}>, %u: tensor<{updates}>) -> tensor<{operand}> : %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, '
        f"indices_are_sorted = false, unique_indices = false}}> ({{ ^bb0(%a: tensor<{element}>, %b: tensor<{element}>): ; {body} ; }}) : (tensor<{operand}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{operand}>"
    )


INDEXING = {
    "gather rows": _gather(
        "5x3xf32", "4x1xi64", "4x3xf32", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3"
    ),
    "gather windows": _gather("5x6xf32", "2x2x3xi32", "3x2x2x3xf32", "offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1", "3, 2"),
    "gather scalars": _gather("5x6xf32", "4xi8", "4xf32", "collapsed_slice_dims = [0, 1], start_index_map = [1], index_vector_dim = 1", "1, 1"),
    "gather batched": _gather(
        "2x5x3xf32",
        "4x2x1xi32",
        "4x2x3xf32",
        "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2",
        "1, 1, 3",
    ),
    "gather unsigned": _gather("5xf32", "4x1xui64", "4xf32", "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1"),
    "scatter add rows": _scatter(
        "5x3xf32",
        "7x1xi64",
        "7x3xf32",
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
        "stablehlo.add %a, %b",
    ),
    "scatter set": _scatter("5xi32", "9x1xi32", "9xi32", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", ""),
    "scatter max": _scatter(
        "5xf32", "9x1xi32", "9xf32", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", "stablehlo.maximum %a, %b"
    ),
    "scatter subtract": _scatter(
        "5xf32", "9x1xi32", "9xf32", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", "stablehlo.subtract %b, %a"
    ),
    "scatter bf16": _scatter(
        "5xbf16", "9x1xi32", "9xbf16", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", "stablehlo.multiply %a, %b"
    ),
    "scatter windows": _scatter(
        "5x6xf32", "2x4xi32", "2x4x3xf32", "update_window_dims = [0, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0", "stablehlo.add %a, %b"
    ),
    "scatter batched": _scatter(
        "2x5x3xf32",
        "4x2x1xi32",
        "4x2x3xf32",
        "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2",
        "stablehlo.multiply %a, %b",
    ),
    "scatter scalar": _scatter("f32", "0xi32", "f32", "index_vector_dim = 0", "stablehlo.add %a, %b"),
    "scatter nothing": _scatter(
        "5xf32", "0x1xi32", "0xf32", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", "stablehlo.add %a, %b"
    ),
}


def _reduce(operand: str, result: str, dims: str, body: str, init: str = "%v") -> str:
    element = operand.split("x")[-1]
    return (
        f'(%x: tensor<{operand}>, %v: tensor<{element}>) -> tensor<{result}> : %r = "stablehlo.reduce"(%x, {init}) <{{dimensions = array<i64: {dims}>}}> ({{ '
        f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>): ; {body} ; stablehlo.return %c : tensor<{element}> ; }}) : (tensor<{operand}>, tensor<{element}>) -> tensor<{result}>"
    )


def _window(operand: str, result: str, options: str, body: str, neutral: str = "0.0") -> str:
    """The initial value is neutral: with others XLA differs from the specification, leaving them out of the padding."""
    element = operand.split("x")[-1]
    return (
        f"(%x: tensor<{operand}>) -> tensor<{result}> : %v = stablehlo.constant dense<{neutral}> : tensor<{element}> ; "
        f'%r = "stablehlo.reduce_window"(%x, %v) <{{{options}}}> ({{ '
        f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>): ; {body} ; stablehlo.return %c : tensor<{element}> ; }}) : (tensor<{operand}>, tensor<{element}>) -> tensor<{result}>"
    )


ARGMAX = (
    '(%x: tensor<3x7xf32>, %i: tensor<3x7xi32>, %v: tensor<f32>, %w: tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>) : %r:2 = "stablehlo.reduce"(%x, %i, %v, %w) <{dimensions = array<i64: 1>}> ({ '
    "^bb0(%a: tensor<f32>, %k: tensor<i32>, %b: tensor<f32>, %l: tensor<i32>): ; %g = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> ; "
    "%m = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32> ; %n = stablehlo.select %g, %k, %l : tensor<i1>, tensor<i32> ; stablehlo.return %m, %n : tensor<f32>, tensor<i32> ; }) "
    ": (tensor<3x7xf32>, tensor<3x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>) ; return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>"
)

REDUCTION = {
    "sum": _reduce("3x4x5xf32", "4xf32", "0, 2", "%c = stablehlo.add %a, %b : tensor<f32>"),
    "product": _reduce("3x4xf64", "4xf64", "0", "%c = stablehlo.multiply %b, %a : tensor<f64>"),
    "max": _reduce("3x4xi32", "4xi32", "0", "%c = stablehlo.maximum %a, %b : tensor<i32>"),
    "min of nothing": _reduce("0x4xf32", "4xf32", "0", "%c = stablehlo.minimum %a, %b : tensor<f32>"),
    "or": _reduce("3x4xi1", "3xi1", "1", "%c = stablehlo.or %a, %b : tensor<i1>"),
    "and": _reduce("3x4xui8", "3xui8", "1", "%c = stablehlo.and %a, %b : tensor<ui8>"),
    "sum i8 wraps": _reduce("3x40xi8", "3xi8", "1", "%c = stablehlo.add %a, %b : tensor<i8>", init="%z").replace(
        " : %r", " : %z = stablehlo.constant dense<0> : tensor<i8> ; %r"
    ),
    "log of sum of exponentials": _reduce(
        "3x4xf32",
        "3xf32",
        "1",
        "%m = stablehlo.maximum %a, %b : tensor<f32> ; %d = stablehlo.subtract %a, %b : tensor<f32> ; %e = stablehlo.abs %d : tensor<f32> ; %f = stablehlo.negate %e : tensor<f32> ; "
        "%g = stablehlo.exponential %f : tensor<f32> ; %h = stablehlo.log_plus_one %g : tensor<f32> ; %c = stablehlo.add %m, %h : tensor<f32>",
    ),
    "no dimensions": _reduce("4xf32", "4xf32", "", "%c = stablehlo.add %a, %b : tensor<f32>", init="%z")
    .replace("array<i64: >", "array<i64>")
    .replace(" : %r", " : %z = stablehlo.constant dense<0.0> : tensor<f32> ; %r"),
    "argmax": ARGMAX,
    "window sum": _window(
        "5x6xf32",
        "3x2xf32",
        "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [1, 0]]> : tensor<2x2xi64>",
        "%c = stablehlo.add %a, %b : tensor<f32>",
    ),
    "window max dilated": _window(
        "4xf32",
        "5xf32",
        "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 3>, window_dilations = array<i64: 2>, padding = dense<[[2, 0]]> : tensor<1x2xi64>",
        "%c = stablehlo.maximum %a, %b : tensor<f32>",
        neutral="0xFF800000",
    ),
    "window general": _window(
        "6xf32",
        "4xf32",
        "window_dimensions = array<i64: 3>",
        "%d = stablehlo.multiply %a, %b : tensor<f32> ; %e = stablehlo.add %a, %b : tensor<f32> ; %c = stablehlo.add %d, %e : tensor<f32>",
    ),
    "map": '(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> : %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): ; '
    "%c = stablehlo.multiply %a, %b : tensor<f32> ; %d = stablehlo.tanh %c : tensor<f32> ; stablehlo.return %d : tensor<f32> ; }) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>",
    "select_and_scatter": '(%x: tensor<5x5xf32>, %s: tensor<3x2xf32>, %v: tensor<f32>) -> tensor<5x5xf32> : %r = "stablehlo.select_and_scatter"(%x, %s, %v) <{window_dimensions = array<i64: 3, 2>, '
    "window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): ; "
    "%g = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1> ; stablehlo.return %g : tensor<i1> ; }, { ^bb0(%a: tensor<f32>, %b: tensor<f32>): ; "
    "%c = stablehlo.add %a, %b : tensor<f32> ; stablehlo.return %c : tensor<f32> ; }) : (tensor<5x5xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<5x5xf32>",
    "sort": '(%x: tensor<3x13xf32>) -> tensor<3x13xf32> : %r = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): ; '
    "%g = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> ; stablehlo.return %g : tensor<i1> ; }) : (tensor<3x13xf32>) -> tensor<3x13xf32>",
    "sort pairs": '(%x: tensor<17x2xi32>, %y: tensor<17x2xf32>) -> (tensor<17x2xi32>, tensor<17x2xf32>) : %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({ '
    "^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>): ; %g = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1> ; stablehlo.return %g : tensor<i1> ; }) "
    ": (tensor<17x2xi32>, tensor<17x2xf32>) -> (tensor<17x2xi32>, tensor<17x2xf32>) ; return %r#0, %r#1 : tensor<17x2xi32>, tensor<17x2xf32>",
    "top_k": "(%x: tensor<3x9xf32>, %i: tensor<9xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>, tensor<3xi32>, tensor<3xi32>) : %a, %b = chlo.top_k(%x, k = 4) : tensor<3x9xf32> -> (tensor<3x4xf32>, tensor<3x4xi32>) ; "
    "%c, %d = chlo.top_k(%i, k = 3) : tensor<9xi32> -> (tensor<3xi32>, tensor<3xi32>) ; return %a, %b, %c, %d : tensor<3x4xf32>, tensor<3x4xi32>, tensor<3xi32>, tensor<3xi32>",
}


def _dot(lhs: str, rhs: str, result: str, options: str) -> str:
    return f"(%x: tensor<{lhs}>, %y: tensor<{rhs}>) -> tensor<{result}> : %r = stablehlo.dot_general %x, %y, {options} : (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{result}>"


def _conv(lhs: str, rhs: str, result: str, numbers: str, window: str, groups: int = 1, batch_groups: int = 1) -> str:
    return (
        f"(%x: tensor<{lhs}>, %y: tensor<{rhs}>) -> tensor<{result}> : %r = stablehlo.convolution(%x, %y) dim_numbers = {numbers}, window = {{{window}}} "
        f"{{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}} : (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{result}>"
    )


CONTRACTION = {
    "dot": _dot("3x4xf32", "4x5xf32", "3x5xf32", "contracting_dims = [1] x [0]"),
    "dot batched": _dot("2x3x4x6xf64", "4x5x3x2xf64", "2x3x6x5xf64", "batching_dims = [0, 1] x [3, 2], contracting_dims = [2] x [0]"),
    "dot outer": _dot("3xf32", "4xf32", "3x4xf32", "contracting_dims = [] x []"),
    "dot inner": _dot("3x4xcomplex<f64>", "4x3xcomplex<f64>", "complex<f64>", "contracting_dims = [0, 1] x [1, 0]"),
    "dot i32": _dot("3x4xi32", "4x5xi32", "3x5xi32", "contracting_dims = [1] x [0]"),
    "dot i8 to i32": _dot("3x4xi8", "4x5xi8", "3x5xi32", "contracting_dims = [1] x [0]"),
    "dot bf16 to f32": _dot("3x4xbf16", "4x5xbf16", "3x5xf32", "contracting_dims = [1] x [0]"),
    "dot of nothing": _dot("3x0xf32", "0x5xf32", "3x5xf32", "contracting_dims = [1] x [0]"),
    "conv": _conv("2x7x8x3xf32", "3x2x3x4xf32", "2x4x8x4xf32", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 1], pad = [[1, 1], [0, 1]]"),
    "conv dilated": _conv(
        "2x3x7xf64", "4x3x3xf64", "2x4x12xf64", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[2, 1]], lhs_dilate = [2], rhs_dilate = [2], reverse = [true]"
    ),
    "conv dilated groups": _conv(
        "2x4x5x6xf64", "6x2x2x3xf64", "2x6x9x16xf64", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "pad = [[1, 0], [1, 1]], lhs_dilate = [2, 3]", groups=2
    ),
    "conv dilated, each output of the same phase": _conv(
        "1x2x5xf64", "3x2x3xf64", "1x3x4xf64", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "stride = [2], pad = [[0, 0]], lhs_dilate = [2]"
    ),
    "conv crops": _conv("1x1x9xf32", "1x1x2xf32", "1x1x5xf32", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[-1, -2]]"),
    "conv groups": _conv("2x5x6xf32", "2x3x9xf32", "4x2x9xf32", "[b, 0, f]x[i, 0, o]->[0, b, f]", "pad = [[1, 0]]", groups=3).replace("4x2x9", "4x2x9"),
    "conv batch groups": _conv("6x5x2xf32", "2x3x9xf32", "2x3x9xf32", "[b, 0, f]x[i, 0, o]->[b, 0, f]", "pad = [[0, 0]]", batch_groups=3),
    "conv without space": _conv("2x3xf32", "3x4xf32", "2x4xf32", "[b, f]x[i, o]->[b, f]", ""),
    "conv i32": _conv("1x2x9xi32", "3x2x2xi32", "1x3x8xi32", "[b, f, 0]x[o, i, 0]->[b, f, 0]", ""),
}

LINALG = {
    "fft": "(%x: tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>> : %r = stablehlo.fft %x, type = FFT, length = [6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>",
    "ifft": "(%x: tensor<5x6xcomplex<f64>>) -> tensor<5x6xcomplex<f64>> : %r = stablehlo.fft %x, type = IFFT, length = [5, 6] : (tensor<5x6xcomplex<f64>>) -> tensor<5x6xcomplex<f64>>",
    "rfft": "(%x: tensor<2x4x6xf64>) -> tensor<2x4x4xcomplex<f64>> : %r = stablehlo.fft %x, type = RFFT, length = [4, 6] : (tensor<2x4x6xf64>) -> tensor<2x4x4xcomplex<f64>>",
    "irfft": "(%x: tensor<2x4xcomplex<f32>>) -> tensor<2x7xf32> : %r = stablehlo.fft %x, type = IRFFT, length = [7] : (tensor<2x4xcomplex<f32>>) -> tensor<2x7xf32>",
    "cholesky": "(%x: tensor<3x3xf64>) -> tensor<3x3xf64> : %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf64>) -> tensor<3x3xf64> ; "
    "%p = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64> ; "
    "%d = stablehlo.constant dense<[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]> : tensor<3x3xf64> ; "  # well conditioned whatever is drawn
    "%a = stablehlo.add %p, %d : tensor<3x3xf64> ; %r = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>",
    "triangular_solve": '(%a: tensor<2x3x3xf64>, %b: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> : %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = '
    "#stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>",
    "triangular_solve right": '(%a: tensor<4x4xcomplex<f64>>, %b: tensor<3x4xcomplex<f64>>) -> tensor<3x4xcomplex<f64>> : %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = false, '
    "transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<4x4xcomplex<f64>>, tensor<3x4xcomplex<f64>>) -> tensor<3x4xcomplex<f64>>",
}

CONTROL = {
    "while": "(%n: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> : %z = stablehlo.constant dense<0> : tensor<i32> ; %o = stablehlo.constant dense<1> : tensor<i32> ; "
    '%r:2 = "stablehlo.while"(%z, %x) ({ ^bb0(%i: tensor<i32>, %c: tensor<3xf32>): ; %g = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> ; stablehlo.return %g : tensor<i1> ; }, { '
    "^bb0(%i: tensor<i32>, %c: tensor<3xf32>): ; %j = stablehlo.add %i, %o : tensor<i32> ; %d = stablehlo.sine %c : tensor<3xf32> ; stablehlo.return %j, %d : tensor<i32>, tensor<3xf32> ; }) "
    ": (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) ; return %r#1 : tensor<3xf32>",
    "case": '(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> : %r = "stablehlo.case"(%i) ({ %a = stablehlo.sine %x : tensor<f32> ; stablehlo.return %a : tensor<f32> ; }, { '
    "%b = stablehlo.cosine %x : tensor<f32> ; stablehlo.return %b : tensor<f32> ; }, { stablehlo.return %x : tensor<f32> ; }) : (tensor<i32>) -> tensor<f32>",
    "if": '(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> : %r = "stablehlo.if"(%p) ({ %a = stablehlo.negate %x : tensor<f32> ; stablehlo.return %a : tensor<f32> ; }, { '
    "stablehlo.return %x : tensor<f32> ; }) : (tensor<i1>) -> tensor<f32>",
}

FAMILIES = {"shape": SHAPE, "indexing": INDEXING, "reduction": REDUCTION, "contraction": CONTRACTION, "linalg": LINALG, "control": CONTROL}


class Case:
    """``(arguments) -> results : body``; a body of one line needs no return."""

    def __init__(self, number: int, text: str):
        signature, body = re.split(r" : ", text, maxsplit=1)
        arguments, results = signature.rsplit(" -> ", 1)
        self.types = re.findall(r": (tensor<(?:[^<>]|<[^<>]*>)*>)", arguments)
        self.results = re.findall(r"tensor<(?:[^<>]|<[^<>]*>)*>", results)
        lines = body.split(" ; ")
        if not lines[-1].startswith("return"):
            lines.append(f"return %r : {results}")
        self.name = f"case{number}"
        self.text = f"func.func private @{self.name}{arguments} -> {results} {{\n" + "\n".join(lines) + "\n}\n"

    def draw(self, rng: np.random.Generator) -> list[Any]:
        """Inputs for the arguments; small integers, so that as indices some lie outside."""
        return [_draw(type, rng) for type in self.types]


def _draw(type: str, rng: np.random.Generator) -> Any:
    *extents, name = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", type).groups()  # pyright: ignore[reportOptionalMemberAccess]
    shape = [int(n) for n in extents[0].split("x") if n]
    dtype = np.dtype(DTYPES[name])
    if dtype.kind in "iu":
        return np.asarray(rng.integers(-3 if dtype.kind == "i" else 0, 8, shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    values = np.asarray(rng.normal(size=shape)) + (1j * np.asarray(rng.normal(size=shape)) if dtype.kind == "c" else 0)
    return np.asarray(values).astype(dtype)


def _main(cases: list[Case]) -> str:
    """A main function that calls all cases."""
    arguments = [f"%{c.name}_{i}" for c in cases for i in range(len(c.types))]
    types, results = [t for c in cases for t in c.types], [t for c in cases for t in c.results]
    calls: list[str] = []
    named: list[str] = []
    for c in cases:
        passed = ", ".join(f"%{c.name}_{i}" for i in range(len(c.types)))
        many = f":{len(c.results)}" if len(c.results) > 1 else ""
        returned = f"({', '.join(c.results)})" if many else c.results[0]
        calls.append(f"%{c.name}r{many} = func.call @{c.name}({passed}) : ({', '.join(c.types)}) -> {returned}")
        named += [f"%{c.name}r#{i}" for i in range(len(c.results))] if many else [f"%{c.name}r"]
    head = ", ".join(f"{a}: {t}" for a, t in zip(arguments, types, strict=True))
    return f"func.func public @main({head}) -> ({', '.join(results)}) {{\n" + "\n".join(calls) + f"\nreturn {', '.join(named)} : {', '.join(results)}\n}}\n"


def _close(ours: Any, theirs: Any, context: str) -> None:
    assert ours.dtype == theirs.dtype, context
    assert ours.shape == theirs.shape, context
    if ours.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, theirs, context)
        return
    eps = float(ml_dtypes.finfo(ours.dtype).eps)
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=20 * eps, atol=20 * eps, err_msg=context)


@pytest.mark.oracle
@pytest.mark.parametrize("family", FAMILIES)
def test_against_xla(family: str, xla: Callable[[str], Any]) -> None:
    names = list(FAMILIES[family])
    cases = [Case(i, FAMILIES[family][name]) for i, name in enumerate(names)]
    text = "module {\n" + _main(cases) + "".join(c.text for c in cases) + "}\n"
    rng = np.random.default_rng(3)
    compiled, module = xla(text), parse_module(text, family)
    for _ in range(4):
        inputs = [c.draw(rng) for c in cases]
        theirs = iter(compiled([x for part in inputs for x in part]))
        for name, c, part in zip(names, cases, inputs, strict=True):
            for ours in run(module, part, entry=c.name):
                _close(ours, next(theirs), f"{name}: {part}")


@pytest.mark.parametrize("name", [name for name in CONTRACTION if "dilated" in name])
def test_an_infinite_weight_does_not_meet_the_zeros_of_a_dilated_input(name: str) -> None:
    """Sums of elements times weights are infinite or finite: only zero times infinity would be NaN, here in dimensions that are all dilated."""
    case = Case(0, CONTRACTION[name])
    x, w = case.draw(np.random.default_rng(0))
    x, w = np.abs(x), np.abs(w)
    w.reshape(-1)[w.size // 2] = np.inf
    program = wg.parse(_main([case]) + case.text)
    compiled, slow = (program.compile(backend)(x, w)[0] for backend in ("cpu", "interpreter"))
    assert np.isinf(slow).any()
    assert np.isfinite(slow).any()
    assert not np.isnan(slow).any()
    np.testing.assert_allclose(compiled, slow, rtol=1e-14)

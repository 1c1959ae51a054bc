"""Attributes of upstream ops in the generic form: what is missing, of another kind, or does not fit the operands is refused with its name and place."""

from __future__ import annotations

import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

SLICE = '"tensor.extract_slice"(%x) <{{static_offsets = {}, static_sizes = {}, static_strides = array<i64: 1, 1>{}}}> : (tensor<4x6xf64>) -> tensor<2x3xf64>'
SEGMENTS = ", operandSegmentSizes = array<i32: 1, 0, 0, 0>"
MATRIX, VECTOR = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>"
SUM = """"linalg.generic"(%x, %v) <{{indexing_maps = [{}], iterator_types = [{}], operandSegmentSizes = array<i32: 1, 1>}}> ({{
  ^bb0(%a: f64, %b: f64):
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  }}) : (tensor<4x6xf64>, tensor<{}xf64>) -> tensor<{}xf64>"""

REFUSED = (
    (SLICE.format("array<i64: 0, 0>", "array<i64: 2, 3>", ""), "'operandSegmentSizes' must have the sizes of 4 groups of operands"),
    (SLICE.format("array<i64: 0, 0, 0>", "array<i64: 2, 3>", SEGMENTS), "'static_offsets' must have 2 numbers, found [0, 0, 0]"),
    (SLICE.format("array<i64: 0, 0>", "[2, 3]", SEGMENTS), "'static_sizes' must be integers"),
    (SLICE.format("array<i64: -9223372036854775808, 0>", "array<i64: 2, 3>", SEGMENTS), "'static_offsets' leaves 1 number to operands, of which there are 0"),
    ('"tensor.collapse_shape"(%x) : (tensor<4x6xf64>) -> tensor<24xf64>', "'reassociation' is missing, expected an array of arrays of integers"),
    ('"tensor.collapse_shape"(%x) <{reassociation = [[0], [1]]}> : (tensor<4x6xf64>) -> tensor<24xf64>', "must have 1 groups of the dimensions of rank 2"),
    (
        '"tensor.pad"(%x) <{static_low = array<i64: 1>, static_high = array<i64: 1, 0>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({\n'
        "  ^bb0(%i: index, %j: index):\n    tensor.yield %e : f64\n  }) : (tensor<4x6xf64>) -> tensor<6x6xf64>",
        "'static_low' must have 2 numbers, found [1]",
    ),
    ('"linalg.transpose"(%x, %t) <{permutation = array<i64: 1, 1>}> : (tensor<4x6xf64>, tensor<6x4xf64>) -> tensor<6x4xf64>', "different dimensions of rank 2"),
    ('"linalg.broadcast"(%v, %x) <{dimensions = array<i64: 0>}> : (tensor<4xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>', "have other extents"),
    (SUM.format(f"{MATRIX}, {VECTOR}", '"parallel"', "4", "4"), "'iterator_types' must have 2 kinds, found 1"),
    (SUM.format(MATRIX, '"parallel", "reduction"', "4", "4"), "a map for each of 2 operands, found 1"),
    (SUM.format(f"{MATRIX}, {VECTOR}", '"parallel", "sideways"', "4", "4"), 'there is no kind of loop "sideways"'),
    (SUM.format(f"{MATRIX}, {MATRIX}", '"parallel", "reduction"', "4", "4"), "an indexing map gives 2 positions for tensor<4xf64>"),
    (SUM.format(f"{MATRIX}, affine_map<(d0, d1) -> (d1)>", '"reduction", "parallel"', "4", "4"), "operand 1 has extent 4 in dimension 0, where others have 6"),
    ('"arith.cmpf"(%e, %e) <{predicate = 16 : i64}> : (f64, f64) -> i1', "there is no predicate 16: they are 0 to 15"),
    ('"index.cmp"(%n, %n) : (index, index) -> i1', "'pred' must be one of the predicates eq, ne"),
    ('"arith.constant"() <{value = 1.0 : f32}> : () -> f64', "the value is of type f32, the result of f64"),
    ('"affine.apply"(%n) <{map = 3 : i64}> : (index) -> index', "'map' must be an affine map, found 3 : i64"),
)


@pytest.mark.parametrize(("op", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(op: str, message: str) -> None:
    head = "func.func @main(%x: tensor<4x6xf64>, %v: tensor<4xf64>, %t: tensor<6x4xf64>, %e: f64, %n: index) {"
    with pytest.raises(DiagnosticError) as caught:
        wg.parse(f"{head}\n  %r = {op}\n  return\n}}", "test.mlir")
    assert message in str(caught.value)
    assert str(caught.value).startswith("test.mlir:2:")


def test_numbers_may_be_dense() -> None:
    text = "func.func @main(%x: tensor<4x6xf64>) -> tensor<2x3xf64> {{\n  %r = {}\n  return %r : tensor<2x3xf64>\n}}"
    dense = text.format(SLICE.format("dense<[1, 2]> : tensor<2xi64>", "array<i64: 2, 3>", SEGMENTS))
    array = text.format(SLICE.format("array<i64: 1, 2>", "array<i64: 2, 3>", SEGMENTS))
    assert str(wg.parse(dense)) == str(wg.parse(array))

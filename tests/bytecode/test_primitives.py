"""Integers, strings and constants in bytecode: what is written is read, and has the bytes that MLIR's description of the format says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.dialects.bytecode.files import read_module, write_module
from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.output import Output
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module


def cursor(data: bytes) -> Cursor:
    return Cursor(data, "f", 0, len(data))


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\x01"),
        (127, b"\xff"),
        (128, b"\x02\x02"),
        (16383, b"\xfe\xff"),
        (16384, b"\x04\x00\x02"),
        ((1 << 56) - 1, b"\x80" + b"\xff" * 7),
        (1 << 56, b"\x00" + (1 << 56).to_bytes(8, "little")),
        ((1 << 64) - 1, b"\x00" + b"\xff" * 8),
    ],
)
def test_integers_of_variable_length(value: int, data: bytes) -> None:
    output = Output()
    output.varint(value)
    assert bytes(output.data) == data
    assert cursor(data).varint() == value


@given(st.integers(0, (1 << 64) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_come_back(unsigned: int, signed: int) -> None:
    output = Output()
    output.varint(unsigned)
    output.signed(signed)
    reader = cursor(bytes(output.data))
    assert (reader.varint(), reader.signed()) == (unsigned, signed)
    assert not reader.left


def test_what_ends_too_early_is_refused_at_its_byte() -> None:
    with pytest.raises(DiagnosticError, match="1 more byte expected, 0 left, at byte 0"):
        cursor(b"").varint()
    with pytest.raises(DiagnosticError, match="2 more bytes expected, 1 left, at byte 0"):
        cursor(b"\x02").varint()
    output = Output()
    output.varint(1000)
    with pytest.raises(DiagnosticError, match="1000 entries cannot be in the 1 bytes that follow, at byte 0"):
        cursor(bytes(output.data) + b"\0").count("entries")


ATTRIBUTES = (
    "true",
    "-5 : i8",
    "200 : ui8",
    "-1 : index",
    "170141183460469231731687303715884105727 : i128",
    "-0.000000e+00 : f32",
    "1.500000e+00 : bf16",
    "0x7FC00001 : f32",
    '"a \\22quoted\\22 text"',
    "@f::@g",
    "[1 : i32, [], {}]",
    "{a = 1 : i64, b = {c}}",
    "unit",
    "tensor<2x?xf32>",
    "memref<2x?xf32, strided<[1, ?], offset: 3>, 2 : i32>",
    "memref<4xf64>",
    "vector<2x[3]xf32>",
    "tuple<i32, tuple<>>",
    "(f32) -> ()",
    "tensor<?xf32, #stablehlo.bounds<4>>",
    "f8E4M3FN",
    "tf32",
    "complex<f64>",
    "none",
    "array<i64: 1, -2>",
    "array<i1: true, false>",
    "array<f32: 1.500000e+00>",
    "dense<[true, false, true]> : tensor<3xi1>",
    "dense<true> : tensor<9xi1>",
    "dense<[true, true, false, true, true, true, true, true, true]> : tensor<9xi1>",
    "dense<[-1, 7]> : tensor<2xi4>",
    "dense<[3, 0]> : tensor<2xui2>",
    "dense<[(1.000000e+00, 2.000000e+00), (3.000000e+00, 4.000000e+00)]> : tensor<2xcomplex<f32>>",
    "dense<> : tensor<0x3xf32>",
    "dense<[1, 2]> : tensor<2xindex>",
    "dense<1.000000e+00> : tensor<1000x1000xf32>",
    "dense<[1.000000e+00, 2.000000e+00]> : vector<2xf32>",
    "affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2)>",
    "#stablehlo<precision HIGH>",
    "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>",
    "#chlo<comparison_direction LT>",
    '#foreign.thing<"x", 1>',
    "!foreign.type<3>",
)


@pytest.mark.parametrize("version", range(7))
def test_every_kind_of_attribute(version: int) -> None:
    module = parse_module(f"module attributes {{{', '.join(f'x.a{i} = {text}' for i, text in enumerate(ATTRIBUTES))}}} {{}}")
    again = read_module(write_module(module, version=version))
    assert print_module(again, generic=True) == print_module(module, generic=True)
    assert again.is_structurally_equivalent(module)


def test_equal_numbers_with_other_bits_stay_apart() -> None:
    module = parse_module("module attributes {x.a = [0.0 : f32], x.b = [-0.0 : f32], x.c = 0x7FC00000 : f32, x.d = 0x7FC00001 : f32} {}")
    assert print_module(read_module(write_module(module))) == print_module(module)


@pytest.mark.parametrize("version", range(7))
def test_locations(version: int) -> None:
    text = """func.func @main(%arg0: tensor<f64> loc("x")) -> tensor<f64> {
  %0 = stablehlo.sine %arg0 : tensor<f64> loc(callsite("a.py":1:2 at fused<"m">["b.py":3:4, unknown]))
  return %0 : tensor<f64> loc("named"("c.py":5:6))
} loc("f.mlir":7:8)"""
    module = parse_module(text)
    assert print_module(read_module(write_module(module, version=version)), locations=True) == print_module(module, locations=True)
    without = print_module(read_module(write_module(module, version=version, locations=False)), locations=True)
    assert "a.py" not in without


def test_values_in_nested_regions_and_before_their_definition() -> None:
    text = """module {
  "x.graph"() ({
    %0 = "x.use"(%1#0) : (tensor<f64>) -> tensor<f64>
    %1:2 = "x.def"() ({
    ^bb0(%arg0: tensor<f64>):
      "x.inner"(%arg0, %0, %2) : (tensor<f64>, tensor<f64>, tensor<f64>) -> ()
    }, {
      "x.empty"() : () -> ()
    }) : () -> (tensor<f64>, tensor<f64>)
    %2 = "x.last"(%1#1) : (tensor<f64>) -> tensor<f64>
  }) : () -> ()
  func.func @branches(%arg0: i1, %arg1: f64) -> f64 {
    "x.cond_br"(%arg0, %arg1, %arg1) [^bb1, ^bb2] : (i1, f64, f64) -> ()
  ^bb1(%arg2: f64):
    "x.br"(%arg2) [^bb2] : (f64) -> ()
  ^bb2(%arg3: f64):
    return %arg3 : f64
  }
}
"""
    module = parse_module(text)
    for version in range(7):
        assert print_module(read_module(write_module(module, version=version))) == text

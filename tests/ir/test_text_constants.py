"""Dense constants: every element type and every way of writing them, read and printed without losing a bit."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import Attribute

from wengert.ir import elements
from wengert.ir.parsing.parser import parse_module
from wengert.ir.parsing.types import element_named
from wengert.ir.printing.attributes import AttributeWriter
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import dtype_of

ELEMENTS = [
    *(
        "f64",
        "f32",
        "f16",
        "bf16",
        "complex<f32>",
        "complex<f64>",
        "i1",
        "i2",
        "i4",
        "i8",
        "i16",
        "i32",
        "i64",
        "ui2",
        "ui4",
        "ui8",
        "ui16",
        "ui32",
        "ui64",
        "index",
    ),
    *("f8E5M2", "f8E4M3FN", "f8E4M3", "f8E3M4", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E8M0FNU"),
]


def constant(literal: str) -> DenseIntOrFPElementsAttr[Any]:
    module = parse_module(f"%0 = stablehlo.constant {literal}")
    op = next(op for op in module.walk() if op.name == "stablehlo.constant")
    return cast("DenseIntOrFPElementsAttr[Any]", op.properties["value"])


def numbers(literal: str) -> list[Any]:
    return elements.to_numpy(constant(literal)).tolist()


def printed(literal: str) -> str:
    return print_module(parse_module(f"%0 = stablehlo.constant {literal}")).split("constant ")[1].split("\n")[0]


@pytest.mark.parametrize(
    ("literal", "values"),
    [
        ("dense<1.5> : tensor<f64>", 1.5),
        ("dense<1.5> : tensor<2x2xf32>", [[1.5, 1.5], [1.5, 1.5]]),
        ("dense<[1.0, -2.5e-1]> : tensor<2xf32>", [1.0, -0.25]),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", [[1, 2], [3, 4]]),
        ("dense<[[[1], [2]]]> : tensor<1x2x1xi8>", [[[1], [2]]]),
        ("dense<\n  [ 1 , 2 ]\n> : tensor<2xi64>", [1, 2]),
        ("dense<0xFFF0000000000000> : tensor<f64>", float("-inf")),
        ("dense<0x7F800000> : tensor<2xf32>", [float("inf"), float("inf")]),
        ("dense<[0x7F800000, 1.0]> : tensor<2xf32>", [float("inf"), 1.0]),
        ("dense<0xFF> : tensor<i32>", 255),
        ("dense<true> : tensor<i1>", True),
        ("dense<[true, false]> : tensor<2xi1>", [True, False]),
        ("dense<1> : tensor<i1>", True),
        ("dense<-1> : tensor<i8>", -1),
        ("dense<255> : tensor<i8>", -1),
        ("dense<4294967295> : tensor<i32>", -1),
        ("dense<18446744073709551615> : tensor<ui64>", 2**64 - 1),
        ("dense<18446744073709551615> : tensor<i64>", -1),
        ("dense<[-8, 7]> : tensor<2xi4>", [-8, 7]),
        ("dense<[0, 15]> : tensor<2xui4>", [0, 15]),
        ("dense<(1.0, 2.0)> : tensor<complex<f32>>", 1 + 2j),
        ("dense<[(1.0, 2.0), (-1.0, 0x7FF0000000000000)]> : tensor<2xcomplex<f64>>", [1 + 2j, complex(-1, float("inf"))]),
        ("dense<> : tensor<0xf32>", []),
        ("dense<> : tensor<2x0xi1>", [[], []]),
        ("dense<[]> : tensor<0xf32>", []),
        ("dense<1.0> : tensor<0xf32>", []),
        ('dense<"0x000080BF0000803F"> : tensor<2xf32>', [-1.0, 1.0]),
        ('dense<"0x000080BF"> : tensor<2xf32>', [-1.0, -1.0]),
        ('dense<"0x0100"> : tensor<2xi1>', [True, False]),
        ('dense<"0x030C"> : tensor<2xi4>', [3, -4]),
        ('dense<"0x0000803F00000040"> : tensor<1xcomplex<f32>>', [1 + 2j]),
    ],
)
def test_literals(literal: str, values: Any) -> None:
    assert numbers(literal) == values


def test_splats_are_stored_once() -> None:
    assert len(constant("dense<1.0> : tensor<1000x1000xf64>").data.data) == 8
    assert len(constant("dense<[2, 2, 2]> : tensor<3xi32>").data.data) == 4


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("dense<1.0> : tensor<f64>", "dense<1.000000e+00> : tensor<f64>"),
        ("dense<0.1> : tensor<f32>", "dense<1.000000e-01> : tensor<f32>"),
        ("dense<0.30000001192092896> : tensor<f32>", "dense<3.000000e-01> : tensor<f32>"),
        ("dense<0.123456789> : tensor<f32>", "dense<1.23456791e-01> : tensor<f32>"),
        ("dense<0.1234567890123> : tensor<f64>", "dense<0.1234567890123> : tensor<f64>"),
        ("dense<1.0e-300> : tensor<f64>", "dense<1.000000e-300> : tensor<f64>"),
        ("dense<1.2345678901e-300> : tensor<f64>", "dense<1.2345678901e-300> : tensor<f64>"),
        ("dense<-0.0> : tensor<f64>", "dense<-0.000000e+00> : tensor<f64>"),
        ("dense<0xFF800000> : tensor<f32>", "dense<0xFF800000> : tensor<f32>"),
        ("dense<0x7FC00001> : tensor<f32>", "dense<0x7FC00001> : tensor<f32>"),
        ("dense<1> : tensor<i1>", "dense<true> : tensor<i1>"),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"),
        (
            "dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
            "dense<[(1.000000e+00, 2.000000e+00), (3.000000e+00, 4.000000e+00)]> : tensor<2xcomplex<f32>>",
        ),
        ("dense<1.0> : tensor<0xf32>", "dense<> : tensor<0xf32>"),
    ],
)
def test_printed_literals(literal: str, text: str) -> None:
    assert printed(literal) == text


def test_large_constants_are_printed_as_bytes() -> None:
    literal = f"dense<[{', '.join(map(str, range(101)))}]> : tensor<101xi8>"
    assert printed(literal) == f'dense<"0x{bytes(range(101)).hex().upper()}"> : tensor<101xi8>'
    assert constant(printed(literal)) == constant(literal)


@st.composite
def dense(draw: st.DrawFn) -> DenseIntOrFPElementsAttr[Any]:
    """A constant of any element type whose elements have any bits that the type has."""
    element = cast(Attribute, element_named(draw(st.sampled_from(ELEMENTS))))
    shape = draw(st.lists(st.integers(0, 4), max_size=3)) if draw(st.integers(0, 9)) else [3, 50]
    dtype = dtype_of(element)
    count = int(np.prod(shape, dtype=int))
    stored = 1 if count and draw(st.booleans()) else count
    data = draw(st.binary(min_size=stored * dtype.itemsize, max_size=stored * dtype.itemsize))
    if isinstance(element, IntegerType) and element.width.data < 8:
        data = np.frombuffer(data, np.uint8).astype(np.int64).astype(dtype).tobytes() if dtype != np.bool_ else bytes(b & 1 for b in data)
    return DenseIntOrFPElementsAttr(cast(Any, TensorType(cast(Any, element), shape)), BytesAttr(data))


@given(dense())
@settings(max_examples=300)
def test_constants_survive_printing_and_reading(value: DenseIntOrFPElementsAttr[Any]) -> None:
    read = constant(AttributeWriter().attribute_text(value))
    assert read.type == value.type
    want, got = elements.to_numpy(value), elements.to_numpy(read)
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()

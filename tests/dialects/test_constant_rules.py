"""What constant operands say about a result's type, where the types leave it open or say otherwise."""

from __future__ import annotations

import pytest

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify

CONV = "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64"
GATHER = "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"


def line(op: str, constants: dict[str, str], result: str) -> str:
    """A program of one op whose result is dropped; ``constants`` are values by name, as ``[2, 3] : tensor<2xi32>``."""
    made = "\n".join(f"  %{name} = stablehlo.constant dense<{value.split(' : ')[0]}> : {value.split(' : ')[1]}" for name, value in constants.items())
    return f"func.func @main(%x: tensor<6xf32>, %y: tensor<2x3xf32>, %z: tensor<1x1x5xf32>, %i: tensor<4x1xi32>, %p: tensor<f32>) {{\n{made}\n  %r = {op} -> {result}\n  return\n}}"


def shaped(result: str, shape: str = "[2, 3]") -> str:
    return line("stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>)", {"s": f"{shape} : tensor<2xi32>"}, result)


def broadcast(result: str) -> str:
    return line("stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [1, 2] : (tensor<2x3xf32>, tensor<3xi64>)", {"s": "[4, 2, 3] : tensor<3xi64>"}, result)


def numbered(result: str) -> str:
    return line("stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>)", {"s": "[2, 3] : tensor<2xi32>"}, result)


def padded(result: str, low: str = "[1]") -> str:
    constants = {"l": f"{low} : tensor<1xi32>", "h": "[2] : tensor<1xi32>", "i": "[0] : tensor<1xi32>"}
    return line(
        "stablehlo.dynamic_pad %x, %p, %l, %h, %i : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)",
        constants | {"i": "[0] : tensor<1xi32>"},
        result,
    ).replace("%i: tensor<4x1xi32>", "%j: tensor<4x1xi32>")


def sliced(result: str, limit: str = "[5]") -> str:
    constants = {"a": "[1] : tensor<1xi32>", "b": f"{limit} : tensor<1xi32>", "c": "[2] : tensor<1xi32>"}
    return line("stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)", constants, result)


def gathered(result: str, sizes: str = "[1, 3]") -> str:
    op = f'"stablehlo.dynamic_gather"(%y, %i, %s) <{{{GATHER}}}> : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<2xi32>)'
    return line(op, {"s": f"{sizes} : tensor<2xi32>"}, result)


def convolved(result: str) -> str:
    op = f'"stablehlo.dynamic_conv"(%z, %w, %s) <{{{CONV}}}> : (tensor<1x1x5xf32>, tensor<1x1x2xf32>, tensor<1x2xi32>)'
    return line(op, {"w": "1.0 : tensor<1x1x2xf32>", "s": "[[1, 2]] : tensor<1x2xi32>"}, result)


def cut(result: str, size: str = "2") -> str:
    return line("stablehlo.set_dimension_size %x, %s, dim = 0 : (tensor<6xf32>, tensor<i32>)", {"s": f"{size} : tensor<i32>"}, result)


def drawn(result: str) -> str:
    constants = {"a": "0.0 : tensor<f32>", "b": "1.0 : tensor<f32>", "s": "[2] : tensor<1xi64>"}
    return line("stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>)", constants, result)


RIGHT = [
    *[shaped(t) for t in ("tensor<2x3xf32>", "tensor<?x?xf32>", "tensor<2x?xf32>")],
    *[broadcast(t) for t in ("tensor<4x2x3xf32>", "tensor<?x2x?xf32>")],
    *[numbered(t) for t in ("tensor<2x3xi32>", "tensor<?x?xf32>")],
    *[padded(t) for t in ("tensor<9xf32>", "tensor<?xf32>")],
    *[sliced(t) for t in ("tensor<2xf32>", "tensor<?xf32>")],
    *[gathered(t) for t in ("tensor<4x3xf32>", "tensor<?x?xf32>")],
    *[convolved(t) for t in ("tensor<1x1x7xf32>", "tensor<1x1x?xf32>")],
    *[cut(t) for t in ("tensor<?xf32>", "tensor<2xf32>")],
    *[drawn(t) for t in ("tensor<?xf32>", "tensor<2xf32>")],
]

WRONG = [
    (shaped("tensor<3x2xf32>"), "result type tensor<3x2xf32> contradicts output_shape = [2, 3]"),
    (shaped("tensor<?x2xf32>"), "contradicts output_shape = [2, 3]"),
    (shaped("tensor<?x?xf32>", "[2, 4]"), "output_shape = [2, 4] has 8 elements, but the operand tensor<6xf32> has 6"),
    (shaped("tensor<?x?xf32>", "[-2, -3]"), "output_shape must not hold numbers below 0, found the constant [-2, -3]"),
    (broadcast("tensor<5x2x3xf32>"), "contradicts output_dimensions = [4, 2, 3]"),
    (numbered("tensor<?x4xi32>"), "contradicts output_shape = [2, 3]"),
    (padded("tensor<8xf32>"), "contradicts the padding [1], [2], [0], by which its shape is [9]"),
    (padded("tensor<?xf32>", "[-9]"), "leaves a negative extent of -1 in dimension 0"),
    (sliced("tensor<3xf32>"), "by which its shape is [2]"),
    (sliced("tensor<?xf32>", "[7]"), "start and limit must satisfy 0 <= start <= limit <= 6 in dimension 0, found 1 and 7"),
    (gathered("tensor<4x2xf32>"), "contradicts slice_sizes = [1, 3]"),
    (gathered("tensor<4x?xf32>", "[1, 4]"), "slice_sizes must be between 0 and the extents [2, 3] of the operand, found 4"),
    (convolved("tensor<1x1x6xf32>"), "contradicts padding = [[1, 2]]"),
    (cut("tensor<3xf32>"), "contradicts size = 2"),
    (cut("tensor<?xf32>", "7"), "size must not be above the extent 6 of dimension 0, found 7"),
    (drawn("tensor<3xf32>"), "contradicts shape = [2]"),
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_constants_allow(text: str) -> None:
    verify(parse_module(text))


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_constants_contradict(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        verify(parse_module(text, "wrong.mlir"), text, "wrong.mlir")
    diagnostic = caught.value.diagnostic
    assert message in diagnostic.message
    assert diagnostic.file == "wrong.mlir"
    assert "%r =" in diagnostic.source_line


def test_an_equal_op_with_another_constant_is_looked_at_again() -> None:
    text = """func.func @main(%x: tensor<6xf32>) -> tensor<2x3xf32> {
      %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
      %t = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
      %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x3xf32>
      %1 = stablehlo.dynamic_reshape %x, %t : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    with pytest.raises(DiagnosticError) as caught:
        verify(parse_module(text))
    assert [d.line for d in caught.value.diagnostics] == [5]

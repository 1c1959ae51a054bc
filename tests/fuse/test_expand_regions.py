"""Reductions, windows and scatters by regions that no op has a name for, as ops on tensors and as nests, against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from native_checks import assert_close, function, tensor, values

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import InterpretOp, NativeOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

Array = np.ndarray[Any, Any]
WHOLE = (stablehlo.ReduceOp, stablehlo.ReduceWindowOp, stablehlo.SelectAndScatterOp, stablehlo.ScatterOp, NativeOp, InterpretOp)
WINDOWS = [
    # operand, window, strides, base dilations, window dilations, padding, result
    ((5,), (3,), (1,), (1,), (1,), (0, 0), (3,)),
    ((4, 9), (2, 3), (2, 1), (1, 1), (1, 1), (0, 0, 1, 1), (2, 9)),
    ((3, 7), (2, 2), (1, 2), (1, 3), (2, 1), (1, 2, 2, 0), (4, 10)),
    ((2, 6, 19), (1, 4, 1), (1, 2, 1), (1, 1, 1), (1, 1, 1), (0, 0, 2, 2, 0, 0), (2, 4, 19)),
    ((3, 40), (1, 40), (1, 1), (1, 1), (1, 1), (0, 0, 39, 0), (3, 40)),
    ((0,), (2,), (1,), (1,), (1,), (2, 1), (2,)),
    ((9,), (1,), (2,), (1,), (1,), (0, 0), (5,)),
]


def check(text: str, inputs: Sequence[Array], tolerance: float = 0.0) -> None:
    module = parse_module(text)
    expected = interpreter.run(module, inputs)
    for pipeline in ("to-core,expand-regions", f"to-core,{GPU_LOWER}"):
        made = parse_pipeline(pipeline).run(parse_module(text))
        verify(made, "")
        assert not ops_of(made, *WHOLE)
        for mine, theirs in zip(interpreter.run(made, inputs), expected, strict=True):
            assert (np.asarray(mine).dtype, np.shape(mine)) == (np.asarray(theirs).dtype, np.shape(theirs))
            assert_close(np.asarray(mine), np.asarray(theirs), tolerance)


def winner(element: str) -> str:
    """(value, position) pairs: the larger value, of equal ones the lower position."""
    scalar = f"tensor<{element}>"
    return f"""({{
    ^bb0(%v: {scalar}, %i: tensor<i32>, %w: {scalar}, %j: tensor<i32>):
      %gt = stablehlo.compare GT, %w, %v : ({scalar}, {scalar}) -> tensor<i1>
      %eq = stablehlo.compare EQ, %w, %v : ({scalar}, {scalar}) -> tensor<i1>
      %lt = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %both = stablehlo.and %eq, %lt : tensor<i1>
      %t = stablehlo.or %gt, %both : tensor<i1>
      %x = stablehlo.select %t, %w, %v : tensor<i1>, {scalar}
      %k = stablehlo.select %t, %j, %i : tensor<i1>, tensor<i32>
      stablehlo.return %x, %k : {scalar}, tensor<i32>
    }})"""


def listed(numbers: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def pairs(shape: Sequence[int], element: str) -> list[Array]:
    """Values with positions, and an initial pair."""
    rng = np.random.default_rng(2)
    positions = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.int32)
    return [values(rng, shape, element, special=False), positions, values(rng, (), element, special=False), np.array(-1, np.int32)]


@pytest.mark.parametrize("element", ["f64", "bf16", "i32"])
@pytest.mark.parametrize(
    ("shape", "dimensions"), [((7,), (0,)), ((3, 20), (0,)), ((3, 20), (1,)), ((4, 3, 5), (0, 2)), ((0, 4), (0,)), ((2, 0), (0,)), ((5, 1), ()), ((), ())]
)
def test_reductions(element: str, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> None:
    result = tuple(n for d, n in enumerate(shape) if d not in dimensions)
    operands = [tensor(shape, element), tensor(shape, "i32"), tensor((), element), tensor((), "i32")]
    op = f'"stablehlo.reduce"($in) <{{dimensions = {listed(dimensions)}}}> {winner(element)} : $type'
    check(function(operands, [tensor(result, element), tensor(result, "i32")], op), pairs(shape, element))


@pytest.mark.parametrize("element", ["f64", "f16"])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_windows(element: str, case: tuple[tuple[int, ...], ...]) -> None:
    shape, window, strides, base, dilations, padding, result = case
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    properties = ", ".join(f"{name} = {listed(numbers)}" for name, numbers in zip(names, (window, strides, base, dilations), strict=True))
    operands = [tensor(shape, element), tensor(shape, "i32"), tensor((), element), tensor((), "i32")]
    op = f'"stablehlo.reduce_window"($in) <{{{properties}, padding = {edges}}}> {winner(element)} : $type'
    check(function(operands, [tensor(result, element), tensor(result, "i32")], op), pairs(shape, element))


@pytest.mark.parametrize("element", ["f64", "f32", "i32"])
@pytest.mark.parametrize(
    ("shape", "window", "strides", "padding", "source"),
    [((6,), 3, 1, (1, 1), (6,)), ((5, 6), 2, 2, (1, 0, 0, 0), (3, 3)), ((4, 4), 3, 1, (0, 0, 2, 2), (2, 6))],
)
@pytest.mark.parametrize("combine", ["add", "maximum"])
def test_select_and_scatter(
    element: str, shape: tuple[int, ...], window: int, strides: int, padding: tuple[int, ...], source: tuple[int, ...], combine: str
) -> None:
    edges = f"dense<[{', '.join(f'[{a}, {b}]' for a, b in zip(padding[::2], padding[1::2], strict=True))}]> : tensor<{len(shape)}x2xi64>"
    rank, scalar = len(shape), f"tensor<{element}>"
    properties = f"window_dimensions = {listed((window,) * rank)}, window_strides = {listed((strides,) * rank)}, padding = {edges}"
    regions = f"""({{
    ^bb0(%x: {scalar}, %y: {scalar}):
      %c = stablehlo.compare GE, %x, %y : ({scalar}, {scalar}) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }}, {{
    ^bb0(%x: {scalar}, %y: {scalar}):
      %s = stablehlo.{combine} %x, %y : {scalar}
      stablehlo.return %s : {scalar}
    }})"""
    operands = [tensor(shape, element), tensor(source, element), tensor((), element)]
    rng = np.random.default_rng(4)
    inputs = [values(rng, shape, element, special=False), values(rng, source, element, special=False), values(rng, (), element, special=False)]
    check(function(operands, [tensor(shape, element)], f'"stablehlo.select_and_scatter"($in) <{{{properties}}}> {regions} : $type'), inputs, 1e-6)


@pytest.mark.parametrize(("window", "scatters"), [(5, 0), (40, 1)])
def test_elements_find_the_windows_that_have_selected_them(window: int, scatters: int) -> None:
    """Unless windows are large: then there is a scatter."""
    text = f"""func.func @main(%x: tensor<3x100xf32>, %s: tensor<3x20xf32>) -> tensor<3x100xf32> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{{window_dimensions = array<i64: 1, {window}>, window_strides = array<i64: 1, 5>,
        padding = dense<[[0, 0], [0, {window - 5}]]> : tensor<2x2xi64>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}, {{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : (tensor<3x100xf32>, tensor<3x20xf32>, tensor<f32>) -> tensor<3x100xf32>
      return %0 : tensor<3x100xf32>
    }}"""
    rng = np.random.default_rng(1)
    check(text, [values(rng, (3, 100), "f32", special=False), values(rng, (3, 20), "f32", special=False)], 1e-6)
    made = parse_pipeline("to-core,expand-regions").run(parse_module(text))
    assert len(ops_of(made, core.ScatterOp)) == scatters


@pytest.mark.parametrize("unique", ["true", "false"])
def test_scatters(unique: str) -> None:
    """old + 2 new - 1, which depends on the order in which updates of one element come, and (old, new) by turns."""
    region = """({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %0 = stablehlo.multiply %old, %new : tensor<f32>
      %1 = stablehlo.subtract %0, %one : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    })"""
    numbers = (
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    )
    op = f'"stablehlo.scatter"($in) <{{{numbers}, indices_are_sorted = false, unique_indices = {unique}}}> {region} : $type'
    places = np.array([[4], [0], [9], [2]] if unique == "true" else [[4], [0], [4], [9]], np.int32)
    rng = np.random.default_rng(6)
    text = function([tensor((5, 3), "f32"), tensor((4, 1), "i32"), tensor((4, 3), "f32")], [tensor((5, 3), "f32")], op)
    check(text, [values(rng, (5, 3), "f32", special=False), places, values(rng, (4, 3), "f32", special=False)])

"""Recognition: which regions become which core ops, what is left alone, and that nothing changes what is computed."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from bitwise import assert_same_bits, special_inputs
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.core.from_core import EXPANSIONS, from_core
from wengert.transforms.core.to_core import to_core

ARGMAX = """
  ^bb0(%a: T, %i: tensor<i32>, %b: T, %j: tensor<i32>):
    %gt = stablehlo.compare GT, %a, %b, FLOAT : (T, T) -> tensor<i1>
    %ne = stablehlo.compare NE, %a, %a, FLOAT : (T, T) -> tensor<i1>
    %wins = stablehlo.or %gt, %ne : tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b, FLOAT : (T, T) -> tensor<i1>
    %lt = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %either = stablehlo.or %wins, %tie : tensor<i1>
    %value = stablehlo.select %wins, %a, %b : tensor<i1>, T
    %index = stablehlo.select %either, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : T, tensor<i32>
"""
ARGMAX = re.sub(r"\bT\b", "tensor<f64>", ARGMAX)

ARGMAX_OTHERWISE = """
  ^bb0(%a: T, %i: tensor<i32>, %b: T, %j: tensor<i32>):
    %ge = stablehlo.compare GE, %a, %b, SIGNED : (T, T) -> tensor<i1>
    %value = stablehlo.maximum %b, %a : T
    %eq = stablehlo.compare EQ, %b, %a, SIGNED : (T, T) -> tensor<i1>
    %lower = stablehlo.minimum %j, %i : tensor<i32>
    %winner = stablehlo.select %ge, %i, %j : tensor<i1>, tensor<i32>
    %index = stablehlo.select %eq, %lower, %winner : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : T, tensor<i32>
"""
ARGMAX_OTHERWISE = re.sub(r"\bT\b", "tensor<i64>", ARGMAX_OTHERWISE)


def argument_reduce(region: str, element_type: str = "f64", first: str = "0xFFF0000000000000", start: str = "0") -> str:
    return f"""
    func.func public @main(%x: tensor<5x7x{element_type}>) -> (tensor<5x{element_type}>, tensor<5xi32>) {{
      %first = stablehlo.constant dense<{first}> : tensor<{element_type}>
      %zero = stablehlo.constant dense<{start}> : tensor<i32>
      %count = stablehlo.iota dim = 1 : tensor<5x7xi32>
      %0:2 = "stablehlo.reduce"(%x, %count, %first, %zero) <{{dimensions = array<i64: 1>}}> ({{{region}}})
        : (tensor<5x7x{element_type}>, tensor<5x7xi32>, tensor<{element_type}>, tensor<i32>) -> (tensor<5x{element_type}>, tensor<5xi32>)
      return %0#0, %0#1 : tensor<5x{element_type}>, tensor<5xi32>
    }}"""


def reduce(op: str, init: str, element_type: str = "f64") -> str:
    return f"""
    func.func public @main(%x: tensor<5x7x{element_type}>, %s: tensor<{element_type}>) -> tensor<7x{element_type}> {{
      %init = stablehlo.constant dense<{init}> : tensor<{element_type}>
      %0 = stablehlo.reduce(%x init: {"%s" if init == "%s" else "%init"}) across dimensions = [0]
        : (tensor<5x7x{element_type}>, tensor<{element_type}>) -> tensor<7x{element_type}>
        reducer(%a: tensor<{element_type}>, %b: tensor<{element_type}>) {{
          %1 = stablehlo.{op} %a, %b : tensor<{element_type}>
          stablehlo.return %1 : tensor<{element_type}>
        }}
      return %0 : tensor<7x{element_type}>
    }}""".replace("dense<%s>", "dense<1>" if element_type[0] == "i" else "dense<1.0>")


def two_regions(body: str) -> str:
    return f"""
    func.func public @main(%x: tensor<5x7xf64>, %y: tensor<5x7xf64>) -> (tensor<5xf64>, tensor<5xf64>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
      %0:2 = "stablehlo.reduce"(%x, %y, %zero, %low) <{{dimensions = array<i64: 1>}}> ({{
      ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
        {body}
      }}) : (tensor<5x7xf64>, tensor<5x7xf64>, tensor<f64>, tensor<f64>) -> (tensor<5xf64>, tensor<5xf64>)
      return %0#0, %0#1 : tensor<5xf64>, tensor<5xf64>
    }}"""


def window(op: str, init: str, extents: str, padding: str, result: str = "5x7", more: str = "") -> str:
    return f"""
    func.func public @main(%x: tensor<5x7xf64>) -> tensor<{result}xf64> {{
      %c = stablehlo.constant dense<{init}> : tensor<f64>
      %init = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f64>) -> tensor<f64>
      %0 = "stablehlo.reduce_window"(%x, %init) <{{window_dimensions = array<i64: {extents}>, padding = dense<{padding}> : tensor<2x2xi64>{more}}}> ({{
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %1 = stablehlo.{op} %b, %a : tensor<f64>
        stablehlo.return %1 : tensor<f64>
      }}) : (tensor<5x7xf64>, tensor<f64>) -> tensor<{result}xf64>
      return %0 : tensor<{result}xf64>
    }}"""


def scatter(region: str) -> str:
    numbers = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    return f"""
    func.func public @main(%x: tensor<5x7xf64>, %u: tensor<3x7xf64>) -> tensor<5x7xf64> {{
      %i = stablehlo.constant dense<[[1], [9], [1]]> : tensor<3x1xi32>
      %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, unique_indices = false}}> ({{
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        {region}
      }}) : (tensor<5x7xf64>, tensor<3x1xi32>, tensor<3x7xf64>) -> tensor<5x7xf64>
      return %0 : tensor<5x7xf64>
    }}"""


def combining(op: str) -> str:
    return f"%1 = stablehlo.{op} %a, %b : tensor<f64>\n stablehlo.return %1 : tensor<f64>"


INF, LOW = "0x7FF0000000000000", "0xFFF0000000000000"
RECOGNISED = {
    "sum": (reduce("add", "0.0"), "core.reduce"),
    "product": (reduce("multiply", "1.0"), "core.reduce"),
    "maximum": (reduce("maximum", LOW), "core.reduce"),
    "minimum": (reduce("minimum", INF), "core.reduce"),
    "integer sum": (reduce("add", "0", "i32"), "core.reduce"),
    "integer maximum": (reduce("maximum", "-128", "i8"), "core.reduce"),
    "unsigned minimum": (reduce("minimum", "255", "ui8"), "core.reduce"),
    "integer and": (reduce("and", "-1", "i32"), "core.reduce"),
    "any": (reduce("or", "false", "i1"), "core.reduce"),
    "all": (reduce("and", "true", "i1"), "core.reduce"),
    "boolean sum": (reduce("add", "false", "i1"), "core.reduce"),
    "boolean minimum": (reduce("minimum", "true", "i1"), "core.reduce"),
    "complex sum": (reduce("add", "(0.0, 0.0)", "complex<f64>"), "core.reduce"),
    "sum from one": (reduce("add", "1.0"), "core.reduce stablehlo.add"),
    "maximum from zero": (reduce("maximum", "0.0"), "core.reduce stablehlo.maximum"),
    "product from an argument": (reduce("multiply", "%s"), "core.reduce stablehlo.multiply"),
    "sum and maximum": (
        two_regions("%1 = stablehlo.add %c, %a : tensor<f64>\n%2 = stablehlo.maximum %b, %d : tensor<f64>\nstablehlo.return %1, %2 : tensor<f64>, tensor<f64>"),
        "core.reduce core.reduce",
    ),
    "argmax": (argument_reduce(ARGMAX), "core.argreduce"),
    "argmin": (argument_reduce(ARGMAX.replace("compare GT", "compare LT"), first=INF), "core.argreduce"),
    "argmax written otherwise": (argument_reduce(ARGMAX_OTHERWISE, "i64", "-9223372036854775808"), "core.argreduce"),
    "cumulative sum": (window("add", "0.0", "1, 7", "[[0, 0], [6, 0]]"), "core.cumulative"),
    "cumulative maximum from the end": (window("maximum", LOW, "5, 1", "[[0, 4], [0, 0]]"), "core.cumulative"),
    "cumulative product from two": (window("multiply", "1.0", "1, 7", "[[0, 0], [6, 0]]"), "core.cumulative"),
    "average pool": (window("add", "0.0", "2, 2", "[[0, 0], [0, 1]]", "2x4", ", window_strides = array<i64: 2, 2>"), "core.window_reduce"),
    "dilated maximum": (
        window("maximum", LOW, "2, 2", "[[0, 0], [0, 0]]", "3x12", ", base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 2, 1>"),
        "core.window_reduce",
    ),
    "windows that count the start": (window("add", "1.0", "2, 2", "[[1, 0], [0, 1]]", "5x7"), "core.window_reduce stablehlo.add"),
    "scatter add": (scatter(combining("add")), "core.scatter"),
    "scatter multiply": (scatter(combining("multiply")), "core.scatter"),
    "scatter maximum": (scatter(combining("maximum")), "core.scatter"),
    "scatter subtract": (scatter(combining("subtract")), "stablehlo.negate core.scatter"),
    "scatter set": (scatter("stablehlo.return %b : tensor<f64>"), "core.scatter"),
    "scatter nothing": (scatter("stablehlo.return %a : tensor<f64>"), ""),
}
LEFT_ALONE = {
    "subtraction": reduce("subtract", "0.0"),
    "another region": two_regions(
        "%1 = stablehlo.add %a, %b : tensor<f64>\n%2 = stablehlo.add %c, %d : tensor<f64>\nstablehlo.return %1, %2 : tensor<f64>, tensor<f64>"
    ),
    "argmax from a finite value": argument_reduce(ARGMAX, first="0.0"),
    "argmax from another position": argument_reduce(ARGMAX, start="1"),
    "argmax that forgets NaN": argument_reduce(ARGMAX.replace("compare NE", "compare LT")),
    "last argmax": argument_reduce(ARGMAX.replace("LT, %i", "GT, %i")),
    "scatter of a function": scatter("%1 = stablehlo.sine %a : tensor<f64>\nstablehlo.return %1 : tensor<f64>"),
    "scatter of the difference to the update": scatter("%1 = stablehlo.subtract %b, %a : tensor<f64>\nstablehlo.return %1 : tensor<f64>"),
}
SCAFFOLD = {"builtin.module", "func.func", "func.return", "stablehlo.constant", "stablehlo.broadcast_in_dim", "stablehlo.pad"}


def ops(module: ModuleOp) -> str:
    return " ".join(op.name for op in module.walk() if op.name not in SCAFFOLD)


def check_same(before: ModuleOp, after: ModuleOp) -> None:
    """Same results on special values; sums of them may come out in another order, so the third draw is of exact sums only."""
    kinds = list(next(iter(before.ops)).function_type.inputs)  # type: ignore[attr-defined]

    for seed in range(3):
        inputs = special_inputs([(shape_of_type(t), dtype_of(t.element_type)) for t in kinds], seed)
        for x, y in zip(run(before, inputs), run(after, inputs), strict=True):
            if seed == 2:
                assert_same_bits(x, y, signed_zeros=False)
            else:
                np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("name", RECOGNISED)
def test_recognised(name: str) -> None:
    text, expected = RECOGNISED[name]
    module = parse_module(text)
    verify(module)
    before = module.clone()
    to_core(module)
    verify(module)
    assert ops(module) == expected
    check_same(before, module)
    from_core(module)
    verify(module)
    assert not Counter(op.name for op in module.walk() if op.name.startswith("core."))
    check_same(before, module)


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    module = parse_module(LEFT_ALONE[name])
    verify(module)
    before = print_module(module)
    to_core(module)
    assert print_module(module) == before


def test_neutral_starts_are_not_left_behind() -> None:
    module = parse_module(reduce("maximum", LOW))
    to_core(module)
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "core.reduce", "func.return"]


def test_a_sum_of_negative_zeros_is_positive_zero() -> None:
    module = parse_module(reduce("add", "0.0"))
    to_core(module)
    (total,) = run(module, [np.full((5, 7), -0.0), np.array(0.0)])
    assert not np.signbit(total).any()


def test_locations_are_kept() -> None:
    module = parse_module(reduce("add", "1.0"), "program.mlir")
    to_core(module)
    assert all("program.mlir" in str(op.location) for op in next(iter(module.ops)).regions[0].block.ops)


def test_every_op_of_a_kind_has_an_expansion() -> None:
    from wengert.dialects.core import Core

    assert {op for op in Core.operations if op.__module__ == "wengert.dialects.core"} <= set(EXPANSIONS)

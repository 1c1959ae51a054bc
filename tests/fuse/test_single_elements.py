"""Reads and writes of single elements of rows: which are applied to these alone, and that results are the same to the bit."""

from typing import Any

import numpy as np
import pytest

from wengert.dialects import core, stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline

GATHER = (
    "#stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>"
)
SCATTER = (
    "#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], "
    "scatter_dims_to_operand_dims = [1], index_vector_dim = 2>"
)

READ = f"""func.func public @main(%x: tensor<6x40xf32>, %b: tensor<6xf32>, %i: tensor<6x1x1xi32>) -> tensor<6x1xf32> {{
  %e = stablehlo.exponential %x : tensor<6x40xf32>
  %w = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<6xf32>) -> tensor<6x40xf32>
  %c = stablehlo.constant dense<3.0> : tensor<6x40xf32>
  %s = stablehlo.subtract %e, %w : tensor<6x40xf32>
  %d = stablehlo.multiply %s, %c : tensor<6x40xf32>
  %y = "stablehlo.gather"(%d, %i) <{{dimension_numbers = {GATHER}, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}}>
    : (tensor<6x40xf32>, tensor<6x1x1xi32>) -> tensor<6x1xf32>
  return %y : tensor<6x1xf32> }}"""

WRITE = f"""func.func public @main(%x: tensor<6x40xf32>, %u: tensor<6x1xf32>, %i: tensor<6x1x1xi32>) -> tensor<6x40xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<6x40xf32>
  %o = core.scatter KIND %z, %i, %u, dims = {SCATTER}, sorted = false, unique = false : (tensor<6x40xf32>, tensor<6x1x1xi32>, tensor<6x1xf32>) -> tensor<6x40xf32>
  %y = stablehlo.multiply %o, %x : tensor<6x40xf32>
  return %y : tensor<6x40xf32> }}"""

INDICES = np.array([0, 39, 7, 40, -1, 3], np.int32).reshape(6, 1, 1)
"""Two of them are out of range: a gather takes the nearest element, a scatter none."""


def picked(text: str) -> Any:
    module = parse_module(text)
    parse_pipeline("to-core,pick-elements").run(module)
    module.verify()
    return module


def bits(results: Any) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results]


def test_a_gather_reads_operands_of_elementwise_ops() -> None:
    module = picked(READ)
    inputs = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((6, 40), (6,))] + [INDICES]
    (gather,) = [op for op in module.walk() if isinstance(op, stablehlo.GatherOp)]
    assert gather.operand is module.body.block.first_op.body.block.args[0]
    assert bits(run(module, inputs)) == bits(run(parse_module(READ), inputs))
    np.testing.assert_allclose(compile(module)(*inputs)[0], run(parse_module(READ), inputs)[0], rtol=1e-5)


@pytest.mark.parametrize("kind", ["add", "set"])
@pytest.mark.parametrize("update", [1.5, -0.0, np.nan, np.inf])
def test_one_element_of_each_row_is_a_choice_by_position(kind: str, update: float) -> None:
    text = WRITE.replace("KIND", kind)
    module = picked(text)
    assert not [op for op in module.walk() if isinstance(op, core.ScatterOp)]
    inputs = [np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32), np.full((6, 1), update, np.float32), INDICES]
    expected = run(parse_module(text), inputs)
    assert bits(run(module, inputs)) == bits(expected)
    np.testing.assert_array_equal(compile(module)(*inputs)[0], expected[0])
    assert (np.signbit(compile(module)(*inputs)[0]) == np.signbit(expected[0])).all() or np.isnan(update)


@pytest.mark.parametrize(
    ("text", "change"),
    [(READ, ("6x1xi32", "6x8x1xi32")), (WRITE.replace("KIND", "add"), ("dense<0.0>", "dense<1.0>")), (WRITE.replace("KIND", "max"), ("", ""))],
    ids=["many elements of a row", "not zeros", "another kind"],
)
def test_what_is_left_as_it_is(text: str, change: tuple[str, str]) -> None:
    if change[0] == "6x1xi32":
        text = text.replace("6x1x1xi32", "6x8x1xi32").replace("tensor<6x1xf32>", "tensor<6x8xf32>")
    elif change[0]:
        text = text.replace(*change)
    module = parse_module(text)
    parse_pipeline("to-core").run(module)
    before = str(module)
    parse_pipeline("pick-elements").run(module)
    assert str(module) == before

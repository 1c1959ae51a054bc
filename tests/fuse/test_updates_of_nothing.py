"""Updates of arrays without elements: whatever the positions are, nothing is written."""

from __future__ import annotations

import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.transforms.pipelines import parse_pipeline

SCATTER = """func.func public @main(%x: {operand}, %i: {indices}, %u: {updates}) -> {operand} {{
  %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }}) : ({operand}, {indices}, {updates}) -> {operand}
  return %0 : {operand}
}}"""


@pytest.mark.parametrize(
    ("operand", "indices", "updates", "numbers"),
    [
        ("0x3x3", "2x1", "2x3", "update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1"),
        ("0x3", "4x1", "4", "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1"),
        ("0", "4x1", "4", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"),
    ],
)
def test_no_kernel_is_made(operand: str, indices: str, updates: str, numbers: str) -> None:
    text = SCATTER.format(operand=f"tensor<{operand}xf64>", indices=f"tensor<{indices}xi32>", updates=f"tensor<{updates}xf64>", numbers=numbers)
    module = parse_module(text)
    parse_pipeline("to-core,fuse").run(module)
    assert not [op.name for op in module.walk() if op.name.startswith("kernel.")]

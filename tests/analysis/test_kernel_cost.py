"""The flops of kernels are those of the ops that they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.pipelines import LOWER, parse_pipeline

HEAD = "func.func public @main(%x: tensor<400x30xf64>, %w: tensor<30x20xf64>)"
PROGRAMS = {
    "elementwise": f"""{HEAD} -> tensor<400x30xf64> {{
      %0 = stablehlo.multiply %x, %x : tensor<400x30xf64>
      %1 = stablehlo.tanh %0 : tensor<400x30xf64>
      return %1 : tensor<400x30xf64>
    }}""",
    "product and sum": f"""{HEAD} -> tensor<20xf64> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<400x30xf64>, tensor<30x20xf64>) -> tensor<400x20xf64>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<400x20xf64>, tensor<f64>) -> tensor<20xf64>
      return %1 : tensor<20xf64>
    }}""",
    "integers": f"""{HEAD} -> tensor<400x30xi32> {{
      %0 = stablehlo.convert %x : (tensor<400x30xf64>) -> tensor<400x30xi32>
      %1 = stablehlo.add %0, %0 : tensor<400x30xi32>
      return %1 : tensor<400x30xi32>
    }}""",
    "code of its own": f"""{HEAD} -> tensor<30x30xf64> {{
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<400x30xf64>, tensor<400x30xf64>) -> tensor<30x30xf64>
      %1 = stablehlo.cholesky %0, lower = true : tensor<30x30xf64>
      return %1 : tensor<30x30xf64>
    }}""",
}


def counted(text: str, pipeline: str) -> Counter:
    module = parse_pipeline(pipeline).run(parse_module(text))
    counter, random = Counter(), np.random.default_rng(0)
    run(module, [random.normal(size=(400, 30)), random.normal(size=(30, 20))], counter=counter)
    return counter


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_count_as_the_program(name: str) -> None:
    core, kernels = counted(PROGRAMS[name], "to-core"), counted(PROGRAMS[name], "to-core,fuse")
    assert kernels.transcendentals == core.transcendentals
    # a reduction into a result starts from its neutral element: one combination more for each
    assert core.flops <= kernels.flops <= core.flops + 20
    assert any(op.startswith("kernel.") for op in kernels.ops)


def test_a_strip_mined_program_counts_every_strip() -> None:
    text = """func.func public @main(%x: tensor<2000x300xf64>) -> tensor<2000x300xf64> {
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %0 = stablehlo.exponential %x : tensor<2000x300xf64>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2000x300xf64>, tensor<f64>) -> tensor<2000xf64>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2000xf64>) -> tensor<2000x300xf64>
      %3 = stablehlo.divide %0, %2 : tensor<2000x300xf64>
      return %3 : tensor<2000x300xf64>
    }"""
    module, counter = parse_pipeline(f"to-core,{LOWER}").run(parse_module(text)), Counter()
    run(module, [np.ones((2000, 300))], counter=counter)
    assert counter.ops["kernel.strip_mine"] == 1
    assert counter.transcendentals == 2000 * 300
    assert counter.flops == 3 * 2000 * 300

"""Shapes that fill a GPU, and are no multiples of its groups: teams, parts, tiles, squares and vector accesses as the cost model chooses them give the
results that the program has at core level."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.dialects.kernel import NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import GPU_LOWER, gpu_lowering, parse_pipeline

SOFTMAX = """func.func public @main(%x: tensor<ROWSxCOLSxf32>) -> tensor<ROWSxCOLSxf32> {
    %m = core.reduce max %x across [1] : (tensor<ROWSxCOLSxf32>) -> tensor<ROWSxf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLSxf32>
    %d = stablehlo.subtract %x, %mb : tensor<ROWSxCOLSxf32>
    %e = stablehlo.exponential %d : tensor<ROWSxCOLSxf32>
    %s = core.reduce add %e across [1] : (tensor<ROWSxCOLSxf32>) -> tensor<ROWSxf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLSxf32>
    %y = stablehlo.divide %e, %sb : tensor<ROWSxCOLSxf32>
    return %y : tensor<ROWSxCOLSxf32> }"""
SUMS = """func.func public @main(%x: tensor<ROWSxCOLSxf32>) -> (tensor<ROWSxf32>, tensor<COLSxf32>, tensor<f32>) {
    %t = stablehlo.tanh %x : tensor<ROWSxCOLSxf32>
    %0 = core.reduce add %t across [1] : (tensor<ROWSxCOLSxf32>) -> tensor<ROWSxf32>
    %1 = core.reduce add %t across [0] : (tensor<ROWSxCOLSxf32>) -> tensor<COLSxf32>
    %2 = core.reduce add %t across [0, 1] : (tensor<ROWSxCOLSxf32>) -> tensor<f32>
    return %0, %1, %2 : tensor<ROWSxf32>, tensor<COLSxf32>, tensor<f32> }"""
TRANSPOSED = """func.func public @main(%x: tensor<ROWSxCOLSxf32>, %y: tensor<COLSxROWSxf32>) -> tensor<COLSxROWSxf32> {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<ROWSxCOLSxf32>) -> tensor<COLSxROWSxf32>
    %1 = stablehlo.add %0, %y : tensor<COLSxROWSxf32>
    return %1 : tensor<COLSxROWSxf32> }"""
PRODUCT = """func.func public @main(%x: tensor<ROWSxCOLSxf32>, %y: tensor<ROWSx45xf32>) -> tensor<COLSx45xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<ROWSxCOLSxf32>, tensor<ROWSx45xf32>) -> tensor<COLSx45xf32>
    return %0 : tensor<COLSx45xf32> }"""
FLAT = """func.func public @main(%x: tensor<ROWSxCOLSxf32>) -> tensor<ROWSxCOLSxf32> {
    %0 = stablehlo.sine %x : tensor<ROWSxCOLSxf32>
    return %0 : tensor<ROWSxCOLSxf32> }"""
CASES = [
    (SOFTMAX, 1000, 1003, "reduce = {loops = [1]"),
    (SOFTMAX, 300, 2052, "elements = 4, reduce"),
    (SOFTMAX, 3, 70000, "parts"),
    (SUMS, 1001, 515, "columns"),
    (SUMS, 20011, 30, "parts"),
    (TRANSPOSED, 301, 517, "transpose"),
    (PRODUCT, 130, 70, "tile"),
    (PRODUCT, 33, 300, "tile"),
    (FLAT, 1001, 515, "elements"),
]


@pytest.mark.parametrize(("program", "rows", "columns", "entry"), CASES)
def test_results(program: str, rows: int, columns: int, entry: str) -> None:
    def lowered(pipeline: str):
        text = program.replace("ROWS", str(rows)).replace("COLS", str(columns))
        return parse_pipeline(pipeline).run(alone(core_form(parse_module(text)), "main"))

    scheduled = lowered(f"{GPU_LOWER},schedule{{target=gpu}}")
    assert any(entry in str(op.gpu_schedule.data) for op in scheduled.walk() if isinstance(op, NestOp) and op.gpu_schedule is not None)
    module = lowered(gpu_lowering())
    core = lowered("")
    random = np.random.default_rng(3)
    (function,) = core.ops
    inputs = [random.standard_normal(argument.type.get_shape()).astype(np.float32) for argument in function.body.block.args]
    for seen, wanted in zip(run(module, inputs), run(core, inputs), strict=True):
        np.testing.assert_allclose(seen, wanted, rtol=2e-4, atol=2e-3 if seen.ndim < 2 else 1e-5)

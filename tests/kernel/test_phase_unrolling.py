"""Short innermost loops unrolled: interleaved elements in compiled code against the interpreter, and the nests that they become."""

import numpy as np
import pytest
from native_checks import check

from wengert.dialects.kernel import NestOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.lowering import lower

EXTENT = {"whole": 120, "a rest": 121}
BODIES = {
    "pad": "%r = stablehlo.pad %x, %z, low = [{low}], high = [{high}], interior = [1] : (tensor<60xf32>, tensor<f32>) -> tensor<{n}xf32>",
    "pad of two": """%a = stablehlo.pad %x, %z, low = [1], high = [{rest}], interior = [1] : (tensor<60xf32>, tensor<f32>) -> tensor<{n}xf32>
      %w = stablehlo.negate %x : tensor<60xf32>
      %b = stablehlo.pad %w, %z, low = [0], high = [{high}], interior = [1] : (tensor<60xf32>, tensor<f32>) -> tensor<{n}xf32>
      %r = stablehlo.add %a, %b : tensor<{n}xf32>""",
    "reversed": """%v = stablehlo.pad %x, %z, low = [1], high = [{rest}], interior = [1] : (tensor<60xf32>, tensor<f32>) -> tensor<{n}xf32>
      %r = stablehlo.reverse %v, dims = [0] : tensor<{n}xf32>""",
}


@pytest.mark.parametrize("extent", EXTENT)
@pytest.mark.parametrize("body", BODIES)
def test_interior_padding(body: str, extent: str) -> None:
    n = EXTENT[extent]
    lines = BODIES[body].format(n=n, low=0, high=n - 119, rest=n - 120)
    text = f"""func.func @main(%x: tensor<60xf32>) -> tensor<{n}xf32> {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      {lines}
      return %r : tensor<{n}xf32>
    }}"""
    check(text, [np.random.default_rng(1).normal(size=60).astype(np.float32)], 1e-6)
    nests = ops_of(lower(parse_module(text)), NestOp)
    assert [(op.extents, len(op.writes)) for op in nests] == [((60,), 2), *([((), 1)] if extent == "a rest" else [])]


@pytest.mark.parametrize(("width", "element", "unrolled"), [(2, "f64", True), (3, "f32", True), (4, "f32", True), (4, "f64", False), (5, "f32", False)])
def test_short_rows(width: int, element: str, unrolled: bool) -> None:
    """Rows of points, each times its own weight: lanes are points if a row is much shorter than a register."""
    text = f"""func.func @main(%x: tensor<50x{width}x{element}>, %w: tensor<50x{element}>) -> tensor<50x{width}x{element}> {{
      %b = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<50x{element}>) -> tensor<50x{width}x{element}>
      %m = stablehlo.multiply %x, %b : tensor<50x{width}x{element}>
      %r = stablehlo.reverse %m, dims = [1] : tensor<50x{width}x{element}>
      return %r : tensor<50x{width}x{element}>
    }}"""
    rng, dtype = np.random.default_rng(2), {"f32": np.float32, "f64": np.float64}[element]
    check(text, [rng.normal(size=(50, width)).astype(dtype), rng.normal(size=50).astype(dtype)])
    (op,) = ops_of(lower(parse_module(text)), NestOp)
    assert (len(op.writes) == width) == unrolled


def test_what_is_combined_or_read_at_computed_positions_is_left_alone() -> None:
    text = """func.func @main(%x: tensor<50x3xf64>, %i: tensor<50x1xi64>) -> (tensor<3xf64>, tensor<50x3xf64>) {
      %z = stablehlo.constant dense<0.0> : tensor<f64>
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<50x3xf64>, tensor<f64>) -> tensor<3xf64>
      %g = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 3>}> : (tensor<50x3xf64>, tensor<50x1xi64>) -> tensor<50x3xf64>
      return %s, %g : tensor<3xf64>, tensor<50x3xf64>
    }"""
    rng = np.random.default_rng(3)
    check(text, [rng.normal(size=(50, 3)), rng.integers(0, 50, (50, 1))], 1e-14)
    assert all(len(op.writes) == 1 for op in ops_of(lower(parse_module(text)), NestOp))

"""Products of complex matrices become real ones; values against the interpreter."""

import numpy as np
import pytest
from native_checks import check

from wengert.dialects.kernel import MatmulOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import element, f32, f64
from wengert.ir.traversal import ops_of
from wengert.transforms.lowering import lower

SHAPES = {
    "plain": ((20, 30), (30, 7), "contracting_dims = [1] x [0]", (20, 7)),
    "turned": ((30, 20), (7, 30), "contracting_dims = [0] x [1]", (20, 7)),
    "batched": ((5, 8, 9), (5, 9, 4), "batching_dims = [0] x [0], contracting_dims = [2] x [1]", (5, 8, 4)),
    "two sums": ((6, 7, 8), (8, 7, 5), "contracting_dims = [1, 2] x [1, 0]", (6, 5)),
    "matrix and vector": ((40, 30), (30,), "contracting_dims = [1] x [0]", (40,)),
    "two vectors": ((900,), (900,), "contracting_dims = [0] x [0]", ()),
}


def kind(shape: tuple[int, ...], element_type: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type}>"


def draw(shape: tuple[int, ...], dtype: type[np.generic], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else 0)).astype(dtype)


@pytest.mark.parametrize("part", ["f64", "f32"])
@pytest.mark.parametrize("case", SHAPES)
def test_complex_sides(case: str, part: str) -> None:
    x, y, dims, z = SHAPES[case]
    element_type = f"complex<{part}>"
    text = f"""func.func @main(%x: {kind(x, element_type)}, %y: {kind(y, element_type)}) -> {kind(z, element_type)} {{
      %0 = stablehlo.dot_general %x, %y, {dims} : ({kind(x, element_type)}, {kind(y, element_type)}) -> {kind(z, element_type)}
      return %0 : {kind(z, element_type)}
    }}"""
    dtype = np.complex128 if part == "f64" else np.complex64
    check(text, [draw(x, dtype, 0), draw(y, dtype, 1)], 1e-12 if part == "f64" else 2e-4)
    products = ops_of(lower(parse_module(text)), MatmulOp)
    assert {element(op.result) for op in products} <= {f64 if part == "f64" else f32}


@pytest.mark.parametrize("real", [("x",), ("y",), ("x", "y")])
def test_real_sides(real: tuple[str, ...]) -> None:
    """A matrix that is real but for its type has no imaginary part to multiply."""
    kinds = {name: kind((24, 24), "f64" if name in real else "complex<f64>") for name in "xy"}
    wide = kind((24, 24), "complex<f64>")
    lines = [f"%c{name} = stablehlo.convert %{name} : ({kinds[name]}) -> {wide}" for name in real]
    sides = {name: f"%c{name}" if name in real else f"%{name}" for name in "xy"}
    text = f"""func.func @main(%x: {kinds["x"]}, %y: {kinds["y"]}) -> {wide} {{
      {chr(10).join(lines)}
      %0 = stablehlo.dot_general {sides["x"]}, {sides["y"]}, contracting_dims = [1] x [0] : ({wide}, {wide}) -> {wide}
      return %0 : {wide}
    }}"""
    arguments = [draw((24, 24), np.float64 if name in real else np.complex128, seed) for seed, name in enumerate("xy")]
    check(text, arguments, 1e-12)
    products = ops_of(lower(parse_module(text)), MatmulOp)
    assert len(products) == (1 if len(real) == 2 else 2)
    assert all(op.operands[0].type == op.operands[1].type for op in products)


def test_small_products_stay_loops_over_pairs() -> None:
    element_type = "tensor<3x3xcomplex<f64>>"
    text = f"""func.func @main(%x: {element_type}, %y: {element_type}) -> {element_type} {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({element_type}, {element_type}) -> {element_type}
      return %0 : {element_type}
    }}"""
    check(text, [draw((3, 3), np.complex128, 0), draw((3, 3), np.complex128, 1)], 1e-13)
    assert len(ops_of(lower(parse_module(text)), MatmulOp)) == 1

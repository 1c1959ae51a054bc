"""Transposed reads run in tiles: every size around a tile, every element type, and what shares the loops with them."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8, "i1": np.bool_, "complex<f32>": np.complex64}


def tensor(extents: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in extents)}{element}>"


def check(text: str, *inputs: np.ndarray) -> None:
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    for actual, expected in zip(compiled(*inputs), run(module, list(inputs)), strict=True):
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(actual, expected)
        else:
            np.testing.assert_allclose(actual, expected, rtol=4e-3 if expected.dtype == np.float16 else 2e-6)


def numbers(extents: tuple[int, ...], element: str) -> np.ndarray:
    integers = np.random.default_rng(sum(extents)).integers(-100, 100, extents)
    return (integers > 0) if element == "i1" else (integers + (1j if "complex" in element else 0)).astype(TYPES[element])


@pytest.mark.parametrize("element", TYPES)
def test_element_types(element: str) -> None:
    before, after = tensor((37, 21), element), tensor((21, 37), element)
    check(
        f"func.func @main(%a: {before}) -> {after} {{ %0 = stablehlo.transpose %a, dims = [1, 0] : ({before}) -> {after}\n return %0 : {after} }}",
        numbers((37, 21), element),
    )


@pytest.mark.parametrize("extents", [(3, 40), (4, 40), (5, 7), (16, 16), (15, 17), (33, 64), (40, 2)])
def test_sizes(extents: tuple[int, int]) -> None:
    before, after = tensor(extents, "f32"), tensor(extents[::-1], "f32")
    check(
        f"func.func @main(%a: {before}) -> {after} {{ %0 = stablehlo.transpose %a, dims = [1, 0] : ({before}) -> {after}\n return %0 : {after} }}",
        numbers(extents, "f32"),
    )


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_orders_of_three(order: tuple[int, ...]) -> None:
    extents = (6, 18, 9)
    before, after = tensor(extents, "f64"), tensor(tuple(extents[d] for d in order), "f64")
    dims = ", ".join(map(str, order))
    check(
        f"func.func @main(%a: {before}) -> {after} {{ %0 = stablehlo.transpose %a, dims = [{dims}] : ({before}) -> {after}\n return %0 : {after} }}",
        numbers(extents, "f64"),
    )


def test_what_shares_the_loops() -> None:
    """Values of rows, of columns, contiguous reads, two transposed reads, and two results."""
    check(
        """func.func @main(%a: tensor<19x34xf32>, %b: tensor<34x19xf32>, %r: tensor<34xf32>, %c: tensor<19xf32>) -> (tensor<34x19xf32>, tensor<34x19xf32>) {
        %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<19x34xf32>) -> tensor<34x19xf32>
        %v = stablehlo.reverse %a, dims = [0] : tensor<19x34xf32>
        %u = stablehlo.transpose %v, dims = [1, 0] : (tensor<19x34xf32>) -> tensor<34x19xf32>
        %e = stablehlo.tanh %r : tensor<34xf32>
        %rows = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<34xf32>) -> tensor<34x19xf32>
        %columns = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<19xf32>) -> tensor<34x19xf32>
        %0 = stablehlo.add %t, %b : tensor<34x19xf32>
        %1 = stablehlo.multiply %0, %rows : tensor<34x19xf32>
        %2 = stablehlo.add %1, %columns : tensor<34x19xf32>
        %3 = stablehlo.multiply %u, %2 : tensor<34x19xf32>
        return %2, %3 : tensor<34x19xf32>, tensor<34x19xf32> }""",
        numbers((19, 34), "f32"),
        numbers((34, 19), "f32"),
        numbers((34,), "f32") / 100,
        numbers((19,), "f32"),
    )


def test_pieces_of_a_concatenation() -> None:
    check(
        """func.func @main(%a: tensor<20x10xf32>, %b: tensor<20x30xf32>) -> tensor<40x20xf32> {
        %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<20x10xf32>) -> tensor<10x20xf32>
        %1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<20x30xf32>) -> tensor<30x20xf32>
        %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<10x20xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
        return %2 : tensor<40x20xf32> }""",
        numbers((20, 10), "f32"),
        numbers((20, 30), "f32"),
    )


def test_sum_of_a_matrix_and_its_transpose_in_a_chain() -> None:
    """The second sum may not overwrite what its own transposed read still needs."""
    check(
        """func.func @main(%a: tensor<24x24xf64>) -> tensor<24x24xf64> {
        %e = stablehlo.exponential %a : tensor<24x24xf64>
        %t = stablehlo.transpose %e, dims = [1, 0] : (tensor<24x24xf64>) -> tensor<24x24xf64>
        %s = stablehlo.add %e, %t : tensor<24x24xf64>
        %x = stablehlo.logistic %s : tensor<24x24xf64>
        %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<24x24xf64>) -> tensor<24x24xf64>
        %z = stablehlo.subtract %x, %y : tensor<24x24xf64>
        return %z : tensor<24x24xf64> }""",
        numbers((24, 24), "f64") / 50,
    )

"""Sums at computed positions in parts: right for every kind and type, to the sign of a zero; strict programs keep their order."""

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline

NUMBERS = {
    "elements": "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
    "rows": "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
}
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}


def scatter(kind: str, element: str, form: str, count: int) -> str:
    row = "" if form == "elements" else "x3"
    x, i, u = f"tensor<40{row}x{element}>", f"tensor<{count}x1xi32>", f"tensor<{count}{row}x{element}>"
    return f"""func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{
      %0 = "core.scatter"(%x, %i, %u) <{{kind = #core<kind {kind}>, indices_are_sorted = false, unique_indices = false,
        scatter_dimension_numbers = #stablehlo.scatter<{NUMBERS[form]}>}}> : ({x}, {i}, {u}) -> {x}
      return %0 : {x}
    }}"""


def operands(element: str, form: str, count: int) -> list[np.ndarray]:
    rng, row = np.random.default_rng(5), () if form == "elements" else (3,)
    values = [rng.normal(size=(n, *row)) * 3 for n in (40, count)]
    x, u = (each.astype(DTYPES[element]) for each in values)
    return [x, rng.integers(-1, 39, (count, 1)).astype(np.int32), u]


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("kind", ["add", "mul", "max", "min"])
def test_parts_are_right_on_any_number_of_threads(kind: str, element: str, form: str) -> None:
    count = 60000
    module, given = parse_module(scatter(kind, element, form, count)), operands(element, form, count)
    if kind == "mul" and element in ("f32", "f64"):
        given[2] = (1 + given[2] * 1e-3).astype(DTYPES[element])
    lowered = str(parse_pipeline("to-core,fuse,split-reductions").run(parse_module(scatter(kind, element, form, count))))
    assert lowered.count("kernel.nest") == 3
    (expected,) = run(module, given)
    program, bits = compile(module), set[bytes]()
    for threads in (1, 2, 3, 8):
        pool.set_threads(threads)
        (result,) = program(*given)
        bits.add(result.tobytes())
        if element in ("i32", "i64") or kind in ("max", "min"):
            np.testing.assert_array_equal(result, expected)
        else:
            np.testing.assert_allclose(result, expected, rtol=3e-3 if element == "f32" else 1e-11, atol=1e-3 if element == "f32" else 1e-10)
    pool.set_threads(default_threads())
    assert len(bits) == 1
    (strict,) = compile(module, strict=True)(*given)
    np.testing.assert_array_equal(strict, expected)


def test_an_element_that_nothing_is_added_to_keeps_the_sign_of_its_zero() -> None:
    given = operands("f32", "elements", 60000)
    given[0][39] = -0.0
    (result,) = compile(parse_module(scatter("add", "f32", "elements", 60000)))(*given)
    assert np.signbit(result[39])

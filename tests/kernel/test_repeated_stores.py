"""Replacing scatters whose positions are known before they run: every update goes to the same elements, and the last one stays.

Nothing of the position is left in the nest where the scattered dimension has one element, so it looks like a store of different elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_backends import BACKENDS

import wengert as wg
from wengert.transforms.pipelines import lowering, parse_pipeline

EVERY: list[Any] = ["cpu", *BACKENDS]
WINDOWS: list[tuple[int, ...]] = [(), (1,), (2,), (16,), (3, 7), (33,)]


def scatter(updates: int, window: tuple[int, ...], *, constant: bool, reads: bool = False) -> wg.Program:
    """A scatter into the one row of an array, at positions that are given or constant, beside other ops that read the array before it is changed."""
    dims = ", ".join(str(d + 1) for d in range(len(window)))
    one, many = ("x".join(map(str, (n, *window))) for n in (1, updates))
    zeros = f"%zeros = stablehlo.constant dense<0> : tensor<{updates}x1xi32>" if constant else ""
    positions = "%zeros" if constant else "%i"
    before = (
        f"""%rows = stablehlo.broadcast_in_dim %own, dims = [{", ".join(map(str, range(len(window) + 1)))}] : (tensor<{one}xf32>) -> tensor<{many}xf32>
  %sums = stablehlo.add %rows, %u : tensor<{many}xf32>"""
        if reads
        else ""
    )
    results, types = ("%0, %sums", f"tensor<{one}xf32>, tensor<{many}xf32>") if reads else ("%0", f"tensor<{one}xf32>")
    return wg.parse(f"""func.func @main(%x: tensor<{one}xf32>, %i: tensor<{updates}x1xi32>, %u: tensor<{many}xf32>) -> ({types}) {{
  {zeros}
  %own = stablehlo.add %x, %x : tensor<{one}xf32>
  {before}
  %0 = "stablehlo.scatter"(%own, {positions}, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{dims}], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }}) : (tensor<{one}xf32>, tensor<{updates}x1xi32>, tensor<{many}xf32>) -> tensor<{one}xf32>
  return {results} : {types} }}""")


def inputs(updates: int, window: tuple[int, ...]) -> list[np.ndarray[Any, np.dtype[Any]]]:
    rng = np.random.default_rng(updates)
    return [
        rng.standard_normal((1, *window)).astype(np.float32),
        rng.integers(-1, 2, (updates, 1)).astype(np.int32),
        rng.integers(-50, 50, (updates, *window)).astype(np.float32),
    ]


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("backend", EVERY)
def test_the_last_update_stays(backend: str, window: tuple[int, ...], constant: bool, reads: bool) -> None:
    for updates in (2, 19, 300) if backend != "ptx-interpreter" else (19, 150):
        program = scatter(updates, window, constant=constant, reads=reads)
        given = inputs(updates, window)
        for result, expected in zip(program.compile(backend)(*given), program.compile("interpreter")(*given), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_many_updates_on_all_threads() -> None:
    program, given = scatter(60_000, (64,), constant=False), inputs(60_000, (64,))
    expected = program.compile("interpreter")(*given)[0]
    compiled = program.compile()
    for _ in range(5):
        np.testing.assert_array_equal(compiled(*given)[0], expected)


def test_the_loop_over_updates_is_sequential() -> None:
    module = scatter(19, (16,), constant=False).module.clone()
    parse_pipeline("to-core," + lowering()).run(module)
    assert "iterators [sequential, parallel]" in str(module)

"""Sparse constants: zeros but for the elements at the positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg


def constant(text: str, type: str) -> np.ndarray[Any, np.dtype[Any]]:
    """The value of this constant."""
    program = wg.parse(f"func.func @main() -> {type} {{\n  %c = arith.constant {text} : {type}\n  return %c : {type}\n}}", "test.mlir")
    return program.compile("interpreter")()[0]


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        ("sparse<[[0, 0], [1, 2]], [1.0, -5.5]>", "tensor<2x3xf64>", [[1.0, 0, 0], [0, 0, -5.5]]),
        ("sparse<[[0, 0], [1, 1]], 2.0>", "tensor<2x2xf32>", [[2.0, 0], [0, 2.0]]),  # one value for all positions
        ("sparse<[1, 2], 7>", "tensor<2x3xi64>", [[0, 0, 0], [0, 0, 7]]),  # one position
        ("sparse<0, 7>", "tensor<3xi32>", [7, 0, 0]),
        ("sparse<>", "tensor<2xf64>", [0.0, 0.0]),
        ("sparse<[[0]], [true]>", "tensor<2xi1>", [True, False]),
        ("sparse<[[1]], [(1.0, 2.0)]>", "tensor<2xcomplex<f64>>", [0, 1 + 2j]),
    ],
)
def test_the_value(text: str, type: str, value: Any) -> None:
    np.testing.assert_array_equal(constant(text, type), value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sparse<[[0, 4]], 1.0>", "do not lie in the shape"),
        ("sparse<[[0, -1]], 1.0>", "do not lie in the shape"),
        ("sparse<[[0, 0]]>", "needs positions and values"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=rf"test\.mlir:2:\d+: error: .*{said}"):
        constant(text, "tensor<3x4xf64>")


@pytest.mark.parametrize("text", ["sparse<[[0]], 1.0>", "sparse<[[0, 0], [1, 1]], [1.0]>", "sparse<[[0, 0], 1.0>"])
def test_shapes_that_do_not_agree_are_mistakes(text: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=r"test\.mlir:2:\d+: error:"):
        constant(text, "tensor<3x4xf64>")

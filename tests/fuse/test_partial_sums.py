"""Cotangents of what many layers share: added up as they come, in memory that does not grow with the layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program


def layers(count: int, rows: int, width: int, dtype: Any) -> Program:
    """As many layers with one weight."""

    def loss(x: Any, w: Any) -> Any:
        for _ in range(count):
            x = wnp.tanh(x @ w)
        return wnp.sum(x * x)

    return wg.jit(loss).program(np.zeros((rows, width), dtype), np.zeros((width, width), dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_memory_of_a_shared_weight(dtype: Any):
    width = 128
    few, many = (layers(count, 16, width, dtype).vjp(wrt=1).compile().stats.arena_bytes for count in (4, 12))
    weight = width * width * np.dtype(dtype).itemsize
    assert many - few < 2 * weight  # what the layers keep themselves; six weights and more if all contributions waited


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [16, 40])
def test_the_values_are_those_of_the_interpreter(dtype: Any, rows: int):
    program = layers(6, rows, 96, dtype).vjp(wrt=1)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((rows, 96)).astype(dtype), (rng.standard_normal((96, 96)) / 10).astype(dtype)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    for a, b in zip(program(x, w, dtype(1)), program.compile("interpreter")(x, w, dtype(1)), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * float(np.abs(b).max()))


def test_what_is_planned_is_allocated():
    program = layers(8, 16, 128, np.float64).vjp(wrt=1)
    for plan in program.frontier.best:
        assert program.within(plan.arena).compile().stats.arena_bytes == plan.arena

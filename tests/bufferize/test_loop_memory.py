"""What loops take of the arena: second buffers only for what their bodies do not update in place, and one buffer less where several values begin as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program

STEPS, ROWS, WIDTH = 40, 8, 16
STATE = ROWS * WIDTH * 8


def steps() -> Program:
    def loss(x: Any, w: Any) -> Any:
        return wnp.sum(wg.fori_loop(0, STEPS, lambda i, s: s + 0.01 * wnp.tanh(s @ w), x) ** 2)

    return wg.jit(loss).program(np.zeros((ROWS, WIDTH)), np.zeros((WIDTH, WIDTH)))


def test_stacks_have_no_second_buffers():
    """Two stacks are kept: of states and of derivatives."""
    arena = steps().vjp().compile().stats.arena_bytes
    assert 2 * STEPS * STATE <= arena < 2.5 * STEPS * STATE


def from_one_value(x: Any, n: Any) -> Any:
    """Two carried values that begin as the same zeros, of which the loop makes different ones."""
    zeros = x * 0.0
    first, second = wg.fori_loop(0, n, lambda i, c: (c[0] + x, c[1] * 0.5 + c[0]), (zeros, zeros))
    return first - second, second


def with_a_constant(x: Any, n: Any) -> Any:
    """What two carried values begin as is read in the loop too."""
    start = x * 2.0
    return wg.fori_loop(0, n, lambda i, c: (c[1] + start, c[0] * 0.5), (start, start))


def swapped(x: Any, n: Any) -> Any:
    """The body leaves each carried value where the other was."""
    start = x + 1.0
    return wg.fori_loop(0, n, lambda i, c: (c[1], c[0] * 0.5), (start, start))


def used_behind(x: Any, n: Any) -> Any:
    """What carried values begin as is needed behind the loop."""
    start = x + 1.0
    first, second = wg.fori_loop(0, n, lambda i, c: (c[1] * 2.0, c[0] * 0.5), (start, start))
    return first + start, second


@pytest.mark.parametrize("function", [from_one_value, with_a_constant, swapped, used_behind])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("size", [3, 200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_carried_values_that_begin_as_one(function: Any, n: int, size: int, dtype: Any):
    x = np.linspace(0.5, 1.5, size).astype(dtype)
    program = wg.jit(function).program(x, np.int64(n))
    for a, b in zip(program(x, np.int64(n)), program.compile("interpreter")(x, np.int64(n)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if dtype == np.float32 else 1e-14)
    tangents = program.jvp()
    for a, b in zip(tangents(x, np.int64(n), x), tangents.compile("interpreter")(x, np.int64(n), x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if dtype == np.float32 else 1e-14)

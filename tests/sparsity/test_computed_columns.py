"""Sparse Jacobians of functions that read their arguments at computed positions: the columns are those at the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp

RNG = np.random.default_rng(5)
X, TABLE, WEIGHTS = RNG.uniform(0.5, 1.5, 7), RNG.uniform(0.5, 1.5, (5, 3)), RNG.uniform(0.5, 1.5, 6)
PICKS, OTHERS = np.array([3, 0, 1, 1, 2, 3], np.int32), np.array([0, 4, 1, 2, 2, 3], np.int32)


def adjusted(table: Any, picks: Any, w: Any) -> Any:
    """A residual of two numbers for each picked row."""
    rows = table[picks]
    return wnp.stack([rows[:, 0] * wnp.sin(rows[:, 1]) * w, rows[:, 2] * w**2], axis=1), w**3


def springs(x: Any, a: Any, b: Any) -> Any:
    """Springs between points; one has both ends at the same point."""
    return (x[a] - x[b] ** 2) * x[0]


def two_tables(table: Any, x: Any, picks: Any, others: Any) -> Any:
    return wnp.sum(table[picks] ** 2, axis=1) * x[others]


def interpolated(x: Any, at: Any) -> Any:
    """Positions that are computed from floating-point numbers."""
    left = wnp.astype(wnp.floor(at), wnp.int64)
    part = at - wnp.floor(at)
    return x[left] * (1 - part) + x[left + 1] * part


def times_one(x: Any, i: Any) -> Any:
    return x[i] ** 2 * x


def flipped(table: Any, picks: Any) -> Any:
    """What is read was moved before."""
    return wnp.sin(wnp.flip(wnp.matrix_transpose(table), axis=1)[:, picks])


def along(table: Any, picks: Any) -> Any:
    """A position for each row."""
    return wnp.take_along_axis(table, picks[:, None], axis=1)[:, 0] ** 2


def of_columns(table: Any, picks: Any) -> Any:
    """Several rows of results for one index."""
    return wnp.exp(table[picks][:, :, None] * wnp.ones((1, 1, 2)))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "two numbers for each row": (adjusted, (TABLE, PICKS, WEIGHTS)),
    "springs": (springs, (X, PICKS, OTHERS)),
    "two tables": (two_tables, (TABLE, X, PICKS, OTHERS)),
    "interpolated": (interpolated, (X, np.array([0.5, 2.25, 2.75, 5.5]))),
    "a number": (times_one, (X, np.int64(4))),
    "flipped": (flipped, (TABLE, PICKS)),
    "along": (along, (TABLE, np.array([2, 0, 1, 1, 2]))),
    "of columns": (of_columns, (TABLE, PICKS)),
}


def dense_of(program: wg.Program, inputs: tuple[Any, ...]) -> Any:
    """The whole Jacobian as a matrix."""
    wrt, of = program.resolve()
    blocks = iter(program.jacfwd()(*inputs))
    heights = [int(np.prod(program.signature.results[j].shape)) for j in of]
    widths = [int(np.prod(program.signature.arguments[i].shape)) for i in wrt]
    rows: list[Any] = [[np.reshape(next(blocks), (m, n)) for n in widths] for m in heights]
    return np.block(rows)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("colouring", ["best", "columns", "rows", "both"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_columns(name: str, backend: str, colouring: Any, dtype: Any):
    function, inputs = CASES[name]
    inputs = tuple(x.astype(dtype) if x.dtype.kind == "f" else x for x in inputs)
    program = wg.jit(function).program(*inputs)
    derivative = program.sparse_jacobian(colouring=colouring)
    matrix = derivative.assembled(derivative.program.compile(backend)(*inputs))
    assert derivative.plan.cut is not None
    matrix.check_format()
    assert matrix.has_canonical_format
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(matrix.toarray(), dense_of(program, inputs), rtol=tolerance, atol=tolerance)


def test_the_flags_are_true():
    """What the matrix says of itself without a look is what a look finds."""
    for function, inputs in CASES.values():
        derivative = wg.jit(function).program(*inputs).sparse_jacobian()
        matrix = derivative(*inputs)
        looked_at = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        assert looked_at.has_canonical_format, function.__name__


def test_the_directions_do_not_depend_on_how_much_is_read():
    program = wg.jit(adjusted).program(TABLE, PICKS, WEIGHTS)
    derivative = program.sparse_jacobian()
    assert sum(derivative.directions) <= 3
    picks = np.array([4, 4, 4, 0, 0, 0], np.int32)
    for here in (PICKS, picks):
        matrix = derivative(TABLE, here, WEIGHTS)
        assert matrix.nnz == 6 * 5 + 6
        assert set(matrix[[0]].indices) == {3 * here[0], 3 * here[0] + 1, 15}


def test_positions_outside_are_those_that_are_read():
    def function(x: Any, i: Any) -> Any:
        return x[i] ** 2

    text = str(wg.jit(function).program(X, PICKS))
    program = wg.parse(text)
    picks = np.array([-1, 70, 6, -7, 2, 0], np.int32)
    matrix = program.jacobian(sparse=True)(X, picks)
    np.testing.assert_allclose(matrix.toarray(), dense_of(program, (X, picks)), equal_nan=True)


def test_a_sum_of_what_is_read_is_a_full_row():
    """Cutting would give a row as many elements as are read."""
    many = np.tile(PICKS, 10)

    def function(x: Any, i: Any) -> Any:
        return wnp.sum(x[i] ** 2)

    program = wg.jit(function).program(X, many)
    derivative = program.sparse_jacobian()
    assert derivative.plan.cut is None
    np.testing.assert_allclose(derivative(X, many).toarray(), dense_of(program, (X, many)))


def test_what_is_computed_before_it_is_read_is_not_cut():
    def function(x: Any, i: Any) -> Any:
        return wnp.sin(x)[i]

    program = wg.jit(function).program(X, PICKS)
    derivative = program.sparse_jacobian()
    assert derivative.plan.cut is None
    np.testing.assert_allclose(derivative(X, PICKS).toarray(), dense_of(program, (X, PICKS)))


def test_of_nothing_that_is_read():
    """Arguments that nothing depends on but by way of what is read have no columns of their own to move."""

    def function(x: Any, i: Any, y: Any) -> Any:
        return x[i] * 2, wnp.floor(y)

    program = wg.jit(function).program(X, PICKS, WEIGHTS)
    matrix = program.jacobian(sparse=True)(X, PICKS, WEIGHTS)
    assert matrix.nnz == len(PICKS)
    np.testing.assert_allclose(matrix.toarray(), dense_of(program, (X, PICKS, WEIGHTS)))

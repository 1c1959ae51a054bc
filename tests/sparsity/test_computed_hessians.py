"""Sparse Hessians of numbers that are computed from what is read at computed positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp

RNG = np.random.default_rng(5)
X, TABLE, WEIGHTS = RNG.uniform(0.5, 1.5, 30), RNG.uniform(0.5, 1.5, (12, 3)), RNG.uniform(0.5, 1.5, 6)
PICKS, OTHERS = np.array([3, 0, 1, 1, 2, 3], np.int32), np.array([0, 4, 1, 2, 2, 3], np.int32)


def springs(x: Any, a: Any, b: Any) -> Any:
    """Springs between points; one has both ends at the same point."""
    return wnp.sum(wnp.sin((x[a] - x[b]) * x[a]))


def adjusted(table: Any, picks: Any, w: Any) -> Any:
    rows = table[picks]
    return wnp.sum((rows[:, 0] * wnp.sin(rows[:, 1]) * w + rows[:, 2]) ** 2)


def two_tables(table: Any, x: Any, picks: Any, others: Any) -> Any:
    return wnp.sum(wnp.sum(table[picks] ** 3, axis=1) * x[others]) + wnp.sum(x**4)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "springs": (springs, (X, PICKS, OTHERS)),
    "rows and numbers": (adjusted, (TABLE, PICKS, WEIGHTS)),
    "two tables and all of one": (two_tables, (TABLE, X, PICKS, OTHERS)),
}


def dense(program: wg.Program, inputs: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    moved = [x for x in inputs if x.dtype.kind == "f"]
    blocks = iter(program.jacrev().jacfwd()(*inputs))
    return np.block([[next(blocks).reshape(x.size, y.size) for y in moved] for x in moved])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("colouring", ["best", "star", "acyclic"])
def test_it_is_the_hessian(name: str, dtype: Any, colouring: Any) -> None:
    function, given = CASES[name]
    inputs = tuple(x.astype(dtype) if x.dtype.kind == "f" else x for x in given)
    program = wg.jit(function).program(*inputs)
    hessian = program.sparse_hessian(colouring=colouring)
    assert len(hessian.program.signature.results) == 3
    tolerance = 1e-12 if dtype is np.float64 else 2e-5
    matrix = hessian(*inputs)
    assert matrix.has_canonical_format
    expected = dense(program, inputs)
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=tolerance, atol=tolerance)
    interpreted = hessian.assembled(hessian.program.compile("interpreter")(*inputs))
    np.testing.assert_allclose(interpreted.toarray(), expected, rtol=tolerance, atol=tolerance)


def test_directions_do_not_grow_with_the_table() -> None:
    for points in (50, 5000):
        x = np.linspace(0, 1, points)
        hessian = wg.jit(springs).program(x, PICKS, OTHERS).sparse_hessian()
        assert sum(hessian.directions) <= 3
        assert hessian(x, PICKS, OTHERS).shape == (points, points)


def test_other_positions_are_other_places() -> None:
    program = wg.jit(springs).program(X, PICKS, OTHERS)
    for a, b in ((PICKS, OTHERS), (OTHERS, PICKS), (PICKS * 7, OTHERS + 20)):
        np.testing.assert_allclose(program.sparse_hessian()(X, a, b).toarray(), dense(program, (X, a, b)), rtol=1e-12, atol=1e-12)


def test_what_reads_nothing_at_computed_positions_has_the_pattern_of_all() -> None:
    program = wg.jit(lambda x: wnp.sum((x[1:] * x[:-1]) ** 2)).program(X)
    assert len(program.sparse_hessian().program.signature.results) == 1
    with pytest.raises(wg.DiagnosticError, match="reads nothing at computed positions"):
        program.apply("sparse-hessian{wrt=0 of=0}")


def test_nothing_is_cut_where_the_pattern_would_get_larger() -> None:
    picks = np.arange(40, dtype=np.int32) % 4
    x, y = np.linspace(0, 1, 4), np.linspace(0, 1, 60)
    program = wg.jit(lambda x, y, i: wnp.sum(x[i]) ** 3 + wnp.sum(y**3)).program(x, y, picks)
    hessian = program.sparse_hessian()
    assert len(hessian.program.signature.results) == 1
    assert hessian.pattern.nnz == 16 + 60
    np.testing.assert_allclose(hessian(x, y, picks).toarray(), dense(program, (x, y, picks)), rtol=1e-12, atol=1e-12)


def test_of_traced_functions() -> None:
    hessian = wg.sparse_hessian(springs)(X, PICKS, OTHERS)
    np.testing.assert_allclose(hessian.toarray(), dense(wg.jit(springs).program(X, PICKS, OTHERS), (X, PICKS, OTHERS)), rtol=1e-12, atol=1e-12)

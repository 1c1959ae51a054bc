"""Triangular, factored and tridiagonal systems by loops, beside BLAS and LAPACK."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from matrix_programs import TYPES, Array, adjoint, by_lapack, by_loops, distance, random, triangular, tridiagonal
from native_checks import DTYPES, assert_close, function, tensor

TRANSPOSITIONS = {"NO_TRANSPOSE": lambda a: a, "TRANSPOSE": lambda a: np.swapaxes(a, -1, -2), "ADJOINT": adjoint}


def triangles(n: int, element: str, *, lower: bool, unit: bool) -> tuple[Array, Array]:
    """Matrices of which only a triangle may be read, and the triangular matrices that they stand for."""
    a = random(1, (2, n, n), element) + 3 * np.eye(n)
    mask = np.tri(n, k=-1 if unit else 0, dtype=bool)
    mask = mask if lower else mask.T
    given = np.where(mask, a, np.nan).astype(DTYPES[element])
    return given, np.where(mask, a, np.eye(n) if unit else 0).astype(DTYPES[element])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("left", "lower", "unit"), list(product([True, False], repeat=3)))
@pytest.mark.parametrize("how", TRANSPOSITIONS)
def test_triangular_solve(left: bool, lower: bool, unit: bool, how: str, element: str) -> None:
    """The equations hold to rounding; the other triangle, and the diagonal if it is to be one, hold NaN."""
    for n, k in ((1, 1), (2, 3), (7, 2), (16, 5)):
        a, triangle = triangles(n, element, lower=lower, unit=unit)
        b = random(2, (2, n, k) if left else (2, k, n), element)
        (x,) = by_loops(triangular(a.shape, b.shape, element, left=left, lower=lower, unit=unit, how=how), [a, b])
        turned = TRANSPOSITIONS[how](triangle)
        bound = (np.abs(turned) @ np.abs(x)) if left else (np.abs(x) @ np.abs(turned))
        error = np.abs((turned @ x if left else x @ turned) - b) / bound
        assert error.max() < 4 * n * np.finfo(DTYPES[element]).eps, "Higham, Accuracy and Stability of Numerical Algorithms, theorem 8.5"


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n", "k"), [((), 1, 1), ((2,), 5, 3), ((3, 2), 8, 1), ((0,), 3, 2), ((), 3, 0)])
def test_factored_systems(batch: tuple[int, ...], n: int, k: int, element: str) -> None:
    """The matrix itself is not read, and numbers of rows out of bounds count as the nearest."""
    rng = np.random.default_rng(3)
    factors, b = random(4, (*batch, n, n), element), random(5, (*batch, n, k), element)
    factors += (2 * n * np.eye(n)).astype(factors.dtype)
    order = rng.permuted(np.broadcast_to(np.arange(n, dtype=np.int32), (*batch, n)), axis=-1)
    unread, t, sides = np.full_like(factors, np.nan), tensor(factors.shape, element), tensor(b.shape, element)
    operands = [t, t, tensor(order.shape, "i32"), sides]
    for transpose in ("false", "true"):
        text = function(operands, [sides], f'"core.lu_solve"($in) <{{transpose = {transpose}}}> : $type')
        for permutation in [order, order + n // 2][: 2 if transpose == "false" else 1]:
            inputs = [unread, factors, permutation, b]
            assert distance(by_loops(text, inputs)[0], by_lapack(text, inputs)[0], element) < 100
    for lower in ("false", "true"):
        text = function([t, t, sides], [sides], f'"core.cholesky_solve"($in) <{{lower = {lower}, a_lower = true}}> : $type')
        assert distance(by_loops(text, [unread, factors, b])[0], by_lapack(text, [unread, factors, b])[0], element) < 100


@pytest.mark.parametrize(("batch", "k", "m"), [((), 1, 1), ((3,), 3, 5), ((2, 2), 16, 16), ((2,), 17, 17), ((), 40, 50), ((), 0, 2), ((0,), 2, 2)])
def test_pivots_to_permutation(batch: tuple[int, ...], k: int, m: int) -> None:
    pivots = np.random.default_rng(6).integers(-1, m + 3, (*batch, k), dtype=np.int32)
    text = function([tensor(pivots.shape, "i32")], [tensor((*batch, m), "i32")], '"core.pivots_to_permutation"($in) : $type')
    np.testing.assert_array_equal(by_loops(text, [pivots])[0], by_lapack(text, [pivots])[0])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 4, 4), (0, 3, 3), (2, 0, 0)])
def test_lu_diagonal(shape: tuple[int, ...], element: str) -> None:
    t, a = tensor(shape, element), random(7, shape, element)
    text = function([t, t, tensor(shape[:-1], "i32")], [tensor(shape[:-1], element)], '"core.lu_diagonal"($in) : $type')
    inputs = [np.full_like(a, np.nan), a, np.zeros(shape[:-1], np.int32)]
    np.testing.assert_array_equal(by_loops(text, inputs)[0], by_lapack(text, inputs)[0])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n", "k"), [((), 1, 1), ((2,), 2, 1), ((3,), 7, 2), ((2, 2), 20, 3), ((), 5, 0), ((2,), 0, 3)])
def test_tridiagonal_solve(batch: tuple[int, ...], n: int, k: int, element: str) -> None:
    """What is beside the matrix is not read."""
    lower, main, upper = (random(seed, (*batch, n), element) for seed in (8, 9, 10))
    lower[..., :1], upper[..., n - 1 :] = np.nan, np.nan
    inputs = [lower, main, upper, random(11, (*batch, n, k), element)]
    text = tridiagonal((*batch, n), k, element)
    (x, info), (their_x, their_info) = by_loops(text, inputs), by_lapack(text, inputs)
    np.testing.assert_array_equal(info, their_info)
    assert distance(x, their_x, element) < 1000


def test_singular_tridiagonal_systems() -> None:
    lower, main, upper = (np.ones((3, 4)) for _ in range(3))
    main[0], lower[1], main[1, 2], upper[1, 2] = 3, 0, 0, 0
    main[2], lower[2], upper[2] = 0, 0, 0
    inputs = [lower, main, upper, np.ones((3, 4, 1))]
    text = tridiagonal((3, 4), 1, "f64")
    np.testing.assert_array_equal(by_loops(text, inputs)[1], [0, 3, 1])
    np.testing.assert_array_equal(by_lapack(text, inputs)[1], [0, 3, 1])


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_floats(element: str) -> None:
    """Rounded once, as the interpreter does it."""
    a = random(12, (2, 4, 4), "f32")
    given = (a @ adjoint(a) + np.eye(4)).astype(DTYPES[element])
    text = triangular(given.shape, given.shape, element, left=True, lower=True, unit=False, how="ADJOINT")
    assert_close(by_loops(text, [given, given])[0], by_lapack(text, [given, given])[0], 1e-2)

"""LU, Cholesky and QR factors by loops, beside LAPACK's: the same pivots, signs and infos, and backward errors as small."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from matrix_programs import (
    TYPES,
    Array,
    adjoint,
    by_lapack,
    by_loops,
    cholesky,
    distance,
    lu,
    orthogonality,
    positive,
    qr,
    random,
    residual,
    stable_cholesky,
)

SHAPES = [(1, 1), (2, 2, 2), (3, 3, 3), (2, 7, 7), (32, 32), (3, 6, 4), (2, 4, 6), (2, 3, 5, 5)]
EMPTY = [(0, 3, 3), (2, 0, 3), (2, 3, 0), (2, 0, 0)]


def unpacked(packed: Array, pivots: Array) -> Array:
    """The product ``p^T l u`` of LU factors."""
    *batch, m, n = packed.shape
    k = min(m, n)
    lower = np.tril(packed[..., :k], -1) + np.eye(m, k)
    made = lower @ np.triu(packed[..., :k, :])
    for at in np.ndindex(*batch):
        for i in reversed(range(k)):
            rows = [i, pivots[at][i] - 1]
            made[at][rows] = made[at][rows[::-1]]
    return made


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...], element: str) -> None:
    a, text = random(1, shape, element), lu(shape, element)
    mine, theirs = by_loops(text, [a]), by_lapack(text, [a])
    np.testing.assert_array_equal(mine[1], theirs[1])
    np.testing.assert_array_equal(mine[2], theirs[2])
    assert residual(a, unpacked(mine[0], mine[1]), element) <= 2 * residual(a, unpacked(theirs[0], theirs[1]), element) + 1


@pytest.mark.parametrize("element", TYPES)
def test_pivots_of_one_size(element: str) -> None:
    """Of equal ones the first is taken, of complex numbers those with the largest sum of parts."""
    a = random(2, (4, 6, 6), element)
    a[0, :, 0] = np.sign(a[0, :, 0].real)
    a[1] = np.eye(6)
    a[2, 3:, 2] = a[2, 0, 2]
    if element.startswith("c"):
        a[3, 1, 0], a[3, 2, 0] = 7 + 7j, 9
    text = lu(a.shape, element)
    for mine, theirs in zip(by_loops(text, [a])[1:], by_lapack(text, [a])[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("element", ["f64", "complex<f32>"])
def test_singular_matrices(element: str) -> None:
    """info is the first zero pivot, and elimination goes on behind it; a NaN is in its own matrix only."""
    a = random(3, (5, 6, 6), element)
    a[1, :, 2] = 0
    a[2] = 0
    a[3, 2, :] = a[3, 1, :]
    text = lu(a.shape, element)
    mine, theirs = by_loops(text, [a]), by_lapack(text, [a])
    np.testing.assert_array_equal(mine[1][[0, 1, 2, 4]], theirs[1][[0, 1, 2, 4]])
    np.testing.assert_array_equal(mine[2][[0, 1, 2, 4]], [0, 3, 1, 0])
    assert distance(mine[0][[0, 1, 2, 4]], theirs[0][[0, 1, 2, 4]], element) < 50
    with_nan = a.copy()
    with_nan[4, 2, 2] = np.nan
    again = by_loops(text, [with_nan])
    np.testing.assert_array_equal(again[0][:4], mine[0][:4])
    assert not np.isfinite(again[0][4]).all()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[-1] == shape[-2]])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(shape: tuple[int, ...], element: str, lower: bool) -> None:
    """The other triangle is not read."""
    a = positive(4, shape, element)
    mask = np.tri(shape[-1], dtype=bool)
    half = np.where(mask if lower else mask.T, a, np.nan).astype(a.dtype)
    for program in (cholesky, stable_cholesky):
        text = program(shape, element, lower=lower)
        mine, theirs = by_loops(text, [half]), by_lapack(text, [half])
        made, wanted = (f @ adjoint(f) if lower else adjoint(f) @ f for f in (mine[0], theirs[0]))
        assert residual(a, made, element) <= 2 * residual(a, wanted, element) + 1
        np.testing.assert_array_equal(mine[0] == 0, theirs[0] == 0)
        for info, wanted_info in zip(mine[1:], theirs[1:], strict=True):
            np.testing.assert_array_equal(info, wanted_info)


@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
@pytest.mark.parametrize("lower", [True, False])
def test_matrices_that_are_not_positive_definite(element: str, lower: bool) -> None:
    """info is the order of the first minor that is not positive; a NaN passes, as in LAPACK."""
    a = np.stack([np.eye(5)] * 6).astype(random(0, (1,), element).dtype)
    a[1, 2, 2], a[2, 0, 0], a[3, 4, 4], a[4, 3, 3] = -1, 0, 0, np.nan
    text = cholesky(a.shape, element, lower=lower)
    mine, theirs = by_loops(text, [a]), by_lapack(text, [a])
    np.testing.assert_array_equal(mine[1], [0, 3, 1, 5, 0, 0])
    np.testing.assert_array_equal(mine[1], theirs[1])
    np.testing.assert_array_equal(mine[0][[0, 5]], a[[0, 5]])
    assert np.isnan(mine[0][4, 3, 3])
    (marked,) = by_loops(stable_cholesky(a.shape, element, lower=lower), [a])
    triangle = np.tri(5, dtype=bool) if lower else np.tri(5, dtype=bool).T
    assert np.isnan(marked[1:4][:, triangle]).all()
    assert (marked[1:4][:, ~triangle] == 0).all()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("shape", "full"), [*product(SHAPES, [False, True]), ((2, 40, 3), False)])
def test_qr(shape: tuple[int, ...], element: str, full: bool) -> None:
    a, text = random(5, shape, element), qr(shape, element, full=full)
    (q, r), (their_q, their_r) = by_loops(text, [a]), by_lapack(text, [a])
    assert residual(a, q @ r, element) <= 2 * residual(a, their_q @ their_r, element) + 2
    assert orthogonality(q, element) <= 4 * orthogonality(their_q, element) + 2
    assert distance(r, their_r, element) < 100, "Householder's signs"
    assert distance(q, their_q, element) < 1000
    assert (np.tril(r, -1) == 0).all()


@pytest.mark.parametrize("element", ["f32", "f64", "complex<f64>"])
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_qr_of_large_and_small_numbers(element: str, size: float) -> None:
    """Squares of which the type does not have."""
    a = (random(6, (2, 5, 4), element) * (size if element == "f32" else size**8)).astype(random(6, (1,), element).dtype)
    q, r = by_loops(qr(a.shape, element), [a])
    assert residual(a / np.abs(a).max(), q @ (r / np.abs(a).max()), element) < 10
    assert orthogonality(q, element) < 20


@pytest.mark.parametrize("element", ["f64", "complex<f64>"])
def test_qr_of_dependent_columns(element: str) -> None:
    """Columns of zeros have nothing to reflect, and q is orthonormal nevertheless; the triangle of one is itself."""
    a = random(7, (5, 4, 4), element)
    a[0, :, 1] = 0
    a[1] = 0
    a[2, :, 3] = a[2, :, 0]
    a[3] = np.triu(a[3].real)
    text = qr(a.shape, element)
    (q, r), (their_q, _) = by_loops(text, [a]), by_lapack(text, [a])
    assert residual(a, q @ r, element) < 10
    assert orthogonality(q, element) < 20
    assert distance(q[[0, 1, 3, 4]], their_q[[0, 1, 3, 4]], element) < 100
    np.testing.assert_array_equal(q[3], np.eye(4))


@pytest.mark.parametrize("shape", EMPTY)
def test_matrices_without_elements(shape: tuple[int, ...]) -> None:
    a = np.zeros(shape)
    *batch, m, n = shape
    assert (by_loops(lu(shape, "f64"), [a])[2] == 0).all()
    q, r = by_loops(qr(shape, "f64", full=True), [a])
    np.testing.assert_array_equal(q, np.broadcast_to(np.eye(m), (*batch, m, m)))
    assert r.shape == shape
    assert by_loops(qr(shape, "f64"), [a])[0].shape == (*batch, m, min(m, n))
    if m == n:
        assert (by_loops(cholesky(shape, "f64"), [a])[1] == 0).all()
        assert by_loops(stable_cholesky(shape, "f64"), [a])[0].shape == shape

"""Eigenvalues and singular values by Jacobi's method: backward errors like LAPACK's, also for equal, clustered, zero, huge and tiny values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from matrix_programs import TYPES, Array, adjoint, by_lapack, by_loops, eigh, eps, looped, orthogonality, positive, random, residual, svd

SHAPES = [(1, 1), (2, 2, 2), (2, 3, 3), (3, 8, 8), (17, 17), (2, 32, 32)]


def hermitian(a: Array, *, lower: bool) -> Array:
    """The matrix that a triangle stands for."""
    low = np.tril(a, -1) if lower else adjoint(np.triu(a, 1))
    middle = np.einsum("...ii->...i", a).real[..., None] * np.eye(a.shape[-1])
    return (low + adjoint(low) + middle).astype(a.dtype)


def check_eigh(a: Array, element: str, *, lower: bool = True) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of a's triangle, which are right to rounding and in ascending order."""
    mask = np.tri(a.shape[-1], dtype=bool)
    given = np.where(mask if lower else mask.T, a, np.nan).astype(a.dtype)
    text = eigh(a.shape, element, lower=lower)
    (v, w, info), (their_v, their_w, _) = by_loops(text, [given]), by_lapack(text, [given])
    whole, n = hermitian(a, lower=lower), a.shape[-1]
    scale = np.maximum(np.abs(whole).max(axis=(-2, -1)), np.finfo(w.dtype).tiny)
    unit, w_unit, their_unit = whole / scale[..., None, None], w / scale[..., None], their_w / scale[..., None]
    back = residual(unit, (v * w_unit[..., None, :]) @ adjoint(v), element)
    assert back <= 4 * residual(unit, (their_v * their_unit[..., None, :]) @ adjoint(their_v), element) + n + 4
    assert orthogonality(v, element) <= 4 * orthogonality(their_v, element) + 2 * n + 4
    assert (np.abs(w_unit - their_unit) <= 2 * n * eps(element) * np.abs(their_unit).max(axis=-1, keepdims=True)).all()
    assert (np.diff(w) >= 0).all()
    assert (info == 0).all()
    return v, w


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lower", [True, False])
def test_eigh(shape: tuple[int, ...], element: str, lower: bool) -> None:
    check_eigh(random(1, shape, element), element, lower=lower)


@pytest.mark.parametrize("element", ["f32", "f64", "complex<f64>"])
def test_eigenvalues_of_all_kinds(element: str) -> None:
    """Equal ones, clusters, zeros, ones of which squares are out of range, and small ones beside large ones."""
    n = 7
    q = np.linalg.qr(random(2, (n, n), element).astype(np.complex128 if element.startswith("c") else np.float64))[0]
    kinds: list[Array] = [
        np.ones(n),
        np.zeros(n),
        np.repeat([1.0, -1.0], [3, 4]),
        1 + 10 * eps(element) * np.arange(n),
        10.0 ** -np.arange(n),
        np.full(n, 1e-40),
    ]
    a = np.stack([(q * values) @ adjoint(q) for values in kinds])
    a = np.concatenate(
        [a, a[4:5] * (1e30 if element == "f32" else 1e250), a[4:5] * (1e-30 if element == "f32" else 1e-250), np.diag(np.arange(n, 0, -1.0))[None]]
    )
    a = hermitian(a.astype(random(0, (1,), element).dtype), lower=True)
    v, w = check_eigh(a, element)
    np.testing.assert_array_equal(w[-1], np.arange(1, n + 1))
    np.testing.assert_array_equal(v[-1], np.eye(n)[:, ::-1])


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)])
def test_eigh_without_elements(shape: tuple[int, ...]) -> None:
    v, w, info = by_loops(eigh(shape, "f64"), [np.zeros(shape)])
    assert (v.shape, w.shape, info.shape) == (shape, shape[:-1], shape[:-2])
    assert (info == 0).all()


def test_a_nan_is_in_its_own_matrix_only() -> None:
    a = positive(3, (3, 5, 5), "f64")
    text = eigh(a.shape, "f64")
    before = by_loops(text, [a])
    a[1, 3, 2] = np.nan
    v, w, info = by_loops(text, [a])
    np.testing.assert_array_equal(w[[0, 2]], before[1][[0, 2]])
    np.testing.assert_array_equal(v[[0, 2]], before[0][[0, 2]])
    np.testing.assert_array_equal(info, [0, 1, 0])


def check_svd(a: Array, element: str, *, full: bool) -> None:
    """Factors that are right to rounding, with values in descending order."""
    k = min(a.shape[-2:])
    text = svd(a.shape, element, full=full)
    (u, s, vh, info), (their_u, their_s, their_vh, _) = by_loops(text, [a]), by_lapack(text, [a])
    scale = np.maximum(np.abs(a).max(axis=(-2, -1)), np.finfo(s.dtype).tiny)
    unit, s_unit, their_unit = a / scale[..., None, None], s / scale[..., None], their_s / scale[..., None]
    back = residual(unit, (u[..., :k] * s_unit[..., None, :]) @ vh[..., :k, :], element)
    assert back <= 4 * residual(unit, (their_u[..., :k] * their_unit[..., None, :]) @ their_vh[..., :k, :], element) + k + 4
    assert orthogonality(u, element) <= 4 * orthogonality(their_u, element) + 2 * k + 4
    assert orthogonality(adjoint(vh), element) <= 4 * orthogonality(adjoint(their_vh), element) + 2 * k + 4
    assert (np.abs(s_unit - their_unit) <= 4 * k * eps(element) * their_unit.max(axis=-1, keepdims=True)).all()
    assert (np.diff(s) <= 0).all()
    assert (info == 0).all()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("shape", "full"), list(product([(1, 1), (2, 3, 3), (3, 6, 4), (2, 4, 7), (24, 24), (2, 1, 5)], [False, True])))
def test_svd(shape: tuple[int, ...], full: bool, element: str) -> None:
    check_svd(random(4, shape, element), element, full=full)


@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
@pytest.mark.parametrize("shape", [(5, 5), (8, 5), (4, 6)])
def test_singular_values_of_all_kinds(shape: tuple[int, int], element: str) -> None:
    """Of rank one, none, of orthogonal columns, with small ones beside large ones, and of which squares are out of range."""
    m, n = shape
    a = random(5, (6, m, n), element)
    a[0] = np.outer(random(6, (m,), element), random(7, (n,), element))
    a[1] = 0
    a[2] = np.eye(m, n)
    a[3] *= (10.0 ** -np.arange(n)).astype(a.real.dtype)
    a[4] *= a.real.dtype.type(1e30 if element == "f32" else 1e250)
    a[5] *= a.real.dtype.type(1e-30 if element == "f32" else 1e-250)
    check_svd(a, element, full=True)


@pytest.mark.parametrize(("shape", "full"), list(product([(0, 3, 3), (2, 0, 3), (2, 3, 0)], [False, True])))
def test_svd_without_elements(shape: tuple[int, ...], full: bool) -> None:
    batch, m, n = shape
    u, s, vh, info = by_loops(svd(shape, "f64", full=full), [np.zeros(shape)])
    left, right = (m, n) if full else (min(m, n),) * 2
    assert (u.shape, s.shape, vh.shape, info.shape) == ((batch, m, left), (batch, min(m, n)), (batch, right, n), (batch,))
    np.testing.assert_array_equal(u, np.broadcast_to(np.eye(m, left), u.shape))
    np.testing.assert_array_equal(vh, np.broadcast_to(np.eye(right, n), vh.shape))


@pytest.mark.parametrize("element", ["f64", "complex<f32>"])
def test_values_without_vectors(element: str) -> None:
    """What nothing uses is not computed, and the values are the same to the bit."""
    a = positive(8, (2, 5, 5), element)
    for text, result in ((eigh(a.shape, element), 1), (svd(a.shape, element), 1)):
        lines = text.splitlines()
        returned, types = (part.split(", ") for part in lines[2].removeprefix("  return ").split(" : "))
        head = f"{lines[0].partition('->')[0]}-> {types[result]} {{"
        values = "\n".join([head, lines[1], f"  return {returned[result]} : {types[result]}", "}"])
        assert by_loops(values, [a])[0].tobytes() == by_loops(text, [a])[result].tobytes()
        assert "12x6x" in str(looped(text)), "the vectors stand below the matrix"
        assert "12x6x" not in str(looped(values))

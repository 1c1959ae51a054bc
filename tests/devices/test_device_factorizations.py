"""Factorisations on devices: nothing runs on the host, results are those of the same loops in the interpreter, and launches per column are few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matrix_programs as programs
import numpy as np
import pytest
from device_backends import BACKENDS, needs_opencl
from matrix_programs import Array, adjoint, by_lapack, by_loops, distance, orthogonality, positive, random, residual
from native_checks import function, tensor

import wengert as wg

Inputs = Callable[[Sequence[int], str], list[Array]]


def factored_system(shape: Sequence[int], element: str) -> str:
    """core.lu_solve with the transpose, by factors made of pivots."""
    t, order, info = tensor(shape, element), tensor(shape[:-1], "i32"), tensor(shape[:-2], "i32")
    body = f"""  %lu, %pivots, %info = "core.lu"(%a0) : ({t}) -> ({t}, {order}, {info})
  %rows = "core.pivots_to_permutation"(%pivots) : ({order}) -> {order}
  %r = "core.lu_solve"(%a0, %lu, %rows, %a1) <{{transpose = true}}> : ({t}, {t}, {order}, {t}) -> {t}"""
    head, _, tail = function([t, t], [t], "BODY").partition("  %r = BODY")
    return head + body + tail


def triangular_system(shape: Sequence[int], element: str) -> str:
    """stablehlo.triangular_solve from the right, with an upper triangle."""
    return programs.triangular(shape, shape, element, left=False, lower=False, unit=False, how="ADJOINT")


def tridiagonal_system(shape: Sequence[int], element: str) -> str:
    """core.tridiagonal_solve with as many sides as unknowns."""
    return programs.tridiagonal(shape[:-1], shape[-1], element)


def diagonals(shape: Sequence[int], element: str) -> list[Array]:
    """Three diagonals and right-hand sides."""
    return [*(random(seed, shape[:-1], element) for seed in (1, 2, 3)), random(4, shape, element)]


def triangle(shape: Sequence[int], element: str) -> list[Array]:
    """A well-conditioned matrix and right-hand sides."""
    a = random(5, shape, element)
    return [(a + 3 * shape[-1] * np.eye(shape[-1])).astype(a.dtype), random(6, shape, element)]


CASES: dict[str, tuple[Callable[[Sequence[int], str], str], Inputs]] = {
    "lu": (programs.lu, lambda shape, element: [random(7, shape, element)]),
    "cholesky": (programs.cholesky, lambda shape, element: [positive(8, shape, element)]),
    "upper cholesky": (lambda shape, element: programs.stable_cholesky(shape, element, lower=False), lambda shape, element: [positive(8, shape, element)]),
    "qr": (programs.qr, lambda shape, element: [random(9, shape, element)]),
    "triangular system": (triangular_system, triangle),
    "factored system": (factored_system, triangle),
    "tridiagonal system": (tridiagonal_system, diagonals),
}


def on_device(text: str, inputs: Sequence[Array], backend: str) -> tuple[tuple[Array, ...], Any]:
    """The results, the same twice in memory full of wrong values, and the statistics."""
    compiled = wg.parse(text).compile(backend, poison=True)
    results = compiled(*inputs)
    assert compiled.stats.host == {}
    assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"
    return results, compiled.stats


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7, 7)])
@pytest.mark.parametrize("name", CASES)
def test_factorizations(name: str, shape: tuple[int, ...], element: str, backend: str) -> None:
    program, inputs = CASES[name]
    text, given = program(shape, element), inputs(shape, element)
    results, _ = on_device(text, given, backend)
    for mine, theirs in zip(results, by_loops(text, given), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if mine.dtype.kind == "i":
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert distance(mine, theirs, element) < 200


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 5)])
def test_spectra(shape: tuple[int, ...], element: str, backend: str) -> None:
    a = positive(10, shape, element)
    (v, w, info), _ = on_device(programs.eigh(shape, element), [a], backend)
    assert residual(a, (v * w[..., None, :]) @ adjoint(v), element) < 30
    assert orthogonality(v, element) < 60
    np.testing.assert_array_equal(info, np.zeros(shape[:-2]))
    a = random(11, (*shape[:-1], shape[-1] + 1), element)
    (u, s, vh, info), _ = on_device(programs.svd(a.shape, element), [a], backend)
    assert residual(a, (u * s[..., None, :]) @ vh, element) < 30
    assert max(orthogonality(u, element), orthogonality(adjoint(vh), element)) < 60
    np.testing.assert_array_equal(info, np.zeros(shape[:-2]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_matrices_that_cannot_be_factored(backend: str) -> None:
    a = np.stack([np.eye(4)] * 4)
    a[1, 2, 2], a[2, 0, 0], a[3, 1, 1] = -1, 0, np.nan
    for program in (programs.lu, programs.cholesky):
        text = program(a.shape, "f64")
        results, _ = on_device(text, [a], backend)
        np.testing.assert_array_equal(results[-1], by_lapack(text, [a])[-1])
        np.testing.assert_array_equal(results[0][0], np.eye(4))


LAUNCHES = {"lu": 4, "cholesky": 1, "upper cholesky": 1, "qr": 4, "triangular system": 1}
"""Launches for a column (a row), of matrices so many that a step is more than one group."""


@needs_opencl
@pytest.mark.parametrize("name", LAUNCHES)
def test_launches(name: str) -> None:
    counts: list[int] = []
    for n in (20, 24):
        program, inputs = CASES[name]
        text, given = program((200, n, n), "f32"), inputs((200, n, n), "f32")
        results, stats = on_device(text, given, "opencl")
        counts.append(stats.launches)
        assert distance(results[0], by_loops(text, given)[0], "f32") < 2000
    assert counts[1] - counts[0] <= 4 * LAUNCHES[name]


@needs_opencl
@pytest.mark.parametrize(("name", "n"), [("lu", 3), ("cholesky", 4), ("triangular system", 8), ("factored system", 4)])
def test_small_matrices_are_factored_in_registers(name: str, n: int) -> None:
    """A thread has a matrix, or a right-hand side, of thousands: so there are one or two launches."""
    program, inputs = CASES[name]
    text, given = program((2000, n, n), "f32"), inputs((2000, n, n), "f32")
    results, stats = on_device(text, given, "opencl")
    assert distance(results[0], by_loops(text, given)[0], "f32") < 2000
    assert stats.launches <= 4

"""Matrix-free solvers: their solutions, their derivatives against dense algebra, what they do at the edges, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError

SOLVERS = {"cg": wg.cg, "bicgstab": wg.bicgstab, "gmres": wg.gmres}
EACH = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())


def system(n: int = 12, dtype=np.float64, seed: int = 0, definite: bool = True):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if np.dtype(dtype).kind == "c" else 0)
    b = rng.normal(size=n) + (1j * rng.normal(size=n) if np.dtype(dtype).kind == "c" else 0)
    matrix = a @ a.conj().T / n + np.eye(n) if definite else 0.4 * a / np.sqrt(n) + 2 * np.eye(n)
    return matrix.astype(dtype), b.astype(dtype)


@EACH
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_solutions(solver, dtype) -> None:
    for definite in (True, False) if solver is not wg.cg else (True,):
        a, b = system(dtype=dtype, definite=definite)
        tolerance = 1e-8 if np.finfo(dtype).bits == 64 else 1e-4
        for x, info in (solver(a, b), solver(lambda v, a=a: a @ v, b), wg.jit(solver)(a, b)):
            assert x.dtype == dtype
            assert np.linalg.norm(a @ x - b) <= tolerance * np.linalg.norm(b)
            assert 0 < int(info.iterations) <= 120
            assert float(info.residual) <= tolerance * np.linalg.norm(b)


@EACH
def test_the_edges(solver) -> None:
    a, b = system()
    np.testing.assert_array_equal(solver(a, np.zeros(12))[0], np.zeros(12))  # nothing to do
    np.testing.assert_allclose(solver(np.eye(5), np.arange(5.0))[0], np.arange(5.0))  # done after one step
    np.testing.assert_allclose(solver(np.array([[4.0]]), np.array([2.0]))[0], [0.5])
    x, info = solver(a, b, np.linalg.solve(a, b))
    assert int(info.iterations) == 0
    x, info = solver(a, b, maxiter=1)
    assert int(info.iterations) <= 12
    assert float(info.residual) == pytest.approx(np.linalg.norm(a @ x - b), rel=1e-8)
    x, info = solver(a, b, rtol=1e-2)
    assert np.linalg.norm(a @ x - b) <= 1e-2 * np.linalg.norm(b)
    # two eigenvalues: the space ends after two vectors
    two = np.diag([1.0, 1, 1, 3, 3, 3])
    np.testing.assert_allclose(solver(two, np.arange(6.0))[0], np.arange(6.0) / np.diag(two), rtol=1e-9)


def test_gmres_begins_again() -> None:
    a, b = system(definite=False)
    x, info = wg.gmres(a, b, restart=3)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-8)
    assert int(info.iterations) > 3
    assert int(info.iterations) % 3 == 0


@EACH
def test_trees_and_preconditioners(solver) -> None:
    rng = np.random.default_rng(1)
    diagonal = {"x": 1 + rng.random((2, 3)), "y": (10 + rng.random(4),)}
    b = {"x": rng.normal(size=(2, 3)), "y": (rng.normal(size=4),)}

    def matvec(v):
        return {"x": diagonal["x"] * v["x"], "y": (diagonal["y"][0] * v["y"][0],)}

    def inverse(v):
        return {"x": v["x"] / diagonal["x"], "y": (v["y"][0] / diagonal["y"][0],)}

    plain, preconditioned = solver(matvec, b), solver(matvec, b, preconditioner=inverse)
    for x, _ in (plain, preconditioned):
        np.testing.assert_allclose(x["x"], b["x"] / diagonal["x"], rtol=1e-8)
        np.testing.assert_allclose(x["y"][0], b["y"][0] / diagonal["y"][0], rtol=1e-8)
    if solver is not wg.gmres:  # which looks at its residual only when it begins again
        assert int(preconditioned[1].iterations) == 1


@EACH
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_derivatives(solver, dtype) -> None:
    """d x = a^-1 (db - da x) and its transpose, and second derivatives, all at the solution's accuracy."""
    a, b = system(dtype=dtype, definite=solver is wg.cg)
    a_dot, b_dot = system(dtype=dtype, seed=1, definite=solver is wg.cg)

    def solution(a, b):
        return solver(lambda v: a @ v, b, rtol=1e-13)[0]

    x = np.linalg.solve(a, b)
    expected = np.linalg.solve(a, b_dot - a_dot @ x)
    np.testing.assert_allclose(wg.jvp(solution, (a, b), (a_dot, b_dot))[1], expected, rtol=1e-9)
    y_bar = b_dot
    b_bar = np.linalg.solve(a.T, y_bar)
    cotangents = wg.vjp(solution, a, b)[1](y_bar)
    np.testing.assert_allclose(cotangents[1], b_bar, rtol=1e-9)
    np.testing.assert_allclose(cotangents[0], -np.outer(b_bar, x), rtol=1e-9, atol=1e-12)
    inverse = np.linalg.inv(a)
    twice = 2 * inverse @ a_dot @ inverse @ a_dot @ x - 2 * inverse @ a_dot @ inverse @ b_dot

    def forward(a, b):
        return wg.jvp(solution, (a, b), (a_dot, b_dot))[1]

    np.testing.assert_allclose(wg.jvp(forward, (a, b), (a_dot, b_dot))[1], twice, rtol=1e-8)
    a_bar, b_bar = wg.vjp(forward, a, b)[1](y_bar)
    assert np.sum(a_bar * a_dot) + np.sum(b_bar * b_dot) == pytest.approx(np.sum(y_bar * twice), rel=1e-8)

    def backward(a, b):
        return wg.vjp(solution, a, b)[1](y_bar)

    a_bar_dot, b_bar_dot = wg.jvp(backward, (a, b), (a_dot, b_dot))[1]
    assert np.sum(a_bar_dot * a_dot) + np.sum(b_bar_dot * b_dot) == pytest.approx(np.sum(y_bar * twice), rel=1e-8)


@EACH
def test_batches(solver) -> None:
    pairs = [system(seed=k, definite=solver is wg.cg) for k in range(3)]
    matrices, rights = (np.stack(column) for column in zip(*pairs, strict=True))

    def solution(a, b):
        return solver(lambda v: a @ v, b)[0]

    np.testing.assert_allclose(wg.vmap(solution)(matrices, rights), np.linalg.solve(matrices, rights[..., None])[..., 0], rtol=1e-7)
    shared = wg.vmap(solution, in_axes=(None, 0))
    np.testing.assert_allclose(shared(matrices[0], rights), np.linalg.solve(matrices[0], rights.T).T, rtol=1e-7)
    larger = system(24, definite=solver is wg.cg)[0]  # than what gmres keeps
    assert "3x24x24" not in shared.ir(larger, np.ones((3, 24)))  # one matrix for all

    def loss(a, b):
        return wnp.sum(solution(a, b) ** 2)

    one_by_one = np.stack([wg.grad(loss)(a, b) for a, b in pairs])
    np.testing.assert_allclose(wg.vmap(wg.grad(loss))(matrices, rights), one_by_one, rtol=1e-7, atol=1e-10)


def test_memory_does_not_grow_with_iterations() -> None:
    """The derivative's arena is the same however many iterations there may be."""
    n = 64
    scale = np.linspace(1, 1000, n)

    def loss(p, maxiter):
        return wnp.sum(wg.cg(lambda v: p * scale * v, wnp.ones(n), maxiter=maxiter)[0])

    arenas = []
    for maxiter in (2, 2000):
        program = wg.grad(lambda p, most=maxiter: loss(p, most)).program(np.ones(n))
        arenas.append(program.memory().peak)
    assert arenas[0] == arenas[1]


def test_errors() -> None:
    a, b = system()
    with pytest.raises(wg.TracingError, match="found int64"):
        wg.cg(a, np.arange(12))
    with pytest.raises(wg.TracingError, match="square matrix"):
        wg.gmres(np.ones((3, 4)), np.ones(3))
    with pytest.raises(wg.TracingError, match="must have the shapes of the right-hand side"):
        wg.cg(lambda v: v[:3], b)
    with pytest.raises(wg.TracingError, match="x0 must have the shapes"):
        wg.cg(a, b, np.ones(3))
    with pytest.raises(DiagnosticError, match="is not linear in the unknown"):
        wg.jit(lambda b: wg.bicgstab(lambda v: wnp.sin(v), b)[0])(b)
    with pytest.raises(DiagnosticError, match="is not linear in the unknown"):
        wg.grad(lambda b: wnp.sum(wg.gmres(lambda v: 2 * v + 1, b)[0]))(b)

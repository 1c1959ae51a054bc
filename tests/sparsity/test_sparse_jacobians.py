"""Sparse Jacobians and Hessians: the values are those of the dense ones, the structure is known before, and few directions are enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wengert as wg
from wengert import numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.errors import InputError


def brusselator(x: Any) -> Any:
    """The right-hand side of a reaction with diffusion on a periodic line: u, v by turns."""
    u, v = x[0::2], x[1::2]

    def spread(w: Any) -> Any:
        return wnp.roll(w, 1) - 2 * w + wnp.roll(w, -1)

    return wnp.concat([1 + u**2 * v - 4 * u + spread(u), 3 * u - u**2 * v + spread(v)])


def bratu(x: Any) -> Any:
    """The residual of Bratu's problem on a square."""
    grid = wnp.pad(wnp.reshape(x, (5, 5)), ((1, 1), (1, 1)))
    stencil = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:] - 4 * grid[1:-1, 1:-1]
    return wnp.reshape(stencil + wnp.exp(grid[1:-1, 1:-1]), (25,))


def arrow(x: Any) -> Any:
    return wnp.concat([wnp.sum(x**2)[None], x[1:] * x[0] + x[1:] ** 2])


def chained(x: Any) -> Any:
    """Rosenbrock's function, chained."""
    return wnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


JACOBIANS: list[tuple[Callable[..., Any], int, tuple[int, int]]] = [(brusselator, 24, (4, 0)), (bratu, 25, (6, 0)), (arrow, 30, (2, 1))]


@pytest.mark.parametrize(("function", "size", "directions"), JACOBIANS)
@pytest.mark.parametrize("colouring", ["best", "columns", "rows", "both"])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_jacobians(function: Callable[..., Any], size: int, directions: tuple[int, int], colouring: Any, backend: Any):
    x = np.random.default_rng(0).uniform(0.5, 1.5, size)
    program = wg.jit(function).program(x)
    derivative = program.sparse_jacobian(colouring=colouring)
    matrix = derivative.assembled(derivative.program.compile(backend)(x))
    (dense,) = program.jacfwd()(x)
    assert isinstance(matrix, sparse.csr_array)
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=1e-13, atol=1e-13)
    assert (matrix.indices == derivative.pattern.indices).all()
    if colouring == "best":
        assert sum(derivative.directions) <= sum(directions)


@pytest.mark.parametrize("colouring", ["best", "star", "acyclic", "columns"])
def test_hessians(colouring: Any):
    x = np.random.default_rng(0).uniform(0.5, 1.5, 40)
    program = wg.jit(chained).program(x)
    derivative = program.sparse_hessian(colouring=colouring)
    np.testing.assert_allclose(derivative(x).toarray(), program.hessian()(x)[0], rtol=1e-11, atol=1e-9)
    assert derivative.directions[0] <= (2 if colouring in ("best", "acyclic") else 3)


def test_an_arrow_has_a_hessian_of_two_directions():
    program = wg.jit(lambda x: wnp.sum(x[0] * x**2)).program(np.ones(50))
    derivative = program.sparse_hessian(colouring="star")
    assert derivative.directions == (2, 0)
    x = np.random.default_rng(0).standard_normal(50)
    np.testing.assert_allclose(derivative(x).toarray(), program.hessian()(x)[0], rtol=1e-12, atol=1e-12)


def test_several_arguments_and_results_of_several_types():
    def function(x: Any, y: Any) -> Any:
        return x * wnp.astype(y, x.dtype), wnp.flip(y), wnp.sum(x) * x

    x, y = np.arange(1.0, 6.0), np.arange(2, 7, dtype=np.float32)
    program = wg.jit(function).program(x, y)
    blocks = iter(program.jacfwd()(x, y))
    dense = np.concatenate([np.concatenate([next(blocks), next(blocks)], axis=1) for _ in range(3)])
    matrix = program.jacobian(sparse=True)(x, y)
    np.testing.assert_allclose(matrix.toarray(), dense)
    assert matrix.shape == (15, 10)
    part = program.sparse_jacobian(wrt=1, of=(0, 1))(x, y)
    np.testing.assert_allclose(part.toarray(), dense[:10, 5:])


def test_functions():
    x = {"a": np.arange(1.0, 5.0), "b": np.float64(2.0)}
    jacobian = wg.sparse_jacobian(lambda p, s: p["a"] ** 2 * p["b"] * s, argnums=(0,))
    expected = np.concatenate([np.diag(4 * x["a"] * 3), (x["a"] ** 2 * 3)[:, None]], axis=1)
    np.testing.assert_allclose(jacobian(x, 3.0).toarray(), expected)
    assert jacobian.of(x, 3.0).directions == (2, 0)
    hessian = wg.sparse_hessian(chained)
    point = np.linspace(0.5, 1.5, 12)
    np.testing.assert_allclose(hessian(point).toarray(), wg.hessian(chained)(point), atol=1e-9)
    with pytest.raises(TypeError, match=r"cannot be traced"):
        wg.jit(hessian)(point)


def test_nothing_depends_on_anything():
    program = wg.jit(lambda x: wnp.zeros(3) + wnp.floor(x)).program(np.ones(3))
    derivative = program.sparse_jacobian()
    assert derivative.pattern.nnz == 0
    assert derivative(np.ones(3)).nnz == 0


def test_a_value_that_is_not_finite_stays_in_its_place():
    program = wg.jit(wnp.log).program(np.ones(4))
    values = program.sparse_jacobian()(np.array([1.0, 0.0, 2.0, -1.0])).toarray()
    assert np.isinf(values[1, 1])
    assert np.isfinite(values[~np.eye(4, dtype=bool)]).all()


def test_refusals():
    program = wg.jit(lambda x: x[:3] * x[1:]).program(np.ones(4))
    with pytest.raises(InputError, match=r"3 x 4"):
        program.sparse_jacobian(colouring="star")
    with pytest.raises(DiagnosticError, match=r"3 x 4"):
        program.apply("sparse-jacobian{colouring=star}")
    with pytest.raises(InputError, match=r"there is no colouring 'edges'"):
        program.sparse_jacobian(colouring="edges")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"that of one number"):
        program.sparse_hessian()
    with pytest.raises(InputError, match=r"is complex"):
        wg.jit(lambda x: x * x).program(np.ones(2, complex)).sparse_jacobian()


def test_as_a_pass():
    program = wg.jit(brusselator).program(np.ones(12)).apply("sparse-jacobian,simplify,cse,dce")
    assert program.signature.results[0].shape == (48,)
    assert "tensor<12x12xf64>" not in str(program)


def test_programs_with_open_extents():
    program = wg.parse("func.func @main(%x: tensor<?xf64>) -> tensor<?xf64> { %0 = stablehlo.multiply %x, %x : tensor<?xf64> return %0 : tensor<?xf64> }")
    assert program.sparsity(at=(np.ones(3),)).nnz == 3
    assert program.specialize((4,)).sparse_jacobian()(np.ones(4)).nnz == 4
    for refused in (program.sparsity, program.sparse_jacobian, program.sparse_hessian, lambda: program.jacobian(sparse=True)):
        with pytest.raises(InputError, match=r"p\.specialize"):
            refused()


def test_elements_at_equal_distances_are_slices():
    x = np.linspace(1, 2, 6)
    derivative = wg.jit(wnp.sin).program(x).sparse_jacobian()
    text = str(derivative.program)
    assert "gather" not in text
    assert "concatenate" not in text
    np.testing.assert_allclose(derivative(x).toarray(), np.diag(np.cos(x)), rtol=1e-14)


def test_blocks_are_read_from_the_results_that_have_them():
    def function(x: Any, y: Any) -> Any:
        return x * y, wnp.roll(y, 1) * y

    x, y = np.linspace(1, 2, 4), np.linspace(2, 3, 4)
    program = wg.jit(function).program(x, y)
    expected = np.block([list(program.jacfwd()(x, y)[:2]), list(program.jacfwd()(x, y)[2:])])
    np.testing.assert_allclose(program.sparse_jacobian()(x, y).toarray(), expected, rtol=1e-14)


def test_matrices_share_nothing():
    def function(x: Any) -> Any:
        return x * x

    x = np.linspace(1, 2, 6)
    derivative = wg.jit(function).program(x).sparse_jacobian()
    first, second = derivative(x), derivative(x)
    first.data[:], first.indices[:], first.indptr[:] = 0, 0, 0
    np.testing.assert_allclose(second.toarray(), np.diag(2 * x))
    np.testing.assert_allclose(derivative(x).toarray(), np.diag(2 * x))
    assert derivative.pattern.dtype == bool

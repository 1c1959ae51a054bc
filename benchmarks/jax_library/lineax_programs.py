"""Programs of lineax: linear solves of all kinds, by the matrix and by the right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.jax_library.program import Made, Program, noise


def _solves(build: Callable[[Any], Any], *, shape: tuple[int, int] = (4, 4)) -> Made:
    """Solutions by the solvers that ``build`` makes: pairs of an operator, of a matrix, and a solver."""
    import lineax as lx

    def solutions(given: Any) -> Any:
        a, b = given
        return [lx.linear_solve(operator, b[: operator.out_size()], solver).value for operator, solver in build(a)]

    return solutions, ((noise(0, *shape), noise(1, max(shape))),)


def _positive(a: Any) -> Any:
    import jax.numpy as jnp

    return a @ a.T + 2 * jnp.eye(a.shape[0], dtype=a.dtype)


def direct() -> Made:
    """LU, Cholesky, QR and SVD of square matrices."""
    import lineax as lx

    def build(a: Any) -> Any:
        definite = lx.MatrixLinearOperator(_positive(a), lx.positive_semidefinite_tag)
        square = lx.MatrixLinearOperator(_positive(a) + 0.3 * a)
        return [(square, lx.LU()), (definite, lx.Cholesky()), (square, lx.QR()), (square, lx.SVD()), (square, lx.AutoLinearSolver(well_posed=True))]

    return _solves(build)


def least_squares() -> Made:
    """QR and SVD of matrices of more rows, and more columns."""
    import lineax as lx

    def build(a: Any) -> Any:
        tall, wide = lx.MatrixLinearOperator(a), lx.MatrixLinearOperator(a.T)
        return [(tall, lx.QR()), (wide, lx.QR()), (tall, lx.SVD()), (tall, lx.AutoLinearSolver(well_posed=None)), (tall, lx.NormalCG(1e-12, 1e-12))]

    return _solves(build, shape=(5, 3))


def structured() -> Made:
    """Diagonal, triangular and tridiagonal matrices."""
    import jax.numpy as jnp
    import lineax as lx

    def build(a: Any) -> Any:
        b = _positive(a)
        diagonal = lx.DiagonalLinearOperator(jnp.diag(b))
        lower = lx.MatrixLinearOperator(jnp.tril(b), lx.lower_triangular_tag)
        bands = lx.TridiagonalLinearOperator(jnp.diag(b), jnp.diag(b, -1), jnp.diag(b, 1))
        return [(diagonal, lx.Diagonal()), (lower, lx.Triangular()), (bands, lx.Tridiagonal())]

    return _solves(build)


def iterative() -> Made:
    """CG, GMRES and BiCGStab, matrix-free."""
    import jax.numpy as jnp
    import lineax as lx

    def build(a: Any) -> Any:
        b = _positive(a)
        definite = lx.FunctionLinearOperator(lambda v: b @ v, b[0], lx.positive_semidefinite_tag)
        function = lx.FunctionLinearOperator(lambda v: b @ v + 0.3 * (a @ v), b[0])
        tight = dict.fromkeys(("rtol", "atol"), 500 * float(jnp.finfo(b.dtype).eps))  # nearer, rounding makes the solvers break down
        return [(definite, lx.CG(**tight)), (function, lx.GMRES(**tight)), (function, lx.BiCGStab(**tight))]

    return _solves(build)


def jacobian() -> Made:
    """A Newton step: the operator is a Jacobian, materialised or not."""
    import jax.numpy as jnp
    import lineax as lx

    def build(a: Any) -> Any:
        operator = lx.JacobianLinearOperator(lambda y, _: jnp.tanh(_positive(a) @ y) + 2 * y, a[0])
        near = 500 * float(jnp.finfo(a.dtype).eps)
        return [(operator, lx.AutoLinearSolver(well_posed=True)), (lx.linearise(operator), lx.GMRES(near, near))]

    return _solves(build)


PROGRAMS = (
    Program("lineax", "LU, Cholesky, QR, SVD", direct, second=True),
    Program("lineax", "least squares", least_squares, second=True),
    Program("lineax", "diagonal, triangular, tridiagonal", structured, second=True),
    Program("lineax", "CG, GMRES, BiCGStab, matrix-free", iterative),
    Program("lineax", "Jacobians as operators", jacobian),
)

"""cholesky and triangular_solve by LAPACK and BLAS, matrix by matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.rules import Array, Binary, Unary, evaluates

# Asked for by name: where an interrupt ended the first import of scipy.linalg, the second one leaves these out as attributes.
_lapack: Any = lapack
_blas: Any = blas


def lapack_function(name: str, dtype: np.dtype[Any]) -> Any:
    """SciPy's wrapper of the LAPACK routine for this type."""
    return _lapack.get_lapack_funcs((name,), dtype=dtype)[0]


def over_batches(
    routine: Callable[..., Sequence[Any]],
    operands: Sequence[Array],
    ranks: Sequence[int],
    results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
    op: Operation | None = None,
) -> tuple[Array, ...]:
    """Calls the routine on each matrix of a batch; ``ranks`` are the operands' ranks without the batch dimensions,
    ``results`` the shapes and dtypes of all that is returned; numbers fill a result.

    Raises:
        UnsupportedOpError: the types of ``op``, which nobody has verified, are not those of what the routine gives.
    """
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    outputs = tuple(np.zeros(extents, dtype) for extents, dtype in results)
    for i in np.ndindex(*batch):
        parts = routine(*[np.asarray(x)[i] for x in operands])
        if op is not None:
            _check_results(op, results, batch, parts)
        for result, part in zip(outputs, parts, strict=True):
            result[i] = part
    return outputs


def _check_results(op: Operation, results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], batch: tuple[int, ...], parts: Sequence[Any]) -> None:
    if len(results) != len(parts):
        raise UnsupportedOpError(op, f"it gives {len(parts)} results, of which {len(results)} have types")
    for number, ((extents, _), part) in enumerate(zip(results, parts, strict=True)):
        if extents[: len(batch)] != batch or (np.ndim(part) and extents != (*batch, *np.shape(part))):
            raise UnsupportedOpError(op, f"result {number} has the extents {[*batch, *np.shape(part)]}, not {list(extents)}")


@evaluates(stablehlo.CholeskyOp)
def cholesky(op: stablehlo.CholeskyOp) -> Unary:
    """The factor of each matrix, zero in the other triangle; NaN throughout where the matrix is not positive definite."""
    lower = op.lower is not None and bool(int_of(op.lower))
    wide, dtype = working_dtype(element(op.a)), dtype_of(element(op.a))
    routine = lapack_function("potrf", wide)
    triangle = np.tril if lower else np.triu

    def factor(a: Array) -> tuple[Array]:
        c, info = routine(a, lower=lower, clean=True)
        return (triangle(np.full_like(c, np.nan)) if info else c,)

    return lambda a: over_batches(factor, [a.astype(wide)], [2], [(shape(op.result), wide)])[0].astype(dtype, copy=False)


@evaluates(stablehlo.TriangularSolveOp)
def triangular_solve(op: stablehlo.TriangularSolveOp) -> Binary:
    """Substitution; the other triangle of ``a`` is not read, nor the diagonal if it is to be one."""
    wide, dtype = working_dtype(element(op.a)), dtype_of(element(op.a))
    solve = triangular_solver(
        wide,
        left=bool(int_of(op.left_side)),
        lower=bool(int_of(op.lower)),
        unit=bool(int_of(op.unit_diagonal)),
        transpose={"TRANSPOSE": 1, "ADJOINT": 2}.get(op.transpose_a.data, 0),
    )
    return lambda a, b: over_batches(solve, [a.astype(wide), b.astype(wide)], [2, 2], [(shape(op.result), wide)])[0].astype(dtype, copy=False)


def triangular_solver(dtype: np.dtype[Any], *, left: bool, lower: bool, unit: bool, transpose: int) -> Callable[[Array, Array], tuple[Array]]:
    """BLAS trsm for one matrix; ``transpose`` is 0, 1, or 2 for the adjoint."""
    trsm = _blas.get_blas_funcs(("trsm",), dtype=dtype)[0]

    def solve(a: Array, b: Array) -> tuple[Array]:
        if b.size == 0:
            return (b,)
        return (trsm(1.0, a, b, side=not left, lower=lower, trans_a=transpose, diag=unit),)

    return solve

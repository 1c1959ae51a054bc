"""Core's matrix factorisations and tridiagonal systems by LAPACK, matrix by matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.interpreter.ops.lapack import ROUTINES
from wengert.runtime.interpreter.ops.linalg import lapack_function, over_batches, triangular_solver
from wengert.runtime.interpreter.rules import Array, Ternary, Unary, Variadic, evaluates


def _batched(op: Operation, routine: Callable[[Array], Sequence[Any]]) -> Unary:
    results = [(shape(r), dtype_of(element(r))) for r in op.results]
    return lambda a: over_batches(routine, [a], [2], results)


def _named(op: Operation, name: str, hermitian: str | None = None) -> tuple[Any, np.dtype[Any]]:
    dtype = dtype_of(element(op.operands[0]))
    return lapack_function(hermitian if hermitian and dtype.kind == "c" else name, dtype), dtype


@evaluates(core.CholeskyOp)
def cholesky(op: core.CholeskyOp) -> Unary:
    """potrf, with zeros in the other triangle."""
    function, _ = _named(op, "potrf")
    lower = bool(int_of(op.lower))
    return _batched(op, lambda a: function(a, lower=lower, clean=True))


@evaluates(core.CholeskySolveOp)
def cholesky_solve(op: core.CholeskySolveOp) -> Ternary:
    """Two triangular systems."""
    dtype, lower = dtype_of(element(op.b)), bool(int_of(op.lower))
    turned = 2 if dtype.kind == "c" else 1
    first, second = (triangular_solver(dtype, left=True, lower=lower, unit=False, transpose=how) for how in ((0, turned) if lower else (turned, 0)))

    def run(factor: Array, b: Array) -> Sequence[Any]:
        return second(factor, first(factor, b)[0])

    return lambda a, factor, b: over_batches(run, [factor, b], [2, 2], [(shape(op.x), dtype)])[0]


@evaluates(core.LuOp)
def lu(op: core.LuOp) -> Unary:
    """getrf, with pivots from 1."""
    function, _ = _named(op, "getrf")

    def run(a: Array) -> Sequence[Any]:
        if a.size == 0:  # LAPACK complains of a leading dimension of 0
            return a, np.zeros(0, np.int32), 0
        packed, pivots, info = function(a)
        return packed, pivots + 1, info

    return _batched(op, run)


@evaluates(core.PivotsToPermutationOp)
def pivots_to_permutation(op: core.PivotsToPermutationOp) -> Unary:
    """The exchanges, one after the other."""

    def run(pivots: Array) -> Sequence[Any]:
        order = np.arange(shape(op.permutation)[-1], dtype=np.int32)
        for i, row in enumerate(np.clip(pivots - 1, 0, order.size - 1)):
            order[[i, row]] = order[[row, i]]
        return (order,)

    return lambda pivots: over_batches(run, [pivots], [1], [(shape(op.permutation), np.dtype(np.int32))])[0]


@evaluates(core.LuSolveOp)
def lu_solve(op: core.LuSolveOp) -> Variadic:
    """Two triangular systems, on rows in the order of the permutation."""
    dtype, turned = dtype_of(element(op.b)), int(bool(int_of(op.transpose)))
    low = triangular_solver(dtype, left=True, lower=True, unit=True, transpose=turned)
    high = triangular_solver(dtype, left=True, lower=False, unit=False, transpose=turned)

    def run(a: Array, lu: Array, order: Array, b: Array) -> Sequence[Any]:
        order = np.clip(order, 0, len(order) - 1)
        if not turned:
            return high(lu, low(lu, b[order])[0])
        x = np.zeros_like(b)  # of rows that no permutation names
        x[order] = low(lu, high(lu, b)[0])[0]
        return (x,)

    return lambda *operands: over_batches(run, operands, [2, 2, 1, 2], [(shape(op.x), dtype)])[0]


@evaluates(core.LuDiagonalOp)
def lu_diagonal(op: core.LuDiagonalOp) -> Ternary:
    """A part of lu."""
    return lambda a, lu, pivots: np.diagonal(lu, axis1=-2, axis2=-1).copy()


@evaluates(core.QrOp)
def qr(op: core.QrOp) -> Unary:
    """geqrf, then orgqr for the columns asked for."""
    factorize, _ = _named(op, "geqrf")
    generate, _ = _named(op, "orgqr", "ungqr")
    count = shape(op.q)[-1]

    def run(a: Array) -> Sequence[Any]:
        packed, tau = factorize(a)[:2]
        reflectors = np.zeros((a.shape[0], count), packed.dtype)
        reflectors[:, : min(count, a.shape[1])] = packed[:, :count]
        return generate(reflectors, tau)[0], np.triu(packed[:count])

    return _batched(op, run)


@evaluates(core.EighOp)
def eigh(op: core.EighOp) -> Unary:
    """syevd."""
    function, _ = _named(op, "syevd", "heevd")
    lower = bool(int_of(op.lower))

    def run(a: Array) -> Sequence[Any]:
        w, v, info = function(a, lower=lower)
        return v, w, info

    return _batched(op, run)


@evaluates(core.SvdOp)
def svd(op: core.SvdOp) -> Unary:
    """gesdd or gesvd."""
    function, _ = _named(op, "gesvd" if op.by_iteration is not None and int_of(op.by_iteration) else "gesdd")
    full = bool(int_of(op.full))
    return _batched(op, lambda a: function(a, full_matrices=full))


@evaluates(core.EigOp)
def eig(op: core.EigOp) -> Unary:
    """geev; all results complex."""
    _, dtype = _named(op, "geev")
    both = ROUTINES["geev"](dtype, {"compute_left": ord("V"), "compute_right": ord("V")})

    def run(a: Array) -> Sequence[Any]:
        *parts, left, right, info = both(a)
        w = parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0]
        return w, left, right, info

    return _batched(op, run)


@evaluates(core.TridiagonalSolveOp)
def tridiagonal_solve(op: core.TridiagonalSolveOp) -> Variadic:
    """gtsv."""
    routine = ROUTINES["gtsv"](dtype_of(element(op.b)), {})
    results = [(shape(r), dtype_of(element(r))) for r in op.results]
    return lambda *operands: over_batches(lambda *matrices: routine(*matrices)[3:], operands, [1, 1, 1, 2], results)

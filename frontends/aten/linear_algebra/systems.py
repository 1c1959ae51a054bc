"""Systems of linear equations: general, triangular, and by a factorisation that is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.matrices import by_triangle, by_triangle_and_matrix, factors, packed_factors, same_matrix, solution, unpacked_factors
from wengert.ir.tensor_types import element, i32, shape, tensor
from wengert.numpy import conj, matrix_transpose
from wengert.numpy import linalg as wlinalg
from wengert.transforms.ad.building_blocks.matrices import adjoint, identity_like, keep, pivots_to_permutation, transposed
from wengert.transforms.ad.building_blocks.matrices import lu_solve as by_factors
from wengert.transforms.ad.building_blocks.matrices import solve as triangular
from wengert.transforms.core.recognisers.systems import take_rows

Values = tuple[Value | None, ...]


def _spread(b: AtenBuilder, *values: Value) -> list[Value]:
    """Matrices with the same batch dimensions."""
    batch = np.broadcast_shapes(*(shape(x)[:-2] for x in values))
    return [b.expanded(x, [*batch, *shape(x)[-2:]]) for x in values]


@means("_linalg_solve_ex.default(A, B, *, left=True, check_errors=False)", results=solution)
def solve(b: AtenBuilder, a: Value, y: Value, left: bool = True, check_errors: bool = False) -> Values:
    """a x = y, or x a = y; y is a batch of vectors where it has the shape of a without its last dimension."""
    column = len(shape(y)) == 1 or shape(y) == shape(a)[:-1]
    given = b.reshape(y, [*shape(y), 1]) if column else y
    if not left:
        a, given = transposed(b, a), transposed(b, given)
    solution = b.by_numpy(wlinalg.solve, *_spread(b, a, given))
    return b.reshape(solution if left else transposed(b, solution), b.extents), None, None, b.zeros(tensor(shape(a)[:-2], i32))


@means("linalg_solve_triangular.default(self, B, *, upper, left=True, unitriangular=False)", results=by_triangle)
def solve_triangular(b: AtenBuilder, a: Value, y: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Value:
    """The same for a triangular matrix, of which the other triangle is not read."""
    a, y = _spread(b, a, y)
    return triangular(b, a, y, left=left, lower=not upper, unit=unitriangular)


@means("triangular_solve.default(self, A, upper=True, transpose=False, unitriangular=False)", results=by_triangle_and_matrix)
def triangular_solve(b: AtenBuilder, y: Value, a: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Values:
    """The same by an older name, and the matrix."""
    a, y = _spread(b, a, y)
    how = Transpose.TRANSPOSE if transpose else Transpose.NO_TRANSPOSE
    return triangular(b, a, y, lower=not upper, unit=unitriangular, how=how), a


# -- by a Cholesky factor


def _by_factor(b: AtenBuilder, factor: Value, y: Value, upper: bool) -> Value:
    """(l l^H) x = y."""
    # An upper factor is taken as l^H.
    lower = keep(b, adjoint(b, factor) if upper else factor, "GE")
    return triangular(b, lower, triangular(b, lower, y, lower=True), lower=True, how=Transpose.ADJOINT)


@means("cholesky_solve.default(self, input2, upper=False)", results=by_triangle)
def cholesky_solve(b: AtenBuilder, y: Value, factor: Value, upper: bool = False) -> Value:
    """A system by a factor."""
    factor, y = _spread(b, factor, y)
    return _by_factor(b, factor, y, upper)


@means("cholesky_inverse.default(self, upper=False)", results=same_matrix)
def cholesky_inverse(b: AtenBuilder, factor: Value, upper: bool = False) -> Value:
    """The inverse by a factor."""
    return _by_factor(b, factor, identity_like(b, factor), upper)


# -- by LU factors


def _factored(b: AtenBuilder, a: Value) -> tuple[Value, Value, Value]:
    *batch, m, n = shape(a)
    types = (a.type, tensor((*batch, min(m, n)), i32), tensor(batch, i32))
    packed, pivots, info = b.create(core.LuOp, (a,), types)
    return packed, pivots, info


def _permutation_matrix(b: AtenBuilder, pivots: Value, rows: int, like: Value) -> Value:
    """p with p (l u) = a: column i has its one where row i of l u goes."""
    order = pivots_to_permutation(b, pivots, rows)
    extents = [*shape(order)[:-1], rows, rows]
    lead = list(range(len(extents) - 2))
    places = tensor(extents, i32)
    chosen = b.compare("EQ", b.iota(len(extents) - 2, places), b.broadcast_in_dim(order, [*lead, len(extents) - 1], extents))
    return b.convert(chosen, element(like))


def _unpacked(b: AtenBuilder, packed: Value) -> tuple[Value, Value]:
    *batch, m, n = shape(packed)
    k = min(m, n)
    zeros = [0] * len(batch)
    left, right = b.slice(packed, [*zeros, 0, 0], [*batch, m, k]), b.slice(packed, [*zeros, 0, 0], [*batch, k, n])
    return b.add(keep(b, left, "GT"), identity_like(b, left)), keep(b, right, "LE")


@means("linalg_lu.default(A, *, pivot=True)", results=factors)
def lu(b: AtenBuilder, a: Value, *, pivot: bool = True) -> Values:
    """p l u = a."""
    if not pivot:
        raise b.refuse("an LU factorisation without pivots has no translation")
    packed, pivots, _ = _factored(b, a)
    return _permutation_matrix(b, pivots, shape(a)[-2], a), *_unpacked(b, packed)


@means("linalg_lu_factor_ex.default(A, *, pivot=True, check_errors=False)", results=packed_factors)
def lu_factor(b: AtenBuilder, a: Value, *, pivot: bool = True, check_errors: bool = False) -> Values:
    """Both factors in one matrix, pivots counted from 1, and where it failed."""
    if not pivot:
        raise b.refuse("an LU factorisation without pivots has no translation")
    return _factored(b, a)


@means("lu_unpack.default(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)", results=unpacked_factors)
def lu_unpack(b: AtenBuilder, packed: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True) -> Values:
    """p, l and u from both factors in one matrix."""
    factors = _unpacked(b, packed) if unpack_data else (None, None)
    return _permutation_matrix(b, pivots, shape(packed)[-2], packed) if unpack_pivots else None, *factors


def _solved_by_matrix(p: Any, lower: Any, upper: Any, y: Any, left: bool, adjoint: bool) -> Any:
    """The solution of a x = y, x a = y or the same for a^H, where a = p l u is multiplied out."""
    a = p @ lower @ upper
    a = conj(matrix_transpose(a)) if adjoint else a
    if left:
        return wlinalg.solve(a, y)
    return matrix_transpose(wlinalg.solve(matrix_transpose(a), matrix_transpose(y)))


@means("linalg_lu_solve.default(LU, pivots, B, *, left=True, adjoint=False)", results=by_triangle)
def lu_solve(b: AtenBuilder, packed: Value, pivots: Value, y: Value, *, left: bool = True, adjoint: bool = False) -> Value:
    """A system by factors that are given."""
    if adjoint or not left:
        return b.by_numpy(_solved_by_matrix, _permutation_matrix(b, pivots, shape(packed)[-2], packed), *_unpacked(b, packed), y, left, adjoint)
    lead = np.broadcast_shapes(shape(packed)[:-2], shape(y)[:-2])
    order = b.expanded(pivots_to_permutation(b, pivots, shape(packed)[-2]), [*lead, shape(packed)[-2]])
    made = packed.owner
    if isinstance(made, core.LuOp) and pivots is made.pivots:
        a, factors, y = _spread(b, made.a, packed, y)
        return by_factors(b, (a, factors, order), y)
    packed, y = _spread(b, packed, y)
    return triangular(b, packed, triangular(b, packed, take_rows(b, y, order), lower=True, unit=True), lower=False)

"""Systems of linear equations: general, triangular, and by a factorisation that is given."""

from __future__ import annotations

import numpy as np

from wengert.dialects import core
from wengert.dialects.builder import Value
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.frontends.torch_programs.translation import TorchBuilder, translates
from wengert.ir.tensor_types import element, i32, shape, tensor
from wengert.numpy import linalg as wlinalg
from wengert.transforms.ad.building_blocks.matrices import adjoint, identity_like, keep, pivots_to_permutation, transposed
from wengert.transforms.ad.building_blocks.matrices import lu_solve as by_factors
from wengert.transforms.ad.building_blocks.matrices import solve as triangular
from wengert.transforms.core.recognisers.systems import take_rows

Values = tuple[Value | None, ...]


def _spread(b: TorchBuilder, *values: Value) -> list[Value]:
    """Matrices with the same batch dimensions."""
    batch = np.broadcast_shapes(*(shape(x)[:-2] for x in values))
    return [b.expanded(x, [*batch, *shape(x)[-2:]]) for x in values]


@translates("_linalg_solve_ex.default")
def solve(b: TorchBuilder, a: Value, y: Value, left: bool = True, check_errors: bool = False) -> Values:
    """a x = y, or x a = y; y is a batch of vectors where it has the shape of a without its last dimension."""
    column = len(shape(y)) == 1 or shape(y) == shape(a)[:-1]
    given = b.reshape(y, [*shape(y), 1]) if column else y
    if not left:
        a, given = transposed(b, a), transposed(b, given)
    solution = b.by_numpy(wlinalg.solve, *_spread(b, a, given))
    return b.reshape(solution if left else transposed(b, solution), b.extents), None, None, b.zeros(tensor(shape(a)[:-2], i32))


@translates("linalg_solve_triangular.default")
def solve_triangular(b: TorchBuilder, a: Value, y: Value, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Value:
    """The same for a triangular matrix, of which the other triangle is not read."""
    a, y = _spread(b, a, y)
    return triangular(b, a, y, left=left, lower=not upper, unit=unitriangular)


@translates("triangular_solve.default")
def triangular_solve(b: TorchBuilder, y: Value, a: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Values:
    """The same by an older name, and the matrix."""
    a, y = _spread(b, a, y)
    how = Transpose.TRANSPOSE if transpose else Transpose.NO_TRANSPOSE
    return triangular(b, a, y, lower=not upper, unit=unitriangular, how=how), a


# -- by a Cholesky factor


def _by_factor(b: TorchBuilder, factor: Value, y: Value, upper: bool) -> Value:
    """(l l^H) x = y."""
    # An upper factor is taken as l^H.
    lower = keep(b, adjoint(b, factor) if upper else factor, "GE")
    return triangular(b, lower, triangular(b, lower, y, lower=True), lower=True, how=Transpose.ADJOINT)


@translates("cholesky_solve.default")
def cholesky_solve(b: TorchBuilder, y: Value, factor: Value, upper: bool = False) -> Value:
    """A system by a factor."""
    factor, y = _spread(b, factor, y)
    return _by_factor(b, factor, y, upper)


@translates("cholesky_inverse.default")
def cholesky_inverse(b: TorchBuilder, factor: Value, upper: bool = False) -> Value:
    """The inverse by a factor."""
    return _by_factor(b, factor, identity_like(b, factor), upper)


# -- by LU factors


def _factored(b: TorchBuilder, a: Value) -> tuple[Value, Value, Value]:
    *batch, m, n = shape(a)
    types = (a.type, tensor((*batch, min(m, n)), i32), tensor(batch, i32))
    packed, pivots, info = b.create(core.LuOp, (a,), types)
    return packed, pivots, info


def _permutation_matrix(b: TorchBuilder, pivots: Value, rows: int, like: Value) -> Value:
    """p with p (l u) = a: column i has its one where row i of l u goes."""
    order = pivots_to_permutation(b, pivots, rows)
    extents = [*shape(order)[:-1], rows, rows]
    lead = list(range(len(extents) - 2))
    places = tensor(extents, i32)
    chosen = b.compare("EQ", b.iota(len(extents) - 2, places), b.broadcast_in_dim(order, [*lead, len(extents) - 1], extents))
    return b.convert(chosen, element(like))


def _unpacked(b: TorchBuilder, packed: Value) -> tuple[Value, Value]:
    *batch, m, n = shape(packed)
    k = min(m, n)
    zeros = [0] * len(batch)
    left, right = b.slice(packed, [*zeros, 0, 0], [*batch, m, k]), b.slice(packed, [*zeros, 0, 0], [*batch, k, n])
    return b.add(keep(b, left, "GT"), identity_like(b, left)), keep(b, right, "LE")


@translates("linalg_lu.default")
def lu(b: TorchBuilder, a: Value, *, pivot: bool = True) -> Values:
    """p l u = a."""
    if not pivot:
        raise b.refuse("an LU factorisation without pivots has no translation")
    packed, pivots, _ = _factored(b, a)
    return _permutation_matrix(b, pivots, shape(a)[-2], a), *_unpacked(b, packed)


@translates("linalg_lu_factor_ex.default")
def lu_factor(b: TorchBuilder, a: Value, *, pivot: bool = True, check_errors: bool = False) -> Values:
    """Both factors in one matrix, pivots counted from 1, and where it failed."""
    if not pivot:
        raise b.refuse("an LU factorisation without pivots has no translation")
    return _factored(b, a)


@translates("lu_unpack.default")
def lu_unpack(b: TorchBuilder, packed: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True) -> Values:
    """p, l and u from both factors in one matrix."""
    factors = _unpacked(b, packed) if unpack_data else (None, None)
    return _permutation_matrix(b, pivots, shape(packed)[-2], packed) if unpack_pivots else None, *factors


@translates("linalg_lu_solve.default")
def lu_solve(b: TorchBuilder, packed: Value, pivots: Value, y: Value, *, left: bool = True, adjoint: bool = False) -> Value:
    """A system by factors that are given."""
    if adjoint or not left:
        raise b.refuse("linalg.lu_solve from the right, or with the adjoint, has no translation")
    lead = np.broadcast_shapes(shape(packed)[:-2], shape(y)[:-2])
    order = b.expanded(pivots_to_permutation(b, pivots, shape(packed)[-2]), [*lead, shape(packed)[-2]])
    made = packed.owner
    if isinstance(made, core.LuOp) and pivots is made.pivots:
        a, factors, y = _spread(b, made.a, packed, y)
        return by_factors(b, (a, factors, order), y)
    packed, y = _spread(b, packed, y)
    return triangular(b, packed, triangular(b, packed, take_rows(b, y, order), lower=True, unit=True), lower=False)

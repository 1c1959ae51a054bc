"""Operations on batches of matrices, which are the last two dimensions, for derivative rules."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.attributes import Transpose, TransposeAttr
from wengert.ir.attributes import bool_attr
from wengert.ir.tensor_types import element, i32, is_complex, shape, tensor


def matmul(b: OpBuilder, x: Value, y: Value) -> Value:
    """The batched matrix product."""
    batch = list(range(len(shape(x)) - 2))
    return b.dot_general(x, y, ([len(batch) + 1], [len(batch)]), (batch, batch))


def transposed(b: OpBuilder, x: Value) -> Value:
    """The batched transpose."""
    n = len(shape(x))
    return b.transpose(x, [*range(n - 2), n - 1, n - 2])


def adjoint(b: OpBuilder, x: Value) -> Value:
    """The batched conjugate transpose."""
    return transposed(b, b.conj(x) if is_complex(element(x)) else x)


def keep(b: OpBuilder, x: Value, direction: str, offset: int = 0) -> Value:
    """x where ``row direction column + offset``, else 0: GE is the lower triangle, GT the strict one, EQ the diagonal."""
    n = len(shape(x))
    places = tensor(shape(x), i32)
    columns = b.iota(n - 1, places)
    if offset:
        columns = b.add(columns, b.full(offset, places))
    return b.select(b.compare(direction, b.iota(n - 2, places), columns), x, b.full_like(x, 0))


def identity_like(b: OpBuilder, x: Value) -> Value:
    """Ones on the diagonal of x's type."""
    return keep(b, b.full_like(x, 1), "EQ")


def diagonal(b: OpBuilder, x: Value) -> Value:
    """The diagonal of (the leading square of) batched matrices."""
    return b.reduce_sum(keep(b, x, "EQ"), [len(shape(x)) - (1 if shape(x)[-2] <= shape(x)[-1] else 2)])


def rows(b: OpBuilder, v: Value, like: Value) -> Value:
    """A vector per matrix, constant along columns: element (i, j) is v[i]."""
    n = len(shape(like))
    return b.broadcast_in_dim(v, list(range(n - 1)), shape(like))


def columns(b: OpBuilder, v: Value, like: Value) -> Value:
    """A vector per matrix, constant along rows: element (i, j) is v[j]."""
    n = len(shape(like))
    return b.broadcast_in_dim(v, [*range(n - 2), n - 1], shape(like))


def solve(b: OpBuilder, a: Value, x: Value, *, left: bool = True, lower: bool, unit: bool = False, how: Transpose = Transpose.NO_TRANSPOSE) -> Value:
    """stablehlo.triangular_solve."""
    properties = {"left_side": bool_attr(left), "lower": bool_attr(lower), "unit_diagonal": bool_attr(unit), "transpose_a": TransposeAttr(how)}
    return b.one(hlo.TriangularSolveOp, (a, x), x.type, **properties)


def pivots_to_permutation(b: OpBuilder, pivots: Value, m: int) -> Value:
    """core.pivots_to_permutation of m rows."""
    return b.one(core.PivotsToPermutationOp, (pivots,), tensor([*shape(pivots)[:-1], m], i32))


def lu_solve(b: OpBuilder, factors: Sequence[Value], x: Value, *, transpose: bool = False) -> Value:
    """core.lu_solve; ``factors`` are a, lu and the permutation."""
    return b.one(core.LuSolveOp, (*factors, x), x.type, transpose=bool_attr(transpose))


def reflected(b: OpBuilder, q1: Value) -> Value:
    """s (t - 1)^-1 where q1 = [t; s] is the first n columns of a product of n reflectors, by LU factors of the adjoint of t - 1."""
    n, start = shape(q1)[-1], [0] * (len(shape(q1)) - 2)
    t = b.slice(q1, [*start, 0, 0], [*shape(q1)[:-2], n, n])
    s = b.slice(q1, [*start, n, 0], list(shape(q1)))
    flipped = adjoint(b, b.subtract(t, identity_like(b, t)))
    types = (flipped.type, tensor([*shape(q1)[:-2], n], i32), tensor(shape(q1)[:-2], i32))
    packed, pivots, _ = b.create(core.LuOp, (flipped,), types)
    return adjoint(b, lu_solve(b, (flipped, packed, pivots_to_permutation(b, pivots, n)), adjoint(b, s)))


def cholesky_solve(b: OpBuilder, op: core.CholeskySolveOp, x: Value) -> Value:
    """The core.cholesky_solve ``op`` with other right-hand sides."""
    return b.one(core.CholeskySolveOp, (op.a, op.factor, x), x.type, lower=op.lower, a_lower=op.a_lower)


def lu_diagonal(b: OpBuilder, a: Value, lu: Value, pivots: Value) -> Value:
    """core.lu_diagonal."""
    return b.one(core.LuDiagonalOp, (a, lu, pivots), tensor(shape(a)[:-1], element(a)))


def hermitian(b: OpBuilder, x: Value, lower: bool) -> Value:
    """The Hermitian matrix that is written in one triangle of x (its diagonal is real)."""
    strict = keep(b, x, "GT" if lower else "LT")
    middle = keep(b, x, "EQ")
    if is_complex(element(x)):
        middle = b.convert(b.real(middle), element(x))
    return b.add(b.add(strict, adjoint(b, strict)), middle)


def positive_definite(b: OpBuilder, x: Value) -> Value:
    """A positive definite matrix from any of order n: x x^H + n."""
    return b.add(matmul(b, x, adjoint(b, x)), b.multiply(identity_like(b, x), b.full_like(x, shape(x)[-1])))


# -- tridiagonal matrices, by their lower, main and upper diagonals of one length


def tridiagonal(b: OpBuilder, diagonals: Sequence[Value], x: Value) -> Value:
    """core.tridiagonal_solve, without its info."""
    return b.create(core.TridiagonalSolveOp, (*diagonals, x), (x.type, tensor(shape(x)[:-2], i32)))[0]


def transposed_diagonals(b: OpBuilder, lower: Value, main: Value, upper: Value) -> tuple[Value, Value, Value]:
    """The diagonals of the transpose."""
    last = len(shape(main)) - 1
    return shifted(b, upper, last, 1), main, shifted(b, lower, last, -1)


def paired_rows(b: OpBuilder, x: Value, y: Value, offset: int) -> tuple[Value, Value]:
    """The rows i of x and i + offset of y, where both exist; x and y are batches of matrices with equally many rows."""
    rank, rows_ = len(shape(x)), shape(x)[-2]
    low, high = max(0, -offset), rows_ - max(0, offset)

    def cut(z: Value, start: int, end: int) -> Value:
        extents = [*shape(z)[:-2], max(end, start), shape(z)[-1]]
        return z if (start, end) == (0, rows_) else b.slice(z, [*[0] * (rank - 2), start, 0], extents)

    return cut(x, low, high), cut(y, low + offset, high + offset)


def paired_rows_adjoint(b: OpBuilder, x: Value, dim: int, offset: int) -> Value:
    """The adjoint of the first of :func:`paired_rows`: pads rows (along ``dim``) with zeros to their original positions."""
    if offset == 0:
        return x
    low, high = ([edge if d == dim else 0 for d in range(len(shape(x)))] for edge in (max(0, -offset), max(0, offset)))
    return b.pad(x, b.scalar(0, element(x)), low, high)


def along_rows(b: OpBuilder, diagonal_: Value, like: Value) -> Value:
    """One element per row, repeated along the columns of ``like``."""
    return b.broadcast_in_dim(diagonal_, list(range(len(shape(like)) - 1)), shape(like))


def shifted(b: OpBuilder, x: Value, dim: int, by: int) -> Value:
    """Shifts x along a dimension toward higher positions, and fills with zeros."""
    if by == 0:
        return x
    low = [by if d == dim else 0 for d in range(len(shape(x)))]
    return b.pad(x, b.scalar(0, element(x)), low, [-n for n in low])

"""Core's matrix factorisations and systems of equations, batched over leading dimensions.

Programs ask for them by the name of a library routine, with options as letters and results in the library's packed forms. Here
each is one op whose results mean something by themselves. ``info`` (``tensor<..xi32>``, one per matrix) is 0 where the
factorisation succeeded, as in LAPACK. Triangular systems are ``stablehlo.triangular_solve``; general ones and tridiagonal ones have ops here.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import FORMULA, MOVEMENT, Facts, Work
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition


@op_definition
class CholeskyOp(TensorOp):
    """``a = l l^H`` (lower) or ``u^H u``: the factor, zero in the other triangle. Reads that triangle of ``a`` only."""

    name = "core.cholesky"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    lower = prop_def(BoolAttr)
    factor = result_def()
    info = result_def()
    traits = traits_def(Pure())


@op_definition
class CholeskySolveOp(TensorOp):
    """``a x = b`` by a Cholesky factor of a that is there already: ``a = l l^H`` (``lower``) or ``u^H u``, ``b, x: [.., n, k]``.

    The solution is computed from the factor's triangle alone; a says what it depends on, as in ``core.lu_solve``. Of a the triangle that
    ``a_lower`` says is what the factor was made of, and what has a derivative. The factor has none here.
    """

    name = "core.cholesky_solve"
    FACTS: ClassVar = Facts(work=Work.FORMULA, linear=(2,))
    a = operand_def()
    factor = operand_def()
    b = operand_def()
    lower = prop_def(BoolAttr)
    a_lower = prop_def(BoolAttr)
    x = result_def()
    traits = traits_def(Pure())


@op_definition
class LuOp(TensorOp):
    """``p a = l u`` by partial pivoting, ``a: [.., m, n]``: l and u packed in one matrix (l has ones on its diagonal), and
    the pivots (``[.., min(m, n)]``, i32, from 1): row i was exchanged with row pivots[i] - 1, for i = 0, 1, ... in turn."""

    name = "core.lu"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    lu = result_def()
    pivots = result_def()
    info = result_def()
    traits = traits_def(Pure())


@op_definition
class PivotsToPermutationOp(TensorOp):
    """The order of m rows that exchanging row i with row pivots[i] - 1, for i = 0, 1, ..., brings about: ``pivots: [.., k]``, i32, from
    1 to m, as ``core.lu`` returns them, to ``[.., m]``, i32, from 0, with m at least k. Row i is then what was row permutation[i].
    Numbers out of bounds count as the nearest row."""

    name = "core.pivots_to_permutation"
    FACTS: ClassVar = MOVEMENT
    pivots = operand_def()
    permutation = result_def()
    traits = traits_def(Pure())


@op_definition
class LuSolveOp(TensorOp):
    """``a x = b``, or ``a^T x = b`` if ``transpose``, by factors of a that are there already: ``a[permutation] = l u``, packed as
    ``core.lu`` does. ``a, lu: [.., n, n]``, ``permutation: [.., n]``, i32, ``b, x: [.., n, k]``.

    The solution is computed from the factors alone, and it is its derivative that a is for: that of a system needs no derivative of
    factors. So lu and permutation must be those of this a; they have no derivative here. Numbers of rows out of bounds count as the nearest.
    """

    name = "core.lu_solve"
    FACTS: ClassVar = Facts(work=Work.FORMULA, linear=(3,))
    a = operand_def()
    lu = operand_def()
    permutation = operand_def()
    b = operand_def()
    transpose = prop_def(BoolAttr)
    x = result_def()
    traits = traits_def(Pure())


@op_definition
class LuDiagonalOp(TensorOp):
    """The diagonal of u, ``[.., n]``, where lu and pivots are those that ``core.lu`` returns for this very a: ``[.., n, n]``.

    It is a part of lu by itself because its derivative costs no products of matrices, and that of all of lu does.
    """

    name = "core.lu_diagonal"
    FACTS: ClassVar = MOVEMENT
    a = operand_def()
    lu = operand_def()
    pivots = operand_def()
    diagonal = result_def()
    traits = traits_def(Pure())


@op_definition
class QrOp(TensorOp):
    """``a = q r``, ``a: [.., m, n]``, with q of orthonormal columns and r upper triangular: ``q: [.., m, k]``, ``r: [.., k, n]``
    with k = min(m, n), or m if ``full``. The signs are those of Householder's method (LAPACK geqrf)."""

    name = "core.qr"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    full = prop_def(BoolAttr)
    q = result_def()
    r = result_def()
    traits = traits_def(Pure())


@op_definition
class EighOp(TensorOp):
    """``a v = v diag(w)`` for symmetric (Hermitian) a: eigenvectors in columns, eigenvalues ascending. Reads one triangle."""

    name = "core.eigh"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    lower = prop_def(BoolAttr)
    vectors = result_def()
    values = result_def()
    info = result_def()
    traits = traits_def(Pure())


@op_definition
class SvdOp(TensorOp):
    """``a = u diag(s) vh``, s descending; with k = min(m, n), ``u: [.., m, k]`` and ``vh: [.., k, n]``, or square if ``full``.

    Signs (phases) of the vectors are those of LAPACK's gesdd, divide and conquer, or, with ``by_iteration``, of gesvd, the QR iteration. On devices they
    are those of Jacobi's method (:mod:`wengert.transforms.linalg.svd`)."""

    name = "core.svd"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    full = prop_def(BoolAttr)
    by_iteration = opt_prop_def(BoolAttr)
    u = result_def()
    s = result_def()
    vh = result_def()
    info = result_def()
    traits = traits_def(Pure())


@op_definition
class EigOp(TensorOp):
    """``a v = v diag(w)`` and ``u^H a = diag(w) u^H`` for any square a; all results are complex, vectors of norm 1."""

    name = "core.eig"
    FACTS: ClassVar = FORMULA
    a = operand_def()
    values = result_def()
    left = result_def()
    right = result_def()
    info = result_def()
    traits = traits_def(Pure())


@op_definition
class TridiagonalSolveOp(TensorOp):
    """``a x = b`` by elimination with partial pivoting, a given by its diagonals: ``a[i, i - 1] = lower[i]``, ``a[i, i] = main[i]``
    and ``a[i, i + 1] = upper[i]``, each ``[.., n]``; ``lower[0]`` and ``upper[n - 1]`` are not read. ``b, x: [.., n, k]``."""

    name = "core.tridiagonal_solve"
    FACTS: ClassVar = Facts(work=Work.FORMULA, linear=(3,))
    lower = operand_def()
    main = operand_def()
    upper = operand_def()
    b = operand_def()
    x = result_def()
    info = result_def()
    traits = traits_def(Pure())


LINALG = (CholeskyOp, CholeskySolveOp, LuOp, PivotsToPermutationOp, LuSolveOp, LuDiagonalOp, QrOp, EighOp, SvdOp, EigOp, TridiagonalSolveOp)

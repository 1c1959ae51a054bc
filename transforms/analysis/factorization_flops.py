"""The flops of LAPACK's routines, by the rows and columns of their matrices (LAPACK Working Note 41; Golub, Van Loan, Matrix Computations)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import element
from wengert.transforms.analysis.symbolic.extents import Extents
from wengert.transforms.analysis.symbolic.integers import Extent, larger, product, rounded, smaller

_THIRD = Fraction(1, 3)
CUBIC: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "potrf": lambda m, n, short, long: n**3 * _THIRD,
    "getrf": lambda m, n, short, long: m * n * short - (m + n) * short**2 * Fraction(1, 2) + short**3 * _THIRD,
    "geqrf": lambda m, n, short, long: 2 * long * short**2 - 2 * short**3 * _THIRD,
    "orgqr": lambda m, n, short, long: 2 * m * n**2 - 2 * n**3 * _THIRD,
    "ungqr": lambda m, n, short, long: 2 * m * n**2 - 2 * n**3 * _THIRD,
    "gehrd": lambda m, n, short, long: 10 * n**3 * _THIRD,
    "sytrd": lambda m, n, short, long: 4 * n**3 * _THIRD,
    "hetrd": lambda m, n, short, long: 4 * n**3 * _THIRD,
    "syevd": lambda m, n, short, long: 9 * n**3,
    "heevd": lambda m, n, short, long: 9 * n**3,
    "geev": lambda m, n, short, long: 25 * n**3,
    "gees": lambda m, n, short, long: 25 * n**3,
    "gesdd": lambda m, n, short, long: 22 * short**2 * long,
    "gesvd": lambda m, n, short, long: 22 * short**2 * long,
}
"""Flops by the rows, the columns, and the shorter and longer of both."""


def scale(matrix: SSAValue) -> int:
    """4 for complex matrices, on which a product and a sum take so many times the flops, and 1 for real ones."""
    return 4 if isinstance(element(matrix), ComplexType) else 1


def factorization(name: str, matrices: SSAValue, extents: Extents) -> Extent:
    """The flops of a routine on matrices; 0 for one that is not known."""
    *batch, m, n = extents.shape(matrices)
    formula = CUBIC.get(name)
    return scale(matrices) * product(batch) * rounded(formula(m, n, smaller(m, n), larger(m, n))) if formula else 0


def routine_of(op: stablehlo.CustomCallOp) -> str:
    """The name of the LAPACK routine that a call is of, without its precision."""
    name = op.call_target_name.data.removesuffix("_ffi").removeprefix("cusolver_")
    return name[len("lapack_d") :] if name.startswith("lapack_") else name

"""Typing rules of core's matrix factorisations. Importing this module registers them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Operation

from wengert.dialects.core import linalg as ops
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    as_tensor,
    element_class,
    expect_elements,
    expect_result,
    fail,
    operand,
    same_element,
    same_shape,
)
from wengert.dialects.stablehlo.typing.linalg import expect_matrices
from wengert.ir.attributes import int_of
from wengert.ir.element_classes import COMPLEX, FLOAT
from wengert.ir.tensor_types import DYNAMIC, i32, real_element
from wengert.ir.verification.typing_rules import typing_rule


def matrices(op: Operation) -> tuple[Shape, int, int, Attribute]:
    """The batch dimensions, rows, columns and element type of the operand."""
    a = operand(op, 0, "a")
    expect_elements("a", a, FLOAT | COMPLEX)
    shape = a.get_shape()
    if len(shape) < 2:
        fail(f"a must hold matrices in its last two dimensions, found {a}")
    return shape[:-2], shape[-2], shape[-1], a.element_type


def smaller(m: int, n: int) -> int:
    """min(m, n), where both are known."""
    return DYNAMIC if DYNAMIC in (m, n) else min(m, n)


def expect_all(op: Operation, batch: Shape, *types: tuple[Sequence[int], Attribute]) -> None:
    """The results, each by its dimensions after the batch and its element type."""
    for index, (extents, element) in enumerate(types):
        expect_result(op, (*batch, *extents), element, index)


@typing_rule(ops.CholeskyOp)
def check_cholesky(op: ops.CholeskyOp) -> None:
    """Square matrices: the factor and info."""
    expect_matrices("a", operand(op, 0, "a"))
    batch, m, n, element = matrices(op)
    expect_all(op, batch, ((m, n), element), ((), i32))


@typing_rule(ops.CholeskySolveOp)
def check_cholesky_solve(op: ops.CholeskySolveOp) -> None:
    """Square matrices and their factors; x has the type of b."""
    a, factor, b = operand(op, 0, "a"), operand(op, 1, "factor"), operand(op, 2, "b")
    matrices, sides = expect_matrices("a", a), b.get_shape()
    same_element("a", a, "factor", factor)
    same_element("a", a, "b", b)
    if not same_shape(matrices, factor.get_shape()):
        fail(f"a and its factor must have one shape, found {a} and {factor}")
    if len(matrices) != len(sides) or not same_shape(matrices[:-1], sides[:-1]):
        fail(f"b must have the batch dimensions and the rows of a, found {a} and {b}")
    expect_result(op, sides, b.element_type)


@typing_rule(ops.LuOp)
def check_lu(op: ops.LuOp) -> None:
    """The packed factors, min(m, n) pivots, and info."""
    batch, m, n, element = matrices(op)
    expect_all(op, batch, ((m, n), element), ((smaller(m, n),), i32), ((), i32))


@typing_rule(ops.PivotsToPermutationOp)
def check_pivots_to_permutation(op: ops.PivotsToPermutationOp) -> None:
    """Checks that the permutation has as many rows as there are pivots, or more."""
    pivots, permutation = operand(op, 0, "pivots"), as_tensor("the permutation", op.permutation.type)
    before, after = pivots.get_shape(), permutation.get_shape()
    if pivots.element_type != i32 or not before:
        fail(f"pivots must be a tensor of i32 with at least one dimension, found {pivots}")
    if permutation.element_type != i32 or not same_shape(before[:-1], after[:-1]) or (DYNAMIC not in (before[-1], *after[-1:]) and after[-1] < before[-1]):
        fail(f"the permutation must be of i32, with the batch dimensions of the pivots and as many elements or more, found {permutation} of {pivots}")


@typing_rule(ops.LuSolveOp)
def check_lu_solve(op: ops.LuSolveOp) -> None:
    """Square matrices, their factors and permutations; x has the type of b."""
    a, b = operand(op, 0, "a"), operand(op, 3, "b")
    matrices, sides = expect_factors(op, a, "permutation"), b.get_shape()
    same_element("a", a, "b", b)
    if len(matrices) != len(sides) or not same_shape(matrices[:-1], sides[:-1]):
        fail(f"b must have the batch dimensions and the rows of a, found {a} and {b}")
    expect_result(op, sides, b.element_type)


def expect_factors(op: Operation, a: Tensor, rows: str) -> Shape:
    """Operands 0 to 2 are square matrices, their factors, and a number for each row."""
    matrices, lu, numbers = expect_matrices("a", a), operand(op, 1, "lu"), operand(op, 2, rows)
    same_element("a", a, "lu", lu)
    if not same_shape(matrices, lu.get_shape()):
        fail(f"a and lu must have one shape, found {a} and {lu}")
    if numbers.element_type != i32 or not same_shape(matrices[:-1], numbers.get_shape()):
        fail(f"{rows} must be of i32, with one element for each row of a, found {numbers} for {a}")
    return matrices


@typing_rule(ops.LuDiagonalOp)
def check_lu_diagonal(op: ops.LuDiagonalOp) -> None:
    """Square matrices, their factors and pivots, to an element for each row."""
    a = operand(op, 0, "a")
    expect_result(op, expect_factors(op, a, "pivots")[:-1], a.element_type)


@typing_rule(ops.QrOp)
def check_qr(op: ops.QrOp) -> None:
    """Factors q: m by k and r: k by n."""
    batch, m, n, element = matrices(op)
    k = m if int_of(op.properties["full"]) else smaller(m, n)
    expect_all(op, batch, ((m, k), element), ((k, n), element))


@typing_rule(ops.EighOp)
def check_eigh(op: ops.EighOp) -> None:
    """Square matrices: eigenvectors, real eigenvalues, info."""
    expect_matrices("a", operand(op, 0, "a"))
    batch, m, n, element = matrices(op)
    expect_all(op, batch, ((m, n), element), ((n,), real_element(element)), ((), i32))


@typing_rule(ops.SvdOp)
def check_svd(op: ops.SvdOp) -> None:
    """Singular vectors on both sides of real singular values, info."""
    batch, m, n, element = matrices(op)
    k = smaller(m, n)
    full = bool(int_of(op.properties["full"]))
    left, right = (m, n) if full else (k, k)
    expect_all(op, batch, ((m, left), element), ((k,), real_element(element)), ((right, n), element), ((), i32))


@typing_rule(ops.EigOp)
def check_eig(op: ops.EigOp) -> None:
    """Square matrices: complex eigenvalues, left and right eigenvectors, info."""
    expect_matrices("a", operand(op, 0, "a"))
    batch, m, n, element = matrices(op)
    complex_element = element if element_class(element) == COMPLEX else ComplexType(element)  # pyright: ignore[reportArgumentType]
    expect_all(op, batch, ((n,), complex_element), ((m, n), complex_element), ((m, n), complex_element), ((), i32))


@typing_rule(ops.TridiagonalSolveOp)
def check_tridiagonal_solve(op: ops.TridiagonalSolveOp) -> None:
    """Three diagonals of one type; x has the type of b, whose rows are as many as they are long; info."""
    main, b = operand(op, 1, "main"), operand(op, 3, "b")
    expect_elements("main", main, FLOAT | COMPLEX)
    extents, sides = main.get_shape(), b.get_shape()
    for index, role in ((0, "lower"), (2, "upper")):
        other = operand(op, index, role)
        same_element("main", main, role, other)
        if not same_shape(extents, other.get_shape()):
            fail(f"the diagonals must have one shape, found {main} and {other}")
    same_element("main", main, "b", b)
    if not extents or len(sides) != len(extents) + 1 or not same_shape(sides[:-1], extents):
        fail(f"b must have the dimensions of the diagonals and one more, found {main} and {b}")
    expect_result(op, sides, b.element_type, 0)
    expect_result(op, sides[:-2], i32, 1)

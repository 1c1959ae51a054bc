"""Typing rules of linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ComplexType

from wengert.dialects.stablehlo import linalg as ops
from wengert.dialects.stablehlo.attributes import FftType, FftTypeAttr, Transpose, TransposeAttr
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    expect_elements,
    expect_result,
    fail,
    int_list,
    operand,
    same_element,
    same_extent,
    same_shape,
)
from wengert.ir.attributes import int_of
from wengert.ir.element_classes import COMPLEX, FLOAT, QUANTIZED
from wengert.ir.tensor_types import DYNAMIC, f32, f64, real_element
from wengert.ir.verification.typing_rules import typing_rule


def expect_matrices(role: str, type: Tensor) -> Shape:
    """Batched square matrices of floats or complex numbers."""
    expect_elements(role, type, FLOAT | COMPLEX | QUANTIZED)
    shape = type.get_shape()
    if len(shape) < 2 or not same_extent(shape[-1], shape[-2]):
        fail(f"{role} must hold square matrices in its last two dimensions, found {type}")
    return shape


@typing_rule(ops.CholeskyOp)
def check_cholesky(op: ops.CholeskyOp) -> None:
    """Batched square matrices to the same."""
    a = operand(op, 0, "a")
    expect_result(op, expect_matrices("a", a), a.element_type, bounds=bounds_of(a))


@typing_rule(ops.TriangularSolveOp)
def check_triangular_solve(op: ops.TriangularSolveOp) -> None:
    """The result has the type of b."""
    a, b = operand(op, 0, "a"), operand(op, 1, "b")
    expect_elements("a", a, FLOAT | COMPLEX)
    same_element("a", a, "b", b)
    matrices, sides = expect_matrices("a", a), b.get_shape()
    if len(matrices) != len(sides) or not same_shape(matrices[:-2], sides[:-2]):
        fail(f"a and b must have the same rank and the same batch dimensions, found {a} and {b}")
    left = bool(int_of(op.properties["left_side"]))
    if not same_extent(matrices[-1], sides[-2 if left else -1]):
        fail(f"the {'rows' if left else 'columns'} of b must be as many as the rows of a where left_side is {str(left).lower()}, found {a} and {b}")
    if cast(TransposeAttr, op.properties["transpose_a"]).data is Transpose.TRANSPOSE_INVALID:
        fail("transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT, found TRANSPOSE_INVALID")
    expect_result(op, sides, b.element_type, bounds=bounds_of(b))


@typing_rule(ops.FftOp)
def check_fft(op: ops.FftOp) -> None:
    """FFT and IFFT keep the type; RFFT halves the last dimension to n / 2 + 1; IRFFT restores it."""
    x = operand(op, 0, "operand")
    kind = cast(FftTypeAttr, op.properties["fft_type"]).data
    lengths = int_list(op, "fft_length")
    shape = list(x.get_shape())
    rank = len(lengths)
    if not 1 <= rank <= 3 or rank > len(shape):
        fail(f"fft_length must have 1 to 3 entries and no more than the operand's rank {len(shape)}, found {list(lengths)}")
    if kind is FftType.RFFT:
        if x.element_type not in (f32, f64):
            fail(f"RFFT takes real numbers of f32 or f64, found {x}")
        expect_transformed(x, lengths, lengths[-1])
        if shape[-1] != DYNAMIC:
            shape[-1] = lengths[-1] // 2 + 1 if lengths[-1] else 0
        expect_result(op, shape, ComplexType(x.element_type))
        return
    expect_elements(f"{kind} operand", x, COMPLEX)
    if kind is FftType.IRFFT:
        expect_transformed(x, lengths, lengths[-1] // 2 + 1 if lengths[-1] else 0)
        expect_result(op, [*shape[:-1], lengths[-1]], real_element(x.element_type))
        return
    expect_transformed(x, lengths, lengths[-1])
    expect_result(op, shape, x.element_type)


def expect_transformed(x: Tensor, lengths: Shape, last: int) -> None:
    """The last dimensions of the operand have the transform's extents, the very last one ``last``."""
    expected = (*lengths[:-1], last)
    if not same_shape(x.get_shape()[-len(lengths) :], expected):
        fail(f"the last dimensions of the operand must be {list(expected)} by fft_length = {list(lengths)}, found {x}")

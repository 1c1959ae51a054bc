"""Transposes of the linear elementwise ops: sums, scalings, selects and conversions."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import chlo
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex
from wengert.transforms.ad.rule import Tangent, transpose


@transpose(hlo.AddOp)
def add(b: OpBuilder, op: hlo.AddOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [y_bars[0], y_bars[0]]


@transpose(hlo.SubtractOp)
def subtract(b: OpBuilder, op: hlo.SubtractOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [y_bars[0], b.negate(y_bars[0]) if linear[1] else None]


@transpose(hlo.NegateOp)
def negate(b: OpBuilder, op: hlo.NegateOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.negate(y_bars[0])]


@transpose(hlo.MultiplyOp)
def multiply(b: OpBuilder, op: hlo.MultiplyOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # complex coefficients are not conjugated (JAX's convention)
    return [b.multiply(y_bars[0], op.rhs) if linear[0] else None, b.multiply(op.lhs, y_bars[0]) if linear[1] else None]


@transpose(hlo.DivideOp)
def divide(b: OpBuilder, op: hlo.DivideOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.divide(y_bars[0], op.rhs), None]


@transpose(hlo.SelectOp)
def select(b: OpBuilder, op: hlo.SelectOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    y_bar = y_bars[0]
    zero = b.full_like(y_bar, 0)
    on_true = b.select(op.pred, y_bar, zero) if linear[1] else None
    return [None, on_true, b.select(op.pred, zero, y_bar) if linear[2] else None]


@transpose(hlo.ConvertOp)
def convert(b: OpBuilder, op: hlo.ConvertOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    # real -> complex transposes to the real part; complex -> real (which drops the imaginary part) to a zero imaginary part
    y_bar, element_type = y_bars[0], element(op.operand)
    if is_complex(element(y_bar)) and not is_complex(element_type):
        y_bar = b.real(y_bar)
    return [b.convert(y_bar, element_type)]


@transpose(hlo.ReducePrecisionOp)
def reduce_precision(b: OpBuilder, op: hlo.ReducePrecisionOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return b.create(hlo.ReducePrecisionOp, (y_bars[0],), (op.operand.type,), op.properties)


# Complex numbers: Re(sum of cotangent times tangent) is what transposition preserves, without conjugation.


@transpose(hlo.RealOp)
def real(b: OpBuilder, op: hlo.RealOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    if not is_complex(element(op.operand)):
        return [y_bars[0]]  # a real number is its own real part
    return [b.complex(y_bars[0], b.full_like(y_bars[0], 0))]


@transpose(hlo.ImagOp)
def imag(b: OpBuilder, op: hlo.ImagOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    if not is_complex(element(op.operand)):
        return [None]  # a real number has no imaginary part
    return [b.complex(b.full_like(y_bars[0], 0), b.negate(y_bars[0]))]


@transpose(hlo.ComplexOp)
def complex_(b: OpBuilder, op: hlo.ComplexOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.real(y_bars[0]) if linear[0] else None, b.negate(b.imag(y_bars[0])) if linear[1] else None]


@transpose(chlo.ConjOp)
def conj(b: OpBuilder, op: chlo.ConjOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    return [b.conj(y_bars[0])]

"""Laws of complex numbers and their parts."""

from __future__ import annotations

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import element, is_complex
from wengert.transforms.optimize.matching import made_by
from wengert.transforms.optimize.rewrites import Rewritten, rewrite


@rewrite(stablehlo.RealOp)
def real_of_complex(b: OpBuilder, op: stablehlo.RealOp) -> Rewritten:
    """real x = x for a real x; real(complex(x, y)) = x; real(conj z) = real z"""
    if not is_complex(element(op.operand)):
        return op.operand
    if (made := made_by(op.operand, stablehlo.ComplexOp)) is not None:
        return made.lhs
    conjugate = made_by(op.operand, chlo.ConjOp)
    return None if conjugate is None else b.real(conjugate.operand)


@rewrite(stablehlo.ImagOp)
def imag_of_complex(b: OpBuilder, op: stablehlo.ImagOp) -> Rewritten:
    """imag x = 0 for a real x; imag(complex(x, y)) = y; imag(conj z) = -imag z"""
    if not is_complex(element(op.operand)):
        return b.full_like(op.operand, 0)
    if (made := made_by(op.operand, stablehlo.ComplexOp)) is not None:
        return made.rhs
    conjugate = made_by(op.operand, chlo.ConjOp)
    return None if conjugate is None else b.negate(b.imag(conjugate.operand))


@rewrite(stablehlo.ComplexOp, given=[stablehlo.RealOp])
def complex_of_parts(b: OpBuilder, op: stablehlo.ComplexOp) -> Rewritten:
    """complex(real z, imag z) = z"""
    real, imag = made_by(op.lhs, stablehlo.RealOp), made_by(op.rhs, stablehlo.ImagOp)
    return real.operand if real is not None and imag is not None and real.operand is imag.operand and is_complex(element(real.operand)) else None


@rewrite(chlo.ConjOp)
def conjugate_of_conjugate(b: OpBuilder, op: chlo.ConjOp) -> Rewritten:
    """conj x = x for a real x; conj(conj z) = z; conj(complex(x, y)) = complex(x, -y)"""
    if not is_complex(element(op.operand)):
        return op.operand
    if (inner := made_by(op.operand, chlo.ConjOp)) is not None:
        return inner.operand
    made = made_by(op.operand, stablehlo.ComplexOp)
    return None if made is None else b.complex(made.lhs, b.negate(made.rhs))

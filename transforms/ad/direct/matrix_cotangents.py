"""Building blocks of the adjoints of matrix functions.

They are derived from three facts about the pairing ``Re tr(y_bar^T dy)``: for ``y = a x c``, ``x_bar = a^T y_bar c^T``; for ``y = x^H``,
``x_bar = y_bar^H``; and scaling elements by real numbers (a triangle, half a diagonal) is its own adjoint.
"""

from __future__ import annotations

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, is_complex
from wengert.transforms.ad.building_blocks.matrices import adjoint as hermitian_transpose
from wengert.transforms.ad.building_blocks.matrices import keep, rows
from wengert.transforms.ad.rule import Tangent


def conj(b: OpBuilder, x: Value) -> Value:
    """The conjugate; a real value is itself."""
    return b.conj(x) if is_complex(element(x)) else x


def real_part(b: OpBuilder, x: Value) -> Value:
    """The real part, in x's type."""
    return b.convert(b.real(x), element(x)) if is_complex(element(x)) else x


def on_diagonal(b: OpBuilder, v: Value, like: Value) -> Value:
    """Diagonal matrices in the shape and type of ``like``."""
    return keep(b, rows(b, b.convert(v, element(like)), like), "EQ")


def total(b: OpBuilder, *terms: Tangent) -> Value:
    """The sum of the terms that are not None."""
    result: Tangent = None
    for term in terms:
        if term is not None:
            result = term if result is None else b.add(result, term)
    assert result is not None
    return result


def from_hermitian(b: OpBuilder, h_bar: Value, lower: bool) -> Value:
    """The cotangent of a, where a Hermitian h is read from one triangle of a: an off-diagonal element occurs in h twice, once conjugated."""
    both = b.add(h_bar, hermitian_transpose(b, h_bar))
    return b.add(keep(b, both, "GT" if lower else "LT"), real_part(b, keep(b, h_bar, "EQ")))

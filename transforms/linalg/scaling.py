"""Powers of two by which matrices are scaled, exactly, so that squares of their elements do not leave the range of the type."""

from __future__ import annotations

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import element, f32, i32, i64, is_complex, shape, tensor

_EXPONENTS = {32: 0x7F800000, 64: 0x7FF0000000000000}
_LEAST, _MOST = {32: 2.0**-100, 64: 2.0**-1000}, {32: 2.0**100, 64: 2.0**1000}


def power_of_two(b: OpBuilder, a: Value) -> Value:
    """A power of two near the largest element of each matrix, whose inverse is one, too: ``[batch]``, real, of ``[batch, m, n]``. 1 where one is not finite."""
    sizes = b.abs(a) if not is_complex(element(a)) else b.maximum(b.abs(b.real(a)), b.abs(b.imag(a)))
    largest = b.reduce(Kind.max, sizes, (1, 2))
    width, integer = (32, i32) if element(largest) == f32 else (64, i64)
    bits = b.one(stablehlo.BitcastConvertOp, (largest,), tensor(shape(largest), integer))
    power = b.one(stablehlo.BitcastConvertOp, (b.and_(bits, b.full_like(bits, _EXPONENTS[width])),), largest.type)
    low, high = b.full_like(power, _LEAST[width]), b.full_like(power, _MOST[width])
    usual = b.clamp(low, power, high)
    is_number = b.and_(b.compare("GT", largest, b.full_like(largest, 0)), b.compare("LT", largest, b.full_like(largest, float("inf"))))
    return b.select(is_number, usual, b.full_like(power, 1))

"""``complex``: numbers of two floats."""

from __future__ import annotations

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.transforms.upstream.convert.converter import Value, refuses
from wengert.transforms.upstream.convert.floats import handle_floats, of_class


def _angle(b: OpBuilder, z: Value) -> Value:
    return b.atan2(b.imag(z), b.real(z))


def _sign(b: OpBuilder, z: Value) -> Value:
    """z / |z|, and 0 for 0."""
    magnitude = b.abs(z)
    is_zero = b.compare("EQ", magnitude, b.full_like(magnitude, 0))
    safe = b.select(is_zero, b.full_like(magnitude, 1), magnitude)
    return b.select(is_zero, b.full_like(z, 0), b.complex(b.divide(b.real(z), safe), b.divide(b.imag(z), safe)))


def _conjugate(b: OpBuilder, z: Value) -> Value:
    return b.complex(b.real(z), b.negate(b.imag(z)))


def _equal(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.compare("EQ", x, y)


def _unequal(b: OpBuilder, x: Value, y: Value) -> Value:
    return b.compare("NE", x, y)


handle_floats(
    {
        "complex.abs": OpBuilder.abs,
        "complex.angle": _angle,
        "complex.conj": _conjugate,
        "complex.cos": OpBuilder.cosine,
        "complex.exp": OpBuilder.exponential,
        "complex.expm1": OpBuilder.exponential_minus_one,
        "complex.im": OpBuilder.imag,
        "complex.log": OpBuilder.log,
        "complex.log1p": OpBuilder.log_plus_one,
        "complex.neg": OpBuilder.negate,
        "complex.re": OpBuilder.real,
        "complex.rsqrt": OpBuilder.rsqrt,
        "complex.sign": _sign,
        "complex.sin": OpBuilder.sine,
        "complex.sqrt": OpBuilder.sqrt,
        "complex.tan": of_class(hlo.TanOp),
        "complex.tanh": OpBuilder.tanh,
    },
    {
        "complex.add": OpBuilder.add,
        "complex.create": OpBuilder.complex,
        "complex.div": OpBuilder.divide,
        "complex.eq": _equal,
        "complex.mul": OpBuilder.multiply,
        "complex.neq": _unequal,
        "complex.pow": OpBuilder.power,
        "complex.sub": OpBuilder.subtract,
    },
)
refuses("complex.atan2", "the complex arc tangent of two arguments has no rule here", "write it by complex.log: -i log((x + iy) / sqrt(x^2 + y^2))")
